import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { ProcessLock } from "../../../src/services/workspace/ProcessLock.ts"
import { contract } from "./ProcessLock.contract.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "kiwi-lock-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

contract("ProcessLockSqlite", ProcessLockSqlite.layer, folder)

const program = fileURLToPath(new URL("./processLockChild.ts", import.meta.url))

const startChild = (...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const says = (child: ChildProcess, word: string) =>
  Effect.callback<void>((resume) => {
    child.stdout?.on("data", (data: Buffer) => {
      if (data.toString().includes(word)) resume(Effect.void)
    })
  })

const ended = (child: ChildProcess) =>
  Effect.callback<number | null>((resume) => {
    child.on("exit", (code) => resume(Effect.succeed(code)))
  })

const lock = Effect.provide(ProcessLock, ProcessLockSqlite.layer)

describe("ProcessLockSqlite", () => {
  it.live("processes that increment a counter lose nothing", () =>
    Effect.gen(function*() {
      const path = yield* folder
      writeFileSync(join(path, "counter"), "0")
      const children = yield* Effect.all(Array.from({ length: 4 }, () => startChild("increment", path, "25")))
      const codes = yield* Effect.forEach(children, ended, { concurrency: "unbounded" })
      assert.deepStrictEqual(codes, [0, 0, 0, 0])
      assert.strictEqual(readFileSync(join(path, "counter"), "utf8"), "100")
    }), 30_000)

  it.live("a process that is killed leaves no lock behind", () =>
    Effect.gen(function*() {
      const path = yield* folder
      const service = yield* lock
      const holder = yield* startChild("hold", path)
      yield* says(holder, "held")
      const refused = yield* Effect.flip(Effect.scoped(service.tryHold(path, "a.lock")))
      assert.strictEqual(refused._tag, "LockTimeout")
      const exit = yield* Effect.forkChild(ended(holder))
      yield* Effect.yieldNow
      holder.kill("SIGKILL")
      yield* Effect.retry(Effect.scoped(service.tryHold(path, "a.lock")), {
        schedule: Schedule.spaced("5 millis"),
        times: 200
      })
      yield* service.withLock(path, "a.lock")(Effect.void)
      exit.interruptUnsafe()
    }), 30_000)

  it.live("waits for another kernel of the same process", () =>
    Effect.gen(function*() {
      const path = yield* folder
      const first = yield* Effect.provide(ProcessLock, Layer.fresh(ProcessLockSqlite.layer))
      const second = yield* Effect.provide(ProcessLock, Layer.fresh(ProcessLockSqlite.layer))
      let counter = 0
      const increment = Effect.gen(function*() {
        const read = counter
        yield* Effect.sleep(1)
        counter = read + 1
      })
      yield* Effect.all(
        Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? first : second).withLock(path, "a.lock")(increment)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(counter, 20)
    }))

  it.effect("creates its folder, private", () =>
    Effect.gen(function*() {
      const path = join(yield* folder, "a", "b")
      const service = yield* lock
      yield* service.withLock(path, "a.lock")(Effect.void)
      assert.strictEqual(statSync(path).mode & 0o777, 0o700)
    }))

  it.effect("keeps its file private, also one that was made open", () =>
    Effect.gen(function*() {
      const path = yield* folder
      const service = yield* lock
      const mode = (name: string): number => statSync(join(path, name)).mode & 0o777
      yield* service.withLock(path, "a.lock")(Effect.sync(() => assert.strictEqual(mode("a.lock"), 0o600)))
      writeFileSync(join(path, "b.lock"), "", { mode: 0o644 })
      yield* Effect.scoped(service.tryHold(path, "b.lock"))
      assert.strictEqual(mode("b.lock"), 0o600)
    }))

  it.effect("a link, a folder and foreign content in the file's place are refused by name", () =>
    Effect.gen(function*() {
      const path = yield* folder
      const service = yield* lock
      writeFileSync(join(path, "target"), "")
      symlinkSync(join(path, "target"), join(path, "link"))
      mkdirSync(join(path, "folder"))
      writeFileSync(join(path, "text"), "something that is no database ".repeat(100))
      writeFileSync(join(path, "file"), "")
      for (
        const [where, name] of [[path, "link"], [path, "folder"], [path, "text"], [join(path, "file"), "x"]] as const
      ) {
        const error = yield* Effect.flip(service.withLock(where, name)(Effect.void))
        assert.strictEqual(error._tag, "LockUnavailable", name)
        assert.notInclude(error.message, path)
      }
    }))
})
