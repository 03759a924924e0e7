// Locks between processes by BEGIN EXCLUSIVE on an empty SQLite file: Node has no flock, and SQLite's lock ends with
// its process, also after SIGKILL. SQLite never waits here, since its wait would stop every fiber.
import { Effect, Exit, Layer, Scope } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { getuid } from "node:process"
import { LockTimeout, LockUnavailable, ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { createPrivate } from "../files/createPrivate.ts"
import { makeProcessLock } from "./makeProcessLock.ts"

// SQL is loaded with the first lock, not when the program starts.
const sqlite = Effect.promise(() =>
  Promise.all([import("../sqlite/SqliteNode.ts"), import("effect/reactivity/Reactivity")])
)

const prepare = (folder: string, name: string) =>
  Effect.try({
    try: () => {
      fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
      const file = join(folder, name)
      // By lstat: opening and closing the file here would release a lock that this process holds on it.
      const stat = fs.lstatSync(file, { throwIfNoEntry: false })
      if (stat === undefined) createPrivate(file)
      else if (stat.isFile() && (stat.mode & 0o077) !== 0 && stat.uid === getuid?.()) fs.chmodSync(file, 0o600)
      return stat
    },
    catch: (cause) =>
      new LockUnavailable({
        name,
        detail: cause instanceof Error && "code" in cause ? `its folder cannot be used (${cause.code})` : "I/O error"
      })
  }).pipe(
    Effect.filterOrFail(
      (stat) => stat === undefined || stat.isFile(),
      () => new LockUnavailable({ name, detail: "something at its path is not a file" })
    )
  )

export const make = Effect.sync(() =>
  makeProcessLock({
    tryHold: Effect.fnUntraced(function*(folder, name) {
      yield* prepare(folder, name)
      const [SqliteNode, Reactivity] = yield* sqlite
      const scope = yield* Scope.fork(yield* Effect.scope)
      const begin = Effect.gen(function*() {
        const client = yield* SqliteNode.make({
          filename: join(folder, name),
          busyTimeout: 0,
          disableWAL: true,
          prepareCacheSize: 0
        }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))
        const connection = yield* client.reserve
        // Nothing is ever written, so a journal file would only cost time.
        yield* connection.executeUnprepared("PRAGMA journal_mode = MEMORY", [], undefined)
        yield* connection.executeUnprepared("BEGIN EXCLUSIVE", [], undefined)
      })
      yield* begin.pipe(
        Effect.provideService(Scope.Scope, scope),
        Effect.onError((cause) =>
          // Closes a failed attempt, so that it does not stay open until one succeeds.
          Scope.close(scope, Exit.failCause(cause))
        ),
        Effect.mapError((error) => {
          if (error.reason._tag === "LockTimeoutError") return new LockTimeout({ name })
          const code = SqliteNode.primaryCode(error)
          return new LockUnavailable({
            name,
            detail: code === 26 ? "its file has other content" : `SQLite failed with code ${code ?? "unknown"}`
          })
        })
      )
    })
  })
)

export const layer = Layer.effect(ProcessLock, make)
