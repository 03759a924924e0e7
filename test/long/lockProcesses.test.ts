import { assert, describe, it } from "@effect/vitest"
import { Effect, Random, Result } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"
import { sha256 } from "../../src/layers/identity/sha256.ts"
import * as ProcessLockSqlite from "../../src/layers/workspace/ProcessLockSqlite.ts"
import { LockfileStore } from "../../src/services/lockfile/LockfileStore.ts"
import { readLockfile } from "../../src/services/lockfile/lockfileText.ts"
import { ProcessLock } from "../../src/services/workspace/ProcessLock.ts"
import type { Said } from "../layers/lockfile/lockChild.ts"
import { lockText } from "../layers/lockfile/locks.ts"
import { world } from "../layers/lockfile/lockWorld.ts"
import type { World } from "../layers/lockfile/lockWorld.ts"

const processes = 100
const atOnce = 12

/** Bundled: a hundred processes start in a quarter of the time. */
const bundleChild = (made: World) =>
  Effect.promise(async () => {
    const bundle = await rolldown({
      input: fileURLToPath(new URL("../layers/lockfile/lockChild.ts", import.meta.url)),
      platform: "node",
      logLevel: "silent"
    })
    await bundle.write({ dir: join(made.folder, "child"), format: "esm", entryFileNames: "child.mjs" })
    await bundle.close()
    return join(made.folder, "child/child.mjs")
  })

interface Ended {
  readonly said: ReadonlyArray<Said>
  readonly code: number | null
  readonly stderr: string
}

interface Kill {
  /** Once it says this. */
  readonly on: "start" | "saved"
  readonly after: number
}

const run = (child: string, args: ReadonlyArray<string>, kill: Kill | undefined) =>
  Effect.callback<Ended>((resume) => {
    const started = spawn(process.execPath, [child, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    let [text, stderr] = ["", ""]
    let timer: NodeJS.Timeout | undefined
    started.stdout.setEncoding("utf8").on("data", (data: string) => {
      text += data
      if (kill === undefined || timer !== undefined || !text.includes(`"did":"${kill.on}"`)) return
      timer = setTimeout(() => started.kill("SIGKILL"), kill.after)
    })
    started.stderr.setEncoding("utf8").on("data", (data: string) => stderr += data)
    started.on("close", (code) => {
      // A killed process may have been cut off within its last line.
      const said = text.split("\n").slice(0, -1).map((line) => JSON.parse(line) as Said)
      resume(Effect.succeed({ said, code, stderr }))
    })
    return Effect.sync(() => started.kill("SIGKILL"))
  })

/** Lockfiles that lie there when all begin, older than anything may be. */
const putOld = (made: World): void => {
  for (let i = 0; i < 12; i++) {
    const id = i % 2 === 0 ? `tool_${i}` : `old_${i}`
    made.put("project", `kept/${id}@1.0.0.lock.json`, lockText({ id, category: "kept" }, "2020-01-01T00:00:00.000Z"))
  }
}

/** Every lockfile's chain by path, read without the store; a torn one fails here. */
const chainsOf = (made: World): ReadonlyMap<string, string> =>
  new Map(
    fs.globSync("**/*.lock.json", { cwd: made.folders.project }).flatMap((path) => {
      const text = made.get("project", path)
      return text === undefined ? [] : [[path, Result.getOrThrow(readLockfile(text, sha256)).chain_hash] as const]
    })
  )

/** Looks again and again, like a call would, until it is interrupted. */
const watch = (store: LockfileStore["Service"], torn: Set<string>) =>
  Effect.forever(Effect.gen(function*() {
    const { invalid } = yield* store.list({ scope: "project" })
    for (const error of invalid) torn.add(error.message)
    yield* Effect.sleep("100 millis")
  }))

const check = (made: World, ended: ReadonlyArray<Ended>, seed: number): void => {
  const hint = `seed ${seed}`
  const said = ended.flatMap((one) => one.said)
  const of = <D extends Said["did"]>(did: D) =>
    said.filter((one): one is Extract<Said, { readonly did: D }> => one.did === did)
  assert.deepStrictEqual(of("failed"), [], hint)
  assert.deepStrictEqual(of("saw").flatMap((one) => one.invalid), [], hint)

  const saved = of("saved")
  assert.isAbove(saved.length, processes / 2, hint)
  // On a machine that has much else to do one may have to wait for too long, and then is told so.
  assert.isBelow(of("refused").length, saved.length / 20, hint)
  const pruned = of("pruned")
  const chains = chainsOf(made)

  // What was said to be begun, and not to be done, was cut off and may have been done or not, at any time since.
  const done = new Set(saved.map((one) => `${one.path} ${one.chain}`))
  const cut = of("save").filter((one) => !done.has(`${one.path} ${one.chain}`)).map(({ begin, chain, path }) => ({
    begin,
    chain,
    path,
    end: Infinity
  }))
  const cutPrunes = ended.flatMap((one) => {
    const last = one.said.findLast(({ did }) => did === "prune" || did === "pruned")
    return last?.did === "prune" ? [last] : []
  })
  const everySave = [...saved, ...cut]

  for (const one of saved) {
    const replaced = everySave.some((other) => other !== one && other.path === one.path && other.end > one.begin)
    const isThere = chains.get(one.path) === one.chain
    const wasPruned = pruned.some(({ end, paths }) => paths.includes(one.path) && end > one.begin) ||
      (one.path.startsWith("scratch/") && cutPrunes.length > 0)
    assert.isTrue(isThere || replaced || wasPruned, `${hint}: the lock ${one.path} of ${one.chain} was lost`)
    const overwritten = saved.some((other) => other.path === one.path && other.begin > one.end)
    assert.isFalse(isThere && overwritten, `${hint}: the lock ${one.path} of ${one.chain} came back`)
    const prunedSince = pruned.some(({ begin, paths }) => paths.includes(one.path) && begin > one.end)
    assert.isFalse(isThere && prunedSince, `${hint}: the pruned lock ${one.path} of ${one.chain} came back`)
  }
  const known = new Set(everySave.map((one) => `${one.path} ${one.chain}`))
  for (const [path, chain] of chains) {
    const isOld = path.startsWith("kept/") && made.get("project", path)!.includes("2020-01-01T")
    assert.isTrue(known.has(`${path} ${chain}`) || isOld, `${hint}: nobody saved ${path} of ${chain}`)
  }
  // Nobody prunes from "kept" what was made in this run.
  for (const path of pruned.flatMap(({ paths }) => paths)) {
    assert.isTrue(path.startsWith("scratch/") || /^kept\/(?:tool|old)_\d+@1\.0\.0\.lock\.json$/.test(path), hint)
  }
}

/** The index says the same whether it was there or is made anew. */
const checkIndex = Effect.fnUntraced(function*(made: World, store: LockfileStore["Service"], seed: number) {
  const file = join(made.folders.project, ".index.json")
  const plain = Effect.map(store.list({ scope: "project" }), ({ invalid, locks }) => {
    assert.deepStrictEqual(invalid, [])
    return locks.map(({ lockfile, path, variant }) => ({ lockfile, path, variant }))
  })
  if (fs.existsSync(file)) JSON.parse(fs.readFileSync(file, "utf8"))
  const before = yield* plain
  fs.rmSync(file, { force: true })
  assert.deepStrictEqual(yield* plain, before, `seed ${seed}`)
  yield* store.rebuildIndex
  const entries = (): Record<string, unknown> => JSON.parse(fs.readFileSync(file, "utf8")).lockfiles
  const first = entries()
  assert.deepStrictEqual(
    Object.keys(first),
    [...chainsOf(made).keys()].map((path) => path.replace(/\.lock\.json$/, "")).toSorted()
  )
  yield* store.rebuildIndex
  assert.deepStrictEqual(entries(), first)
  assert.deepStrictEqual(yield* plain, before)
})

const leftovers = (made: World) => fs.globSync("**/.kiwi-*.tmp", { cwd: made.folders.project })

const scenario = (kill: boolean) =>
  Effect.gen(function*() {
    const seed = (yield* Random.nextInt) >>> 0
    const made = yield* world
    const child = yield* bundleChild(made)
    putOld(made)
    const store = yield* Effect.provide(LockfileStore, made.layerProcess)
    const torn = new Set<string>()
    const runs = Effect.forEach(
      Array.from({ length: processes }, (_, i) => i),
      Effect.fnUntraced(function*(i) {
        const after = yield* Random.nextIntBetween(0, 300)
        const killed: Kill = { on: i % 4 === 0 ? "start" : "saved", after }
        return yield* run(child, [made.folder, `${seed}-${i}`, kill ? "0" : "6"], kill ? killed : undefined)
      }),
      { concurrency: atOnce }
    ).pipe(Random.withSeed(`${seed}`))
    const ended = yield* Effect.raceFirst(runs, watch(store, torn))
    assert.deepStrictEqual([...torn], [], `seed ${seed}`)
    assert.deepStrictEqual(ended.map(({ stderr }) => stderr).join(""), "", `seed ${seed}`)
    assert.deepStrictEqual(new Set(ended.map(({ code }) => code)), new Set([kill ? null : 0]), `seed ${seed}`)
    check(made, ended, seed)
    return { made, store, seed }
  })

describe("a hundred processes that freeze, validate and prune the same store", () => {
  it.live("lose nothing, and never show a torn file", () =>
    Effect.gen(function*() {
      const { made, seed, store } = yield* scenario(false)
      assert.deepStrictEqual(leftovers(made), [])
      assert.deepStrictEqual(fs.globSync("kept/old_*", { cwd: made.folders.project }), [])
      yield* checkIndex(made, store, seed)
    }), 300_000)

  it.live("and are killed at random lose nothing either, and leave nothing behind", () =>
    Effect.gen(function*() {
      const { made, seed, store } = yield* scenario(true)
      const locks = yield* Effect.provide(ProcessLock, ProcessLockSqlite.layer)
      for (const lock of fs.globSync("**/lockfiles.lock", { cwd: made.home })) {
        yield* Effect.scoped(locks.tryHold(join(made.home, lock, ".."), "lockfiles.lock"))
      }
      // Unfinished files are not listed, and are cleared away as soon as nobody can be writing them any more.
      const long = new Date(Date.now() - 11 * 60_000)
      for (const path of leftovers(made)) fs.utimesSync(join(made.folders.project, path), long, long)
      yield* store.prune({ olderThan: Infinity })
      assert.deepStrictEqual(leftovers(made), [], `seed ${seed}`)
      yield* checkIndex(made, store, seed)
    }), 300_000)
})
