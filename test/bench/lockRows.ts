// Ten thousand lockfiles, read from the disk and held against what is there, and the locks of one call.
import { Effect, Layer, ManagedRuntime } from "effect"
import { createHash } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as SafeFilesNode from "../../src/layers/files/SafeFilesNode.ts"
import * as LockfileStoreFile from "../../src/layers/lockfile/LockfileStoreFile.ts"
import * as KiwiHomeNode from "../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceNode from "../../src/layers/workspace/WorkspaceNode.ts"
import { compareLock } from "../../src/services/lockfile/compareLock.ts"
import { chainHashText } from "../../src/services/lockfile/Lockfile.ts"
import type { Frozen, LockedLink } from "../../src/services/lockfile/Lockfile.ts"
import { LockfileStore } from "../../src/services/lockfile/LockfileStore.ts"
import { printLockfile } from "../../src/services/lockfile/lockfileText.ts"
import { keyOf, lockPath } from "../../src/services/lockfile/lockName.ts"
import { millis, pause } from "./measure.ts"
import type { Place } from "./place.ts"
import { makePlace } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

/** A chain of five links; the last four are those that most tools share. */
const frozenOf = (i: number): Frozen => {
  const category = `group_${i % 200}`
  const ids = [`tool_${i}`, "wrapper", "python_runtime", "runtime_base", "subprocess"]
  const [leaf, ...rest] = ids.map((tool_id, at): LockedLink => ({
    tool_id,
    version: "1.0.0",
    integrity: sha256(tool_id),
    executor: ids[at + 1] ?? null,
    tier: at < 2 ? "project" : "system",
    path: at < 2 ? `${category}/${tool_id}.py` : `runtimes/${tool_id}.yaml`
  }))
  const links = [leaf!, ...rest] as const
  return {
    root: { tool_id: leaf!.tool_id, version: "1.0.0", integrity: leaf!.integrity, category },
    resolved_chain: links,
    chain_hash: sha256(chainHashText(links)).slice(0, 12),
    runtime: {
      interpreter: { variable: "KIWI_PYTHON", kind: "project-venv", version: "3.13.1" },
      commands: ["git"],
      variables: ["API_URL"]
    },
    dependencies: null
  }
}

const writeLock = (place: Place, frozen: Frozen): void => {
  const file = join(place.project, ".ai/lockfiles", lockPath(keyOf({ root: frozen.root }))!)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(
    file,
    printLockfile({ lockfile_version: 1, generated_at: "2026-11-22T10:00:00.000Z", ...frozen, registry: null })
  )
}

const open = ({ options }: Place) =>
  ManagedRuntime.make(LockfileStoreFile.layer.pipe(
    Layer.provide(WorkspaceNode.layer(options.project)),
    Layer.provide(Layer.mergeAll(SafeFilesNode.layer, ProcessLockSqlite.layer)),
    Layer.provide(KiwiHomeNode.layerWith({ home: options.home, userSpace: options.userSpace }))
  ))
type OpenStore = ReturnType<typeof open>

const verify = (store: OpenStore, now: ReadonlyMap<string, Frozen>) =>
  store.runPromise(Effect.gen(function*() {
    const { invalid, locks } = yield* (yield* LockfileStore).list()
    const held = locks.filter(({ lockfile }) => {
      const frozen = now.get(lockfile.root.tool_id)
      return frozen !== undefined && compareLock(lockfile, frozen).length === 0
    })
    if (invalid.length > 0 || held.length !== now.size) return yield* Effect.die("every lock holds")
  }))

export const lockRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const size = quick ? 1_000 : 10_000
  const place = makePlace()
  const now = new Map(Array.from({ length: size }, (_, i) => [`tool_${i}`, frozenOf(i)]))
  for (const frozen of now.values()) writeLock(place, frozen)
  // Times of files are believed after two seconds.
  await pause(2_100)
  const store = open(place)
  try {
    const times: Array<number> = []
    for (let round = 0; round < (quick ? 3 : 12); round++) {
      const time = await millis(() => verify(store, now))
      if (round > 1) times.push(time)
    }
    const all = [...now.values()]
    const looks: Array<number> = []
    // A thousand at a time: one is close to what a clock costs.
    for (let round = 0; round < (quick ? 3 : 30); round++) {
      const time = await millis(() =>
        store.runPromise(Effect.gen(function*() {
          const locks = yield* LockfileStore
          for (let i = 0; i < 1_000; i++) {
            const frozen = all[i % 100]!
            yield* locks.locksFor(keyOf({ root: frozen.root }), frozen.chain_hash)
          }
        }))
      )
      if (round > 1) looks.push(time / 1_000)
    }
    return [
      makeRow({
        name: `lockfile.verify.${size}`,
        what: "every lockfile listed, read, checked against itself and held against its chain",
        times,
        target: { p50: 500 }
      }),
      makeRow({
        name: "lockfile.look",
        what: "the locks of one call, in both scopes, when none has changed",
        times: looks,
        target: { p50: 0.05 }
      })
    ]
  } finally {
    await store.dispose()
    place.remove()
  }
}
