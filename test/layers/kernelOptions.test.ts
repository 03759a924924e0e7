// What a program that nobody type-checks gives a kernel: a typed error, and never one of JavaScript's own.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import * as Kernel from "../../src/layers/Kernel.ts"
import * as KernelMemory from "../../src/layers/KernelMemory.ts"
import { makeKiwi } from "../../src/programs/makeKiwi.ts"
import { makeTestKiwi } from "../../src/programs/testing.ts"
import type { PrimitiveHandler } from "../../src/services/primitive/Primitive.ts"
import { call, tool } from "./proxy/calls.ts"

const options: ReadonlyArray<readonly [name: string, given: unknown, option: string]> = [
  ["a service in place of a layer", { replace: {} }, "replace"],
  ["a promise of a layer", { replace: Promise.resolve(Layer.empty) }, "replace"],
  ["a function that makes a layer", { replace: () => Layer.empty }, "replace"],
  ["an array of layers", { replace: [Layer.empty] }, "replace"],
  ["null in place of a layer", { replace: null }, "replace"],
  ["builtins as an object", { builtins: { greet: () => Effect.void } }, "builtins"],
  ["builtins that are no functions", { builtins: new Map([["greet", Effect.void]]) }, "builtins"],
  ["a builtin without a name", { builtins: new Map([["", () => Effect.void]]) }, "builtins"],
  ["builtins as pairs", { builtins: [["greet", () => Effect.void]] }, "builtins"],
  ["items as a Map", { items: new Map([["tools/acme/greet.yaml", ""]]) }, "items"],
  ["items as a folder", { items: "./items" }, "items"],
  ["items as an array", { items: ["tools/acme/greet.yaml"] }, "items"],
  ["an item that could not be read", { items: { "tools/acme/greet.yaml": undefined } }, "items"],
  ["an item that is still being read", { items: { "tools/acme/greet.yaml": Promise.resolve("") } }, "items"],
  ["an item as an object", { items: { "tools/acme/greet.yaml": { version: "1.0.0" } } }, "items"],
  ["a home that is a URL", { home: new URL("file:///tmp/home") }, "home"],
  ["a user space that is a number", { userSpace: 7 }, "userSpace"],
  ["the folder alone", ".", "options"],
  ["null", null, "options"],
  ["an array", [], "options"],
  ["an instance of a class", new Date(0), "options"]
]

const refusalOf = <A, E>(layer: Layer.Layer<A, E>) => Effect.flip(Effect.scoped(Layer.build(layer)))

const inMemory: ReadonlyArray<readonly [name: string, given: unknown, option: string]> = [
  ["a project that is a number", { project: 5 }, "project"],
  ["a project that is a folder", { project: "." }, "project"],
  ["a project of numbers", { project: { "tools/add.py": 5 } }, "project"],
  ["a project of files without content", { project: new Map([["tools/add.py", { executable: true }]]) }, "project"],
  ["a project of pairs", { project: [["tools/add.py", ""]] }, "project"],
  ["a user tier that is null", { user: null }, "user"],
  ["control files that are a Map", { controlFiles: new Map([[".env", ""]]) }, "controlFiles"],
  ["one signer", { signers: { name: "Ada" } }, "signers"],
  ["programs as an object", { programs: { "/usr/bin/bash": () => Effect.void } }, "programs"],
  ["a network that is an answer", { network: {} }, "network"],
  ["a host that is a path", { host: "/usr/bin" }, "host"],
  ["locks of no Map", { lockfiles: { project: {}, user: {} } }, "lockfiles"],
  ["settings as a text", { settings: "lockfile: off" }, "settings"],
  ["a secret that is a number", { secrets: { TOKEN: 1 } }, "secrets"],
  ["packages as an object", { packages: { left: "1.0.0" } }, "packages"]
]

describe("what a kernel in memory has besides", () => {
  for (const [name, given, option] of inMemory) {
    it.live(name, () =>
      Effect.gen(function*() {
        const error = yield* refusalOf(KernelMemory.layer(given as never))
        assert.deepInclude(error, { _tag: "KernelOptionInvalid", option })
        const kiwi = makeTestKiwi(given as never)
        assert.deepInclude(yield* Effect.promise(() => kiwi.run("ping").catch((thrown: unknown) => thrown)), {
          _tag: "KernelOptionInvalid",
          option
        })
        yield* Effect.promise(() => kiwi.close())
      }))
  }
})

describe("an option that cannot be used is refused by name", () => {
  for (const [name, given, option] of options) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const refused = [
          yield* refusalOf(Kernel.layer(given as never)),
          yield* refusalOf(KernelMemory.layer(given as never)),
          // The projects of a process have no items of a program's own.
          ...(option === "items"
            ? []
            : [
              yield* refusalOf(Kernel.layerProjects(given as never)),
              yield* refusalOf(Kernel.layerProcess(given as never))
            ])
        ]
        for (const error of refused) {
          if (error._tag !== "KernelOptionInvalid") throw new Error(error._tag)
          assert.strictEqual(error.option, option)
          assert.notMatch(error.message, /undefined|object Object/)
        }
      }))
  }

  it.effect("a project that is no path, where there is a disk", () =>
    Effect.gen(function*() {
      for (const project of [7, new URL("file:///tmp"), ["."], null]) {
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Kernel.layer({ project } as never))))
        assert.deepStrictEqual([error._tag, "option" in error && error.option], ["KernelOptionInvalid", "project"])
      }
    }))

  it.live("a promise rejects with it", () =>
    Effect.gen(function*() {
      const kiwi = makeKiwi({ replace: {} as never })
      const error = yield* Effect.promise(() => kiwi.run("ping").catch((thrown: unknown) => thrown))
      assert.include(error, { _tag: "KernelOptionInvalid", option: "replace" })
      yield* Effect.promise(() => kiwi.close())
    }))
})

const cyclic: Record<string, unknown> = { a: 1 }
cyclic["self"] = [cyclic]

const deep = Array.from({ length: 100_000 }).reduce<unknown>((inner) => [inner], 1)

const answers = (data: unknown): unknown => () => Effect.succeed({ data, metadata: {} })

const handlers: Readonly<Record<string, unknown>> = {
  "throws an error": () => {
    throw new Error("secret-4711")
  },
  "throws a text": () => {
    throw "secret-4711" as unknown as Error
  },
  "throws null": () => {
    throw null as unknown as Error
  },
  "throws later": () =>
    Effect.sync(() => {
      throw new TypeError("secret-4711")
    }),
  "dies": () => Effect.die("secret-4711"),
  "fails with an error of JavaScript": () =>
    Effect.fail(Object.create(RangeError.prototype, { message: { value: "secret-4711" } })),
  "fails with a text": () => Effect.fail("secret-4711"),
  "fails with nothing": () => Effect.fail(undefined),
  "answers a promise": () => Promise.resolve({ data: 1, metadata: {} }),
  "answers a promise that fails": () => Promise.reject(new Error("secret-4711")),
  "is an async function": async () => ({ data: 1, metadata: {} }),
  "answers the result itself": () => ({ data: 1, metadata: {} }),
  "answers nothing": () => undefined,
  "answers the data alone": () => Effect.succeed("Hello"),
  "answers null": () => Effect.succeed(null),
  "answers no metadata": () => Effect.succeed({ data: 1 }),
  "answers metadata that is a function": () => Effect.succeed({ data: 1, metadata: { stdout: () => 1 } }),
  "answers a bigint": answers(1n),
  "answers a bigint deep inside": answers({ items: [1, { size: 1n }] }),
  "answers undefined": answers(undefined),
  "answers a list with a hole": answers([1, undefined]),
  "answers a function": answers(() => 1),
  "answers a symbol": answers(Symbol.iterator),
  "answers NaN": answers(Number.NaN),
  "answers a number without end": answers([Infinity]),
  "answers a date": answers(new Date(0)),
  "answers a map": answers({ map: new Map([["a", 1]]) }),
  "answers bytes": answers(new Uint8Array(3)),
  "answers an error": answers(new Error("secret-4711")),
  "answers what contains itself": answers(cyclic),
  "answers what nests without end": answers(deep),
  "answers what throws when it is read": answers({
    get a() {
      throw new Error("secret-4711")
    }
  })
}

const greet = tool({
  tool_type: "builtin",
  executor_id: "builtin",
  description: "Greets",
  config: { handler: "greet" },
  input_schema: { type: "object" }
})

const called = (handler: unknown) =>
  call("greet").pipe(
    Effect.provide(Layer.merge(
      KernelMemory.layer({
        items: { "tools/acme/greet.yaml": greet },
        builtins: new Map([["greet", handler as PrimitiveHandler]])
      }),
      Logger.layer([])
    ))
  )

describe("a builtin of a program fails the call, and tells nobody what it threw, if it", () => {
  for (const [name, handler] of Object.entries(handlers)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(called(handler))
        assert.strictEqual(error._tag === "ToolChainError" ? error.reason._tag : error._tag, "BuiltinFailed")
        assert.include(error.message, "the builtin \"greet\"")
        assert.notInclude(JSON.stringify(error), "secret-4711")
        assert.isBelow(error.message.length, 400)
      }))
  }
})

it.effect("a builtin may answer any JSON, and leave members out by undefined", () =>
  Effect.gen(function*() {
    for (const data of [null, "", 0, -1.5, false, [], {}, { a: [{ b: null }] }, Object.create(null)]) {
      assert.deepStrictEqual((yield* called(answers(data))).data, data)
    }
    const { data } = yield* called(answers({ a: 1, b: undefined }))
    assert.strictEqual(JSON.stringify(data), "{\"a\":1}")
  }))

it.effect("items of which two have one id, or a version that is none, fail their call", () =>
  Effect.gen(function*() {
    const run = (items: Readonly<Record<string, string>>) =>
      Effect.flip(Effect.provide(call("greet"), KernelMemory.layer({ items })))
    const twice = yield* run({ "tools/acme/greet.yaml": greet, "tools/other/greet.yaml": greet })
    assert.strictEqual(twice._tag, "ItemAmbiguous")
    for (const version of ["banana", "1", "-1.0.0", ""]) {
      const wrong = yield* run({ "tools/acme/greet.yaml": greet.replace("1.0.0", version) })
      assert.strictEqual(wrong._tag, "ItemInvalid")
    }
    const unnamed = yield* run({ "tools/acme/greet.yaml": greet })
    assert.strictEqual(unnamed._tag === "ToolChainError" ? unnamed.reason._tag : unnamed._tag, "BuiltinFailed")
  }))
