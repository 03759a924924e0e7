// One helper for every lock between processes. An operating-system lock, so that a killed process leaves none behind.
import { Context, type Effect, Schema } from "effect"

export class LockTimeout extends Schema.TaggedError<LockTimeout>()("LockTimeout", { name: Schema.String }) {
  override get message() {
    return `Another Kiwi process is holding the lock "${this.name}"`
  }
  get remediation() {
    return "Wait for it to finish and try again; `kiwi doctor` names the process"
  }
  get retryable() {
    return true
  }
}

export class ProcessLock extends Context.Service<ProcessLock, {
  /** Runs an effect while this process alone holds `name` (a file under `folder`). Waits up to 10 s, then fails. */
  readonly withLock: (
    folder: string,
    name: string
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LockTimeout, R>
}>()("kiwi/services/workspace/ProcessLock") {}
