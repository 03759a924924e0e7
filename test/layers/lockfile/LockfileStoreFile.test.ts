import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { getuid } from "node:process"
import { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import { contract } from "./LockfileStore.contract.ts"
import { frozen, lockText } from "./locks.ts"
import { locksFor, open, world } from "./lockWorld.ts"
import type { World } from "./lockWorld.ts"
import { settledTest as test } from "./settledTest.ts"

contract("LockfileStoreFile", world)

const path = "math/add@1.0.0.lock.json"
const index = ".index.json"

const indexOf = (made: World): Record<string, Record<string, string>> =>
  JSON.parse(made.get("project", index) ?? `{"lockfiles":{}}`).lockfiles

describe("LockfileStoreFile follows no link", () => {
  const outside = (made: World, text = lockText()): string => {
    const file = join(made.folder, "outside.json")
    fs.writeFileSync(file, text)
    return file
  }
  const link = (made: World, target: string, at: string): void => {
    const file = join(made.folders.project, at)
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.symlinkSync(target, file)
  }

  test("in a lockfile's place", (made, store) =>
    Effect.gen(function*() {
      link(made, outside(made), path)
      const [project] = yield* locksFor(store)
      assert.deepStrictEqual(project!.invalid.map((e) => e.issue), ["it is a link"])
      assert.strictEqual((yield* store.list()).invalid.length, 1)
      const refused = yield* Effect.flip(store.save(frozen({ content: "b" }), { scope: "project" }))
      assert.strictEqual(refused._tag, "WriteRefused")
      assert.strictEqual(fs.readFileSync(join(made.folder, "outside.json"), "utf8"), lockText())
    }))

  test("in a category's place", (made, store) =>
    Effect.gen(function*() {
      const folder = join(made.folder, "elsewhere")
      fs.mkdirSync(folder)
      fs.writeFileSync(join(folder, "add@1.0.0.lock.json"), lockText())
      link(made, folder, "math")
      const [project] = yield* locksFor(store)
      assert.deepStrictEqual([project!.locks.length, project!.invalid.length], [0, 1])
      const { invalid, locks } = yield* store.list()
      assert.deepStrictEqual(locks, [])
      assert.deepStrictEqual(invalid.map((e) => [e.lockfile, e.issue, e.remediation]), [
        ["project:lockfiles/math", "it is a link", "Remove or rename project:lockfiles/math"]
      ])
      assert.strictEqual((yield* store.list({ category: "math" })).invalid.length, 1)
      assert.strictEqual(
        (yield* Effect.flip(store.save(frozen({ version: "2.0.0" }), { scope: "project" })))._tag,
        "WriteRefused"
      )
      assert.deepStrictEqual(fs.readdirSync(folder), ["add@1.0.0.lock.json"])
    }))

  test("in the place of all lockfiles", (made, store) =>
    Effect.gen(function*() {
      const folder = join(made.folder, "elsewhere")
      fs.mkdirSync(join(folder, "math"), { recursive: true })
      fs.writeFileSync(join(folder, path), lockText())
      fs.symlinkSync(folder, made.folders.project)
      assert.strictEqual((yield* locksFor(store))[0]!.invalid.length, 1)
      assert.strictEqual((yield* store.list()).invalid.length, 1)
      assert.deepStrictEqual(yield* store.prune({ olderThan: -1 }), [])
      assert.isTrue(fs.existsSync(join(folder, path)))
    }))

  test("in the index's place", (made, store) =>
    Effect.gen(function*() {
      const file = outside(made, "precious")
      link(made, file, index)
      yield* store.save(frozen(), { scope: "project" })
      yield* store.list()
      assert.strictEqual(fs.readFileSync(file, "utf8"), "precious")
    }))
})

describe("LockfileStoreFile tells what is no lockfile", () => {
  const cases: ReadonlyArray<readonly [what: string, make: (file: string) => void, issue: string]> = [
    ["a folder", (file) => fs.mkdirSync(file), "it is not a regular file"],
    ["a pipe, without waiting for it", (file) => execFileSync("mkfifo", [file]), "it is not a regular file"],
    ["what is too large", (file) => fs.writeFileSync(file, " ".repeat(4 * 1024 * 1024) + lockText()), "it is larger"],
    ["what is not UTF-8", (file) => fs.writeFileSync(file, Buffer.from([0x22, 0xff, 0x22])), "it is not UTF-8"]
  ]
  for (const [what, make, issue] of cases) {
    test(what, (made, store) =>
      Effect.gen(function*() {
        const file = join(made.folders.project, path)
        fs.mkdirSync(dirname(file), { recursive: true })
        make(file)
        assert.include((yield* locksFor(store))[0]!.invalid[0]?.issue, issue)
        assert.include((yield* store.list()).invalid[0]?.issue, issue)
        assert.notInclude((yield* store.list()).invalid[0]!.message, made.folder)
      }))
  }

  test("and leaves alone what nobody calls one", (made, store) =>
    Effect.gen(function*() {
      for (
        const name of ["README.md", "math/notes.json", ".gitkeep", ".git/add@1.0.0.lock.json", "math/.x.lock.json"]
      ) {
        made.put("project", name, "x")
      }
      assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
    }))
})

describe("LockfileStoreFile on the path of a call", () => {
  test("reads a file once, and again as soon as it is another", (made, store) =>
    Effect.gen(function*() {
      made.put("project", path, lockText())
      const lock = Effect.map(locksFor(store), ([project]) => project!.locks[0])
      const first = yield* lock
      assert.isDefined(first)
      assert.strictEqual(yield* lock, first)

      // In place, as long as it was, with its old time put back.
      const file = join(made.folders.project, path)
      const { atime, mtime } = fs.statSync(file)
      fs.writeFileSync(file, lockText().replace(`"3.13.1"`, `"3.13.2"`))
      fs.utimesSync(file, atime, mtime)
      assert.strictEqual((yield* lock)?.lockfile.runtime.interpreter?.version, "3.13.2")

      // Replaced by another.
      fs.writeFileSync(`${file}.new`, lockText().replace(`"3.13.1"`, `"3.13.3"`))
      fs.renameSync(`${file}.new`, file)
      assert.strictEqual((yield* lock)?.lockfile.runtime.interpreter?.version, "3.13.3")

      fs.rmSync(file)
      assert.isUndefined(yield* lock)
      made.put("project", path, "no more")
      assert.strictEqual((yield* locksFor(store))[0]!.invalid.length, 1)
    }))

  it.effect("does not believe the times of a file that has just changed", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* TestClock.setTime(Date.now())
      const { store } = yield* open(made)
      made.put("project", path, lockText())
      const lock = Effect.map(locksFor(store), ([project]) => project!.locks[0])
      const first = yield* lock
      assert.notStrictEqual(yield* lock, first)
      yield* TestClock.adjust("1 minute")
      const settled = yield* lock
      assert.strictEqual(yield* lock, settled)
    }))

  test("writes nothing and asks no index", (made, store) =>
    Effect.gen(function*() {
      made.put("project", path, lockText())
      made.put("project", index, "torn {")
      const before = fs.readdirSync(made.folders.project)
      assert.strictEqual((yield* locksFor(store))[0]!.locks.length, 1)
      assert.deepStrictEqual(fs.readdirSync(made.folders.project), before)
      assert.strictEqual(made.get("project", index), "torn {")
    }))
})

describe("LockfileStoreFile's index", () => {
  test("follows every change of a small store, and is no secret", (made, store) =>
    Effect.gen(function*() {
      const saved = yield* store.save(frozen(), { scope: "project" })
      const variant = yield* store.save(frozen({ content: "b" }), { scope: "project", variant: true })
      assert.deepStrictEqual(Object.keys(indexOf(made)), [
        "math/add@1.0.0",
        `math/add@1.0.0.${variant.lockfile.chain_hash}`
      ])
      yield* store.remove(saved)
      assert.deepStrictEqual(Object.keys(indexOf(made)), [`math/add@1.0.0.${variant.lockfile.chain_hash}`])
      yield* store.prune({ olderThan: -1 })
      assert.deepStrictEqual(indexOf(made), {})
    }))

  const cases: ReadonlyArray<readonly [what: string, make: (text: string) => string | undefined]> = [
    ["missing", () => undefined],
    ["empty", () => ""],
    ["torn", (text) => text.slice(0, text.length / 2)],
    ["of another version", (text) => text.replace(`"version": "1"`, `"version": "2"`)],
    ["full of paths that lead elsewhere", (text) => text.replaceAll("math/add@1.0.0.lock", "../../../x@1.0.0.lock")],
    ["about other chains", (text) => text.replace(/"chain_hash": "\w+"/g, `"chain_hash": "abcdef012345"`)],
    ["full of words that are special", (text) => text.replaceAll(`"math/add@1.0.0"`, `"__proto__"`)],
    ["about locks that are gone", (text) => text.replaceAll("math/add", "math/gone")],
    [
      "about times long ago",
      (text) => text.replace(/"last_validated": "[^"]+"/g, `"last_validated": "1970-01-01T00:00:00Z"`)
    ]
  ]
  for (const [what, make] of cases) {
    test(`that is ${what} changes no answer but when a lock last held`, (made) =>
      Effect.gen(function*() {
        const first = yield* open(made)
        yield* first.store.save(frozen(), { scope: "project" })
        const lock = (yield* first.store.list()).locks[0]!
        yield* TestClock.adjust("2 days")
        yield* first.store.markValidated(lock)
        yield* first.end
        const text = make(made.get("project", index)!)
        if (text === undefined) fs.rmSync(join(made.folders.project, index))
        else made.put("project", index, text)

        const second = yield* open(made)
        assert.deepStrictEqual((yield* second.store.list()).locks, [{ ...lock, lastValidated: undefined }])
        assert.deepStrictEqual((yield* locksFor(second.store))[0]!.locks.length, 1)
        // Nothing is older than the file says, whatever the index does.
        assert.deepStrictEqual(yield* second.store.prune({ olderThan: 3 * 86_400_000 }), [])
        yield* second.store.rebuildIndex
        assert.deepStrictEqual(Object.keys(indexOf(made)), ["math/add@1.0.0"])
        assert.isFalse("path" in {})
      }))
  }

  test("is made anew with what the old one knew and the files confirm", (made, store) =>
    Effect.gen(function*() {
      yield* store.save(frozen(), { scope: "project" })
      const other = yield* store.save(frozen({ id: "sub" }), { scope: "project" })
      yield* TestClock.adjust("2 days")
      yield* store.markValidated(other)
      yield* store.rebuildIndex
      made.put("project", "math/new@1.0.0.lock.json", lockText({ id: "new" }))
      fs.rmSync(join(made.folders.project, path))
      const { store: again } = yield* open(made)
      yield* again.rebuildIndex
      assert.deepStrictEqual(Object.keys(indexOf(made)), ["math/new@1.0.0", "math/sub@1.0.0"])
      const held = (yield* again.list({ toolId: "sub" })).locks[0]!.lastValidated
      assert.isDefined(held)
      assert.strictEqual(indexOf(made)["math/sub@1.0.0"]!["last_validated"], held)
      assert.isUndefined((yield* again.list({ toolId: "new" })).locks[0]!.lastValidated)
    }))

  test("hears that a lock held after minutes, and once a day", (made, store) =>
    Effect.gen(function*() {
      const lock = yield* store.save(frozen(), { scope: "project" })
      yield* TestClock.adjust("2 days")
      const before = made.get("project", index)
      yield* store.markValidated(lock)
      assert.strictEqual(made.get("project", index), before)
      yield* TestClock.adjust("6 minutes")
      const after = made.get("project", index)
      assert.notStrictEqual(after, before)
      for (let hour = 0; hour < 23; hour++) {
        yield* store.markValidated(lock)
        yield* TestClock.adjust("1 hour")
      }
      assert.strictEqual(made.get("project", index), after)
      yield* TestClock.adjust("1 hour")
      yield* store.markValidated(lock)
      yield* TestClock.adjust("6 minutes")
      assert.notStrictEqual(made.get("project", index), after)
    }))

  test(
    "hears it when the store closes, from many that are short-lived once a day",
    (made, store) =>
      Effect.gen(function*() {
        const lock = yield* store.save(frozen(), { scope: "project" })
        yield* TestClock.adjust("2 days")
        const life = Effect.gen(function*() {
          const one = yield* open(made)
          yield* one.store.markValidated(lock)
          yield* one.end
        })
        const before = made.get("project", index)
        yield* life
        const after = made.get("project", index)
        assert.notStrictEqual(after, before)
        yield* TestClock.adjust("1 hour")
        yield* life
        assert.strictEqual(made.get("project", index), after)
        // Who reads it later knows.
        const { store: later } = yield* open(made)
        assert.isDefined((yield* later.list()).locks[0]!.lastValidated)
      })
  )

  test("that cannot be written troubles nobody", (made, store) =>
    Effect.gen(function*() {
      fs.mkdirSync(join(made.folders.project, index), { recursive: true })
      const lock = yield* store.save(frozen(), { scope: "project" })
      yield* TestClock.adjust("1 minute")
      yield* store.markValidated(lock)
      yield* TestClock.adjust("1 hour")
      assert.isDefined((yield* store.list()).locks[0]!.lastValidated)
      assert.strictEqual((yield* Effect.flip(store.rebuildIndex))._tag, "WriteRefused")
      assert.deepStrictEqual(fs.readdirSync(join(made.folders.project, index)), [])
    }))

  const unlookable: ReadonlyArray<readonly [what: string, spoil: (ai: string) => void, refused: boolean]> = [
    ["a link to itself", (ai) => fs.symlinkSync(ai, ai), true],
    ["a file", (ai) => fs.writeFileSync(ai, ""), true],
    ["nothing", () => {}, false],
    ["a folder that its user may not enter", (ai) => fs.mkdirSync(ai, { mode: 0 }), getuid?.() !== 0]
  ]
  for (const [what, spoil, refused] of unlookable) {
    test(`is not made anew where .ai is ${what}, and that is no defect`, (made, store) =>
      Effect.gen(function*() {
        const ai = dirname(made.folders.project)
        fs.rmSync(ai, { recursive: true })
        spoil(ai)
        const result = yield* Effect.result(store.rebuildIndex)
        assert.strictEqual(
          Result.isFailure(result) ? result.failure._tag : undefined,
          refused ? "WriteRefused" : undefined
        )
        if (fs.lstatSync(ai, { throwIfNoEntry: false })?.isDirectory() === true) fs.chmodSync(ai, 0o700)
      }))
  }

  test("of a checkout that nobody writes to is not made", (made) =>
    Effect.gen(function*() {
      made.put("project", path, lockText())
      const { end, store } = yield* open(made)
      const lock = (yield* store.list()).locks[0]!
      // A file in the place of the folder of locks: nothing can be locked, as on a disk that is read-only.
      fs.rmSync(join(made.home, "projects"), { recursive: true })
      fs.writeFileSync(join(made.home, "projects"), "")
      yield* store.markValidated(lock)
      yield* end
      assert.strictEqual((yield* store.list()).locks.length, 1)
    }))
})

describe("LockfileStoreFile removes", () => {
  test("no folder that is called like a lockfile, nor what is in it", (made, store) =>
    Effect.gen(function*() {
      made.put("project", `${path}/precious`, "x")
      const error = yield* Effect.flip(store.remove({ scope: "project", path }))
      assert.strictEqual(error._tag, "WriteRefused")
      assert.isDefined(made.get("project", `${path}/precious`))
    }))

  test("a lockfile that is invalid, or a link, when it is asked to", (made, store) =>
    Effect.gen(function*() {
      made.put("project", path, "{")
      yield* store.remove({ scope: "project", path })
      assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
      const target = join(made.folder, "target")
      fs.writeFileSync(target, "precious")
      fs.mkdirSync(join(made.folders.project, "math"))
      fs.symlinkSync(target, join(made.folders.project, path))
      yield* store.remove({ scope: "project", path })
      assert.deepStrictEqual(yield* store.list(), { locks: [], invalid: [] })
      assert.strictEqual(fs.readFileSync(target, "utf8"), "precious")
    }))
})

describe("LockfileStoreFile clears away", () => {
  test("folders that pruning and removing leave empty, and no others", (made, store) =>
    Effect.gen(function*() {
      const deep = yield* store.save(frozen({ category: "a/b/c" }), { scope: "project" })
      yield* store.save(frozen({ category: "a" }), { scope: "project" })
      yield* store.save(frozen({ category: "kept/x" }), { scope: "project" })
      made.put("project", "kept/README.md", "why")
      yield* store.remove(deep)
      assert.deepStrictEqual(fs.readdirSync(join(made.folders.project, "a")), ["add@1.0.0.lock.json"])
      yield* store.prune({ olderThan: -1 })
      assert.deepStrictEqual(fs.readdirSync(made.folders.project).toSorted(), [index, "kept"])
      assert.deepStrictEqual(fs.readdirSync(join(made.folders.project, "kept")), ["README.md"])
    }))

  test("what killed writers left, once nobody can be writing it any more", (made, store) =>
    Effect.gen(function*() {
      const leftover = (at: string, letter: string) => join(made.folders.project, at, `.kiwi-${letter.repeat(24)}.tmp`)
      const files = [leftover("", "a"), leftover("gone/deep", "b"), leftover("math", "c"), leftover("math", "d")]
      made.put("project", path, lockText())
      for (const file of files) {
        fs.mkdirSync(dirname(file), { recursive: true })
        fs.writeFileSync(file, "half a file")
      }
      fs.writeFileSync(join(made.folders.project, "math/.kiwi-notes.tmp"), "mine")
      const minutesAgo = (minutes: number) => (Date.now() + 60_000) / 1000 - minutes * 60
      for (const file of files.slice(0, 3)) fs.utimesSync(file, minutesAgo(11), minutesAgo(11))
      fs.utimesSync(files[3]!, minutesAgo(9), minutesAgo(9))
      assert.deepStrictEqual((yield* store.list()).invalid, [])
      yield* store.prune({ olderThan: 0, dryRun: true })
      assert.isTrue(fs.existsSync(files[0]!))
      yield* store.prune({ olderThan: Infinity })
      assert.deepStrictEqual(files.map((file) => fs.existsSync(file)), [false, false, false, true])
      assert.isFalse(fs.existsSync(join(made.folders.project, "gone")))
      assert.isTrue(fs.existsSync(join(made.folders.project, "math/.kiwi-notes.tmp")))
      assert.strictEqual((yield* store.list()).locks.length, 1)
    }))
})

describe("LockfileStoreFile between processes", () => {
  it.live("locks in Kiwi's own folder and leaves nothing but lockfiles in the repository", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* Effect.provide(
        Effect.flatMap(
          LockfileStore,
          (store) => Effect.andThen(store.save(frozen(), { scope: "project" }), store.save(frozen(), { scope: "user" }))
        ),
        made.layerProcess
      )
      assert.deepStrictEqual(fs.readdirSync(join(made.root, ".ai"), { recursive: true }).toSorted(), [
        "lockfiles",
        `lockfiles/${index}`,
        "lockfiles/math",
        `lockfiles/${path}`
      ])
      const locks = fs.globSync("**/lockfiles.lock", { cwd: made.home }).toSorted()
      assert.strictEqual(locks.length, 2)
      assert.strictEqual(locks[1], "user/lockfiles.lock")
      for (const lock of locks) assert.strictEqual(fs.statSync(join(made.home, lock)).mode & 0o777, 0o600)
    }))

  test("says when it cannot lock", (made, store) =>
    Effect.gen(function*() {
      yield* store.save(frozen(), { scope: "project" })
      const process = yield* Effect.provide(LockfileStore, made.layerProcess)
      const state = fs.globSync("projects/*/", { cwd: made.home }).find((folder) => !folder.includes("index"))
      fs.mkdirSync(join(made.home, state!, "lockfiles.lock"))
      const error = yield* Effect.flip(process.save(frozen(), { scope: "project" }))
      assert.strictEqual(error._tag, "LockUnavailable")
    }))
})

describe("The paths of lockfiles", () => {
  const paths = (store: LockfileStore["Service"]) => Effect.map(store.paths("project"), (found) => found.toSorted())

  test(
    "are the same array until a folder changes, and name what cannot be used",
    (made, store) =>
      Effect.gen(function*() {
        const root = made.folders.project
        const at = (name: string) => join(root, name)
        const write = (name: string) => {
          fs.mkdirSync(dirname(at(name)), { recursive: true })
          fs.writeFileSync(at(name), "no lock")
        }
        fs.rmSync(root, { recursive: true, force: true })
        const changes: ReadonlyArray<readonly [name: string, change: () => void, paths: ReadonlyArray<string>]> = [
          ["no folder", () => {}, []],
          ["an empty folder", () => fs.mkdirSync(root, { recursive: true }), []],
          ["a file", () => write(path), [path]],
          ["another in the same folder", () => write("math/b@1.lock.json"), [path, "math/b@1.lock.json"]],
          ["a file below", () => write("a/b/c@1.lock.json"), ["a/b/c@1.lock.json", path, "math/b@1.lock.json"]],
          ["other files", () => write("math/notes.txt"), ["a/b/c@1.lock.json", path, "math/b@1.lock.json"]],
          ["a file gone", () => fs.rmSync(at(path)), ["a/b/c@1.lock.json", "math/b@1.lock.json"]],
          ["a folder renamed", () => fs.renameSync(at("a/b"), at("a/d")), ["a/d/c@1.lock.json", "math/b@1.lock.json"]],
          ["a link", () => fs.symlinkSync(root, at("say yes")), ["a/d/c@1.lock.json", "math/b@1.lock.json", "say yes"]],
          ["a folder that is called so", () => fs.mkdirSync(at("f@1.lock.json")), [
            "a/d/c@1.lock.json",
            "f@1.lock.json",
            "math/b@1.lock.json",
            "say yes"
          ]],
          ["all gone", () => fs.rmSync(root, { recursive: true }), []]
        ]
        for (const [name, change, expected] of changes) {
          yield* TestClock.setTime(Date.now())
          yield* paths(store)
          change()
          assert.deepStrictEqual(yield* paths(store), [...expected].toSorted(), name)
          yield* TestClock.setTime(Date.now() + 2_100)
          const before = yield* store.paths("project")
          assert.strictEqual(yield* store.paths("project"), before, name)
        }
        assert.deepStrictEqual(yield* store.paths("user"), [])
      })
  )
})
