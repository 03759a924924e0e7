// A second process for ItemIndexSqlite.test.ts: builds the index of ROOT with others and prints how many items it finds.
import { Effect, Layer } from "effect"
import { writeSync } from "node:fs"
import { ItemIndex } from "../../../src/services/search/ItemIndex.ts"
import { onDisk } from "./itemsOnDisk.ts"
import { makeIndex } from "./sqliteIndex.ts"

const root = process.argv[2]!

const program = Effect.gen(function*() {
  const disk = yield* onDisk(root, ["project"])
  const context = yield* Layer.build(makeIndex(root).pipe(Layer.provide(disk.layer)))
  const index = yield* Effect.provide(ItemIndex, context)
  const hits = yield* index.search({ query: "gadget odd", limit: 100 })
  writeSync(1, String(hits.length))
})

await Effect.runPromise(Effect.scoped(program))
