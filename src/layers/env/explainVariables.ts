// What `explain` shows of a call's variables: where each is from, what it beat, and which are not set.
import { Redacted } from "effect"
import type { EnvPlan } from "../../services/env/envPlan.ts"
import type {
  EnvCandidate,
  EnvOrigin,
  EnvVariable,
  ExplainedEnv,
  ExplainedVariable,
  RequirementsMissing,
  ResolvedEnv
} from "../../services/env/EnvResolver.ts"
import { isSecret } from "../../services/env/secretVariables.ts"
import { isKiwiVariable } from "../../services/env/variableNames.ts"
import { parseTemplate } from "../../services/template/templateText.ts"
import type { DotenvFiles } from "./dotenvFiles.ts"

interface Resolved {
  readonly plan: EnvPlan
  readonly env: ResolvedEnv
  readonly problem: RequirementsMissing | undefined
  readonly overrides: ReadonlyMap<string, string>
  /** Of the process. */
  readonly known: ReadonlyMap<string, string | undefined>
  readonly dotenv: DotenvFiles | undefined
  /** Names of variables of the process that are no secret. */
  readonly passed: ReadonlySet<string>
}

export const explainVariables = (
  { dotenv, env, known, overrides, passed, plan: { config, declared }, problem }: Resolved
): Pick<ExplainedEnv, "variables" | "unset"> => {
  const template = (name: string) => Object.hasOwn(config.env ?? {}, name) ? config.env?.[name] : undefined
  const candidates = (name: string): ReadonlyArray<EnvCandidate> => {
    const at = (origin: EnvOrigin, value: string | undefined): ReadonlyArray<EnvCandidate> =>
      value === undefined
        ? []
        : [{ origin, value: Redacted.make(value), isSecret: origin !== "declared" && !passed.has(name) }]
    return [
      ...at("override", overrides.get(name)),
      ...at("declared", template(name)),
      ...(isKiwiVariable(name) ? [] : at("process", known.get(name))),
      ...(dotenv?.all(name) ?? []).map(({ line, origin, refused, value: plain }): EnvCandidate => {
        const one: EnvCandidate = { origin, value: Redacted.make(plain), line, isSecret: true }
        return refused === undefined ? one : Object.assign(one, { refused })
      })
    ]
  }
  const beatenBy = ({ name, origin }: EnvVariable): ReadonlyArray<EnvCandidate> => {
    const all = candidates(name)
    const winner = all.findIndex((one) => one.origin === origin && one.refused === undefined)
    return all.filter((_, index) => index !== winner)
  }

  const secret = new Set<string>()
  const isHidden = (one: EnvVariable): boolean => {
    const parts = one.origin === "declared" ? parseTemplate(template(one.name) ?? "", { parameters: false }) : []
    const isMadeOf = (name: string) => secret.has(name) || isMasked(env.declared.get(name))
    return isMasked(one) ||
      parts.some((part) => typeof part === "object" && part._tag === "Variable" && isMadeOf(part.name))
  }
  const isMasked = (one: EnvVariable | undefined): boolean =>
    one !== undefined &&
    (isSecret(one) || ((one.origin === "process" || one.origin === "override") && !passed.has(one.name)))

  const shown = new Map([...env.child, ...env.declared])
  const variables: Array<ExplainedVariable> = []
  for (const one of shown.values()) {
    const hidden = isHidden(one)
    if (hidden) secret.add(one.name)
    variables.push({
      variable: one,
      reaches: env.child.has(one.name) ? "child" : "config",
      isSecret: hidden,
      beat: beatenBy(one)
    })
  }
  const wanted = new Map<string, boolean>([
    ...[...declared.inEnvConfig].map((name) => [name, false] as const),
    ...declared.inConfig,
    ...[...declared.required].map((name) => [name, true] as const)
  ])
  for (const name of problem?.variables ?? []) wanted.set(name, true)
  const unset = [...wanted].filter(([name]) => !shown.has(name)).map(([name, required]) => ({
    name,
    required,
    refused: candidates(name)
  }))
  return { variables, unset }
}
