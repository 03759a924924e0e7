// Calls that tools make: how deep they may go, and what a surface does for them.
import { Context, type Effect, Predicate, Record, Schema } from "effect"
import type { KiwiError } from "../error/KiwiError.ts"
import type { ToolCall } from "./ToolCall.ts"

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

/** Every field of a call: the compiler asks for a decision about each new one. */
type Decided = { readonly [Field in keyof ToolCall]-?: ToolCall[Field] | undefined }

/** The call that a tool makes while `parent` runs it. Nothing in it is less strict than in its parent. */
export const childOf = (
  parent: ToolCall,
  tool: string,
  asked: Required<Pick<ToolCall, "callId" | "item" | "parameters" | "dryRun" | "thread" | "token">>
): ToolCall => {
  const call: Decided = {
    callId: asked.callId,
    caller: parent.caller,
    item: asked.item,
    thread: asked.thread,
    token: asked.token,
    within: [...parent.within ?? [], { call: parent.callId, tool }],
    tier: undefined,
    parameters: asked.parameters,
    dryRun: parent.dryRun || asked.dryRun,
    lockfileMode: parent.lockfileMode
  }
  return Record.filter(call, Predicate.isNotUndefined) as ToolCall
}

/**
 * Runs a call that a tool makes, and asks the person about it if one has to agree, as the surface does for the call that
 * the tool is run by. Default: nobody is asked, and the call fails as pending.
 */
export const NestedApproval = Context.Reference<{
  readonly ask: <A, E extends KiwiError>(call: Effect.Effect<A, E>) => Effect.Effect<A, KiwiError>
}>("kiwi/services/proxy/NestedApproval", { defaultValue: () => ({ ask: (call) => call }) })
