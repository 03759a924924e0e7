// Search at a given size: how long an index takes to build, to find, and to take in one changed file.
import { Clock, Effect, Layer } from "effect"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { ItemIndex } from "../../src/services/search/ItemIndex.ts"
import { note, python, realIndex } from "../layers/search/realItems.ts"

export interface SearchNumbers {
  readonly items: number
  readonly build_ms: number
  readonly build_rss_mb: number
  /** The longest time in which nothing else could run during the build. */
  readonly build_stall_ms: number
  readonly index_mb: number
  readonly search_p50_ms: number
  readonly search_p99_ms: number
  readonly first_search_ms: number
  readonly refresh_one_ms: number
  readonly refresh_none_ms: number
  readonly near_p50_ms: number
}

/**
 * Words of four syllables, no one the beginning of another, as frequent as in a language: the second word is half as
 * frequent as the first, the hundredth a hundredth.
 */
const makeWords = (seed: number) => {
  let state = seed
  const random = () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
  const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu".split(" ")
  const spell = (rank: number): string => {
    const n = (rank * 48_271) % 160_000
    return [8000, 400, 20, 1].map((place) => syllables[Math.floor(n / place) % 20]!).join("")
  }
  const word = () => spell(Math.floor(30_000 ** random()))
  /** Frequent words stand in texts; who searches names what tells things apart. */
  const telling = () => spell(100 + Math.floor(random() * 10_000))
  return { random, word, telling, text: (count: number) => Array.from({ length: count }, word).join(" ") }
}

const put = (root: string, path: string, content: string): void => {
  fs.mkdirSync(dirname(join(root, "project/.ai", path)), { recursive: true })
  fs.writeFileSync(join(root, "project/.ai", path), content)
}

/** One tool for each two knowledge entries, in two hundred folders. */
const generate = (root: string, count: number): ReadonlyArray<string> => {
  const { random, telling, text, word } = makeWords(1)
  const ids: Array<string> = []
  for (let i = 0; i < count; i++) {
    const id = `${telling()}_${telling()}_${i.toString(36)}`
    const category = `group_${i % 200}`
    ids.push(id)
    if (i % 3 === 0) {
      put(root, `tools/${category}/${id}.py`, python({ description: `${text(14)}.`, parameters: [word(), word()] }))
    } else {
      const body = text(20 + Math.floor(random() * 120))
      put(root, `knowledge/${category}/${id}.md`, note({ id, category, title: text(4), tags: [word()], body }))
    }
  }
  return ids
}

const millis = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos) / 1e6)

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function*() {
    const start = yield* millis
    yield* effect
    return (yield* millis) - start
  })

const quantile = (times: ReadonlyArray<number>, q: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * q)]!

export const searchBench = (size: number): Promise<SearchNumbers> =>
  Effect.gen(function*() {
    const root = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "kiwi-bench-")))),
      (path) => Effect.sync(() => fs.rmSync(path, { recursive: true, force: true }))
    )
    const ids = generate(root, size)
    const open = Effect.flatMap(Layer.build(realIndex(root)), (context) => Effect.provide(ItemIndex, context))
    const index = yield* open

    let stall = 0
    let last = performance.now()
    const beat = setInterval(() => {
      const now = performance.now()
      stall = Math.max(stall, now - last)
      last = now
    }, 1)
    const build = yield* timed(index.refresh())
    clearInterval(beat)
    const rss = process.memoryUsage().rss
    yield* Effect.sleep("1500 millis")
    yield* index.search({ query: "warm" })

    const { random, telling, word } = makeWords(2)
    const query = (i: number): string => {
      const id = ids[Math.floor(random() * ids.length)]!
      return [
        telling(),
        `${telling()} ${word()}`,
        id,
        id.split("_").slice(0, 2).join(" "),
        `${word()} ${word()} ${telling()}`
      ][i % 5]!
    }
    const times: Array<number> = []
    for (let i = 0; i < 500; i++) times.push(yield* timed(index.search({ query: query(i) })))
    const near: Array<number> = []
    for (let i = 0; i < 20; i++) near.push(yield* timed(index.near(`${ids[i * 7 % ids.length]!}x`)))

    put(root, "tools/group_0/one_more.py", python({ description: "Giraffe." }))
    const one = yield* timed(index.refresh())
    const none = yield* timed(index.refresh())
    const later = yield* open
    const first = yield* timed(later.search({ query: "giraffe" }))
    return {
      items: size,
      build_ms: build,
      build_rss_mb: rss / 1e6,
      build_stall_ms: stall,
      index_mb: fs.statSync(join(root, "home/projects/memory/search.db")).size / 1e6,
      search_p50_ms: quantile(times, 0.5),
      search_p99_ms: quantile(times, 0.99),
      first_search_ms: first,
      refresh_one_ms: one,
      refresh_none_ms: none,
      near_p50_ms: quantile(near, 0.5)
    }
  }).pipe(Effect.scoped, Effect.runPromise)
