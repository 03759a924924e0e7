// The variables that a chain may use. Naming one declares it: in `requires`, in ENV_CONFIG, or by a placeholder in the
// config. All of that is signed text, and a person can be shown it before anything runs.
import type { Chain } from "../chain/Chain.ts"
import { compile } from "../template/Template.ts"
import { parseTemplate } from "../template/templateText.ts"
import type { EnvConfig } from "./EnvConfig.ts"
import { kernelVariables } from "./variableNames.ts"

export interface DeclaredVariables {
  /** Passed on to the child under their own names. */
  readonly required: ReadonlySet<string>
  /** Named by placeholders in the config. True if one of them has no default. */
  readonly inConfig: ReadonlyMap<string, boolean>
  /** Named in the values of `ENV_CONFIG.env`. */
  readonly inEnvConfig: ReadonlySet<string>
}

export const declaredVariables = (chain: Chain, envConfig: EnvConfig): DeclaredVariables => {
  const inConfig = new Map(compile(chain.config, []).variables)
  for (const name of kernelVariables) inConfig.delete(name)
  const inEnvConfig = new Set<string>()
  for (const value of Object.values(envConfig.env ?? {})) {
    for (const part of parseTemplate(value, { parameters: false })) {
      if (typeof part === "object" && part._tag === "Variable") inEnvConfig.add(part.name)
    }
  }
  return { required: new Set(chain.requires.environment), inConfig, inEnvConfig }
}
