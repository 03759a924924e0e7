// One scene of the demo: what somebody did, what Kiwi answered, why. A scene is checked, then printed.
import { Schema } from "effect"

export interface Line {
  /** Who says or does it. `check` is an observation by the demo itself. */
  readonly who: "you" | "agent" | "kiwi" | "refusal" | "check"
  readonly text: string
}

export interface Scene {
  readonly n: number
  readonly title: string
  readonly lines: ReadonlyArray<Line>
  readonly why: string
}

/** A scene of the demo did not have the expected result. */
export class DemoFailed extends Schema.TaggedError<DemoFailed>()("DemoFailed", {
  n: Schema.Int,
  title: Schema.String,
  detail: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return this.n === 0
      ? `The demo cannot start: ${this.detail}`
      : `Scene ${this.n} of the demo, "${this.title}", failed: ${this.detail}`
  }
  get remediation() {
    return this.hint
  }
}
