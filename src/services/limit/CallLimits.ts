// How often a caller may call tools, and how many at once. A caller is known by its name in policy: neither another
// label nor another session gets a counter of its own.
import { Context, type Effect, Schema } from "effect"
import type { Caller } from "../call/Caller.ts"
import type { Limits, Rate } from "./Limits.ts"

/** The longest wait, in milliseconds: a call that would have to wait longer is refused at once. */
export const longestWait = 2_000

const seconds = (milliseconds: number): string => `${Math.ceil(milliseconds / 1_000)} s`

/** A caller called tools more often than a limit allows. The call did not run and did not count. */
export class RateLimited extends Schema.TaggedError<RateLimited>()("RateLimited", {
  tool: Schema.String,
  /** The setting and its value: "limits.rate.tools.github/*: 100/m". */
  limit: Schema.String,
  /** Milliseconds until the call has room. */
  after: Schema.Int
}) {
  override get message() {
    return `${this.tool} was not run: no call is left under ${this.limit}`
  }
  get remediation() {
    return `Call again in ${seconds(this.after)}, or let one call do more`
  }
  get retryable() {
    return true
  }
  get refusal() {
    return "denied" as const
  }
  get rule() {
    return this.limit
  }
}

/** As many calls as a limit allows are running, and none of them ended within two seconds. */
export class ConcurrencyLimited extends Schema.TaggedError<ConcurrencyLimited>()("ConcurrencyLimited", {
  tool: Schema.String,
  /** The setting and its value: "limits.concurrency.tools.shell.run: 4". */
  limit: Schema.String
}) {
  override get message() {
    return `${this.tool} was not run: as many calls as ${this.limit} allows are still running`
  }
  get remediation() {
    return "Call again when one of your running calls has ended"
  }
  get retryable() {
    return true
  }
  get refusal() {
    return "denied" as const
  }
  get rule() {
    return this.limit
  }
}

/** A call that asks for room. */
export interface Entrant {
  readonly caller: Caller
  /** Its id, if a tool made it or it may make calls. */
  readonly call?: string
  /** The calls that it is made within, the first of them first. */
  readonly within?: ReadonlyArray<string>
  /** The tool's id, and the same with its category: patterns may name either. */
  readonly ids: readonly [id: string, qualified: string]
  readonly rate: Limits<Rate>
  readonly concurrency: Limits<number>
}

export class CallLimits extends Context.Service<CallLimits, {
  /**
   * Counts the call and takes its places under all limits that hold for it. A call that is refused is not counted. Waits
   * up to two seconds for room. Without room, a call that a tool makes runs in the place of that tool, one at a time:
   * it never waits for the call that waits for it. `hold` gets the way back of each place as soon as it is taken, even if this is
   * interrupted or refused later.
   */
  readonly enter: (
    entrant: Entrant,
    hold: (leave: () => void) => void
  ) => Effect.Effect<void, RateLimited | ConcurrencyLimited>
}>()("kiwi/services/limit/CallLimits") {}
