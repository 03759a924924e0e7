// One scene of the demo: what somebody did, what Kiwi answered, why. Scenes are told as they end, and checked before
// they are told.
import { Schema } from "effect"

export interface Line {
  /** Who says or does it. `check` is what the demo saw for itself. */
  readonly who: "you" | "agent" | "kiwi" | "refusal" | "check"
  readonly text: string
}

export interface Scene {
  readonly n: number
  readonly title: string
  readonly lines: ReadonlyArray<Line>
  readonly why: string
}

/** A scene went otherwise than it should. */
export class DemoFailed extends Schema.TaggedError<DemoFailed>()("DemoFailed", {
  n: Schema.Int,
  title: Schema.String,
  detail: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return this.n === 0
      ? `The demo cannot begin: ${this.detail}`
      : `Scene ${this.n} of the demo, "${this.title}", went otherwise: ${this.detail}`
  }
  get remediation() {
    return this.hint
  }
}
