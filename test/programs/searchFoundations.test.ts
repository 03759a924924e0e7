// A search for tools shows first what can be called.
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { search } from "../../src/programs/search.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import { kernelOf, realProject } from "../support/realProject.ts"

const caller: Caller = { surface: "mcp", client: "ada", session: "one" }

it.live("what tools are built on stands behind what can be called", () =>
  Effect.gen(function*() {
    const real = yield* realProject({})
    yield* Effect.gen(function*() {
      for (const query of ["tool", "subprocess", "git", "filesystem", "process", "network", "run"]) {
        for (const limit of [3, 10, 50]) {
          const hits = yield* search({ query, limit }, caller)
          assert.isAtMost(hits.length, limit)
          const isBuiltOn = hits.map(({ category }) => /^(?:capabilities|primitives|runtimes)$/.test(category))
          assert.deepStrictEqual(isBuiltOn, isBuiltOn.toSorted((a, b) => Number(a) - Number(b)), `${query} ${limit}`)
        }
      }
      const [first] = yield* search({ query: "tool", limit: 1 }, caller)
      assert.notInclude(["capabilities", "primitives", "runtimes"], first?.category)
    }).pipe(Effect.provide(kernelOf(real)))
  }).pipe(Effect.scoped), 30_000)
