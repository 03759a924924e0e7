// A call that repeats itself without coming any further.
import { Schema } from "effect"

/** `repeat`: one call; `variation`: one call with slightly other arguments; `cycle`: two to four calls in turn. */
export const LoopPattern = Schema.Literals(["repeat", "variation", "alternation", "cycle"])
export type LoopPattern = typeof LoopPattern.Type

/** The same calls had the same outcomes ten times over, so the call is not run for a minute. */
export class LoopDetected extends Schema.TaggedError<LoopDetected>()("LoopDetected", {
  tool: Schema.String,
  pattern: LoopPattern,
  /** The calls of one round, each with its outcome: "filesystem.read: FILE_NOT_FOUND". */
  calls: Schema.Array(Schema.String),
  /** How many calls the loop has had. */
  count: Schema.Int,
  /** Milliseconds until the call is run again. */
  after: Schema.Int
}) {
  override get message() {
    return `${this.tool} was not run: ${showLoop(this)}`
  }
  get remediation() {
    return `Change the arguments or what they are about, or do something else. If that is not possible, call help {"action": "stuck"}. The same call is run again in ${
      Math.ceil(this.after / 1_000)
    } s, or after a call that changes something`
  }
  get refusal() {
    return "denied" as const
  }
  get rule() {
    return "loop-guard"
  }
}

const patterns: Readonly<Record<LoopPattern, string>> = {
  repeat: "are the same",
  variation: "are the same but for details",
  alternation: "are two in turn",
  cycle: "go round in a circle"
}

/** "the last 10 calls are two in turn, each with the outcome that it had before: a: NOT_FOUND, b: success" */
export const showLoop = (
  { calls, count, pattern }: {
    readonly calls: ReadonlyArray<string>
    readonly count: number
    readonly pattern: LoopPattern
  }
): string =>
  `${count} of your last calls ${patterns[pattern]}, each with the outcome that it had before: ${calls.join(", ")}`
