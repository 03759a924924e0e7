// Finds the tool's interpreter, and makes its environment.
import { Effect } from "effect"
import type { ChainLink } from "../../services/chain/Chain.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import type { InterpreterAnswer } from "../../services/env/EnvResolver.ts"
import { EnvResolver, RequirementsMissing } from "../../services/env/EnvResolver.ts"
import { secretsOf } from "../../services/env/secretVariables.ts"
import { isDeniedVariable } from "../../services/env/variableNames.ts"
import { ConfigInvalid } from "../../services/proxy/ToolProxy.ts"
import { isJsonObject } from "../../services/schema/json.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

/** Only system items may set variables that decide what a program loads, in config as in ENV_CONFIG. */
const deniedIn = ({ tool }: ChainLink): ConfigInvalid | undefined => {
  const env = tool.config["env"]
  if (tool.location.tier === "system" || !isJsonObject(env)) return undefined
  const denied = Object.keys(env).filter(isDeniedVariable)
  return denied.length === 0 ? undefined : new ConfigInvalid({
    link: tool.location.id,
    issues: denied.map((name) => ({ field: `env.${name}`, error: `only system items set ${name}` }))
  })
}

/** Python packages have their own interpreter. */
const withPackages = (answer: InterpreterAnswer, set: InstalledSet | undefined): InterpreterAnswer =>
  answer._tag === "Found" && set?.interpreter !== undefined
    ? { ...answer, interpreter: { ...answer.interpreter, path: set.interpreter } }
    : answer

export const findInterpreter = Effect.gen(function*() {
  const environments = yield* EnvResolver

  return (facts: Facts<"chain">) =>
    environments.interpreter(facts.chain).pipe(
      Effect.mapBothEager({
        onFailure: (reason) => blame(facts.chain, reason),
        onSuccess: (interpreter) => ({ interpreter })
      })
    )
})

/**
 * Reports everything that is missing at once. Variables are resolved for the interpreter that runs: that of the
 * packages.
 */
export const resolveEnvironment = Effect.gen(function*() {
  const environments = yield* EnvResolver

  return Effect.fnUntracedEager(function*(
    facts: Facts<"chain" | "interpreter" | "packages" | "warnings">
  ) {
    const { chain, interpreter, packages, warnings } = facts
    for (const link of chain.links) {
      const denied = deniedIn(link)
      if (denied !== undefined) return yield* blame(chain, denied)
    }
    const dependencies = packages?._tag === "Installed" ? packages.set : undefined
    const missing = packages?._tag === "Missing" ? packages : undefined
    const env = yield* environments.resolve(chain, { interpreter: withPackages(interpreter, dependencies) }).pipe(
      Effect.mapErrorEager((reason) => {
        return blame(
          chain,
          missing === undefined || reason._tag !== "RequirementsMissing"
            ? reason
            : new RequirementsMissing({ ...reason, dependencies: missing.reason.requirements })
        )
      })
    )
    if (missing !== undefined) return yield* blame(chain, missing.reason)
    return {
      env,
      dependencies,
      secrets: secretsOf(env),
      warnings: [
        ...warnings,
        ...env.warnings.map((w) => ({ code: "DOTENV_LINE", message: `${w.file}:${w.line}: ${w.issue}` }))
      ]
    }
  })
})
