import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { explainEnv } from "../../src/programs/envExplain.ts"
import { caller, kernel, tool } from "../layers/proxy/calls.ts"

type Options = Parameters<typeof kernel>[0]

const thing = (fields: Parameters<typeof tool>[0]): Options => ({
  project: { "tools/thing.yaml": tool({ config: { command: "argv" }, ...fields }) }
})

/** What is wrong with the environment itself, and what else would stop a call. */
const rows: ReadonlyArray<readonly [string, Options, problem: string | undefined, blocked: string | undefined]> = [
  ["nothing is wrong", thing({}), undefined, undefined],
  [
    "a command is missing",
    { ...thing({ requires: { commands: ["jq"] } }), host: { programs: [] } },
    "REQUIREMENTS_MISSING",
    undefined
  ],
  ["a variable is missing", thing({ requires: { environment: ["TOKEN"] } }), "REQUIREMENTS_MISSING", undefined],
  [
    "its config sets a variable that no item may set",
    thing({ config: { command: "argv", env: { NODE_OPTIONS: "-r ./x" } } }),
    undefined,
    "CONFIG_INVALID"
  ],
  [
    "nobody has signed it, and a variable is missing",
    { ...thing({ requires: { environment: ["TOKEN"] } }), signatures: "checked" },
    "REQUIREMENTS_MISSING",
    "UNSIGNED"
  ],
  [
    "it has no lock, and locks are strict",
    { ...thing({}), settings: { lockfileMode: "strict" } },
    undefined,
    "LOCK_MISSING"
  ]
]

describe("explains an environment once, and what else stops a call, where", () => {
  for (const [what, options, problem, blocked] of rows) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const found = yield* explainEnv({ id: "thing" }, caller)
        assert.deepStrictEqual([found.problem?.code, found.blocked?.code], [problem, blocked])
      }).pipe(Effect.provide(kernel(options))))
  }

  it.effect("nobody has trusted the project: then nothing of it is explained", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(explainEnv({ id: "thing" }, caller))
      assert.strictEqual(error._tag, "ProjectRestricted")
    }).pipe(Effect.provide(kernel({ ...thing({ requires: { environment: ["TOKEN"] } }), trusted: false }))))
})
