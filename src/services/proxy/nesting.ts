// Calls that tools make: how deep they may go, and what a surface does for them.
import { Context, type Effect, Schema } from "effect"
import type { KiwiError } from "../error/KiwiError.ts"

/** Most calls that one call may be made within. */
export const maxNesting = 4

/** Tools called each other deeper than Kiwi allows. */
export class CallsTooDeep extends Schema.TaggedError<CallsTooDeep>()("CallsTooDeep", {
  tool: Schema.String,
  /** The tools that called it, the first of them first. */
  within: Schema.Array(Schema.String)
}) {
  override get message() {
    return `${this.tool} was not run: it was called within ${
      this.within.join(" > ")
    }, and calls nest at most ${maxNesting} deep`
  }
  get remediation() {
    return "Let one of these tools do the work itself, or look for tools that call each other in a circle"
  }
  get refusal() {
    return "denied" as const
  }
  get rule() {
    return "nesting"
  }
}

/**
 * Runs a call that a tool makes, and asks the person about it if one has to agree, as the surface does for the call that
 * the tool is run by. Default: nobody is asked, and the call fails as pending.
 */
export const NestedApproval = Context.Reference<{
  readonly ask: <A, E extends KiwiError>(call: Effect.Effect<A, E>) => Effect.Effect<A, KiwiError>
}>("kiwi/services/proxy/NestedApproval", { defaultValue: () => ({ ask: (call) => call }) })
