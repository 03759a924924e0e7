import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as SqliteNode from "../../../src/layers/sqlite/SqliteNode.ts"
import { ItemIndex } from "../../../src/services/search/ItemIndex.ts"
import { contract, type Setup, setup } from "./ItemIndex.contract.ts"
import { onDisk } from "./itemsOnDisk.ts"
import { makeIndex } from "./sqliteIndex.ts"

contract("ItemIndexSqlite", makeIndex)

const place = (s: Setup) => join(s.disk.root, "home/projects/memory/search.db")

const items = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `project/tools/group_${i % 7}/tool_${i}`,
      { title: `Tool ${i}`, description: i % 2 === 0 ? "even gadget" : "odd gadget" }
    ])
  )

/** A second look at the same items, as another process or a later start has it. */
const another = (s: Setup) =>
  Effect.gen(function*() {
    const disk = yield* onDisk(s.disk.root, ["project"])
    const context = yield* Layer.build(Layer.fresh(makeIndex(s.disk.root)).pipe(Layer.provide(disk.layer)))
    return { index: yield* Effect.provide(ItemIndex, context), disk }
  })

const damaged = (title: string, spoil: (file: string) => Effect.Effect<unknown, unknown>) =>
  it.live(`is rebuilt when its file ${title}`, () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(50), ["project"])
      yield* Effect.scoped(Effect.flatMap(another(s), ({ index }) => index.refresh()))
      yield* spoil(place(s))
      assert.strictEqual((yield* s.ids("gadget", { limit: 100 })).length, 50)
      assert.deepStrictEqual(yield* s.ids("tool_7"), ["tool_7"])
      yield* Effect.scoped(Effect.gen(function*() {
        const later = yield* another(s)
        assert.strictEqual((yield* later.index.search({ query: "gadget", limit: 100 })).length, 50)
        assert.strictEqual(later.disk.counts.parsed, 0, "and then kept")
      }))
    }))

const write = (data: string | Uint8Array) => (file: string) => Effect.sync(() => fs.writeFileSync(file, data))

const change = (...statements: ReadonlyArray<string>) => (file: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient
    yield* Effect.forEach(statements, (statement) => sql.unsafe(statement))
  }).pipe(Effect.provide(SqliteNode.layer({ filename: file })))

describe("ItemIndexSqlite", () => {
  damaged("holds text", write("not a database at all ".repeat(1000)))
  damaged("is empty", write(""))
  damaged("is cut", (file) => Effect.sync(() => fs.truncateSync(file, 20_000)))
  damaged("is cut within its first page", (file) => Effect.sync(() => fs.truncateSync(file, 1000)))
  damaged("is overwritten in the middle", (file) =>
    Effect.sync(() => {
      const bytes = fs.readFileSync(file)
      bytes.fill(0xa5, 4096)
      fs.writeFileSync(file, bytes)
    }))
  damaged("has an older schema", change("PRAGMA user_version = 0"))
  damaged("belongs to another program", change("PRAGMA application_id = 7"))
  damaged(
    "is another database",
    (file) =>
      Effect.andThen(
        Effect.sync(() => fs.rmSync(file)),
        change("CREATE TABLE mine (a)", "INSERT INTO mine VALUES (1)")(file)
      )
  )
  damaged("lacks a table", change("DROP TABLE words"))
  damaged("lacks a column", change("ALTER TABLE items DROP COLUMN digest"))

  it.live("is rebuilt when it is damaged while it is open", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(50), ["project"])
      assert.strictEqual((yield* s.ids("gadget", { limit: 100 })).length, 50)
      yield* change("DROP TABLE words")(place(s))
      const found = yield* Effect.all(Array.from({ length: 5 }, () => s.ids("gadget", { limit: 100 })), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(found.map((ids) => ids.length), [50, 50, 50, 50, 50])
    }))

  it.live("what a forged file says is a place to look at, and nothing that is no id", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(3), ["project"])
      yield* s.ids("gadget")
      yield* change("UPDATE items SET id = '../../etc/passwd'")(place(s))
      assert.deepStrictEqual(yield* s.ids("gadget"), [])
    }))

  it.live("parses what changed, and nothing when nothing did", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(30), ["project"])
      yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 2100)))
      yield* s.ids("gadget")
      assert.strictEqual(s.disk.counts.parsed, 30)
      yield* s.ids("gadget")
      yield* s.index.refresh()
      assert.strictEqual(s.disk.counts.parsed, 30)
      s.disk.put("project/tools/group_0/tool_0", { title: "Changed" })
      assert.deepStrictEqual(yield* s.ids("changed"), ["tool_0"])
      assert.strictEqual(s.disk.counts.parsed, 31)
      yield* Effect.scoped(Effect.gen(function*() {
        const later = yield* another(s)
        yield* later.index.search({ query: "gadget" })
        assert.isAtMost(later.disk.counts.parsed, 1)
      }))
    }), 15_000)

  it.live("a change of the same size and within the clock's grain is not missed", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, {}, ["project"])
      for (let i = 0; i < 50; i++) {
        s.disk.put("project/tools/t", { title: `word${i % 2 === 0 ? "aa" : "bb"}` })
        assert.deepStrictEqual(yield* s.ids(`word${i % 2 === 0 ? "aa" : "bb"}`), ["t"])
      }
    }))

  it.live("two starts at once build one index", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(400), ["project"])
      const others = yield* Effect.all([another(s), another(s)])
      const indexes = [s.index, ...others.map((o) => o.index)]
      yield* Effect.forEach(indexes, (index) => index.refresh(), { concurrency: "unbounded" })
      const parsed = [s.disk, ...others.map((o) => o.disk)].map((disk) => disk.counts.parsed)
      assert.strictEqual(parsed.reduce((a, b) => a + b), 400, `parsed ${parsed.join(" + ")}`)
      for (const { index } of [s, ...others]) {
        assert.strictEqual((yield* index.search({ query: "odd", limit: 100 })).length, 100)
      }
    }))

  it.live("processes that refresh and search at once get what is there", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(300), ["project"])
      const program = fileURLToPath(new URL("./indexChild.ts", import.meta.url))
      const run = Effect.callback<string>((resume) => {
        const child = spawn(process.execPath, [program, s.disk.root], { stdio: ["ignore", "pipe", "inherit"] })
        let out = ""
        child.stdout.on("data", (data: Buffer) => (out += data.toString()))
        child.on("exit", () => resume(Effect.succeed(out)))
        return Effect.sync(() => child.kill("SIGKILL"))
      })
      assert.deepStrictEqual(yield* Effect.all([run, run, run], { concurrency: "unbounded" }), ["100", "100", "100"])
    }), 30_000)

  it.live(
    "other work goes on during a build, and a caller that gives up does not end it",
    () =>
      Effect.gen(function*() {
        const s = yield* setup(makeIndex, items(1500), ["project"])
        const turns: Array<number> = []
        const beat = yield* Effect.forkChild(Effect.forever(Effect.andThen(
          Effect.sync(() => turns.push(performance.now())),
          Effect.sleep(1)
        )))
        const impatient = yield* Effect.forkChild(s.ids("gadget"))
        yield* Effect.sleep(20)
        yield* Fiber.interrupt(impatient)
        assert.strictEqual((yield* s.ids("gadget odd", { limit: 100 })).length, 100)
        yield* Fiber.interrupt(beat)
        assert.strictEqual(s.disk.counts.parsed, 1500, "one build served both")
        assert.isAbove(turns.length, 20)
      }),
    20_000
  )

  it.live("a tier that is large is looked at when the store says that something changed", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(4000), ["project"])
      yield* s.index.refresh()
      yield* Effect.sleep("1200 millis")
      yield* s.ids("gadget")
      const listed = s.disk.counts.listed
      yield* s.ids("gadget")
      yield* s.ids("odd")
      assert.strictEqual(s.disk.counts.listed, listed)
      s.disk.put("project/tools/fresh", { title: "giraffe" })
      yield* s.disk.changed("project")
      yield* Effect.sleep(5)
      assert.deepStrictEqual(yield* s.ids("giraffe"), ["fresh"])
    }), 60_000)

  it.live("keeps its files private, and says what to do when it cannot keep them", () =>
    Effect.gen(function*() {
      const s = yield* setup(makeIndex, items(3), ["project"])
      yield* s.ids("gadget")
      assert.strictEqual(fs.statSync(place(s)).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(join(place(s), "..")).mode & 0o777, 0o700)
      const blocked = yield* setup(makeIndex, items(3), ["project"])
      const refused = Effect.gen(function*() {
        const error = yield* Effect.flip(blocked.index.search({ query: "gadget" }))
        assert.strictEqual(error._tag, "IndexUnavailable")
        assert.notInclude(error.message, blocked.disk.root)
      })
      fs.writeFileSync(join(blocked.disk.root, "home"), "a file where the folder should be")
      yield* refused
      fs.rmSync(join(blocked.disk.root, "home"))
      fs.mkdirSync(join(place(blocked), "in the way"), { recursive: true })
      yield* refused
      assert.deepStrictEqual(yield* blocked.index.near("tool_l"), [])
    }))

  it.live("frequent words do not hide what has them in its name", () =>
    Effect.gen(function*() {
      const many = Object.fromEntries(
        Array.from({ length: 5000 }, (_, i) => [`project/tools/item_${i}`, { description: "widget common" }])
      )
      const s = yield* setup(makeIndex, { ...many, "project/tools/zz_common_widget": {} }, ["project"])
      assert.strictEqual((yield* s.ids("widget common"))[0], "zz_common_widget")
      assert.strictEqual((yield* s.ids("common")).length, 10)
      assert.strictEqual((yield* s.ids("common item_4711"))[0], "item_4711")
    }), 30_000)
})
