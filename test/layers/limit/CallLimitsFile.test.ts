import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as CallLimitsFile from "../../../src/layers/limit/CallLimitsFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { temporary } from "../../support/temporary.ts"
import { contract, enter, perMinute } from "./CallLimits.contract.ts"

const stateIn = (folder: string) => join(folder, "home/projects/p")

/** The counters as a new process sees them. */
const open = (folder: string) => {
  const homeLayer = KiwiHomeNode.layerWith({ home: join(folder, "home") })
  return Layer.fresh(CallLimitsFile.layer).pipe(
    Layer.provide([
      ProcessLockSqlite.layer,
      Layer.provide(SafeFilesNode.layer, homeLayer),
      Layer.succeed(Workspace, { project: Option.none(), state: stateIn(folder), cwd: folder })
    ])
  )
}

contract("CallLimitsFile", Effect.map(temporary, (folder) => Layer.orDie(open(folder))))

const rate = { caller: perMinute(6) }

/** A process that makes some calls and ends. */
const process = (folder: string, calls: number) =>
  Effect.provide(Effect.forEach(Array.from({ length: calls }), () => enter({ rate }), { discard: true }), open(folder))

const refused = (folder: string) =>
  Effect.provide(Effect.flip(Effect.map(enter({ rate }), () => "a call was left" as const)), open(folder))

const file = (folder: string) => join(stateIn(folder), "call-limits.json")

const put = (folder: string, text: string) => {
  fs.mkdirSync(stateIn(folder), { recursive: true })
  fs.writeFileSync(file(folder), text, { mode: 0o600 })
}

describe("after a restart", () => {
  it.effect("what was used up is still used up, and time brings it back", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      yield* process(folder, 4)
      yield* process(folder, 2)
      assert.strictEqual((yield* refused(folder))._tag, "RateLimited")
      yield* TestClock.adjust("20 seconds")
      yield* process(folder, 2)
      assert.strictEqual((yield* refused(folder))._tag, "RateLimited")
      assert.strictEqual(fs.statSync(file(folder)).mode & 0o777, 0o600)
    }))

  it.effect("a killed process has written what it counted a second ago", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      yield* Effect.gen(function*() {
        for (let i = 0; i < 6; i++) yield* enter({ rate })
        yield* Effect.promise(() => new Promise((done) => setTimeout(done, 50)))
        yield* TestClock.adjust("1 second")
        yield* Effect.promise(() => new Promise((done) => setTimeout(done, 50)))
        assert.strictEqual((yield* refused(folder))._tag, "RateLimited")
      }).pipe(Effect.provide(open(folder)))
    }))

  const hostile: Readonly<Record<string, string>> = {
    "nothing": "",
    "half a file": "{\"emptyAt\":0,\"buc",
    "another form": "[]",
    "text for a number": "{\"emptyAt\":0,\"buckets\":{\"ada\\ncaller\":{\"tokens\":\"6\",\"at\":0}}}",
    "no number": "{\"emptyAt\":0,\"buckets\":{\"ada\\ncaller\":{\"tokens\":null,\"at\":0}}}",
    "more than there is": "{\"emptyAt\":0,\"buckets\":{\"ada\\ncaller\":{\"tokens\":1e300,\"at\":0}}}",
    "a debt without end": "{\"emptyAt\":0,\"buckets\":{\"ada\\ncaller\":{\"tokens\":-1e300,\"at\":0}}}",
    "a time to come": "{\"emptyAt\":0,\"buckets\":{\"ada\\ncaller\":{\"tokens\":0,\"at\":1e300}}}",
    "a time to come, and nothing else,": "{\"buckets\":{\"ada\\ncaller\":{\"tokens\":0,\"at\":1e300}}}",
    "a time long ago": "{\"emptyAt\":0,\"buckets\":{\"ada\\ncaller\":{\"tokens\":0,\"at\":-1e300}}}",
    "bytes that are no text": "\u0000\u0001\u0002",
    "too much": " ".repeat(5_000_000),
    "nesting": "[".repeat(100_000)
  }
  for (const [what, text] of Object.entries(hostile)) {
    it.effect(`${what} in the file gives no calls beyond a full bucket, and blocks no longer than two periods`, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        put(folder, text)
        const count = Effect.gen(function*() {
          let calls = 0
          while ((yield* Effect.result(enter({ rate })))._tag === "Success") calls++
          return calls
        })
        const first = yield* Effect.provide(count, open(folder))
        assert.isAtMost(first, 6)
        if (!what.includes("than there is") && !what.includes("long ago")) assert.strictEqual(first, 0)
        yield* TestClock.adjust("2 minutes")
        assert.strictEqual(yield* Effect.provide(count, open(folder)), 6)
      }))
  }

  it.effect("a link or a folder in the file's place counts as used up", () =>
    Effect.gen(function*() {
      for (const make of [(path: string) => fs.symlinkSync("/dev/zero", path), (path: string) => fs.mkdirSync(path)]) {
        const folder = yield* temporary
        fs.mkdirSync(stateIn(folder), { recursive: true })
        make(file(folder))
        assert.strictEqual((yield* refused(folder))._tag, "RateLimited")
      }
    }))
})

describe("processes that run side by side", () => {
  it.effect("share what is written, and none gives another's calls back", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const [a, b] = [yield* Layer.build(open(folder)), yield* Layer.build(open(folder))]
      const call = (one: typeof a) => Effect.provideContext(enter({ rate }), one)
      const written = Effect.gen(function*() {
        yield* TestClock.adjust("1 second")
        yield* Effect.promise(() => new Promise((done) => setTimeout(done, 100)))
      })
      for (let i = 0; i < 3; i++) yield* call(a)
      yield* written
      for (let i = 0; i < 3; i++) yield* call(b)
      yield* written
      assert.strictEqual((yield* Effect.flip(call(b)))._tag, "RateLimited")
      yield* process(folder, 0)
      assert.strictEqual((yield* refused(folder))._tag, "RateLimited")
    }).pipe(Effect.scoped))
})
