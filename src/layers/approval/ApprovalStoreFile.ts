// Requests in `$KIWI_HOME/projects/<id>/approvals.json`, which every process replaces whole under one lock: at every
// moment it is the list before a change or after it. It counts only if this user wrote it and nobody else could. A file
// that is damaged, a link or somebody else's holds no requests: what it seemed to allow is asked anew.
import { Effect, Layer, Option, Result, Schema } from "effect"
import { join, relative } from "node:path"
import type { Approvals } from "../../services/approval/Approval.ts"
import { Approval } from "../../services/approval/Approval.ts"
import { ApprovalsUnavailable } from "../../services/approval/ApprovalErrors.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import type { ReadRefused } from "../../services/files/SafeFiles.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { type LockError, LockTimeout, LockUnavailable, ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings } from "../files/believe.ts"
import { isRunning, ownPid } from "../process/isRunning.ts"
import { listKnown } from "../workspace/WorkspaceNode.ts"
import * as Shared from "./makeApprovalStore.ts"

const Kept = Schema.fromJsonString(Schema.Struct({ v: Schema.Literal(1), approvals: Schema.Array(Approval) }))
const decode = Schema.decodeUnknownResult(Kept)

const isLockError = (error: unknown): error is LockError =>
  error instanceof LockTimeout || error instanceof LockUnavailable

/** Twenty waiting requests of some callers, and two hundred finished ones. */
const maxBytes = 64 * 1_048_576

const readOptions = { maxBytes, own: true }

/** The project in which a request was filed, by whichever process. Opens none. */
export const makeProjectOf = Effect.gen(function*() {
  const services = yield* Effect.context<KiwiHome | SafeFiles>()
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const has = (state: string, id: string) =>
    files.read(home, `${state}/approvals.json`, readOptions).pipe(
      Effect.map((bytes) => {
        const decoded = decode(new TextDecoder().decode(bytes))
        return Result.isSuccess(decoded) && decoded.success.approvals.some((one) => one.id === id)
      }),
      Effect.orElseSucceed(() => false)
    )
  return Effect.fnUntraced(function*(id: string) {
    const known = [{ root: "", state: "user" }, ...(yield* listKnown)]
    return (yield* Effect.findFirst(known, ({ state }) => has(state, id))).pipe(
      Option.map(({ root }) => root),
      Option.getOrUndefined
    )
  }, Effect.provideContext(services))
})

export const make = Effect.gen(function*() {
  const files = yield* SafeFiles
  const { withLock } = yield* ProcessLock
  const { home } = yield* KiwiHome
  const { state } = yield* Workspace
  const path = `${relative(home, state)}/approvals.json`
  const readings = new Readings<Approvals>()

  const ignored = (why: string) =>
    Effect.as(Effect.logWarning(`${path} is not used, and what it allowed is asked anew: ${why}`), [])

  const load = files.read(home, path, readOptions).pipe(
    Effect.flatMap((bytes) => {
      if (bytes === undefined) return Effect.succeed<Approvals>([])
      const decoded = decode(new TextDecoder().decode(bytes))
      return Result.isSuccess(decoded) ? Effect.succeed(decoded.success.approvals) : ignored("it is damaged")
    }),
    Effect.catch((error: ReadRefused): Effect.Effect<Approvals> => ignored(error.detail))
  )

  const write = (approvals: Approvals) =>
    files.write(home, path, JSON.stringify({ v: 1, approvals }), { mode: 0o600 }).pipe(
      Effect.mapError((cause) => new ApprovalsUnavailable({ cause }))
    )

  return yield* Shared.make({
    processes: { own: ownPid, runs: isRunning },
    read: Effect.map(readings.getEffect(join(home, path), load), (found = []) => found),
    change: <A, E>(change: (approvals: Approvals) => Effect.Effect<readonly [A, Approvals], E>) =>
      Effect.gen(function*() {
        const before = yield* load
        const [value, after] = yield* change(before)
        if (after !== before) yield* write(after)
        return value
      }).pipe(
        Effect.uninterruptible,
        withLock(state, "approvals"),
        Effect.mapError((cause) => isLockError(cause) ? new ApprovalsUnavailable({ cause }) : cause)
      )
  })
})

export const layer = Layer.effect(ApprovalStore, make)
