// Who registers which builtin: one name, one handler, refused at start and never later; and what a handler fails with.
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, Layer, Logger, Schema } from "effect"
import * as fs from "node:fs"
import * as CallBuiltins from "../../src/layers/call/callBuiltins.ts"
import * as FilesystemBuiltins from "../../src/layers/filesystem/filesystemBuiltins.ts"
import * as GitBuiltins from "../../src/layers/git/gitBuiltins.ts"
import * as Kernel from "../../src/layers/Kernel.ts"
import * as KernelMemory from "../../src/layers/KernelMemory.ts"
import * as LockfileBuiltins from "../../src/layers/lockfile/lockfileBuiltins.ts"
import * as HttpFetch from "../../src/layers/primitive/builtin/httpFetch.ts"
import * as Noop from "../../src/layers/primitive/builtin/noop.ts"
import * as OutputRead from "../../src/layers/primitive/builtin/outputRead.ts"
import * as BuiltinRegistry from "../../src/layers/primitive/BuiltinRegistry.ts"
import * as OutputsMemory from "../../src/layers/primitive/OutputsMemory.ts"
import * as ShellBuiltin from "../../src/layers/process/shellBuiltin.ts"
import { Projects } from "../../src/layers/Projects.ts"
import { makeKiwi } from "../../src/programs/makeKiwi.ts"
import { CallEvents } from "../../src/services/call/CallEvents.ts"
import { toErrorObject } from "../../src/services/error/KiwiError.ts"
import { WriteRefused } from "../../src/services/files/SafeFiles.ts"
import { ItemNotFound } from "../../src/services/item/ItemErrors.ts"
import type { BuiltinHandler } from "../../src/services/primitive/Builtins.ts"
import { Builtins, BuiltinTaken } from "../../src/services/primitive/Builtins.ts"
import { OutputNotFound, Outputs } from "../../src/services/primitive/Outputs.ts"
import { ToolFailed } from "../../src/services/primitive/PrimitiveErrors.ts"
import { HumanRequired } from "../../src/services/trust/HumanAct.ts"
import { ProjectRestricted } from "../../src/services/trust/ProjectTrust.ts"
import { realProject } from "../support/realProject.ts"
import { temporary } from "../support/temporary.ts"
import { trustProject } from "../support/trustWorld.ts"
import { inputFor } from "./primitive/inputs.ts"
import { call, entries, reasonOf, tool } from "./proxy/calls.ts"

const answer: BuiltinHandler = () => Effect.succeed({ data: "replaced", metadata: {} })

const names = [
  CallBuiltins,
  FilesystemBuiltins,
  GitBuiltins,
  HttpFetch,
  LockfileBuiltins,
  Noop,
  OutputRead,
  ShellBuiltin
].flatMap(({ handlers }) => Object.keys(handlers))

const builtin = (handler: string) => tool({ executor_id: "builtin", config: { handler } })

describe("a name of Kiwi's own is refused when the kernel is opened:", () => {
  for (const name of names) {
    it.live(name, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        const builtins = new Map([["mine", answer], [name, answer]])
        const options = { home: `${folder}/home`, userSpace: `${folder}/user` }
        const replace = Layer.succeed(
          Builtins,
          Builtins.of({ handlers: new Map(Array.from(builtins, ([id, run]) => [id, { run }])) })
        )
        const kernels: ReadonlyArray<Layer.Layer<never, unknown>> = [
          Kernel.layer({ ...options, builtins }),
          Kernel.layer({ ...options, replace }),
          Kernel.layerProjects({ ...options, builtins }),
          Kernel.layerProjects({ ...options, replace }),
          Kernel.layerProcess({ ...options, builtins }),
          KernelMemory.layer({ builtins }),
          KernelMemory.layer({ replace })
        ]
        for (const kernel of kernels) {
          const error = yield* Effect.flip(Effect.scoped(Layer.build(kernel)))
          assert.deepInclude(error, { _tag: "KernelOptionInvalid", option: "builtins" })
          assert.include(String(error), `there is already a builtin "${name}"`)
        }
        const kiwi = makeKiwi({ ...options, builtins })
        assert.deepInclude(yield* Effect.promise(() => kiwi.run("ping").catch((thrown: unknown) => thrown)), {
          _tag: "KernelOptionInvalid"
        })
        yield* Effect.promise(() => kiwi.close())
      }).pipe(Effect.scoped))
  }

  it.effect("and of any two domains, by a typed error", () =>
    Effect.gen(function*() {
      const registering = (...domains: ReadonlyArray<Readonly<Record<string, BuiltinHandler>>>) =>
        Effect.scoped(Layer.build(Layer.provide(BuiltinRegistry.register(...domains), BuiltinRegistry.layer)))
      assert.deepStrictEqual(
        yield* Effect.flip(registering({ one: answer }, { two: answer, one: answer })),
        new BuiltinTaken({ name: "one" })
      )
      const twice = Layer.provide(BuiltinRegistry.register({ one: answer }), BuiltinRegistry.register({ one: answer }))
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Layer.provide(twice, BuiltinRegistry.layer))))
      assert.deepStrictEqual(error, new BuiltinTaken({ name: "one" }))
      yield* registering({ one: answer }, { two: answer, constructor: answer, __proto__: null as never })
    }))
})

describe("handlers of a program", () => {
  it.effect("stand beside Kiwi's own, by names that are traps too", () =>
    Effect.gen(function*() {
      const traps = ["constructor", "toString", "hasOwnProperty", "Noop", "noop "]
      const items = Object.fromEntries(traps.map((name, index) => [`tools/acme/trap${index}.yaml`, builtin(name)]))
      yield* Effect.gen(function*() {
        for (const index of traps.keys()) assert.strictEqual((yield* call(`trap${index}`)).data, "replaced")
        assert.isNull((yield* call("ping")).data)
      }).pipe(Effect.provide(KernelMemory.layer({ items, builtins: new Map(traps.map((name) => [name, answer])) })))
      const { hint } = yield* Effect.flip(call("trap0")).pipe(
        Effect.map((error) => ({ hint: toErrorObject(error).remediation })),
        Effect.provide(KernelMemory.layer({ items }))
      )
      assert.strictEqual(hint, `Builtins here: ${names.toSorted().join(", ")}`)
    }))

  it.live("of one process serve all its projects, each with locks of its own", () =>
    Effect.gen(function*() {
      const one = yield* realProject({})
      const two = yield* realProject({})
      const kernel = Kernel.layerProjects({ home: one.home, userSpace: one.userSpace })
      yield* Effect.gen(function*() {
        const projects = yield* Projects
        const verify = (project: string) =>
          projects.use(fs.realpathSync(project))(Effect.andThen(trustProject, call("lockfile_verify")))
        fs.mkdirSync(`${two.project}/.ai/lockfiles/math`, { recursive: true })
        fs.writeFileSync(`${two.project}/.ai/lockfiles/math/add@1.0.0.lock.json`, "no lock")
        assert.deepInclude((yield* verify(one.project)).data, { ok: true })
        assert.deepInclude((yield* verify(two.project)).data, { ok: false })
        assert.deepInclude((yield* verify(one.project)).data, { ok: true })
      }).pipe(Effect.provide(kernel))
    }).pipe(Effect.scoped))
})

class Overloaded extends Schema.TaggedError<Overloaded>()("Overloaded", {}) {
  override get message() {
    return "Too many ask at once"
  }
  get remediation() {
    return "Ask later"
  }
  get retryable() {
    return true
  }
}

class Plain extends Data.TaggedError("Plain")<{ readonly message: string }> {}

interface Wire {
  readonly code: string
  readonly message: string
  readonly remediation?: string
  readonly retryable?: boolean
}

const full = new WriteRefused({ path: "a.txt", issue: "no-space", detail: "the disk is full" })
const gone = new OutputNotFound({ id: "x" })
const restricted = new ProjectRestricted({ reason: "nobody has trusted it yet" })
const human = new HumanRequired({ kind: "loosen-lock", title: "Lock add", command: "kiwi lockfile freeze add" })
const missing = new ItemNotFound({ id: "tol", type: "tool", near: ["tool"] })

/** What a handler fails with, and the code, message and remedy that its caller gets. */
const failures: ReadonlyArray<readonly [error: unknown, wire: Partial<Wire>]> = [
  [gone, { code: "OUTPUT_NOT_FOUND", message: gone.message, remediation: gone.remediation }],
  [full, { code: "WRITE_REFUSED", message: full.message, remediation: full.remediation }],
  [restricted, { code: "PROJECT_RESTRICTED", message: restricted.message }],
  [human, { code: "HUMAN_REQUIRED", message: human.message }],
  [missing, { code: "ITEM_NOT_FOUND", message: missing.message }],
  [new Overloaded(), {
    code: "OVERLOADED",
    message: "Too many ask at once",
    remediation: "Ask later",
    retryable: true
  }],
  [new Plain({ message: "no such city" }), { code: "PLAIN", message: "no such city" }],
  [Object.assign(new Error("odd"), { _tag: "Odd" }), { code: "ODD", message: "odd" }],
  [new ToolFailed({ tool: "a", how: "HTTP 429", output: "", transient: true }), {
    code: "TOOL_FAILED",
    retryable: true
  }]
]

const failing = (error: unknown) =>
  Effect.gen(function*() {
    return { error: yield* Effect.flip(call("mine")), audit: yield* entries }
  }).pipe(Effect.provide(Layer.merge(
    KernelMemory.layer({
      items: { "tools/acme/mine.yaml": builtin("mine") },
      builtins: new Map([["mine", () => Effect.fail(error as WriteRefused)]])
    }),
    Logger.layer([])
  )))

describe("a handler's own error is the cause, and what the caller is told:", () => {
  for (const [cause, wire] of failures) {
    it.effect(wire.code ?? "", () =>
      Effect.gen(function*() {
        const { audit, error } = yield* failing(cause)
        const reason = reasonOf(error)
        if (reason._tag !== "BuiltinFailed") throw new Error(reason._tag)
        assert.strictEqual(reason.cause, cause)
        assert.deepInclude(toErrorObject(error), wire)
        assert.include(JSON.stringify(audit.at(-1)), `"${wire.code}"`)
      }))
  }

  it.effect("not where it is no error of that form, or is BuiltinFailed itself", () =>
    Effect.gen(function*() {
      for (const error of [new Error("secret-4711"), "secret-4711", undefined, { _tag: "Mute" }]) {
        const reason = reasonOf((yield* failing(error)).error)
        assert.notProperty(reason, "cause")
        assert.notInclude(reason.message, "secret-4711")
      }
      const { error } = yield* failing(gone)
      const nested = reasonOf((yield* failing(reasonOf(error))).error)
      assert.strictEqual(nested, reasonOf(error))
    }))

  it.effect("also where it is its own reason", () =>
    Effect.gen(function*() {
      const ring = Object.assign(new Error("around"), { _tag: "Ring", reason: undefined as unknown })
      ring.reason = ring
      assert.strictEqual(toErrorObject((yield* failing(ring)).error).code, "RING")
    }))

  it.effect("of Kiwi's own handlers too", () =>
    Effect.gen(function*() {
      const output = reasonOf(yield* Effect.flip(call("output_read", { id: "0123456789abcdef0123456789abcdef" })))
      const locked = reasonOf(yield* Effect.flip(call("lockfile_validate", { tool: "tol" })))
      const causes = [output, locked].map((reason) =>
        reason._tag === "BuiltinFailed" ? reason.cause?._tag : reason._tag
      )
      assert.deepStrictEqual(causes, ["OutputNotFound", "ItemNotFound"])
    }).pipe(Effect.provide(KernelMemory.layer())))

  it.effect("and what it reports goes to the call that it answers, not to the one in which the kernel was built", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      const hearing = (name: string) => ({ emit: () => Effect.sync(() => void heard.push(name)) })
      const mine = () =>
        Effect.gen(function*() {
          yield* (yield* CallEvents).emit({ _tag: "Progress", message: "working" })
          return { data: null, metadata: {} }
        })
      const { handlers } = yield* Builtins.pipe(
        Effect.provide(BuiltinRegistry.register({ mine }).pipe(Layer.provide(BuiltinRegistry.layer))),
        Effect.provideService(CallEvents, hearing("first"))
      )
      const run = handlers.get("mine")!.run(inputFor({}))
      yield* Effect.provideService(run, CallEvents, hearing("second"))
      assert.deepStrictEqual(heard, ["second"])
    }))

  it.effect("and what it asks for are the services that it was registered with", () =>
    Effect.gen(function*() {
      const asking = { mine: () => Effect.map(Outputs, ({ create }) => ({ data: typeof create, metadata: {} })) }
      const { handlers } = yield* Builtins.pipe(
        Effect.provide(
          BuiltinRegistry.register(asking).pipe(
            Layer.provide([BuiltinRegistry.layer, OutputsMemory.layer])
          )
        )
      )
      assert.deepInclude(yield* handlers.get("mine")!.run(inputFor({})), { data: "object" })
    }))
})
