// A second process for ProcessLockSqlite.test.ts: `hold FOLDER`, or `increment FOLDER TIMES`.
import { Effect } from "effect"
import { readFileSync, writeFileSync, writeSync } from "node:fs"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { ProcessLock } from "../../../src/services/workspace/ProcessLock.ts"

const [, , what, folder, times] = process.argv

const increment = Effect.sync(() => {
  const file = `${folder}/counter`
  writeFileSync(file, String(Number(readFileSync(file, "utf8")) + 1))
})

const program = Effect.gen(function*() {
  const lock = yield* ProcessLock
  const locked = lock.withLock(folder!, "a.lock")
  if (what === "hold") {
    yield* locked(Effect.andThen(Effect.sync(() => writeSync(1, "held")), Effect.sleep("1 minute")))
  } else {
    for (let i = 0; i < Number(times); i++) yield* locked(increment)
  }
})

await Effect.runPromise(Effect.provide(program, ProcessLockSqlite.layer))
