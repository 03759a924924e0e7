// Temporary tiers on a real disk, and a store over them.
import { Effect, Layer, Option } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemStoreFile from "../../../src/layers/item/ItemStoreFile.ts"
import type { MemoryFile, MemoryTiers } from "../../../src/layers/item/ItemStoreMemory.ts"
import type { Tier } from "../../../src/services/item/ItemId.ts"
import { KiwiHome } from "../../../src/services/workspace/KiwiHome.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"

export interface Disk {
  readonly base: string
  readonly root: (tier: Tier) => string
  readonly write: (tier: Tier, path: string, file: MemoryFile) => void
}

export const makeDisk = Effect.acquireRelease(
  Effect.sync((): Disk => {
    const base = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-items-")))
    Fs.mkdirSync(`${base}/project`)
    const root = (tier: Tier): string => tier === "project" ? `${base}/project/.ai` : `${base}/${tier}`
    const write = (tier: Tier, path: string, file: MemoryFile): void => {
      const target = `${root(tier)}/${path}`
      Fs.mkdirSync(Path.dirname(target), { recursive: true })
      const isPlain = typeof file === "string" || file instanceof Uint8Array
      Fs.writeFileSync(target, isPlain ? file : file.content)
      Fs.chmodSync(target, !isPlain && file.executable ? 0o755 : 0o644)
    }
    return { base, root, write }
  }),
  (disk) => Effect.sync(() => Fs.rmSync(disk.base, { recursive: true, force: true }))
)

export const writeTiers = (disk: Disk, tiers: MemoryTiers): void => {
  for (const tier of ["project", "user", "system"] as const) {
    for (const [path, file] of Object.entries(tiers[tier] ?? {})) disk.write(tier, path, file)
  }
}

export const environment = (disk: Disk) =>
  Layer.mergeAll(
    Layer.succeed(
      KiwiHome,
      KiwiHome.of({
        home: `${disk.base}/kiwi`,
        userSpace: disk.root("user"),
        systemSpace: disk.root("system"),
        verified: `${disk.base}/kiwi/verified`,
        userHome: disk.base
      })
    ),
    Layer.succeed(
      Workspace,
      Workspace.of({
        project: Option.some({
          id: "p",
          root: `${disk.base}/project`,
          ai: disk.root("project"),
          state: `${disk.base}/kiwi/projects/p`
        }),
        state: `${disk.base}/kiwi/projects/p`,
        cwd: `${disk.base}/project`
      })
    )
  )

export const storeOn = (disk: Disk) =>
  ItemStoreFile.layer.pipe(Layer.provide(environment(disk)), Layer.provide(ExtractorsMemory.layer))

export const storeOf = (tiers: MemoryTiers) =>
  Layer.unwrap(Effect.map(makeDisk, (disk) => {
    writeTiers(disk, tiers)
    return storeOn(disk)
  }))
