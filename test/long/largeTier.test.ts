// A tier of more items than are compared at every search: what a search sees of a change, at once and without a look at
// every file.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as ExtractorsMemory from "../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../src/layers/format/ItemParserBuiltin.ts"
import * as ItemStoreFile from "../../src/layers/item/ItemStoreFile.ts"
import * as ItemIndexSqlite from "../../src/layers/search/ItemIndexSqlite.ts"
import * as KiwiHomeMemory from "../../src/layers/workspace/KiwiHomeMemory.ts"
import * as ProcessLockSqlite from "../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceMemory from "../../src/layers/workspace/WorkspaceMemory.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { ItemIndex } from "../../src/services/search/ItemIndex.ts"
import { realIndex } from "../layers/search/realItems.ts"
import { temporary } from "../support/temporary.ts"

const note = (text: string) => `---\ntitle: A note\n---\n${text}\n`

const tool = (description: string) =>
  `version: 1.0.0
tool_type: python
executor_id: python_runtime
entrypoint: main.py
description: ${description}
`

/** 600 notes in six folders, all of them older than the two seconds in which times are not believed. */
const worldWith = Effect.fnUntraced(function*(asSeen: (store: ItemStore["Service"]) => ItemStore["Service"]) {
  const root = yield* temporary
  const at = (path: string) => join(root, "project/.ai", path)
  const put = (path: string, text: string) => {
    fs.mkdirSync(dirname(at(path)), { recursive: true })
    fs.writeFileSync(at(path), text)
  }
  for (let i = 0; i < 600; i++) put(`knowledge/group_${i % 6}/note_${i}.md`, note("plain"))
  put("tools/web/fetch/tool.yaml", tool("Plain"))
  put("tools/web/fetch/main.py", "print(1)\n")
  put("knowledge/group_0/giraffe.md", note("giraffe"))
  yield* TestClock.setTime(Date.now() + 3_600_000)
  const home = KiwiHomeMemory.layerWith({
    home: join(root, "home"),
    userSpace: join(root, "user"),
    systemSpace: join(root, "system"),
    userHome: root
  })
  const layer = Layer.fresh(ItemIndexSqlite.layer).pipe(
    Layer.provideMerge(Layer.effect(ItemStore, Effect.map(ItemStoreFile.make, asSeen))),
    Layer.provide(ItemParserBuiltin.layerNoProcess),
    Layer.provide([ExtractorsMemory.layer, WorkspaceMemory.layerWith(join(root, "project")), ProcessLockSqlite.layer]),
    Layer.provide(home)
  )
  const context = yield* Layer.build(layer)
  const index = yield* Effect.provide(ItemIndex, context)
  const store = yield* Effect.provide(ItemStore, context)
  const ids = (query: string) => Effect.map(index.search({ query }), (hits) => hits.map(({ id }) => id).toSorted())
  /** Until every folder is watched. */
  const watched = Effect.gen(function*() {
    while ((yield* store.changedSince("project", undefined)).mark === undefined) yield* Effect.yieldNow
  })
  yield* index.refresh()
  return { root, at, put, ids, index, store, watched }
})

const world = Effect.gen(function*() {
  const here = yield* worldWith((store) => store)
  yield* here.watched
  yield* TestClock.adjust("2 seconds")
  assert.deepStrictEqual(yield* here.ids("giraffe"), ["giraffe"])
  return here
})

type World = Effect.Success<typeof world>

const changes: Readonly<Record<string, (of: World) => ReadonlyArray<string>>> = {
  "a file edited in place": ({ at }) => {
    fs.appendFileSync(at("knowledge/group_1/note_1.md"), "giraffe\n")
    return ["giraffe", "note_1"]
  },
  "an edit that leaves size and time as they were": ({ at }) => {
    const file = at("knowledge/group_1/note_1.md")
    const { atime, mtime } = fs.statSync(file)
    fs.writeFileSync(file, note("zebra"))
    fs.utimesSync(file, atime, mtime)
    return ["giraffe"]
  },
  "a file that loses the word": ({ put }) => {
    put("knowledge/group_0/giraffe.md", note("gone").replace("A note", "Other"))
    return ["giraffe"]
  },
  "a new file": ({ put }) => {
    put("knowledge/group_2/fresh.md", note("giraffe"))
    return ["fresh", "giraffe"]
  },
  "a file replaced by another": ({ at, put }) => {
    put("knowledge/group_3/.draft", note("giraffe"))
    fs.renameSync(at("knowledge/group_3/.draft"), at("knowledge/group_3/note_3.md"))
    return ["giraffe", "note_3"]
  },
  "a file deleted": ({ at }) => {
    fs.rmSync(at("knowledge/group_0/giraffe.md"))
    return []
  },
  "a file renamed": ({ at }) => {
    fs.renameSync(at("knowledge/group_0/giraffe.md"), at("knowledge/group_0/okapi.md"))
    return ["okapi"]
  },
  "a file moved to another folder": ({ at }) => {
    fs.renameSync(at("knowledge/group_0/giraffe.md"), at("knowledge/group_4/giraffe.md"))
    return ["giraffe"]
  },
  "a folder tool whose main file was edited": ({ at }) => {
    fs.writeFileSync(at("tools/web/fetch/tool.yaml"), tool("A giraffe"))
    return ["fetch", "giraffe"]
  },
  "a new folder with a file": ({ put }) => {
    put("knowledge/group_9/below/deep.md", note("giraffe"))
    return ["deep", "giraffe"]
  },
  "a folder deleted": ({ at }) => {
    fs.rmSync(at("knowledge/group_0"), { recursive: true })
    return []
  },
  "a folder renamed": ({ at }) => {
    fs.renameSync(at("knowledge/group_0"), at("knowledge/group_7"))
    return ["giraffe"]
  },
  "a folder deleted and made anew with another file": ({ at, put }) => {
    fs.rmSync(at("knowledge/group_0"), { recursive: true })
    put("knowledge/group_0/okapi.md", note("giraffe"))
    return ["okapi"]
  },
  "changes in three folders": ({ at, put }) => {
    fs.appendFileSync(at("knowledge/group_1/note_1.md"), "giraffe\n")
    put("knowledge/group_2/fresh.md", note("giraffe"))
    fs.rmSync(at("knowledge/group_0/giraffe.md"))
    return ["fresh", "note_1"]
  }
}

// Elsewhere the system tells of a change when it finds the time.
describe.skipIf(process.platform !== "linux")("a search of a large tier sees at once", () => {
  for (const [name, change] of Object.entries(changes)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const here = yield* world
        const expected = change(here)
        assert.deepStrictEqual(yield* here.ids("giraffe"), expected)
        yield* TestClock.adjust("1 second")
        yield* here.watched
        assert.deepStrictEqual(yield* here.ids("giraffe"), expected)
        fs.appendFileSync(here.at("knowledge/group_5/note_5.md"), "giraffe\n")
        assert.deepStrictEqual(yield* here.ids("giraffe"), [...expected, "note_5"].toSorted())
      }), 30_000)
  }

  it.effect(
    "an edit in a folder that was made before, and in one that was made in its place",
    () =>
      Effect.gen(function*() {
        const here = yield* world
        for (const word of ["lion", "tiger"]) {
          fs.rmSync(here.at("knowledge/group_8"), { recursive: true, force: true })
          here.put("knowledge/group_8/cat.md", note("cat"))
          assert.deepStrictEqual(yield* here.ids("cat"), ["cat"])
          yield* TestClock.adjust("1 second")
          yield* here.watched
          fs.appendFileSync(here.at("knowledge/group_8/cat.md"), `${word}\n`)
          assert.deepStrictEqual(yield* here.ids(word), ["cat"])
        }
      }),
    30_000
  )

  it.effect("what somebody else took into the index, and what they took out", () =>
    Effect.gen(function*() {
      const here = yield* world
      const other = yield* Effect.provide(ItemIndex, yield* Layer.build(realIndex(here.root)))
      here.put("knowledge/group_2/fresh.md", note("okapi"))
      assert.strictEqual((yield* other.refresh()).changed, 1)
      assert.deepStrictEqual(yield* here.ids("okapi"), ["fresh"])
      fs.rmSync(here.at("knowledge/group_2/fresh.md"))
      assert.strictEqual((yield* other.refresh()).changed, 1)
      assert.deepStrictEqual(yield* here.ids("okapi"), [])
      assert.strictEqual((yield* here.index.refresh()).changed, 0)
    }), 30_000)
})

describe("a tier that the store cannot watch", () => {
  it.effect("is compared with the disk by the clock, although the store listens", () =>
    Effect.gen(function*() {
      const here = yield* worldWith((store) =>
        ItemStore.of({
          ...store,
          changes: Stream.never,
          changedSince: () => Effect.succeed({ mark: undefined, folders: undefined })
        })
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* here.ids("giraffe"), ["giraffe"])
      for (const n of [1, 2, 3]) {
        fs.appendFileSync(here.at(`knowledge/group_${n}/note_${n}.md`), `zebra\n`)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual((yield* here.ids("zebra")).length, n)
      }
    }), 30_000)
})

it.effect(
  "an item whose file changed in the future, by the clock, is not believed to be as it was",
  () =>
    Effect.gen(function*() {
      const read: Array<string> = []
      const here = yield* worldWith((store) =>
        ItemStore.of({
          ...store,
          read: (location) => Effect.tap(store.read(location), Effect.sync(() => read.push(location.id)))
        })
      )
      yield* TestClock.setTime(Date.now() - 3_600_000)
      here.put("knowledge/group_2/fresh.md", note("zebra"))
      yield* here.index.refresh()
      read.length = 0
      yield* here.index.refresh()
      assert.deepStrictEqual(read, ["fresh"])
      yield* TestClock.setTime(Date.now() + 3_600_000)
      yield* here.index.refresh()
      read.length = 0
      yield* here.index.refresh()
      assert.deepStrictEqual(read, [])
    }),
  30_000
)

it.effect(
  "what was written before a tier was watched is found by the first search after",
  () =>
    Effect.gen(function*() {
      let isWatched = false
      const here = yield* worldWith((store) =>
        ItemStore.of({
          ...store,
          changes: Stream.never,
          changedSince: (_tier, mark) =>
            Effect.sync(() => ({
              mark: isWatched ? 1 : undefined,
              folders: mark === undefined ? undefined : new Set<string>()
            }))
        })
      )
      assert.deepStrictEqual(yield* here.ids("giraffe"), ["giraffe"])
      fs.appendFileSync(here.at("knowledge/group_1/note_1.md"), "giraffe\n")
      isWatched = true
      assert.deepStrictEqual(yield* here.ids("giraffe"), ["giraffe", "note_1"])
    }),
  30_000
)
