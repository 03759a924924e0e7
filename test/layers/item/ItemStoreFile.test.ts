import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Queue, Schedule, Stream } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Net from "node:net"
import { ItemUnreadable } from "../../../src/services/item/ItemErrors.ts"
import type { Tier } from "../../../src/services/item/ItemId.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { contract } from "./ItemStore.contract.ts"
import { makeDisk, storeOf, storeOn } from "./onDisk.ts"
import type { Disk } from "./onDisk.ts"

contract("ItemStoreFile", storeOf)

const using = <A, E, R>(body: (disk: Disk, store: ItemStore["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const disk = yield* makeDisk
    return yield* Effect.flatMap(ItemStore, (store) => body(disk, store)).pipe(Effect.provide(storeOn(disk)))
  })

const unreadable = <A>(effect: Effect.Effect<A, unknown>) =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.instanceOf(error, ItemUnreadable)
    return error as ItemUnreadable
  })

const findAndRead = (store: ItemStore["Service"], id: string) =>
  Effect.flatMap(store.find({ id }), (found) => store.read(found.location))

const textOf = (store: ItemStore["Service"], id: string) =>
  Effect.map(findAndRead(store, id), (snapshot) => new TextDecoder().decode(snapshot.bytes))

/** After two seconds without a change, what is known of a folder is answered from memory. */
const settle = Effect.suspend(() => TestClock.setTime(Date.now() + 2100))
/** The clock of the disk. */
const now = Effect.suspend(() => TestClock.setTime(Date.now()))

describe("a listing is never stale", () => {
  it.effect("files and folders that come and go are seen by the next call", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const exists = (id: string) => Effect.map(Effect.result(store.find({ id })), (r) => r._tag === "Success")
        yield* now
        assert.isFalse(yield* exists("a"))
        disk.write("project", "tools/a.py", "x")
        assert.isTrue(yield* exists("a"))
        yield* settle
        assert.isTrue(yield* exists("a"))
        assert.isTrue(yield* exists("a"))
        yield* now
        disk.write("project", "tools/b.py", "x")
        disk.write("project", "tools/new/deep/c.py", "x")
        disk.write("user", "tools/d.py", "x")
        for (const id of ["a", "b", "c", "d"]) assert.isTrue(yield* exists(id), id)
        yield* settle
        for (const id of ["a", "b", "c", "d"]) assert.isTrue(yield* exists(id), id)
        yield* now
        Fs.renameSync(`${disk.root("project")}/tools/new`, `${disk.root("project")}/tools/moved`)
        assert.isTrue(yield* exists("moved/deep/c"))
        assert.isFalse(yield* exists("new/deep/c"))
        Fs.rmSync(`${disk.root("project")}/tools/a.py`)
        assert.isFalse(yield* exists("a"))
        disk.write("project", "tools/moved/tool.yaml", "tool_id: moved\n")
        assert.isTrue(yield* exists("moved"))
        assert.isFalse(yield* exists("c"))
        Fs.rmSync(`${disk.root("project")}/tools/moved/tool.yaml`)
        assert.isTrue(yield* exists("c"))
        Fs.rmSync(disk.root("project"), { recursive: true })
        assert.isFalse(yield* exists("b"))
        disk.write("project", "tools/b.py", "x")
        assert.isTrue(yield* exists("b"))
      })
    ))

  it.effect("a listing is the same object until something in it changes, also where a type has no folder", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const root = disk.root("project")
        const listed = Effect.map(store.listings("project"), (all) => ({
          all,
          ids: all.flatMap(({ byId }) => [...byId.keys()]),
          problems: all.flatMap(({ problems }) => problems.map(({ item }) => item))
        }))
        const isSame = Effect.map(
          Effect.all([listed, listed]),
          ([before, after]) => before.all.every((one, index) => one === after.all[index])
        )
        const changes: ReadonlyArray<readonly [name: string, change: () => void, ids: string, problems?: string]> = [
          ["nothing there", () => {}, ""],
          ["a tier's folder", () => Fs.mkdirSync(root, { recursive: true }), ""],
          ["a type's folder", () => Fs.mkdirSync(`${root}/tools`), ""],
          ["a file in it", () => disk.write("project", "tools/a.py", "x"), "a"],
          ["the folder gone", () => Fs.renameSync(`${root}/tools`, `${root}/old`), ""],
          ["the folder back", () => Fs.renameSync(`${root}/old`, `${root}/tools`), "a"],
          ["a file in its place", () => {
            Fs.rmSync(`${root}/tools`, { recursive: true })
            Fs.writeFileSync(`${root}/tools`, "")
          }, ""],
          [
            "a link in its place",
            () => {
              Fs.rmSync(`${root}/tools`)
              Fs.symlinkSync(disk.root("user"), `${root}/tools`)
            },
            "",
            "project:tools/"
          ],
          ["nothing in its place", () => Fs.rmSync(`${root}/tools`), ""],
          ["another type's folder", () => disk.write("project", "knowledge/k.md", "x"), "k"],
          ["the tier's folder gone", () => Fs.renameSync(root, `${root}-old`), ""],
          ["another in its place", () => Fs.mkdirSync(`${root}/directives`, { recursive: true }), ""],
          ["an item in that", () => disk.write("project", "directives/d.md", "x"), "d"]
        ]
        for (const [name, change, ids, problems = ""] of changes) {
          yield* now
          const before = yield* listed
          change()
          const after = yield* listed
          assert.strictEqual(after.ids.join(), ids, name)
          assert.strictEqual(after.problems.join(), problems, name)
          if (ids !== before.ids.join() || problems !== before.problems.join()) {
            assert.isFalse(before.all.every((one, index) => one === after.all[index]), name)
          }
          yield* settle
          yield* listed
          if (problems === "") assert.isTrue(yield* isSame, name)
        }
      })
    ))

  it.effect("a lookup ends otherwise where another tier's folder has no folder of the type", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const root = disk.root("project")
        const elsewhere = `${root}-elsewhere`
        disk.write("project", "tools/a.py", "x")
        yield* settle
        for (let times = 0; times < 2; times++) assert.strictEqual((yield* store.find({ id: "a" })).location.id, "a")
        const before = yield* store.listings("project")
        Fs.renameSync(root, elsewhere)
        Fs.symlinkSync(`${elsewhere}/tools`, root)
        const after = yield* store.listings("project")
        assert.isFalse(before.some((one, index) => one === after[index] && one.byId.size > 0))
        assert.strictEqual((yield* Effect.flip(store.find({ id: "a" })))._tag, "ItemNotFound")
      })
    ))

  it.effect("a lookup that is remembered ends otherwise as soon as any tier that it read has changed", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const ping = Effect.map(
          Effect.result(store.find({ id: "ping", type: "tool" })),
          (found) =>
            found._tag === "Failure"
              ? found.failure._tag
              : [found.success.location, ...found.success.hides].map(({ category, tier }) => `${tier}:${category}`)
                .join(" ")
        )
        const twice = Effect.gen(function*() {
          yield* settle
          const first = yield* ping
          assert.strictEqual(yield* ping, first)
          return first
        })
        yield* now
        disk.write("user", "tools/u/ping.py", "x\n")
        assert.strictEqual(yield* twice, "user:u")
        disk.write("project", "tools/p/ping.py", "x\n")
        assert.strictEqual(yield* twice, "project:p user:u")
        disk.write("project", "tools/q/ping.py", "x\n")
        assert.strictEqual(yield* twice, "ItemAmbiguous")
        Fs.rmSync(`${disk.root("project")}/tools/p/ping.py`)
        assert.strictEqual(yield* twice, "project:q user:u")
        Fs.renameSync(`${disk.root("user")}/tools/u`, `${disk.root("user")}/tools/v`)
        assert.strictEqual(yield* twice, "project:q user:v")
        Fs.rmSync(disk.root("project"), { recursive: true })
        assert.strictEqual(yield* twice, "user:v")
        Fs.rmSync(`${disk.root("user")}/tools/v/ping.py`)
        Fs.symlinkSync("../../away.py", `${disk.root("user")}/tools/v/ping.py`)
        assert.strictEqual(yield* twice, "ItemUnreadable")
        Fs.rmSync(disk.root("user"), { recursive: true })
        assert.strictEqual(yield* twice, "ItemNotFound")
      })
    ))

  it.live("nor is a snapshot: same size, times set back, replaced, made executable", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        disk.write("project", "tools/a.py", "one\n")
        const file = `${disk.root("project")}/tools/a.py`
        assert.strictEqual(yield* textOf(store, "a"), "one\n")
        const times = Fs.statSync(file)
        disk.write("project", "tools/a.py", "two\n")
        Fs.utimesSync(file, times.atime, times.mtime)
        assert.strictEqual(yield* textOf(store, "a"), "two\n")
        Fs.writeFileSync(`${file}.tmp`, "six\n")
        Fs.renameSync(`${file}.tmp`, file)
        assert.strictEqual(yield* textOf(store, "a"), "six\n")
        assert.isFalse((yield* findAndRead(store, "a")).executable)
        Fs.chmodSync(file, 0o755)
        assert.isTrue((yield* findAndRead(store, "a")).executable)
      })
    ))

  it.effect("unchanged items are the same object, after the two seconds in which a change could hide", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        yield* now
        disk.write("project", "tools/a.py", "one\n")
        disk.write("project", "tools/f/tool.yaml", "x\n")
        assert.notStrictEqual(yield* findAndRead(store, "a"), yield* findAndRead(store, "a"))
        yield* settle
        assert.strictEqual(yield* findAndRead(store, "a"), yield* findAndRead(store, "a"))
        assert.strictEqual(yield* findAndRead(store, "f"), yield* findAndRead(store, "f"))
        yield* now
        disk.write("project", "tools/f/lib/new.py", "x\n")
        assert.strictEqual((yield* findAndRead(store, "f")).files.length, 2)
        disk.write("project", "tools/f.kiwi-sig", "x\n")
        assert.strictEqual((yield* findAndRead(store, "f")).claim._tag, "Malformed")
      })
    ))
})

describe("links", () => {
  it.live("out of the type's folder are refused, whatever they lead to", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const tools = `${disk.root("project")}/tools`
        disk.write("project", "tools/real.py", "x\n")
        disk.write("project", "knowledge/k.md", "x\n")
        Fs.symlinkSync("/etc/passwd", `${tools}/passwd.py`)
        Fs.symlinkSync("../knowledge/k.md", `${tools}/other.py`)
        Fs.symlinkSync("nowhere", `${tools}/dangling.py`)
        Fs.symlinkSync("loop.py", `${tools}/loop.py`)
        Fs.symlinkSync("/dev/zero", `${tools}/zero.py`)
        const issue = (id: string) => Effect.map(unreadable(store.find({ id })), (e) => e.issue)
        assert.strictEqual(yield* issue("passwd"), "escapes")
        assert.strictEqual(yield* issue("other"), "escapes")
        assert.strictEqual(yield* issue("dangling"), "vanished")
        assert.strictEqual(yield* issue("loop"), "vanished")
        assert.strictEqual(yield* issue("zero"), "escapes")
        assert.deepStrictEqual((yield* store.list({ type: "tool" })).map((l) => l.id as string), ["real"])
        assert.strictEqual((yield* store.problems).length, 5)
      })
    ))

  it.live("inside it are followed to a file, under the link's own name", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        disk.write("project", "tools/lib/real.py", "x\n")
        Fs.symlinkSync("lib/real.py", `${disk.root("project")}/tools/alias.py`)
        const { location } = yield* store.find({ id: "alias" })
        assert.strictEqual<string>(location.id, "alias")
        assert.strictEqual(location.path, "alias.py")
        assert.strictEqual(location.file, `${disk.root("project")}/tools/lib/real.py`)
        assert.strictEqual(yield* textOf(store, "alias"), "x\n")
        Fs.rmSync(`${disk.root("project")}/tools/alias.py`)
        Fs.symlinkSync("/etc/passwd", `${disk.root("project")}/tools/alias.py`)
        assert.strictEqual((yield* unreadable(store.find({ id: "alias" }))).issue, "escapes")
      })
    ))

  it.live("to folders are not followed, so that there are no circles", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        disk.write("project", "tools/a/x.py", "x\n")
        Fs.symlinkSync("..", `${disk.root("project")}/tools/a/up`)
        Fs.symlinkSync("/etc", `${disk.root("project")}/tools/etc`)
        assert.strictEqual((yield* store.list()).length, 1)
        assert.deepStrictEqual((yield* store.problems).map((p) => p._tag), ["ItemUnreadable", "ItemUnreadable"])
      })
    ))

  it.live("in place of a type folder, of .ai, or of a folder on the way are refused", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        Fs.mkdirSync(`${disk.base}/elsewhere/tools/web`, { recursive: true })
        Fs.writeFileSync(`${disk.base}/elsewhere/tools/web/x.py`, "x\n")
        Fs.symlinkSync(`${disk.base}/elsewhere`, disk.root("project"))
        assert.strictEqual((yield* Effect.flip(store.find({ id: "x" })))._tag, "ItemNotFound")
        assert.isAbove((yield* store.problems).length, 0)
        Fs.rmSync(disk.root("project"))
        Fs.mkdirSync(disk.root("project"))
        Fs.symlinkSync(`${disk.base}/elsewhere/tools`, `${disk.root("project")}/tools`)
        assert.strictEqual((yield* Effect.flip(store.find({ id: "x" })))._tag, "ItemNotFound")
        assert.strictEqual((yield* store.problems).length, 1)
        Fs.rmSync(`${disk.root("project")}/tools`)
        disk.write("project", "tools/web/x.py", "mine\n")
        const { location } = yield* store.find({ id: "x" })
        Fs.rmSync(`${disk.root("project")}/tools/web`, { recursive: true })
        Fs.symlinkSync(`${disk.base}/elsewhere/tools/web`, `${disk.root("project")}/tools/web`)
        assert.strictEqual((yield* unreadable(store.read(location))).issue, "escapes")
      })
    ))

  it.live("the user's own folder may be one", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        Fs.mkdirSync(`${disk.base}/dotfiles/tools`, { recursive: true })
        Fs.writeFileSync(`${disk.base}/dotfiles/tools/x.py`, "x\n")
        Fs.symlinkSync(`${disk.base}/dotfiles`, disk.root("user"))
        const { location } = yield* store.find({ id: "x" })
        assert.deepInclude(location, { root: `${disk.base}/dotfiles`, tier: "user" })
        assert.strictEqual(yield* textOf(store, "x"), "x\n")
      })
    ))
})

describe("what is no regular file", () => {
  it.live("is refused and never waited for", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const tools = `${disk.root("project")}/tools`
        Fs.mkdirSync(tools, { recursive: true })
        execFileSync("mkfifo", [`${tools}/pipe.py`])
        const server = Net.createServer()
        yield* Effect.callback<void>((resume) => {
          server.listen(`${tools}/socket.py`, () => resume(Effect.void))
        })
        yield* Effect.addFinalizer(() => Effect.sync(() => server.close()))
        assert.strictEqual((yield* unreadable(store.find({ id: "pipe" }))).issue, "not-a-file")
        assert.strictEqual((yield* unreadable(store.find({ id: "socket" }))).issue, "not-a-file")
        disk.write("project", "tools/late.py", "x\n")
        const { location } = yield* store.find({ id: "late" })
        Fs.rmSync(`${tools}/late.py`)
        execFileSync("mkfifo", [`${tools}/late.py`])
        assert.strictEqual((yield* unreadable(store.read(location))).issue, "not-a-file")
        Fs.rmSync(`${tools}/late.py`)
        assert.strictEqual((yield* unreadable(store.read(location))).issue, "vanished")
        Fs.mkdirSync(`${tools}/late.py`)
        assert.strictEqual((yield* unreadable(store.read(location))).issue, "not-a-file")
      })
    ))

  it.live("inside a folder tool refuses the tool", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const folder = `${disk.root("project")}/tools/f`
        disk.write("project", "tools/f/tool.yaml", "tool_id: f\n")
        yield* findAndRead(store, "f")
        for (
          const [name, put] of [
            ["link", () => Fs.symlinkSync("tool.yaml", `${folder}/link`)],
            ["out", () => Fs.symlinkSync("/etc", `${folder}/out`)],
            ["pipe", () => execFileSync("mkfifo", [`${folder}/pipe`])]
          ] as const
        ) {
          put()
          const error = yield* unreadable(findAndRead(store, "f"))
          assert.strictEqual(error.issue, "not-a-file")
          assert.include(error.item, `project:tools/f/${name}`)
          Fs.rmSync(`${folder}/${name}`)
        }
        Fs.writeFileSync(`${folder}/a\nb`, "")
        assert.strictEqual((yield* Effect.flip(findAndRead(store, "f")))._tag, "ItemInvalid")
        Fs.rmSync(`${folder}/a\nb`)
        Fs.writeFileSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x61, 0xff])]), "")
        assert.strictEqual((yield* Effect.flip(findAndRead(store, "f")))._tag, "ItemInvalid")
        Fs.rmSync(Buffer.concat([Buffer.from(`${folder}/`), Buffer.from([0x61, 0xff])]))
        Fs.rmSync(`${folder}/tool.yaml`)
        Fs.symlinkSync("/etc/passwd", `${folder}/tool.yaml`)
        assert.strictEqual((yield* unreadable(findAndRead(store, "f"))).issue, "not-a-file")
      })
    ))
})

describe("limits", () => {
  it.live("a folder tool has at most 1,000 files and 16 MiB", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        disk.write("project", "tools/f/tool.yaml", "tool_id: f\n")
        for (let i = 0; i < 999; i++) disk.write("project", `tools/f/lib/${i}.txt`, "")
        assert.strictEqual((yield* findAndRead(store, "f")).files.length, 1000)
        disk.write("project", "tools/f/one-more", "")
        assert.strictEqual((yield* unreadable(findAndRead(store, "f"))).issue, "too-large")
        Fs.rmSync(`${disk.root("project")}/tools/f/lib`, { recursive: true })
        disk.write("project", "tools/f/big", new Uint8Array(15 * 1024 * 1024))
        yield* findAndRead(store, "f")
        disk.write("project", "tools/f/big2", new Uint8Array(1024 * 1024))
        assert.strictEqual((yield* unreadable(findAndRead(store, "f"))).issue, "too-large")
        Fs.rmSync(`${disk.root("project")}/tools/f/big`)
        disk.write("project", "tools/f/tool.yaml", "#".repeat(1024 * 1024 + 1))
        assert.strictEqual((yield* unreadable(findAndRead(store, "f"))).issue, "too-large")
      })
    ))
})

it.effect("a linked item is the same object in every listing, until it links to another file", () =>
  using((disk, store) =>
    Effect.gen(function*() {
      for (const name of ["a", "b"]) disk.write("project", `tools/real/${name}.py`, "x\n")
      const link = `${disk.root("project")}/tools/link.py`
      Fs.symlinkSync("real/a.py", link)
      yield* settle
      const linked = Effect.map(store.list({ tier: "project" }), (found) => found.find(({ id }) => id === "link"))
      yield* linked
      const first = yield* linked
      assert.isDefined(first)
      assert.strictEqual(yield* linked, first)
      Fs.rmSync(link)
      Fs.symlinkSync("real/b.py", link)
      assert.strictEqual((yield* linked)?.file, `${disk.root("project")}/tools/real/b.py`)
      Fs.renameSync(`${disk.root("project")}/tools/real`, `${disk.root("project")}/tools/other`)
      assert.isUndefined(yield* linked)
    })
  ))

describe("changes", () => {
  /** What is told once everything is watched, and that has been told. */
  const listen = Effect.fnUntraced(function*(store: ItemStore["Service"]) {
    const told = yield* Queue.unbounded<ReadonlyArray<Tier>>()
    yield* Effect.forkChild(Stream.runForEach(store.changes, (tiers) => Queue.offer(told, tiers)))
    yield* Queue.take(told)
    yield* Effect.sleep(Duration.millis(400))
    yield* Queue.clear(told)
    return told
  })

  const watched = (store: ItemStore["Service"]) =>
    Effect.suspend(() => store.changedSince("project", undefined)).pipe(
      Effect.repeat({ until: ({ mark }) => mark !== undefined, schedule: Schedule.spaced("5 millis") })
    )

  /** The folders that were told since a mark, below the project's root. */
  const toldSince = (disk: Disk, store: ItemStore["Service"], mark: number | undefined) =>
    Effect.map(
      store.changedSince("project", mark),
      ({ folders }) => folders && Array.from(folders, (f) => f.slice(disk.root("project").length + 1)).toSorted()
    )

  /** Waits until no folder was told for three looks. */
  const quiet = (store: ItemStore["Service"]) =>
    Effect.suspend(() => store.changedSince("project", undefined)).pipe(
      Effect.tap(() => Effect.sleep(Duration.millis(350))),
      Effect.flatMap(({ mark }) => store.changedSince("project", mark)),
      Effect.repeat({ until: ({ folders }) => folders?.size === 0 })
    )

  it.live("an edit, a new file, a new folder and a removal are told within a second", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        disk.write("project", "tools/a/x.py", "x\n")
        disk.write("user", "tools/y.py", "x\n")
        const acts: ReadonlyArray<readonly [Tier, () => void]> = [
          ["project", () => disk.write("project", "tools/a/x.py", "changed\n")],
          ["project", () => disk.write("project", "tools/new/deep/z.py", "x\n")],
          ["user", () => disk.write("user", "knowledge/k.md", "x\n")],
          ["project", () => Fs.rmSync(`${disk.root("project")}/tools/a`, { recursive: true })]
        ]
        for (const [tier, act] of acts) {
          const told = yield* listen(store)
          act()
          assert.deepStrictEqual(yield* Effect.timeout(Queue.take(told), Duration.seconds(1)), [tier])
        }
      })
    ))

  it.live("a folder that was deleted and made anew at once is still watched", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        const folder = `${disk.root("project")}/tools/a`
        disk.write("project", "tools/a/x.py", "x\n")
        const told = yield* listen(store)
        Fs.rmSync(folder, { recursive: true })
        disk.write("project", "tools/a/x.py", "y\n")
        yield* Effect.timeout(Queue.take(told), Duration.seconds(1))
        yield* Effect.sleep(Duration.millis(800))
        yield* Queue.clear(told)
        disk.write("project", "tools/a/x.py", "z\n")
        assert.deepStrictEqual(yield* Effect.timeout(Queue.take(told), Duration.seconds(1)), ["project"])
      })
    ))

  it.live("what lies beside the items is not told, and a tier that is made later is", () =>
    using((disk, store) =>
      Effect.gen(function*() {
        disk.write("project", "tools/x.py", "x\n")
        const told = yield* listen(store)
        disk.write("project", "logs/audit/x.jsonl", "x\n")
        yield* Effect.sleep(Duration.millis(700))
        assert.strictEqual(yield* Queue.size(told), 0)
        disk.write("user", "tools/late.py", "x\n")
        assert.deepStrictEqual(yield* Effect.timeout(Queue.take(told), Duration.seconds(2)), ["user"])
      })
    ))

  it.live.skipIf(process.platform !== "linux")(
    "folders are told at once, and only while all of them are watched",
    () =>
      using((disk, store) =>
        Effect.gen(function*() {
          for (const name of ["a", "b"]) disk.write("project", `tools/${name}/x.py`, "x\n")
          const none = { mark: undefined, folders: undefined }
          assert.deepStrictEqual(yield* store.changedSince("project", undefined), none)
          const since = (mark: number | undefined) => toldSince(disk, store, mark)
          const listening = yield* Effect.forkChild(Stream.runDrain(store.changes))
          const { folders, mark } = yield* watched(store)
          assert.isUndefined(folders, "from before every folder was watched")
          assert.deepStrictEqual(yield* since(mark), [])
          disk.write("project", "tools/a/x.py", "y\n")
          assert.deepStrictEqual(yield* since(mark), ["tools/a"])
          const later = (yield* store.changedSince("project", mark)).mark
          Fs.rmSync(`${disk.root("project")}/tools/b/x.py`)
          assert.deepStrictEqual(yield* since(later), ["tools/b"])
          assert.deepStrictEqual(yield* since(mark), ["tools/a", "tools/b"])
          assert.deepStrictEqual(yield* store.changedSince("system", 0), none)
          yield* Fiber.interrupt(listening)
          assert.deepStrictEqual(yield* store.changedSince("project", later), none)
          yield* Effect.forkChild(Stream.runDrain(store.changes))
          yield* watched(store)
          assert.isUndefined(yield* since(later), "nobody watched in between")
        })
      )
  )

  const swaps: Readonly<Record<string, (root: string) => void>> = {
    "a folder": (root) => {
      Fs.renameSync(`${root}/tools/vendor`, `${root}/tools/old`)
      Fs.renameSync(`${root}/tools/vendor2`, `${root}/tools/vendor`)
    },
    "a folder that was outside": (root) => {
      Fs.renameSync(`${root}/tools/vendor`, `${root}/away`)
      Fs.renameSync(`${root}/outside`, `${root}/tools/vendor`)
    },
    "a folder by a copy": (root) => {
      Fs.renameSync(`${root}/tools/vendor`, `${root}/tools/old`)
      Fs.cpSync(`${root}/tools/old`, `${root}/tools/vendor`, { recursive: true, preserveTimestamps: true })
    },
    "a folder by itself, moved away and back": (root) => {
      Fs.renameSync(`${root}/tools/vendor`, `${root}/tools/old`)
      Fs.renameSync(`${root}/tools/old`, `${root}/tools/vendor`)
    },
    "two folders with each other": (root) => {
      Fs.renameSync(`${root}/tools/vendor`, `${root}/tools/old`)
      Fs.renameSync(`${root}/tools/vendor2`, `${root}/tools/vendor`)
      Fs.renameSync(`${root}/tools/old`, `${root}/tools/vendor2`)
    },
    "a folder in the middle": (root) => {
      Fs.renameSync(`${root}/tools/vendor/sub`, `${root}/tools/vendor/old`)
      Fs.renameSync(`${root}/tools/vendor2/sub`, `${root}/tools/vendor/sub`)
    },
    "the type folder": (root) => {
      Fs.renameSync(`${root}/tools`, `${root}/old`)
      Fs.renameSync(`${root}/other`, `${root}/tools`)
    },
    "the tier's folder": (root) => {
      Fs.cpSync(root, `${root}2`, { recursive: true })
      Fs.renameSync(root, `${root}3`)
      Fs.renameSync(`${root}2`, root)
    }
  }
  describe.skipIf(process.platform !== "linux")("an edit below what was put in another's place is told", () => {
    for (const [name, swap] of Object.entries(swaps)) {
      it.live(name, () =>
        using((disk, store) =>
          Effect.gen(function*() {
            for (const top of ["tools/vendor", "tools/vendor2", "outside", "other/vendor"]) {
              disk.write("project", `${top}/sub/deep/x.py`, "x\n")
            }
            yield* Effect.forkChild(Stream.runDrain(store.changes))
            yield* watched(store)
            // The look after this one is the first that believes what it knows of the other folders.
            disk.write("project", "tools/other.py", "x\n")
            yield* quiet(store)
            swap(disk.root("project"))
            yield* quiet(store)
            const { mark } = yield* store.changedSince("project", undefined)
            Fs.appendFileSync(`${disk.root("project")}/tools/vendor/sub/deep/x.py`, "y\n")
            assert.deepStrictEqual(yield* toldSince(disk, store, mark), ["tools/vendor/sub/deep"])
          })
        ))
    }
  })

  describe.skipIf(process.platform !== "linux")("only folders that can hold items are watched", () => {
    const others: Readonly<Record<string, string>> = {
      "installed packages": "tools/node_modules/p",
      "installed packages in a category": "tools/web/node_modules/p",
      "compiled Python": "tools/web/__pycache__/p",
      "a hidden folder": "tools/.git/objects",
      "a hidden folder of notes": "knowledge/.obsidian/plugins",
      "a name that is no category": "tools/my tools/p",
      "a folder tool's own folders": "tools/web/fetch/lib",
      "folders below those of a folder tool": "tools/web/fetch/lib/deep/er"
    }
    for (const [name, folder] of Object.entries(others)) {
      it.live(name, () =>
        using((disk, store) =>
          Effect.gen(function*() {
            disk.write("project", "tools/web/fetch/tool.yaml", "version: 1.0.0\n")
            disk.write("project", "tools/web/x.py", "x\n")
            disk.write("project", `${folder}/x.py`, "x\n")
            yield* Effect.forkChild(Stream.runDrain(store.changes))
            const { mark } = yield* watched(store)
            disk.write("project", `${folder}/x.py`, "y\n")
            assert.deepStrictEqual(yield* toldSince(disk, store, mark), [])
            disk.write("project", "tools/web/x.py", "y\n")
            disk.write("project", "tools/web/fetch/tool.yaml", "version: 1.0.1\n")
            assert.deepStrictEqual(yield* toldSince(disk, store, mark), ["tools/web", "tools/web/fetch"])
          })
        ))
    }

    it.live("a folder tool that loses its tool.yaml is watched whole, and one that gets it is not", () =>
      using((disk, store) =>
        Effect.gen(function*() {
          const manifest = "tools/web/tool.yaml"
          const file = "tools/web/lib/x.py"
          disk.write("project", manifest, "version: 1.0.0\n")
          disk.write("project", file, "x\n")
          yield* Effect.forkChild(Stream.runDrain(store.changes))
          yield* watched(store)
          Fs.rmSync(`${disk.root("project")}/${manifest}`)
          yield* quiet(store)
          const { mark } = yield* watched(store)
          disk.write("project", file, "y\n")
          assert.deepStrictEqual(yield* toldSince(disk, store, mark), ["tools/web/lib"])
          disk.write("project", manifest, "version: 1.0.0\n")
          yield* quiet(store)
          const later = (yield* watched(store)).mark
          disk.write("project", file, "z\n")
          assert.deepStrictEqual(yield* toldSince(disk, store, later), [])
        })
      ))
  })

  describe.skipIf(process.platform !== "linux")("a change while the watchers are set up is told", () => {
    for (const turns of [1, 2, 4, 8, 16, 32, 64, 128, 256]) {
      it.live(`after ${turns} turns`, () =>
        using((disk, store) =>
          Effect.gen(function*() {
            for (let i = 0; i < 300; i++) disk.write("project", `tools/f${i}/x.py`, "x\n")
            const told = yield* Queue.unbounded<ReadonlyArray<Tier>>()
            yield* Effect.forkChild(Stream.runForEach(store.changes, (tiers) => Queue.offer(told, tiers)))
            for (let i = 0; i < turns; i++) yield* Effect.yieldNow
            assert.isUndefined((yield* store.changedSince("project", undefined)).mark)
            disk.write("project", "tools/f299/x.py", "y\n")
            disk.write("project", "tools/f0/new/x.py", "x\n")
            assert.deepStrictEqual(yield* Effect.timeout(Queue.take(told), Duration.seconds(2)), ["project"])
            yield* watched(store)
            yield* quiet(store)
            const { mark } = yield* watched(store)
            disk.write("project", "tools/f0/new/x.py", "y\n")
            assert.deepStrictEqual(yield* toldSince(disk, store, mark), ["tools/f0/new"])
          })
        ))
    }
  })
})
