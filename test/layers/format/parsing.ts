// Parses a text as an item that lies at a path, through the real store and the real parser.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import type { MemoryExtractors } from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as ItemStoreMemory from "../../../src/layers/item/ItemStoreMemory.ts"
import type { MemoryFile } from "../../../src/layers/item/ItemStoreMemory.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { ItemParser } from "../../../src/services/format/ItemParser.ts"
import type { Directive, Item, Knowledge, Tool } from "../../../src/services/item/Item.ts"
import { ItemInvalid } from "../../../src/services/item/ItemErrors.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"

export type Files = Readonly<Record<string, MemoryFile>>

const provide = (files: Files, extractors: MemoryExtractors) =>
  Effect.provide(Layer.mergeAll(
    ItemStoreMemory.layerWith({ project: files }, { tool: [".rb"], knowledge: [".txt"] }),
    ItemParserBuiltin.layer.pipe(
      Layer.provide(ExtractorsMemory.layerWith(extractors)),
      Layer.provide(Layer.merge(ChildProcessesNode.layer, NodeServices.layer))
    )
  ))

const only = Effect.gen(function*() {
  const store = yield* ItemStore
  const [location] = yield* store.list({ tier: "project" })
  assert.isDefined(location, `no item: ${JSON.stringify(yield* store.problems)}`)
  return yield* store.read(location!)
})

/** The first item of the files. */
export const parseFiles = (files: Files, extractors: MemoryExtractors = {}) =>
  Effect.gen(function*() {
    const parser = yield* ItemParser
    return yield* parser.parse(yield* only)
  }).pipe(provide(files, extractors))

export const checkFiles = (files: Files, extractors: MemoryExtractors = {}) =>
  Effect.gen(function*() {
    const parser = yield* ItemParser
    return yield* parser.check(yield* only)
  }).pipe(provide(files, extractors))

const as = <Tag extends Item["_tag"]>(tag: Tag) => (item: Item): Extract<Item, { readonly _tag: Tag }> => {
  assert.strictEqual(item._tag, tag)
  return item as Extract<Item, { readonly _tag: Tag }>
}

export const parseTool = (path: string, text: string): Effect.Effect<Tool, unknown> =>
  Effect.map(parseFiles({ [`tools/${path}`]: text }), as("tool"))
export const parseDirective = (path: string, text: string): Effect.Effect<Directive, unknown> =>
  Effect.map(parseFiles({ [`directives/${path}`]: text }), as("directive"))
export const parseKnowledge = (path: string, text: string): Effect.Effect<Knowledge, unknown> =>
  Effect.map(parseFiles({ [`knowledge/${path}`]: text }), as("knowledge"))

/** What the parser objects to. */
export const invalid = <A>(effect: Effect.Effect<A, unknown>): Effect.Effect<ItemInvalid, A> =>
  Effect.map(Effect.flip(effect), (error) => {
    assert.instanceOf(error, ItemInvalid)
    return error as ItemInvalid
  })
