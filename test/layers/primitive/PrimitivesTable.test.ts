import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Schema } from "effect"
import { TestClock } from "effect/testing"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as PermissionGateDefault from "../../../src/layers/permission/PermissionGateDefault.ts"
import * as Noop from "../../../src/layers/primitive/builtin/noop.ts"
import * as OutputRead from "../../../src/layers/primitive/builtin/outputRead.ts"
import * as BuiltinRegistry from "../../../src/layers/primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as PrimitivesMemory from "../../../src/layers/primitive/PrimitivesMemory.ts"
import * as PrimitivesTable from "../../../src/layers/primitive/PrimitivesTable.ts"
import * as ChildProcessesMemory from "../../../src/layers/process/ChildProcessesMemory.ts"
import type { BuiltinHandler } from "../../../src/services/primitive/Builtins.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import { Primitives } from "../../../src/services/primitive/Primitive.ts"
import { inputFor } from "./inputs.ts"

const kernel = (
  programs: Record<string, ChildProcessesMemory.Program> = {},
  handlers: Record<string, BuiltinHandler> = {}
) =>
  Layer.fresh(PrimitivesMemory.layer).pipe(
    Layer.provide(ChildProcessesMemory.layerWith(new Map(Object.entries(programs)))),
    Layer.provide(BuiltinRegistry.register(Noop.handlers, OutputRead.handlers)),
    Layer.provide(PermissionGateDefault.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        BuiltinRegistry.layerWith(new Map(Object.entries(handlers))),
        OutputsMemory.layer,
        OutboundMemory.layerWith((request) => Effect.succeed({ body: request.url }))
      )
    )
  )

describe("Primitives", () => {
  it.effect("are three, and no other name is one", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      assert.deepStrictEqual(primitives.known, ["subprocess", "http_client", "builtin"])
      for (const name of ["shell", "constructor", "__proto__", ""]) {
        assert.strictEqual((yield* Effect.flip(primitives.run(name, inputFor({}))))._tag, "PrimitiveUnknown")
        assert.strictEqual((yield* Effect.flip(primitives.plan(name, inputFor({}))))._tag, "PrimitiveUnknown")
      }
    }).pipe(Effect.provide(kernel())))

  it.effect("measure themselves, without the wait for their turn", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      const fibers = yield* Effect.forEach(
        Array.from({ length: PrimitivesTable.defaults.concurrency.subprocess + 1 }),
        () => Effect.forkChild(primitives.run("subprocess", inputFor({ command: "slow" })))
      )
      yield* TestClock.adjust("4 seconds")
      const results = yield* Fiber.joinAll(fibers)
      assert.isTrue(results.every(({ metadata }) => metadata.duration_ms === 2_000))
    }).pipe(Effect.provide(kernel({ slow: () => Effect.delay(Effect.succeed({}), "2 seconds") }))))

  it.effect("wait for their turn, and leave the queue when interrupted", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      let started = 0
      const gate = yield* Deferred.make<void>()
      const program = Effect.andThen(Effect.sync(() => started++), Deferred.await(gate))
      const layer = kernel({ held: () => Effect.as(program, {}) })
      yield* Effect.gen(function*() {
        const held = yield* Primitives
        const most = PrimitivesTable.defaults.concurrency.subprocess
        const fibers = yield* Effect.forEach(
          Array.from({ length: most + 5 }),
          () => Effect.forkChild(held.run("subprocess", inputFor({ command: "held" })))
        )
        yield* Effect.yieldNow
        assert.strictEqual(started, most)
        yield* Fiber.interrupt(fibers.at(-1)!)
        yield* Deferred.succeed(gate, undefined)
        yield* Fiber.joinAll(fibers.slice(0, -1))
        assert.strictEqual(started, most + 4)
      }).pipe(Effect.provide(layer))
      assert.isDefined(primitives)
    }).pipe(Effect.provide(kernel())))

  it.effect("never wait for a call that they are made within", () =>
    Effect.gen(function*() {
      const layer = kernel({
        held: ({ argv }) =>
          Effect.suspend(() => {
            const depth = Number(argv[1])
            return depth === 4 ? Effect.succeed({}) : Effect.as(runAt(depth + 1), {})
          })
      })
      let primitives: Primitives["Service"] | undefined
      const runAt = (depth: number) =>
        Effect.orDie(
          primitives!.run("subprocess", inputFor({ command: "held", args: [String(depth)], input: "none" }, { depth }))
        )
      yield* Effect.gen(function*() {
        primitives = yield* Primitives
        const most = PrimitivesTable.defaults.concurrency.subprocess
        yield* Effect.all(Array.from({ length: 3 * most }, () => runAt(0)), { concurrency: "unbounded" })
      }).pipe(Effect.provide(layer))
    }))

  it.effect("say that they wait, and take turns in the order in which they came", () =>
    Effect.gen(function*() {
      const order: Array<string> = []
      const gate = yield* Deferred.make<void>()
      const layer = kernel({
        held: ({ argv }) =>
          Effect.gen(function*() {
            order.push(argv[1] ?? "")
            yield* Deferred.await(gate)
            yield* Effect.sleep(1)
            return {}
          })
      })
      yield* Effect.gen(function*() {
        const primitives = yield* Primitives
        const most = PrimitivesTable.defaults.concurrency.subprocess
        const told: Array<string> = []
        const call = (name: string) =>
          Effect.forkChild(primitives.run(
            "subprocess",
            inputFor({ command: "held", args: [name], input: "none" }, {
              emit: (event) => Effect.sync(() => told.push(event._tag === "Progress" ? event.message : ""))
            })
          ))
        const names = Array.from({ length: most + 40 }, (_, i) => `n${i}`)
        const fibers = yield* Effect.forEach(names, call)
        yield* TestClock.adjust("1 millis")
        assert.strictEqual(told.length, 40)
        assert.deepStrictEqual([told[0], told[39]], [
          `waiting: ${most} calls run already, and 0 wait before this one`,
          `waiting: ${most} calls run already, and 39 wait before this one`
        ])
        // Who gives up leaves nothing: neither a place nor a number.
        yield* Fiber.interrupt(fibers[most]!)
        const late = yield* call("late")
        yield* TestClock.adjust("1 millis")
        assert.include(told[40], "and 39 wait before this one")
        yield* Deferred.succeed(gate, undefined)
        yield* TestClock.adjust("1 second")
        yield* Fiber.joinAll([...fibers.filter((_, i) => i !== most), late])
        assert.deepStrictEqual(order, [...names.filter((_, i) => i !== most), "late"])
      }).pipe(Effect.provide(layer))
    }))

  it.effect("of one project do not wait for another's, nor requests for programs", () =>
    Effect.gen(function*() {
      const layer = () => kernel({ held: () => Effect.never, quick: () => Effect.succeed({ stdout: "quick" }) })
      const most = PrimitivesTable.defaults.concurrency.subprocess
      yield* Effect.gen(function*() {
        const one = yield* Primitives
        yield* Effect.forEach(
          Array.from({ length: most }),
          () => Effect.forkChild(one.run("subprocess", inputFor({ command: "held" })))
        )
        yield* Effect.yieldNow
        const request = yield* one.run("http_client", inputFor({ url: "https://a.example/" }))
        assert.strictEqual(request.data, "https://a.example/")
        const other = yield* Primitives.use((two) => two.run("subprocess", inputFor({ command: "quick" }))).pipe(
          Effect.provide(layer())
        )
        assert.strictEqual(other.data, "quick")
        const waiting = yield* Effect.forkChild(one.run("subprocess", inputFor({ command: "quick" })))
        yield* TestClock.adjust("1 minute")
        assert.isUndefined(waiting.pollUnsafe())
      }).pipe(Effect.provide(layer()))
    }))

  it.effect("hold requests to their number too", () =>
    Effect.gen(function*() {
      let open = 0
      let most = 0
      const layer = PrimitivesMemory.layer.pipe(Layer.provide(Layer.mergeAll(
        BuiltinRegistry.layer,
        ChildProcessesMemory.layer,
        OutputsMemory.layer,
        OutboundMemory.layerWith(() =>
          Effect.gen(function*() {
            most = Math.max(most, ++open)
            yield* Effect.sleep(1_000)
            open--
            return { body: "" }
          })
        )
      )))
      yield* Effect.gen(function*() {
        const primitives = yield* Primitives
        const fibers = yield* Effect.forEach(
          Array.from({ length: 50 }),
          () => Effect.forkChild(primitives.run("http_client", inputFor({ url: "https://a.example/" })))
        )
        yield* TestClock.adjust("1 minute")
        yield* Fiber.joinAll(fibers)
        assert.strictEqual(most, PrimitivesTable.defaults.concurrency.http_client)
      }).pipe(Effect.provide(layer))
    }))

  it.effect("plan what they would do", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      assert.deepStrictEqual(
        yield* primitives.plan(
          "subprocess",
          inputFor({ command: "x", input: "env", env: { B: "1" } }, { parameters: { a: 1 } })
        ),
        { primitive: "subprocess", argv: ["x"], environment: ["B", "KIWI_PARAM_A"] }
      )
      assert.deepStrictEqual(
        yield* primitives.plan("http_client", inputFor({ url: "https://a.example/x", query: { q: 1 } })),
        { primitive: "http_client", request: { method: "GET", url: "https://a.example/x?q=1" }, environment: [] }
      )
      assert.deepStrictEqual(yield* primitives.plan("builtin", inputFor({ handler: "noop" })), {
        primitive: "builtin",
        environment: []
      })
      const error = yield* Effect.flip(
        primitives.plan("subprocess", inputFor({ command: "x" }, { parameters: { "a b": 1 } }))
      )
      assert.strictEqual(error._tag, "ParametersUnpassable")
    }).pipe(Effect.provide(kernel({ x: () => Effect.die("a plan ran something") }))))
})

describe("PrimitivesMemory", () => {
  it.effect("runs functions as programs, with the real shaping around them", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      const run = (config: Schema.JsonObject, parameters: Schema.JsonObject = {}) =>
        primitives.run("subprocess", inputFor(config, { parameters }))
      assert.deepStrictEqual((yield* run({ command: "echo", output: "json" }, { a: "b" })).data, ["echo", "--a=b"])
      const failed = yield* Effect.flip(run({ command: "fail" }))
      assert.strictEqual(failed._tag === "ToolFailed" && `${failed.how}: ${failed.output}`, "exit code 3: why")
      assert.strictEqual((yield* Effect.flip(run({ command: "other" })))._tag, "ToolUnstartable")
    }).pipe(Effect.provide(kernel({
      echo: ({ argv }) => Effect.succeed({ stdout: JSON.stringify(argv) }),
      fail: () => Effect.succeed({ code: 3, stderr: "why" })
    }))))

  it.effect("times out on the test's clock", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      const fiber = yield* Effect.forkChild(
        Effect.flip(primitives.run("subprocess", inputFor({ command: "hang", timeout: 60 })))
      )
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "ToolTimeout")
    }).pipe(Effect.provide(kernel({ hang: () => Effect.never }))))

  it.effect("has no network of its own", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      assert.strictEqual(
        (yield* primitives.run("http_client", inputFor({ url: "https://a.example/" }))).data,
        "https://a.example/"
      )
    }).pipe(Effect.provide(kernel())))
})

describe("builtin", () => {
  it.effect("finds handlers by id", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      const run = (config: Schema.JsonObject) => primitives.run("builtin", inputFor(config))
      assert.strictEqual((yield* run({ handler: "mine" })).data, "mine")
      assert.isNull((yield* run({ handler: "noop" })).data)
      for (const config of [{ handler: "other" }, { handler: "constructor" }, {}]) {
        assert.strictEqual((yield* Effect.flip(run(config)))._tag, "BuiltinFailed")
      }
    }).pipe(Effect.provide(kernel({}, {
      mine: () => Effect.succeed({ data: "mine", metadata: {} })
    }))))

  it.effect("output_read reads a kept output to its end, range by range", () =>
    Effect.gen(function*() {
      const primitives = yield* Primitives
      const writer = yield* (yield* Outputs).create
      yield* writer.append(new TextEncoder().encode("hello world"))
      const read = (parameters: Schema.JsonObject) =>
        primitives.run("builtin", inputFor({ handler: "output_read" }, { parameters }))
      assert.deepStrictEqual((yield* read({ id: writer.uri, length: 5 })).data, {
        text: "hello",
        offset: 0,
        length: 5,
        total: 11,
        next: 5
      })
      assert.deepStrictEqual((yield* read({ id: writer.uri, offset: 5, length: 100 })).data, {
        text: " world",
        offset: 5,
        length: 6,
        total: 11,
        next: null
      })
      assert.deepStrictEqual(
        (yield* read({ id: writer.uri, length: 5, encoding: "base64" })).data,
        { base64: "aGVsbG8=", offset: 0, length: 5, total: 11, next: 5 }
      )
      for (const parameters of [{ id: "gone" }, { id: writer.uri, offset: -1 }, { id: writer.uri, length: 1e9 }, {}]) {
        assert.strictEqual((yield* Effect.flip(read(parameters)))._tag, "BuiltinFailed")
      }
    }).pipe(Effect.provide(kernel())))
})
