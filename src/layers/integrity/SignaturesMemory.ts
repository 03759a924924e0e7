// Signing of items in memory: the same plans and signatures, written to the maps that the store reads.
import { Effect, Layer, Option } from "effect"
import { SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { GitTree } from "../../services/git/GitTree.ts"
import { Signatures } from "../../services/integrity/Signatures.ts"
import { tiers as allTiers } from "../../services/item/ItemId.ts"
import { ItemStore } from "../../services/item/ItemStore.ts"
import * as SafeFilesMemory from "../files/SafeFilesMemory.ts"
import * as GitTreeMemory from "../git/GitTreeMemory.ts"
import type { MemoryFile, MemoryFiles, MemoryTiers } from "../item/ItemStoreMemory.ts"
import * as SignaturesFile from "./SignaturesFile.ts"

const isExecutable = (file: MemoryFile | undefined): boolean =>
  typeof file === "object" && !(file instanceof Uint8Array) && file.executable

const bytesOf = (file: MemoryFile): Uint8Array =>
  typeof file === "string"
    ? new TextEncoder().encode(file)
    : file instanceof Uint8Array
    ? file
    : bytesOf(file.content)

/** Only a tier that is a Map can be written to. */
export const filesOf = (tiers: MemoryTiers, store: ItemStore["Service"]): SafeFiles["Service"] => {
  const at = (root: string): MemoryFiles => {
    const tier = allTiers.find((name) => Option.contains(store.rootOf(name), root))
    return (tier === undefined ? undefined : tiers[tier]) ?? new Map()
  }
  const refuse = (path: string) =>
    Effect.fail(new WriteRefused({ path, issue: "read-only", detail: "these items were given as a constant" }))

  const none = SafeFilesMemory.make(new Map(), new Set())

  const write = (root: string, path: string, content: Uint8Array | string) =>
    Effect.suspend(() => {
      const files = at(root)
      if (!(files instanceof Map)) return refuse(path)
      files.set(path, isExecutable(files.get(path)) ? { content, executable: true } : content)
      return Effect.void
    })

  return SafeFiles.of({
    ...none,
    read: (root, path) =>
      Effect.sync(() => {
        const files = at(root)
        const file = files instanceof Map ? files.get(path) : new Map(Object.entries(files)).get(path)
        return file === undefined ? undefined : bytesOf(file)
      }),
    write,
    writeAll: (root, writes) => Effect.forEach(writes, ({ data, path }) => Effect.result(write(root, path, data))),
    makeDirectory: (_, path) => refuse(path),
    remove: (_, path) => refuse(path),
    removeEmpty: (_, path) => refuse(path)
  })
}

export const make = Effect.fnUntraced(function*(tiers: MemoryTiers) {
  const store = yield* ItemStore
  return yield* SignaturesFile.make.pipe(
    Effect.provideService(SafeFiles, filesOf(tiers, store)),
    Effect.provideService(GitTree, GitTreeMemory.make({}))
  )
})

export const layerWith = (tiers: MemoryTiers) => Layer.effect(Signatures, make(tiers))
