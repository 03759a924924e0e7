// The environment that Kiwi itself was started with. A program hands it in; nothing below reads `process`.
import { Context } from "effect"

export interface HostEnvironment {
  /** Read anew by every call: hand in the live object. */
  readonly variables: Readonly<Record<string, string | undefined>>
  readonly platform: "posix" | "windows"
}

export const ProcessEnv = Context.Reference<HostEnvironment>("kiwi/services/env/ProcessEnv", {
  defaultValue: () => ({ variables: {}, platform: "posix" })
})
