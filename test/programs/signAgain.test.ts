// What an agent asks the person to sign and they have signed as it is: an answer at once, and no question.
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { sign } from "../../src/programs/sign.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { caller, object, tool } from "../layers/proxy/calls.ts"
import { kernelOf, realProject } from "../support/realProject.ts"
import { agree, trustProject } from "../support/trustWorld.ts"

const textOf = (says: string) =>
  tool({ version: "1.0.0", input_schema: object({}), config: { command: "echo", args: [says] } })

it.live("is asked about where a yes would change something, and only there", () =>
  Effect.gen(function*() {
    const made = yield* realProject({ ".ai/tools/a.yaml": textOf("a"), ".ai/tools/b.yaml": textOf("b") })
    let asked = 0
    const gate = Layer.succeed(HumanGate, {
      ask: (request) =>
        Effect.sync(() => {
          asked++
          return agree(request)
        })
    })
    yield* Effect.gen(function*() {
      yield* trustProject
      const bySurface = Effect.fnUntraced(function*(id: string, surface: "mcp" | "cli", category?: string) {
        const before = asked
        const { already_signed = [], signed } = yield* sign({ id, type: "tool", category }, { ...caller, surface })
        return [asked - before, signed.map((one) => one.id), already_signed.map((one) => one.id)]
      })
      const lock = join(made.project, ".ai/lockfiles")
      assert.deepStrictEqual(yield* bySurface("*", "mcp"), [1, ["a", "b"], []])
      assert.deepStrictEqual(yield* bySurface("*", "mcp"), [0, [], ["a", "b"]])
      assert.deepStrictEqual(yield* bySurface("a", "mcp"), [0, [], ["a"]])
      assert.deepStrictEqual(yield* bySurface("a", "cli"), [1, ["a"], []], "a person who types it means it")
      fs.rmSync(lock, { recursive: true })
      assert.deepStrictEqual(yield* bySurface("a", "mcp"), [1, ["a"], []], "it was not locked")
      assert.deepStrictEqual(yield* bySurface("*", "mcp"), [1, ["a", "b"], []], "one was not locked")
      made.write(".ai/tools/b.yaml", textOf("c"))
      assert.deepStrictEqual(yield* bySurface("a", "mcp"), [0, [], ["a"]])
      assert.deepStrictEqual(yield* bySurface("*", "mcp"), [1, ["a", "b"], []], "one has changed")
      fs.mkdirSync(join(made.userSpace, "tools"), { recursive: true })
      fs.writeFileSync(join(made.userSpace, "tools/a.yaml"), textOf("hidden"))
      assert.deepStrictEqual(yield* bySurface("a", "mcp"), [1, ["a"], []], "it hides another now")
    }).pipe(Effect.provide(Layer.merge(kernelOf(made), gate)))
  }).pipe(Effect.scoped))
