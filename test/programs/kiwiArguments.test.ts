// What a program that nobody type-checks gives the methods of a Kiwi: a typed error before anybody is asked.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeKiwi } from "../../src/programs/makeKiwi.ts"
import { temporary } from "../support/temporary.ts"

/** The first argument of each method that has to be there; `undefined` where none has to. */
const methods: Readonly<Record<string, readonly [needed: unknown, ...more: ReadonlyArray<"parameters" | "options">]>> =
  {
    run: ["ping", "parameters", "options"],
    search: [{ query: "x" }, "options"],
    load: [{ id: "ping" }, "options"],
    follow: ["nothing", "parameters", "options"],
    explain: [{ id: "ping" }, "parameters", "options"],
    chain: [{ id: "ping" }, "options"],
    explainEnv: [{ id: "ping" }, "options"],
    sign: [{ id: "ping" }, "options"],
    trustProject: [undefined],
    runPromise: [Effect.void, "options"],
    "lockfile.freeze": [{ id: "ping" }, "options"],
    "lockfile.update": [undefined, "options"],
    "lockfile.validate": [{ id: "ping" }, "options"],
    "lockfile.list": [undefined, "options"],
    "lockfile.prune": [undefined, "options"],
    "lockfile.diff": [{ id: "ping" }, "options"],
    "lockfile.verify": [undefined, "options"],
    "lockfile.outdated": [undefined, "options"]
  }

const always: ReadonlyArray<unknown> = [
  null,
  5,
  [],
  new Date(0),
  new AbortController().signal,
  { item_id: "evil" },
  { id: 5, signal: 5, query: 5 },
  { id: "ping", query: "x", item_id: "evil" },
  () => "ping"
]

const wrongOf = (needed: unknown): ReadonlyArray<unknown> => [
  ...always,
  ...(needed === undefined ? ["ping"] : [undefined, {}]),
  ...(typeof needed === "string" ? [{ id: "ping" }] : [])
]

describe("a Kiwi refuses what a method cannot take, and asks nobody", () => {
  for (const [name, [needed, ...more]] of Object.entries(methods)) {
    it.live(name, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        let asked = 0
        const kiwi = makeKiwi({
          project: folder,
          home: `${folder}/kiwi`,
          userSpace: `${folder}/user`,
          askPerson: () => ++asked > 0
        })
        const [group = name, method = group] = name.split(".")
        const owner = (method === group ? kiwi : kiwi.lockfile) as unknown as Record<
          string,
          (...given: ReadonlyArray<unknown>) => Promise<unknown>
        >
        const calls = [
          ...wrongOf(needed).map((wrong) => [wrong]),
          ...more.flatMap((_, at) => {
            const before = [needed, ...Array.from({ length: at }, () => undefined)]
            const wrong = more[at] === "parameters" ? [null, 5, "x", [], new Date(0)] : always
            return wrong.map((one) => before.concat([one]))
          })
        ]
        for (const given of calls) {
          const error = yield* Effect.promise(() =>
            owner[method]!(...given).then(() => "done", (thrown: unknown) => thrown)
          )
          const told = error as { readonly _tag: string; readonly message: string; readonly method: string }
          assert.strictEqual(told._tag, "KiwiArgumentInvalid", given.map((one) => JSON.stringify(one)).join())
          assert.strictEqual(told.method, name)
          assert.notMatch(told.message, /evil|object Object/)
        }
        assert.strictEqual(asked, 0)
        const right = yield* Effect.promise(() =>
          owner[method]!(needed).then(() => "done", (error: { readonly _tag: string }) => error._tag)
        )
        assert.notStrictEqual(right, "KiwiArgumentInvalid")
        yield* Effect.promise(() => kiwi.close())
      }).pipe(Effect.scoped))
  }

  it.live("has a row here for each of its methods", () =>
    Effect.promise(async () => {
      const kiwi = makeKiwi()
      const own = Object.keys(kiwi).filter((name) => name !== "close" && name !== "lockfile")
      const all = [...own, ...Object.keys(kiwi.lockfile).map((name) => `lockfile.${name}`)]
      assert.deepStrictEqual(all.toSorted(), Object.keys(methods).toSorted())
      await kiwi.close()
    }))
})
