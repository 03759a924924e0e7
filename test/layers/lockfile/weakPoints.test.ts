// What stores of lockfiles are known to get wrong, each in a test of its own.
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as TestClock from "effect/testing/TestClock"
import * as fs from "node:fs"
import { join } from "node:path"
import { compareLock, showFinding } from "../../../src/services/lockfile/compareLock.ts"
import { hasLink } from "../../../src/services/lockfile/lockReport.ts"
import { frozen, frozenOf, lockText } from "./locks.ts"
import { locksFor, open } from "./lockWorld.ts"
import type { World } from "./lockWorld.ts"
import { settledTest as test } from "./settledTest.ts"

const indexOf = (made: World): Record<string, Record<string, string>> =>
  JSON.parse(made.get("project", ".index.json")!).lockfiles

describe("a weak point of lockfiles that is none here:", () => {
  test("a lock that is named after its chain is written and never found again", (_, store) =>
    Effect.gen(function*() {
      const variant = yield* store.save(frozen({ content: "b" }), { scope: "project", variant: true })
      assert.deepStrictEqual((yield* locksFor(store, { content: "b" }))[0]!.locks, [variant])
    }))

  test(
    "several locks of one version share a key of the index, so that one hides the others",
    (made, store) =>
      Effect.gen(function*() {
        yield* store.save(frozen(), { scope: "project" })
        for (const content of ["b", "c"]) yield* store.save(frozen({ content }), { scope: "project", variant: true })
        assert.deepStrictEqual(
          new Set(Object.values(indexOf(made)).map((entry) => entry["chain_hash"])),
          new Set(["a", "b", "c"].map((content) => frozen({ content }).chain_hash))
        )
      })
  )

  test("locks of nested categories are saved and not listed", (_, store) =>
    Effect.gen(function*() {
      const saved = yield* store.save(frozen({ category: "a/b/c" }), { scope: "project" })
      assert.deepStrictEqual((yield* store.list()).locks.map(({ path }) => path), [saved.path])
      assert.strictEqual((yield* store.prune({ olderThan: -1 })).length, 1)
    }))

  test("the name of a pre-release is read as a version and a hash", (_, store) =>
    Effect.gen(function*() {
      for (const version of ["1.0.0-beta.1", "1.0.0-a.abcdef012345", "1.0.0+build.7.abcdef012345"]) {
        yield* store.save(frozen({ version }), { scope: "project" })
        assert.strictEqual((yield* locksFor(store, { version }))[0]!.locks[0]?.lockfile.root.version, version)
      }
      assert.isTrue((yield* store.list()).locks.every(({ variant }) => !variant))
    }))

  test("every call writes the index", (made, store) =>
    Effect.gen(function*() {
      made.put("project", "math/add@1.0.0.lock.json", lockText())
      for (let i = 0; i < 10; i++) {
        const [project] = yield* locksFor(store)
        yield* store.markValidated(project!.locks[0]!)
      }
      assert.deepStrictEqual(fs.readdirSync(made.folders.project), ["math"])
    }))

  test("two that write the index at once lose what the other wrote", (made, store) =>
    Effect.gen(function*() {
      const { store: other } = yield* open(made)
      const saves = Array.from({ length: 20 }, (_, i) =>
        (i % 2 === 0 ? store : other).save(frozen({ id: `tool_${i}` }), { scope: "project" }))
      yield* Effect.all(saves, { concurrency: "unbounded" })
      yield* store.rebuildIndex
      yield* other.save(frozen({ id: "last" }), { scope: "project" })
      assert.strictEqual(Object.keys(indexOf(made)).length, 21)
    }))

  test("a lock counts as validated because it was loaded", (_, store) =>
    Effect.gen(function*() {
      const saved = yield* store.save(frozen(), { scope: "project" })
      yield* TestClock.adjust("1 day")
      yield* locksFor(store)
      assert.isUndefined((yield* store.list()).locks[0]!.lastValidated)
      yield* store.markValidated(saved)
      assert.isDefined((yield* store.list()).locks[0]!.lastValidated)
    }))

  test("what the index does not know is never pruned", (made, store) =>
    Effect.gen(function*() {
      yield* store.save(frozen({ id: "sub" }), { scope: "project" })
      made.put("project", "math/add@1.0.0.lock.json", lockText({}, "2020-01-01T00:00:00Z"))
      assert.deepStrictEqual((yield* store.prune({ olderThan: 86_400_000 })).map(({ path }) => path), [
        "math/add@1.0.0.lock.json"
      ])
    }))

  test("what only the index knows is an answer", (made, store) =>
    Effect.gen(function*() {
      yield* store.save(frozen(), { scope: "project" })
      fs.rmSync(join(made.folders.project, "math/add@1.0.0.lock.json"))
      assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
      assert.deepStrictEqual((yield* locksFor(store))[0]!.locks, [])
    }))

  test("a lock that cannot be read is passed over for the user's", (made, store) =>
    Effect.gen(function*() {
      yield* store.save(frozen(), { scope: "user" })
      made.put("project", "math/add@1.0.0.lock.json", "{")
      const [project] = yield* locksFor(store)
      assert.deepStrictEqual([project!.scope, project!.locks.length, project!.invalid.length], ["project", 0, 1])
    }))

  test("an empty hash switches the comparison off", (made, store) =>
    Effect.gen(function*() {
      made.put("project", "math/add@1.0.0.lock.json", lockText().replace(/"integrity": "\w+"/g, `"integrity": ""`))
      assert.strictEqual((yield* locksFor(store))[0]!.invalid.length, 1)
    }))

  test("a missing key is a crash", (made, store) =>
    Effect.gen(function*() {
      const keys = Object.keys(JSON.parse(lockText()))
      for (const key of keys) {
        const { [key]: _, ...rest } = JSON.parse(lockText()) as Record<string, unknown>
        made.put("project", "math/add@1.0.0.lock.json", JSON.stringify(rest))
        assert.include((yield* locksFor(store))[0]!.invalid[0]?.issue, key)
      }
    }))

  test("a lock is saved under another id or version than its chain has", (_, store) =>
    Effect.gen(function*() {
      const other = { ...frozen().root, version: "9.9.9" }
      const error = yield* Effect.flip(store.save({ ...frozen(), root: other }, { scope: "project" }))
      assert.strictEqual(error._tag, "LockInvalid")
    }))

  test("another executor, tier or path is the same chain", () =>
    Effect.sync(() => {
      const [leaf, ...rest] = frozen().resolved_chain
      for (const change of [{ executor: "other" }, { tier: "user" as const }, { path: "other.py" }]) {
        assert.strictEqual(compareLock(frozen(), frozenOf([{ ...leaf, ...change }, ...rest])).length, 1)
      }
    }))

  test("nobody can tell what changed", () =>
    Effect.sync(() => {
      const now = frozen({ content: "b", executors: ["node_runtime", "subprocess"] })
      assert.deepStrictEqual(
        compareLock(frozen(), now).map((finding) => showFinding(finding).slice(0, 33)),
        [
          `add: integrity ${frozen().root.integrity.slice(0, 12)} was l`,
          "add: another executor was locked, node_runtime is there",
          "node_runtime: another tool_id was locked",
          `node_runtime: integrity ${frozen().resolved_chain[1]!.integrity.slice(0, 9)}`,
          "node_runtime: another path was locked"
        ].map((line) => line.slice(0, 33))
      )
    }))

  test("a runtime that is signed anew breaks locks that nobody can find", (_, store) =>
    Effect.gen(function*() {
      for (const id of ["add", "sub"]) yield* store.save(frozen({ id }), { scope: "project" })
      yield* store.save(frozen({ id: "get", executors: ["http_client"] }), { scope: "project" })
      const dependents = (yield* store.list()).locks.filter((lock) => hasLink(lock, "python_runtime"))
      assert.deepStrictEqual(dependents.map(({ lockfile }) => lockfile.root.tool_id), ["add", "sub"])
    }))
})
