// What grows with the number of items: search, looking an item up, opening a project.
import { Effect, Layer, ManagedRuntime, Result } from "effect"
import { readdirSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as Kernel from "../../src/layers/Kernel.ts"
import { Projects } from "../../src/layers/Projects.ts"
import { search } from "../../src/programs/search.ts"
import { ChainResolver } from "../../src/services/chain/ChainResolver.ts"
import { Verifier } from "../../src/services/integrity/Verifier.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { Lockfiles } from "../../src/services/lockfile/Lockfiles.ts"
import { ItemIndex } from "../../src/services/search/ItemIndex.ts"
import type { BigProject } from "./bigProject.ts"
import { makeBigProject, makeWords } from "./bigProject.ts"
import { caller, openKernel } from "./kernel.ts"
import type { OpenKernel } from "./kernel.ts"
import { millis, pause } from "./measure.ts"
import type { Place } from "./place.ts"
import type { Row, RowInput } from "./Report.ts"
import { makeRow } from "./Report.ts"

/** What people type: a word, two, a name, half a name, three words. */
const makeQueries = (ids: ReadonlyArray<string>) => {
  const { random, word } = makeWords(2)
  return (i: number): string => {
    const id = ids[Math.floor(random() * ids.length)]!
    return [
      word(),
      `${word()} ${word()}`,
      id,
      id.split("_").slice(0, 2).join(" "),
      `${word()} ${word()} ${word()}`
    ][i % 5]!
  }
}

const times = async (count: number, warm: number, run: (i: number) => Promise<unknown>) => {
  const found: Array<number> = []
  for (let i = -warm; i < count; i++) {
    const time = await millis(() => run(i + warm))
    if (i >= 0) found.push(time)
  }
  return found
}

const stateFolder = (home: string): string => {
  const folder = join(home, "projects")
  const id = readdirSync(folder).find((name) => /^[0-9a-f]{32}$/.test(name))
  return join(folder, id ?? "")
}

/** The index, and what SQLite has not yet written into the file itself. */
const indexFiles = (home: string): ReadonlyArray<string> => {
  const folder = stateFolder(home)
  return readdirSync(folder).filter((name) => name.startsWith("search.db")).map((name) => join(folder, name))
}

/** The chain of five links is locked as it is. */
const lockChain = async (place: Place): Promise<void> => {
  const kernel = openKernel(place.options)
  try {
    await kernel.runPromise(Effect.gen(function*() {
      const lockfiles = yield* Lockfiles
      yield* lockfiles.freeze(yield* lockfiles.planFreeze({ id: "one" }), undefined)
    }))
  } finally {
    await kernel.dispose()
  }
}

/** What a call does before it knows that the chain of five links is the one that was signed and locked. */
const provenChain = Effect.gen(function*() {
  const chains = yield* ChainResolver
  const lockfiles = yield* Lockfiles
  const verifier = yield* Verifier
  const { chain } = yield* chains.resolve({ id: "one" })
  if (chain.links.length !== 5) return yield* Effect.die("the chain has five links")
  const verified = yield* verifier.verifyAll(chain.links.map(({ snapshot }) => snapshot))
  if (!verified.every(Result.isSuccess)) return yield* Effect.die("every link is signed")
  const { _tag } = yield* lockfiles.check(chain, undefined, undefined)
  if (_tag !== "Locked") return yield* Effect.die("the chain is as it was locked")
})

const resolveRows = async (kernel: OpenKernel, ids: ReadonlyArray<string>, quick: boolean) => {
  const { random } = makeWords(3)
  const count = quick ? 100 : 2_000
  const resolve = await times(count, count / 5, () => {
    const id = ids[Math.floor(random() * ids.length)]!
    return kernel.runPromise(Effect.flatMap(ItemStore, (store) => store.find({ id })))
  })
  const chain = await times(count, count / 5, () => kernel.runPromise(provenChain))
  return { resolve, chain }
}

const collectGarbage = (): void => {
  setFlagsFromString("--expose-gc")
  runInNewContext("gc")()
}

/** In kernels that have looked at nothing yet. Files are in the system's cache, as they are on a machine in use. */
const coldRows = async (place: Place, quick: boolean) => {
  const found = { find: [] as Array<number>, chain: [] as Array<number>, memory: [] as Array<number> }
  for (let round = 0; round < (quick ? 2 : 7); round++) {
    for (const what of ["find", "chain"] as const) {
      const kernel = openKernel(place.options)
      try {
        const store = await kernel.runPromise(ItemStore)
        collectGarbage()
        const before = process.memoryUsage().heapUsed
        found[what].push(
          await millis(() =>
            kernel.runPromise(
              what === "find" ? Effect.asVoid(store.find({ id: "one" })) : provenChain
            )
          )
        )
        collectGarbage()
        if (what === "find") found.memory.push((process.memoryUsage().heapUsed - before) / 1e6)
      } finally {
        await kernel.dispose()
      }
    }
  }
  return found
}

const resolveSizeRows = async ({ ids, place }: BigProject, size: number, quick: boolean) => {
  const row = (name: string, input: Omit<RowInput, "name">) => makeRow({ name: `resolve.${name}.${size}`, ...input })
  await lockChain(place)
  // Times of files and folders are believed two seconds after their last change.
  await pause(2_500)
  const cold = await coldRows(place, quick)
  const kernel = openKernel(place.options)
  try {
    const { chain, resolve } = await resolveRows(kernel, ids, quick)
    return [
      row("id_cold", {
        what: "the first item looked up by its id: every folder of all three types is listed",
        times: cold.find
      }),
      row("memory", { what: "what those listings take in memory", unit: "MB", times: cold.memory }),
      row("chain_cold", {
        what:
          "the first chain of five links resolved, every link read, parsed and verified, the lock compared: every folder of tools is listed",
        times: cold.chain
      }),
      row("id", { what: "an item looked up by its id", times: resolve }),
      row("chain", {
        what: "a chain of five links resolved, every link verified, the lock compared",
        times: chain,
        target: { p50: 0.5 }
      })
    ]
  } finally {
    await kernel.dispose()
  }
}

const sizeRows = async ({ ids, place }: BigProject, size: number, quick: boolean): Promise<ReadonlyArray<Row>> => {
  const row = (name: string, input: Omit<RowInput, "name">) => makeRow({ name: `${name}.${size}`, ...input })
  const kernel = openKernel(place.options)
  try {
    const index = await kernel.runPromise(ItemIndex)
    const build = await millis(() => kernel.runPromise(index.refresh()))
    // What was set up to watch has settled by then, and times of files are believed.
    await pause(2_500)
    const query = makeQueries(ids)
    const count = quick ? 50 : 500
    const found = await times(count, count / 5, (i) => kernel.runPromise(index.search({ query: query(i) })))
    const whole = await times(
      count,
      count / 5,
      (i) => kernel.runPromise(search({ query: query(i), limit: 10 }, caller))
    )
    const changes: Array<number> = []
    for (let i = 0; i < (quick ? 2 : 10); i++) {
      const id = `one_more_${i - (i % 2)}`
      // A new one, then that one edited.
      place.write(`.ai/knowledge/group_0/${id}.md`, `---\ntitle: Giraffe\n---\nzebra${i}x\n`)
      changes.push(
        await millis(async () => {
          const [hit] = await kernel.runPromise(index.search({ query: `zebra${i}x` }))
          if (hit?.id !== id) throw new Error(`${id} was not found`)
        })
      )
    }
    const sweeps = await times(quick ? 2 : 5, 1, () => kernel.runPromise(index.refresh()))
    return [
      row("search.index", {
        what: "search of the index alone",
        times: found,
        target: { p50: 5 }
      }),
      row("search.hits", {
        what: "search as a caller gets it: each of ten hits read, verified, and said whether it can run",
        times: whole
      }),
      row("search.build", { what: "building the index", times: [build], target: { p50: 30_000 } }),
      row("search.refresh", {
        what: "a search right after one file was written: it is taken in, and found",
        times: changes,
        target: { p50: 150 }
      }),
      row("search.sweep", { what: "every file compared with the index, where none has changed", times: sweeps }),
      row("search.index_size", {
        what: "the index on disk",
        unit: "MB",
        times: [indexFiles(place.options.home).reduce((sum, file) => sum + statSync(file).size, 0) / 1e6]
      })
    ]
  } finally {
    await kernel.dispose()
  }
}

const forSizes = async (
  quick: boolean,
  measure: (project: BigProject, size: number, quick: boolean) => Promise<ReadonlyArray<Row>>
): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const size of quick ? [100, 500] : [1_000, 100_000]) {
    const project = await makeBigProject(size)
    try {
      rows.push(...await measure(project, size, quick))
    } finally {
      project.place.remove()
    }
  }
  return rows
}

export const bigRows = (quick: boolean) => forSizes(quick, sizeRows)

export const resolvingRows = (quick: boolean) => forSizes(quick, resolveSizeRows)

/** Opening, then what a client asks first. */
const openOnce = async ({ place }: BigProject, state: "cold" | "warm") => {
  if (state === "cold") { for (const file of indexFiles(place.options.home)) rmSync(file, { force: true }) }
  const runtime = ManagedRuntime.make(Layer.fresh(Kernel.layerProjects(place.options)))
  const projects = await runtime.runPromise(Projects)
  const time = await millis(() => runtime.runPromise(projects.use(place.project)(search({ query: "add" }, caller))))
  await runtime.dispose()
  return time
}

export const openingRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const size of quick ? [20, 100] : [100, 10_000]) {
    const project = await makeBigProject(size)
    try {
      await openOnce(project, "cold")
      const rounds = { cold: quick ? 2 : size > 1_000 ? 3 : 10, warm: quick ? 3 : 20 }
      for (const state of ["cold", "warm"] as const) {
        const found: Array<number> = []
        for (let i = 0; i < rounds[state]; i++) found.push(await openOnce(project, state))
        rows.push(makeRow({
          name: `opening.${state}.${size}`,
          what: state === "cold"
            ? "opening a project to the answer of a first search, without an index"
            : "opening a project to the answer of a first search, with its index",
          times: found
        }))
      }
    } finally {
      project.place.remove()
    }
  }
  return rows
}
