// A process for lockProcesses.test.ts: `FOLDER SEED ACTIONS`. Freezes, validates and prunes at random, and says on
// stdout what was acknowledged, one JSON value a line; with 0 actions it goes on until it is killed.
import { Effect, Random } from "effect"
import { writeSync } from "node:fs"
import { LockfileStore } from "../../../src/services/lockfile/LockfileStore.ts"
import { frozen } from "./locks.ts"
import { worldIn } from "./lockWorld.ts"

interface Lock {
  readonly begin: number
  readonly path: string
  readonly chain: string
}

/** What a process says: before it does something, and once it is done. Times are of the machine's own clock, in ms. */
export type Said =
  | { readonly did: "start" }
  | Lock & { readonly did: "save" }
  | Lock & { readonly did: "saved"; readonly end: number }
  | { readonly did: "prune" }
  | { readonly did: "pruned"; readonly begin: number; readonly end: number; readonly paths: ReadonlyArray<string> }
  | { readonly did: "saw"; readonly invalid: ReadonlyArray<string> }
  /** Somebody else had the lock for too long. */
  | { readonly did: "refused" }
  | { readonly did: "failed"; readonly error: string }

const [, , folder, seed, actions] = process.argv

const now = (): number => Number(process.hrtime.bigint()) / 1e6
const say = (said: Said): void => void writeSync(1, `${JSON.stringify(said)}\n`)

const program = Effect.gen(function*() {
  const store = yield* LockfileStore
  say({ did: "start" })

  const save = Effect.gen(function*() {
    const id = `tool_${yield* Random.nextIntBetween(0, 12)}`
    const category = yield* Random.choice(["kept", "kept/deeper", "scratch", "scratch/deep/er"])
    const made = frozen({ id, category, content: `${yield* Random.next}` })
    const variant = yield* Random.nextBoolean
    const begin = now()
    const path = `${category}/${id}@1.0.0${variant ? `.${made.chain_hash}` : ""}.lock.json`
    // Before it is done: who is killed meanwhile may have done it.
    say({ did: "save", begin, path, chain: made.chain_hash })
    yield* store.save(made, { scope: "project", variant })
    say({ did: "saved", begin, end: now(), path, chain: made.chain_hash })
  })

  const validate = Effect.gen(function*() {
    const { invalid, locks } = yield* store.list({ scope: "project" })
    say({ did: "saw", invalid: invalid.map((error) => error.message) })
    for (const lock of locks) {
      // These are never held, and so are pruned by whoever prunes first.
      if (lock.lockfile.root.tool_id.startsWith("old_")) continue
      yield* store.markValidated(lock)
      const [found] = yield* store.locksFor(
        { toolId: lock.lockfile.root.tool_id, version: "1.0.0", category: lock.lockfile.root.category },
        lock.lockfile.chain_hash
      )
      if (found!.invalid.length > 0) say({ did: "saw", invalid: found!.invalid.map((error) => error.message) })
    }
  })

  const prune = Effect.gen(function*() {
    const begin = now()
    say({ did: "prune" })
    // What is in "kept" is never so old, but for what lay there before; what is in "scratch" always is.
    const input = (yield* Random.nextBoolean)
      ? { category: "scratch", olderThan: -60_000 }
      : { category: "kept", olderThan: 86_400_000 }
    const removed = yield* store.prune({ ...input, scope: "project" })
    say({ did: "pruned", begin, end: now(), paths: removed.map(({ path }) => path) })
  })

  const act = Effect.gen(function*() {
    const dice = yield* Random.nextIntBetween(0, 20)
    if (dice < 12) yield* save
    else if (dice < 16) yield* validate
    else if (dice < 19) yield* prune
    else yield* store.rebuildIndex
  })

  for (let i = 0; Number(actions) === 0 || i < Number(actions); i++) {
    yield* Effect.catchTag(act, "LockTimeout", () => Effect.sync(() => say({ did: "refused" })))
  }
}).pipe(
  Effect.catch((error) => Effect.sync(() => say({ did: "failed", error: `${error._tag}: ${error.message}` }))),
  Effect.provide(worldIn(folder!).layerProcess),
  Random.withSeed(seed!)
)

if (import.meta.main) await Effect.runPromise(program)
