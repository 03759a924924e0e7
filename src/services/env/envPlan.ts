// What a chain declares about its environment, computed once for each chain: the decoded ENV_CONFIG, the variables that
// it names, and those to look up in the process's own environment.
import { Result } from "effect"
import type { Chain } from "../chain/Chain.ts"
import { isSecretReference, secretNameOf } from "../identity/SecretStore.ts"
import { parseTemplate } from "../template/templateText.ts"
import { type DeclaredVariables, declaredVariables } from "./declaredVariables.ts"
import { decodeEnvConfig, type EnvConfig, type EnvConfigIssue } from "./EnvConfig.ts"
import { EnvConfigInvalid } from "./EnvResolver.ts"
import { isDeniedVariable, isKiwiVariable, variableName } from "./variableNames.ts"

export interface EnvPlan {
  readonly config: EnvConfig
  readonly declared: DeclaredVariables
  /** Names that the chain needs from the process's environment. */
  readonly names: ReadonlyArray<string>
  /** Whether it starts no process and needs no variable, command or interpreter. */
  readonly isEmpty: boolean
}

const issuesOfValue = (name: string, value: string): ReadonlyArray<EnvConfigIssue> => {
  const field = `env.${name}`
  if (isSecretReference(value) && secretNameOf(value) === undefined) {
    return [{ field, error: "keychain: is followed by the name of one secret: letters, digits, . _ -" }]
  }
  return parseTemplate(value, { parameters: false }).flatMap((part) =>
    typeof part === "object" && part._tag === "Malformed" ? [{ field, error: part.hint }] : []
  )
}

const issuesOf = (config: EnvConfig, isSystem: boolean): ReadonlyArray<EnvConfigIssue> => {
  const set = [
    ...Object.keys(config.env ?? {}).map((name) => [`env.${name}`, name] as const),
    ...(config.interpreter === undefined ? [] : [["interpreter.var", config.interpreter.var] as const])
  ]
  const denied = isSystem ? [] : set.filter(([, name]) => isDeniedVariable(name))
  return [
    ...denied.map(([field, name]) => ({ field, error: `only system items set ${name}` })),
    ...Object.entries(config.env ?? {}).flatMap(([name, value]) => issuesOfValue(name, value))
  ]
}

export const envPlan = (chain: Chain): Result.Result<EnvPlan, EnvConfigInvalid> => {
  const declaring = chain.links.find((l) => l.tool.envConfig !== undefined) ?? chain.leaf
  const invalid = (link: string, issues: ReadonlyArray<EnvConfigIssue>) =>
    Result.fail(new EnvConfigInvalid({ link, issues: [...issues] }))
  const decoded = decodeEnvConfig(chain.envConfig ?? {})
  const link = declaring.tool.location.id
  if (Result.isFailure(decoded)) return invalid(link, decoded.failure)
  const config = decoded.success
  const issues = issuesOf(config, declaring.tool.location.tier === "system")
  if (issues.length > 0) return invalid(link, issues)
  const unnamed = chain.requires.environment.filter((name) => !variableName.test(name))
  if (unnamed.length > 0) {
    const asking = chain.links.find(({ tool }) => tool.requires.environment.some((name) => unnamed.includes(name)))
    return invalid(
      (asking ?? chain.leaf).tool.location.id,
      unnamed.map((name) => ({
        field: "requires.environment",
        error: `${JSON.stringify(name)} is not a variable's name`
      }))
    )
  }
  const declared = declaredVariables(chain, config)
  const all = new Set([...declared.required, ...declared.inConfig.keys(), ...declared.inEnvConfig])
  const startsPrograms = chain.primitive.tool.location.id === "subprocess" || chain.config["starts_programs"] === true
  const isEmpty = !startsPrograms && all.size === 0 &&
    config.interpreter === undefined && Object.keys(config.env ?? {}).length === 0 &&
    chain.requires.commands.length === 0
  return Result.succeed({ config, declared, names: [...all].filter((name) => !isKiwiVariable(name)), isEmpty })
}
