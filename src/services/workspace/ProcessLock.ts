// The only kind of lock between processes. It is an operating-system lock, so that a killed process does not leave one
// behind.
import { Context, type Effect, Schema, type Scope } from "effect"

/** Another Kiwi process is working on the same files. */
export class LockTimeout extends Schema.TaggedError<LockTimeout>()("LockTimeout", { name: Schema.String }) {
  override get message() {
    return `Another Kiwi process is holding the lock "${this.name}"`
  }
  get remediation() {
    return "Wait for it to finish and try again"
  }
  get retryable() {
    return true
  }
}

/** The lock's file cannot be used: the disk is full or read-only, or a link or folder is at its path. */
export class LockUnavailable extends Schema.TaggedError<LockUnavailable>()("LockUnavailable", {
  name: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `The lock "${this.name}" could not be used: ${this.detail}`
  }
  get remediation() {
    return "Make the folder of the lock writable for you and free some disk space; the lock's file may be deleted"
  }
}

export type LockError = LockTimeout | LockUnavailable

export class ProcessLock extends Context.Service<ProcessLock, {
  /**
   * Runs an effect while this process alone holds `name` (a file under `folder`, which is created if missing). Waits up
   * to 10 s, then fails. Reentrant: inside, the same lock is acquired at once, and forked fibers take turns. Nothing
   * else may open the lock's file: closing it would release the lock.
   */
  readonly withLock: (
    folder: string,
    name: string
  ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | LockError, R>
  /** Holds the lock until the scope closes, or fails at once with `LockTimeout`. Not reentrant. */
  readonly tryHold: (folder: string, name: string) => Effect.Effect<void, LockError, Scope.Scope>
}>()("kiwi/services/workspace/ProcessLock") {}
