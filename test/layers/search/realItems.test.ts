import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { ItemIndex } from "../../../src/services/search/ItemIndex.ts"
import { temporary } from "../../support/temporary.ts"
import { note, python, realIndex } from "./realItems.ts"

const world = Effect.gen(function*() {
  const root = yield* temporary
  const put = (path: string, text: string) => {
    fs.mkdirSync(dirname(join(root, path)), { recursive: true })
    fs.writeFileSync(join(root, path), text)
  }
  put("project/.ai/tools/math/add.py", python({ description: "Add two numbers.", parameters: ["first_term"] }))
  put("project/.ai/tools/math/broken.py", "def (:")
  put(
    "project/.ai/knowledge/ops/rollback.md",
    note({ id: "rollback", title: "Going back", tags: ["ops"], body: "Restore the snapshot.", category: "ops" })
  )
  put(
    "user/tools/web/fetch_page/tool.yaml",
    "tool_id: fetch_page\nversion: 1.0.0\ntool_type: api\ndescription: Gets a page\n"
  )
  put("user/tools/web/fetch_page/data.txt", "not an item")
  const context = yield* Layer.build(realIndex(root))
  const index = yield* Effect.provide(ItemIndex, context)
  const ids = (query: string) => Effect.map(index.search({ query }), (hits) => hits.map((h) => `${h.tier}:${h.id}`))
  return { root, put, index, ids }
})

describe("the index over real items", () => {
  it.live("finds files and folders of every tier by name, text, parameters and tags", () =>
    Effect.gen(function*() {
      const { ids, index } = yield* world
      assert.deepStrictEqual(yield* ids("add"), ["project:add"])
      assert.deepStrictEqual(yield* ids("two numbers"), ["project:add"])
      assert.deepStrictEqual(yield* ids("first term"), ["project:add"])
      assert.deepStrictEqual(yield* ids("snapshot"), ["project:rollback"])
      assert.deepStrictEqual(yield* ids("fetch page"), ["user:fetch_page"])
      assert.deepStrictEqual(yield* ids("broken"), ["project:broken"])
      const tagged = yield* index.search({ query: "", tags: ["ops"] })
      assert.deepStrictEqual(tagged.map((h) => h.path), ["ops/rollback.md"])
      assert.deepStrictEqual(yield* index.near("rolback"), ["rollback"])
    }))

  it.live("an edit, a new file and a removed one show in the next search", () =>
    Effect.gen(function*() {
      const { ids, put, root } = yield* world
      assert.deepStrictEqual(yield* ids("giraffe"), [])
      put("project/.ai/tools/math/add.py", python({ description: "Adds giraffe lengths." }))
      assert.deepStrictEqual(yield* ids("giraffe"), ["project:add"])
      put("project/.ai/tools/zoo/giraffe.py", python({ description: "Long." }))
      assert.deepStrictEqual(yield* ids("giraffe"), ["project:giraffe", "project:add"])
      fs.rmSync(join(root, "project/.ai/tools/zoo"), { recursive: true })
      assert.deepStrictEqual(yield* ids("giraffe"), ["project:add"])
    }))

  it.live("in a large tier an edit shows when the store has seen it", () =>
    Effect.gen(function*() {
      const { ids, index, put } = yield* world
      for (let i = 0; i < 600; i++) put(`project/.ai/tools/many/item_${i}.py`, python({ description: "Gizmo." }))
      yield* index.refresh()
      yield* Effect.sleep("1500 millis")
      yield* ids("gizmo")
      put("project/.ai/tools/many/item_7.py", python({ description: "Giraffe." }))
      const start = performance.now()
      const found = yield* Effect.repeat(ids("giraffe"), {
        schedule: Schedule.spaced("50 millis"),
        until: (hits) => hits.length > 0 || performance.now() - start > 10_000
      })
      assert.deepStrictEqual(found, ["project:item_7"])
    }), 30_000)
})
