// Which level a call runs at, and that it does not run where there is no engine for it.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import * as ChildProcessesMemory from "../../../src/layers/process/ChildProcessesMemory.ts"
import { ChildProcesses } from "../../../src/services/process/ChildProcesses.ts"
import type { Isolation } from "../../../src/services/sandbox/Isolation.ts"
import { call, entries, object, reasonOf, tool, trace } from "./calls.ts"

const parameters = object({ x: { type: "string" } }, "x")
const project = {
  "tools/plain.yaml": tool({ config: { command: "tell", args: ["a"] } }),
  "tools/code.yaml": tool({ input_schema: parameters, config: { command: "bash", args: ["-c", "{x}"] } }),
  "tools/program.yaml": tool({ input_schema: parameters, config: { command: "{x}" } }),
  "tools/fetch.yaml": tool({ executor_id: "http_client", config: { url: "https://a.example/", method: "GET" } }),
  "tools/address.yaml": tool({
    executor_id: "http_client",
    input_schema: parameters,
    config: { url: "{x}", method: "GET" }
  })
}

/** A kernel that has these levels, and how often a program was started. */
const kernel = (levels: ReadonlyArray<Isolation>) => {
  const started: Array<string> = []
  const program: ChildProcessesMemory.Program = ({ argv }) =>
    Effect.sync(() => {
      started.push(argv[0]!)
      return { stdout: "said" }
    })
  const programs = new Map(["tell", "bash"].map((name) => [name, program]))
  return {
    started,
    layer: KernelMemory.layer({
      project,
      network: () => Effect.succeed({ body: "fetched" }),
      replace: ChildProcessesMemory.layerWith(programs, levels)
    })
  }
}

const none: ReadonlyArray<Isolation> = []
const today = ["trusted", "standard"] as const
const refusals: ReadonlyArray<
  readonly [tool: string, parameters: Record<string, string>, has: ReadonlyArray<Isolation>, needs: Isolation]
> = [
  ["plain", {}, none, "standard"],
  ["plain", {}, ["trusted"], "standard"],
  ["plain", {}, ["trusted", "sandboxed", "restricted"], "standard"],
  ["code", { x: "id" }, none, "sandboxed"],
  ["code", { x: "id" }, today, "sandboxed"],
  ["code", { x: "id" }, ["standard", "restricted"], "sandboxed"],
  ["program", { x: "tell" }, today, "sandboxed"],
  ["program", { x: "tell" }, ["restricted"], "sandboxed"],
  ["address", { x: "https://b.example/" }, today, "sandboxed"],
  // No engine for programs keeps a request from anything.
  ["address", { x: "https://b.example/" }, ["trusted", "standard", "sandboxed", "restricted"], "sandboxed"]
]

describe("without an engine for its level, nothing of it is started, and the audit says so:", () => {
  for (const [item, given, levels, level] of refusals) {
    it.effect(`${item}, where there is ${levels.join(", ") || "none"}`, () => {
      const { layer, started } = kernel(levels)
      return Effect.gen(function*() {
        const reason = reasonOf(yield* Effect.flip(call(item, given)))
        assert.deepInclude(reason, { _tag: "SandboxUnavailable", tool: item, level })
        assert.deepStrictEqual(started, [])
        const [request, result] = yield* entries
        assert.strictEqual(request?.kind, "request")
        assert.deepInclude(result, { kind: "result", outcome: "denied" })
        assert.strictEqual(result?.kind === "result" && result.error?.code, "SANDBOX_UNAVAILABLE")
        assert.strictEqual((yield* trace(item)).blocked?.step, "isolate")
      }).pipe(Effect.provide(layer))
    })
  }
})

describe("with one", () => {
  it.effect("what the caller chooses runs in it", () => {
    const { layer, started } = kernel(["sandboxed"])
    return Effect.gen(function*() {
      for (const [item, x] of [["code", "id"], ["program", "tell"]] as const) {
        const { data, metadata } = yield* call(item, { x })
        assert.deepStrictEqual([data, metadata.isolation], ["said", "sandboxed"])
      }
      assert.deepStrictEqual(started, ["bash", "tell"])
    }).pipe(Effect.provide(layer))
  })

  it.effect("and requests and builtins need none", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* call("fetch")).data, "fetched")
      assert.strictEqual((yield* call("ping")).metadata.isolation, "trusted")
    }).pipe(Effect.provide(kernel(none).layer)))
})

it.effect("a level that only the engine's own list lacks is refused there", () => {
  // Says that it has it, as a replacement may.
  const { run } = ChildProcessesMemory.make(new Map(), [])
  const lying = Layer.succeed(ChildProcesses, ChildProcesses.of({ levels: new Set(today), run }))
  return Effect.gen(function*() {
    assert.deepInclude(reasonOf(yield* Effect.flip(call("plain"))), { _tag: "SandboxUnavailable", level: "standard" })
    const [, result] = yield* entries
    assert.deepInclude(result, { kind: "result", outcome: "denied" })
  }).pipe(Effect.provide(KernelMemory.layer({ project, replace: lying })))
})
