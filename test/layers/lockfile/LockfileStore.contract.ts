import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { Layer, Scope } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import type { LockScope, ScopeLocks, StoredLock } from "../../../src/services/lockfile/LockfileStore.ts"
import { keyOf } from "../../../src/services/lockfile/lockName.ts"
import { frozen, lockfile, lockText } from "./locks.ts"

export interface LockWorld {
  readonly layer: Layer.Layer<LockfileStore>
  /** The same world without a project. */
  readonly alone: Layer.Layer<LockfileStore>
  readonly put: (scope: LockScope, path: string, text: string) => void
  readonly get: (scope: LockScope, path: string) => string | undefined
}

type Store = LockfileStore["Service"]

const start = Date.parse("2026-11-22T10:00:00.000Z")
const day = 24 * 60 * 60 * 1000

const paths = (locks: ReadonlyArray<StoredLock>) => locks.map(({ path, scope }) => `${scope}:${path}`)

/** What every store does. `makeWorld` gives empty folders. */
export const contract = (name: string, makeWorld: Effect.Effect<LockWorld, never, Scope.Scope>) => {
  const test = <A, E>(
    title: string,
    body: (store: Store, world: LockWorld) => Effect.Effect<A, E, Scope.Scope>
  ) =>
    it.effect(title, () =>
      Effect.gen(function*() {
        const world = yield* makeWorld
        yield* TestClock.setTime(start)
        return yield* Effect.provide(Effect.flatMap(LockfileStore, (store) => body(store, world)), world.layer)
      }))

  const locksFor = (store: Store, made: Parameters<typeof frozen>[0] = {}) => {
    const now = frozen(made)
    return store.locksFor(keyOf(now), now.chain_hash)
  }
  const inScope = (found: ReadonlyArray<ScopeLocks>, scope: LockScope) => found.find((one) => one.scope === scope)!
  const count = (found: ReadonlyArray<ScopeLocks>) => found.map((s) => [s.scope, s.locks.length, s.invalid.length])

  describe(`${name} keeps locks`, () => {
    test("writes one, and finds it again", (store, world) =>
      Effect.gen(function*() {
        const saved = yield* store.save(frozen(), { scope: "project" })
        assert.deepStrictEqual(
          [saved.path, saved.scope, saved.variant],
          ["math/add@1.0.0.lock.json", "project", false]
        )
        assert.strictEqual(saved.lockfile.generated_at, "2026-11-22T10:00:00.000Z")
        assert.strictEqual(
          world.get("project", "math/add@1.0.0.lock.json"),
          lockText({}, "2026-11-22T10:00:00.000Z")
        )
        const found = yield* locksFor(store)
        assert.deepStrictEqual(count(found), [["project", 1, 0], ["user", 0, 0]])
        assert.deepStrictEqual(found[0]!.locks, [saved])
      }))

    test(
      "asks last, when nobody else can write: of many first locks one is written",
      (store, world) =>
        Effect.gen(function*() {
          const isFirst = Effect.flatMap(
            locksFor(store),
            (found) => inScope(found, "project").locks.length === 0 ? Effect.void : Effect.fail("there is one")
          )
          const contents = Array.from({ length: 20 }, (_, i) => `content ${i}`)
          const results = yield* Effect.forEach(
            contents,
            (content) => Effect.result(store.save(frozen({ content }), { scope: "project", provided: isFirst })),
            {
              concurrency: "unbounded"
            }
          )
          const written = results.flatMap((result) => Result.isSuccess(result) ? [result.success] : [])
          assert.lengthOf(written, 1)
          const text = world.get("project", "math/add@1.0.0.lock.json")
          assert.include(text, written[0]?.lockfile.root.integrity ?? "none")
        })
    )

    test("answers with nothing where there is nothing", (store) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(count(yield* locksFor(store)), [["project", 0, 0], ["user", 0, 0]])
        assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
        assert.deepStrictEqual(yield* store.prune({ olderThan: 0 }), [])
        yield* store.remove({ scope: "project", path: "math/add@1.0.0.lock.json" })
        yield* store.rebuildIndex
      }))

    test("replaces the lock of a version, and keeps variants beside it", (store, world) =>
      Effect.gen(function*() {
        yield* store.save(frozen({ content: "old" }), { scope: "project" })
        yield* store.save(frozen({ content: "new" }), { scope: "project" })
        const other = frozen({ content: "other" })
        const saved = yield* store.save(other, { scope: "project", variant: true })
        const path = `math/add@1.0.0.${other.chain_hash}.lock.json`
        assert.deepStrictEqual([saved.path, saved.variant], [path, true])
        const found = inScope(yield* locksFor(store, { content: "other" }), "project")
        assert.deepStrictEqual(paths(found.locks), ["project:math/add@1.0.0.lock.json", `project:${path}`])
        assert.deepStrictEqual(found.locks[0]!.lockfile.root, frozen({ content: "new" }).root)
        // Another chain of that version is held against the lock of the version alone.
        assert.strictEqual(inScope(yield* locksFor(store, { content: "third" }), "project").locks.length, 1)
        assert.isDefined(world.get("project", path))
      }))

    test("keeps the scopes apart, project first", (store) =>
      Effect.gen(function*() {
        yield* store.save(frozen({ content: "user" }), { scope: "user" })
        yield* store.save(frozen({ content: "project" }), { scope: "project" })
        const found = yield* locksFor(store)
        assert.deepStrictEqual(found.map(({ scope }) => scope), ["project", "user"])
        assert.deepStrictEqual(found.map(({ locks }) => locks[0]?.lockfile.root.integrity), [
          frozen({ content: "project" }).root.integrity,
          frozen({ content: "user" }).root.integrity
        ])
      }))

    test("has no project's locks without a project", (store, world) =>
      Effect.gen(function*() {
        yield* store.save(frozen(), { scope: "project" })
        const alone = yield* Effect.provide(LockfileStore, world.alone)
        assert.deepStrictEqual(count(yield* locksFor(alone)), [["user", 0, 0]])
        const refused = yield* Effect.flip(alone.save(frozen(), { scope: "project" }))
        assert.strictEqual(refused._tag, "LockScopeMissing")
        assert.strictEqual((yield* Effect.flip(alone.prune({ scope: "project", olderThan: 0 })))._tag, refused._tag)
        yield* alone.save(frozen(), { scope: "user" })
        assert.strictEqual((yield* alone.list()).locks.length, 1)
      }))

    test("removes one, and nothing that is no lockfile", (store, world) =>
      Effect.gen(function*() {
        const saved = yield* store.save(frozen(), { scope: "project" })
        yield* store.save(frozen({ id: "sub" }), { scope: "project" })
        yield* store.remove(saved)
        assert.deepStrictEqual(paths((yield* store.list()).locks), ["project:math/sub@1.0.0.lock.json"])
        for (const path of ["math", ".index.json", "../tools/add.py", "math/../../x@1.0.0.lock.json", ""]) {
          const error = yield* Effect.flip(store.remove({ scope: "project", path }))
          assert.strictEqual(error._tag, "WriteRefused", path)
        }
        assert.isDefined(world.get("project", "math/sub@1.0.0.lock.json"))
      }))

    test("does not freeze what it could not read again", (store, world) =>
      Effect.gen(function*() {
        const long = `1.0.0-${"a".repeat(64)}+${"b".repeat(64)}`
        for (
          const bad of [
            frozen({ version: "1/2" }),
            frozen({ version: "../1" }),
            frozen({ id: "Add" }),
            frozen({ category: "../x" }),
            frozen({ category: "" }),
            frozen({ id: "a".repeat(128), version: long }),
            { ...frozen(), chain_hash: "abcdef012345" }
          ]
        ) {
          const error = yield* Effect.flip(store.save(bad, { scope: "project" }))
          assert.strictEqual(error._tag, "LockInvalid")
        }
        assert.deepStrictEqual((yield* store.list()).locks, [])
        assert.isUndefined(world.get("project", "x/add@1.0.0.lock.json"))
      }))

    test(
      "tells a pre-release whose last word looks like a hash from a variant, by content",
      (store, world) =>
        Effect.gen(function*() {
          const plain = frozen({ version: "1.0.0-a.abcdef012345" })
          yield* store.save(plain, { scope: "project" })
          const found = yield* store.list()
          assert.deepStrictEqual(found.locks.map(({ lockfile: l, variant }) => [l.root.version, variant]), [
            ["1.0.0-a.abcdef012345", false]
          ])
          assert.strictEqual((yield* locksFor(store, { version: "1.0.0-a.abcdef012345" }))[0]!.locks.length, 1)
          // A chain of 1.0.0-a that happens to have that hash is not held against it, nor does it replace it.
          const key = { toolId: "add", version: "1.0.0-a", category: "math" }
          assert.deepStrictEqual(count(yield* store.locksFor(key, "abcdef012345"))[0], ["project", 0, 0])

          const variant = frozen({ version: "2.0.0-b" })
          const path = `math/add@2.0.0-b.${variant.chain_hash}.lock.json`
          yield* store.save(variant, { scope: "project", variant: true })
          const taken = frozen({ version: `2.0.0-b.${variant.chain_hash}` })
          const error = yield* Effect.flip(store.save(taken, { scope: "project" }))
          assert.deepStrictEqual(
            [error._tag, error._tag === "WriteRefused" ? error.issue : ""],
            ["WriteRefused", "exists"]
          )
          assert.include(world.get("project", path) ?? "", `"version": "2.0.0-b"`)
        })
    )
  })

  describe(`${name} lists locks`, () => {
    test("of any depth, dotted ids, builds and variants, in the order of their versions", (store) =>
      Effect.gen(function*() {
        const versions = ["1.10.0", "1.9.0", "1.9.0-rc.2", "1.9.0-rc.10", "1.9.0+build.2", "1.9.0+build.1"]
        for (const version of versions) yield* store.save(frozen({ version }), { scope: "project" })
        yield* store.save(frozen({ version: "1.9.0", content: "b" }), { scope: "project", variant: true })
        yield* store.save(frozen({ id: "filesystem.read", category: "a/b/c/d/e" }), { scope: "project" })
        yield* store.save(frozen({ category: "a" }), { scope: "user" })
        const { invalid, locks } = yield* store.list()
        assert.deepStrictEqual(invalid, [])
        assert.deepStrictEqual(paths(locks), [
          "project:a/b/c/d/e/filesystem.read@1.0.0.lock.json",
          "project:math/add@1.9.0-rc.2.lock.json",
          "project:math/add@1.9.0-rc.10.lock.json",
          "project:math/add@1.9.0.lock.json",
          `project:math/add@1.9.0.${frozen({ version: "1.9.0", content: "b" }).chain_hash}.lock.json`,
          "project:math/add@1.9.0+build.1.lock.json",
          "project:math/add@1.9.0+build.2.lock.json",
          "project:math/add@1.10.0.lock.json",
          "user:a/add@1.0.0.lock.json"
        ])
      }))

    test("by scope, category and those below it, tool and version", (store) =>
      Effect.gen(function*() {
        for (const category of ["a", "a/b", "ab", "tools"]) {
          yield* store.save(frozen({ category }), { scope: "project" })
        }
        yield* store.save(frozen({ category: "a", id: "sub", version: "2.0.0" }), { scope: "user" })
        const listed = (filter: Parameters<Store["list"]>[0]) =>
          Effect.map(store.list(filter), ({ locks }) => paths(locks))
        assert.deepStrictEqual(yield* listed({ category: "a" }), [
          "project:a/add@1.0.0.lock.json",
          "project:a/b/add@1.0.0.lock.json",
          "user:a/sub@2.0.0.lock.json"
        ])
        assert.deepStrictEqual(yield* listed({ scope: "user" }), ["user:a/sub@2.0.0.lock.json"])
        assert.deepStrictEqual(yield* listed({ toolId: "sub" }), ["user:a/sub@2.0.0.lock.json"])
        assert.deepStrictEqual(yield* listed({ version: "2.0.0" }), ["user:a/sub@2.0.0.lock.json"])
        assert.deepStrictEqual(yield* listed({ category: "a/b", scope: "project" }), [
          "project:a/b/add@1.0.0.lock.json"
        ])
        for (const category of ["..", "../..", "a/../..", "/", "nothing", "a/"]) {
          assert.deepStrictEqual(yield* store.list({ category }), { locks: [], invalid: [] }, category)
        }
      }))

    test("many at once, each with its own answer", (store, world) =>
      Effect.gen(function*() {
        world.put("project", "math/t7@1.0.0.lock.json", lockText({ id: "other" }))
        const ids = Array.from({ length: 80 }, (_, index) => `t${index}`)
        const results = yield* store.saveAll([
          ...ids.map((id, index) => ({
            frozen: frozen({ id, category: index % 2 === 0 ? "math" : "even/deeper" }),
            scope: index % 5 === 0 ? "user" as const : "project" as const
          })),
          { frozen: frozen({ category: "../out" }), scope: "project" }
        ])
        assert.lengthOf(results, ids.length + 1)
        for (const [index, result] of results.entries()) {
          if (index === ids.length) {
            assert.isTrue(Result.isFailure(result))
            continue
          }
          const saved = Result.getOrThrow(result)
          assert.strictEqual(saved.lockfile.root.tool_id, `t${index}`)
          assert.include(world.get(saved.scope, saved.path), `"tool_id": "t${index}"`)
        }
        const { locks } = yield* store.list()
        assert.strictEqual(locks.length, ids.length)
        assert.deepStrictEqual(yield* store.saveAll([]), [])
      }))
  })

  describe(`${name} saves many`, () => {
    test(
      "each where what it was provided with holds, under the lock that they are written under",
      (store, world) =>
        Effect.gen(function*() {
          const ids = ["a", "b", "c", "d"]
          const answer = (id: string) => id === "b" || id === "d" ? Effect.fail(`not ${id}`) : Effect.void
          const results = yield* store.saveAll([
            ...ids.map((id, index) => ({
              frozen: frozen({ id }),
              scope: index < 3 ? "project" as const : "user" as const,
              variant: id === "c",
              provided: answer(id)
            })),
            { frozen: frozen({ id: "e" }), scope: "user" }
          ])
          assert.deepStrictEqual(
            results.map((result) => Result.isFailure(result) ? result.failure : result.success.path),
            [
              "math/a@1.0.0.lock.json",
              "not b",
              `math/c@1.0.0.${frozen({ id: "c" }).chain_hash}.lock.json`,
              "not d",
              "math/e@1.0.0.lock.json"
            ]
          )
          assert.isUndefined(world.get("project", "math/b@1.0.0.lock.json"))
          assert.isUndefined(world.get("user", "math/d@1.0.0.lock.json"))
          assert.lengthOf((yield* store.list()).locks, 3)
        })
    )

    test("of two that ask for a first lock of the same tool, one each time", (store) =>
      Effect.gen(function*() {
        const isFirst = Effect.filterOrFail(locksFor(store), (found) => found[0]!.locks.length === 0).pipe(
          Effect.asVoid
        )
        const saving = (content: string) =>
          store.saveAll([{ frozen: frozen({ content }), scope: "project", provided: isFirst }])
        const results = yield* Effect.forEach(["x", "y", "z"], saving, { concurrency: "unbounded" })
        assert.lengthOf(results.flat().filter(Result.isSuccess), 1)
      }))
  })

  describe(`${name} refuses`, () => {
    const text = lockText()
    const changed = (change: (l: Record<string, unknown>) => void): string => {
      const copy = JSON.parse(text) as Record<string, unknown>
      change(copy)
      return JSON.stringify(copy)
    }
    const link = (l: Record<string, unknown>, i: number) => (l["resolved_chain"] as Array<Record<string, unknown>>)[i]!
    const path = "math/add@1.0.0.lock.json"
    const cases: ReadonlyArray<readonly [what: string, text: string, issue: string, at?: string]> = [
      ["an empty file", "", "it is not JSON"],
      ["half a file", text.slice(0, text.length / 2), "it is not JSON"],
      ["a list", "[]", "it is not an object"],
      ["another version of the format", changed((l) => l["lockfile_version"] = 2), "lockfile_version"],
      ["a missing key", changed((l) => delete l["runtime"]), "runtime is missing"],
      ["a tier that is none", changed((l) => link(l, 1)["tier"] = "root"), "resolved_chain[1].tier"],
      ["an empty chain", changed((l) => l["resolved_chain"] = []), "resolved_chain"],
      ["an empty hash", changed((l) => link(l, 0)["integrity"] = ""), "resolved_chain[0].integrity"],
      [
        "a root that is another",
        changed((l) => l["root"] = { ...l["root"] as object, version: "1.0.1" }),
        "root is not the first link"
      ],
      ["a chain hash that is not of the chain", changed((l) => l["chain_hash"] = "abcdef012345"), "chain_hash"],
      ["a link that was changed alone", changed((l) => link(l, 1)["version"] = "2.0.1"), "chain_hash"],
      ["executors that lead elsewhere", changed((l) => link(l, 0)["executor"] = "subprocess"), "[0].executor"],
      ["a primitive with an executor", changed((l) => link(l, 2)["executor"] = "more"), "[2].executor"],
      ["a chain that goes on", changed((l) => (l["resolved_chain"] as Array<unknown>).pop()), "[1].executor"],
      ["the lock of another version", text, "another tool, version", "math/add@1.0.1.lock.json"],
      ["the lock of another tool", text, "another tool, version", "math/sub@1.0.0.lock.json"],
      ["the lock of another category", text, "another tool, version", "maths/add@1.0.0.lock.json"],
      ["a variant under another hash", text, "another tool, version", "math/add@1.0.0.abcdef012345.lock.json"],
      ["a name without a version", text, "not called", "math/add.lock.json"],
      ["a name with a blank", text, "not called", "math/a dd@1.0.0.lock.json"],
      ["a lock outside of every category", text, "not called", "add@1.0.0.lock.json"]
    ]
    for (const [what, content, issue, at = path] of cases) {
      test(what, (store, world) =>
        Effect.gen(function*() {
          // The user's lock of the same tool is no way out.
          yield* store.save(frozen(), { scope: "user" })
          world.put("project", at, content)
          const { invalid } = yield* store.list({ scope: "project" })
          assert.deepStrictEqual(invalid.map((e) => e.lockfile), [`project:lockfiles/${at}`])
          assert.include(invalid[0]!.issue, issue)
          if (at === path) {
            const [project] = yield* locksFor(store)
            assert.deepStrictEqual([project!.scope, project!.locks.length], ["project", 0])
            assert.deepStrictEqual(project!.invalid.map((e) => e.issue), [invalid[0]!.issue])
          }
          // Nothing removes it but a person.
          yield* store.prune({ olderThan: -day })
          assert.isDefined(world.get("project", at))
        }))
    }

    test("nothing for keys that it does not know, or that are there twice", (store, world) =>
      Effect.gen(function*() {
        const more = changed((l) => {
          l["comment"] = { deep: [[[[1]]]] }
          link(l, 0)["comment"] = 1
        })
        world.put(
          "project",
          path,
          more.replace("{", `{"__proto__": {"chain_hash": 1}, "root": 5, "lockfile_version": 9,`)
        )
        const [project] = yield* locksFor(store)
        assert.deepStrictEqual(project!.invalid, [])
        assert.deepStrictEqual(project!.locks[0]?.lockfile, lockfile())
      }))

    test("nesting without an end, without falling over", (store, world) =>
      Effect.gen(function*() {
        const depth = 200_000
        world.put("project", path, text.replace("{", `{"x": ${"[".repeat(depth)}${"]".repeat(depth)},`))
        const [project] = yield* locksFor(store)
        assert.strictEqual(project!.locks.length + project!.invalid.length, 1)
      }))

    test("to quote what a file says", (store, world) =>
      Effect.gen(function*() {
        world.put("project", path, "secret_token=abc\n")
        world.put("project", "math/sub@1.0.0.lock.json", changed((l) => l["chain_hash"] = "secret_token"))
        for (const error of (yield* store.list()).invalid) assert.notInclude(error.message, "secret")
      }))
  })

  describe(`${name} prunes`, () => {
    const at = (days: number) => new Date(start - days * day).toISOString()
    const put = (world: LockWorld, id: string, generatedAt: string, scope: LockScope = "project", category = "math") =>
      world.put(scope, `${category}/${id}@1.0.0.lock.json`, lockText({ id, category }, generatedAt))

    test("what is strictly older, in both scopes, and says what", (store, world) =>
      Effect.gen(function*() {
        put(world, "new", at(1))
        put(world, "edge", at(90))
        put(world, "old", at(91))
        put(world, "mine", at(100), "user")
        const input = { olderThan: 90 * day }
        const expected = ["project:math/old@1.0.0.lock.json", "user:math/mine@1.0.0.lock.json"]
        assert.deepStrictEqual(paths(yield* store.prune({ ...input, dryRun: true })), expected)
        assert.strictEqual((yield* store.list()).locks.length, 4)
        assert.deepStrictEqual(paths(yield* store.prune({ ...input, scope: "user" })), [expected[1]])
        assert.deepStrictEqual(paths(yield* store.prune(input)), [expected[0]])
        assert.deepStrictEqual(paths((yield* store.list()).locks), [
          "project:math/edge@1.0.0.lock.json",
          "project:math/new@1.0.0.lock.json"
        ])
        assert.isUndefined(world.get("project", "math/old@1.0.0.lock.json"))
      }))

    test("a category and those below it alone", (store, world) =>
      Effect.gen(function*() {
        for (const category of ["a", "a/b", "ab"]) put(world, "old", at(91), "project", category)
        assert.deepStrictEqual(paths(yield* store.prune({ olderThan: 90 * day, category: "a" })), [
          "project:a/old@1.0.0.lock.json",
          "project:a/b/old@1.0.0.lock.json"
        ])
        assert.deepStrictEqual(yield* store.prune({ olderThan: 0, category: "../.." }), [])
        assert.strictEqual((yield* store.list()).locks.length, 1)
      }))

    test("not what held since, nor what does not say how old it is", (store, world) =>
      Effect.gen(function*() {
        put(world, "held", at(91))
        for (const time of ["", "1", "yesterday", "2020-01-01", "2020-01-01T00:00:00", "2020-13-01T00:00:00Z"]) {
          put(world, `open${time.replace(/[^0-9a-z]/gi, "").toLowerCase()}`, time)
        }
        put(world, "python", "2020-01-01T00:00:00.123456+00:00")
        const held = (yield* store.list({ toolId: "held" })).locks[0]!
        assert.isUndefined(held.lastValidated)
        yield* store.markValidated(held)
        assert.deepStrictEqual(paths(yield* store.prune({ olderThan: 90 * day })), [
          "project:math/python@1.0.0.lock.json"
        ])
        assert.strictEqual((yield* store.list({ toolId: "held" })).locks[0]!.lastValidated, at(0))
        yield* TestClock.adjust("91 days")
        assert.deepStrictEqual(paths(yield* store.prune({ olderThan: 90 * day })), [
          "project:math/held@1.0.0.lock.json"
        ])
      }))
  })

  describe(`${name} remembers`, () => {
    test("when a lock last held, until it says something else", (store) =>
      Effect.gen(function*() {
        const saved = yield* store.save(frozen(), { scope: "project" })
        const last = Effect.map(store.list(), ({ locks }) => locks[0]!.lastValidated)
        assert.isUndefined(yield* last)
        yield* TestClock.adjust("1 hour")
        yield* store.markValidated(saved)
        assert.strictEqual(yield* last, "2026-11-22T11:00:00.000Z")
        yield* TestClock.adjust("1 hour")
        yield* store.markValidated(saved)
        assert.strictEqual(yield* last, "2026-11-22T12:00:00.000Z")
        yield* store.rebuildIndex
        assert.strictEqual(yield* last, "2026-11-22T12:00:00.000Z")
        yield* store.save(frozen({ content: "other" }), { scope: "project" })
        assert.isUndefined(yield* last)
        // It held, but it no longer exists.
        yield* store.markValidated(saved)
        assert.isUndefined(yield* last)
      }))

    test("nothing of a lock that is gone", (store) =>
      Effect.gen(function*() {
        const saved = yield* store.save(frozen(), { scope: "user" })
        yield* store.remove(saved)
        yield* store.markValidated(saved)
        assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
        yield* store.rebuildIndex
        assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
      }))
  })

  describe(`${name} is written to by many fibers`, () => {
    test("and loses nothing", (store) =>
      Effect.gen(function*() {
        const saves = Array.from({ length: 30 }, (_, i) =>
          Effect.result(store.save(frozen({ id: `tool_${i % 10}`, content: `${i}` }), { scope: "project" })))
        const results = yield* Effect.all(saves, { concurrency: "unbounded" })
        assert.isTrue(results.every(Result.isSuccess))
        assert.strictEqual((yield* store.list()).locks.length, 10)
      }))
  })
}
