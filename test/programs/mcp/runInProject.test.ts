import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Option, References, Tracer } from "effect"
import type { ProjectServices } from "../../../src/layers/projectGraph.ts"
import * as Projects from "../../../src/layers/Projects.ts"
import * as RunInProject from "../../../src/programs/mcp/runInProject.ts"
import { CallEvents } from "../../../src/services/call/CallEvents.ts"
import { CallWarnings } from "../../../src/services/call/CallWarning.ts"
import { RunningCalls } from "../../../src/services/call/RunningCalls.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import { HumanGate, HumanRequired } from "../../../src/services/trust/HumanAct.ts"

/** Names of what was opened and closed, in order. */
const makeProjects = Effect.gen(function*() {
  const order: Array<string> = []
  const layer = Projects.layerWith((key) => {
    const kernel: unknown = Layer.effect(
      ItemStore,
      Effect.gen(function*() {
        const name = `${key} ${order.length}`
        yield* Effect.acquireRelease(
          Effect.sync(() => order.push(name)),
          () => Effect.sync(() => order.push(`${name} closed`))
        )
        return yield* Effect.provide(ItemStore, Layer.mock(ItemStore, { rootOf: () => Option.some(name) }))
      })
    )
    return kernel as Layer.Layer<ProjectServices>
  })
  const server = yield* Effect.map(
    Layer.build(layer),
    (built) => Context.merge(built, Context.make(OfServer, "server"))
  )
  return { order, server, projects: Context.get(server, Projects.Projects), run: RunInProject.make(server) }
})

class OfServer extends Context.Service<OfServer, string>()("test/OfServer") {}
const OfRequest = Context.Reference<string>("test/OfRequest", { defaultValue: () => "none" })

const nobody: RunInProject.Audience = {
  gate: HumanGate.of({ ask: ({ command, kind, title }) => Effect.fail(new HumanRequired({ kind, title, command })) }),
  warn: () => Effect.void
}

const nameOf = Effect.map(ItemStore, ({ rootOf }) => Option.getOrThrow(rootOf("project")))

it.effect("each call has the services of its project, as it is open now", () =>
  Effect.gen(function*() {
    const { order, projects, run } = yield* makeProjects
    assert.strictEqual(yield* run("one", nameOf, nobody), "one 0")
    assert.strictEqual(yield* run("two", nameOf, nobody), "two 1")
    assert.strictEqual(yield* run("one", nameOf, nobody), "one 0")
    yield* projects.close("one")
    assert.strictEqual(yield* run("one", nameOf, nobody), "one 3")
    assert.deepStrictEqual(order, ["one 0", "two 1", "one 0 closed", "one 3"])
  }))

it.effect("a project that is closed during a call ends with the call, not before", () =>
  Effect.gen(function*() {
    const { order, projects, run } = yield* makeProjects
    const inside = Effect.gen(function*() {
      yield* projects.close("one")
      return [...order]
    })
    assert.deepStrictEqual(yield* run("one", inside, nobody), ["one 0"])
    assert.deepStrictEqual(order, ["one 0", "one 0 closed"])
  }))

it.effect("a project is closed by a call that fails or is interrupted, too", () =>
  Effect.gen(function*() {
    const { order, projects, run } = yield* makeProjects
    for (const end of [Effect.fail("no"), Effect.interrupt, Effect.die("defect")]) {
      yield* Effect.exit(run("one", Effect.andThen(projects.close("one"), end), nobody))
    }
    assert.deepStrictEqual(order.filter((name) => name.endsWith("closed")).length, 3)
    assert.strictEqual(order.length, 6)
  }))

it.effect("a call has what its own request brings, and nothing of another's", () =>
  Effect.gen(function*() {
    const { run } = yield* makeProjects
    const heard: Array<string> = []
    const inside = Effect.gen(function*() {
      yield* Effect.flatMap(CallEvents, ({ emit }) => emit({ _tag: "Progress", message: "working" }))
      yield* Effect.flatMap(CallWarnings, ({ warn }) => warn({ code: "W", message: "careful" }))
      return {
        level: yield* References.CurrentLogLevel,
        span: Option.getOrUndefined(yield* Effect.serviceOption(Tracer.ParentSpan)),
        server: Option.getOrUndefined(yield* Effect.serviceOption(OfServer)),
        other: yield* OfRequest,
        running: (yield* RunningCalls).find("c1")?.output()
      }
    })
    const request = (name: string) =>
      run("one", inside, { ...nobody, warn: () => Effect.sync(() => heard.push(`${name} warned`)) })
    const first = yield* request("first").pipe(
      Effect.provideService(CallEvents, { emit: () => Effect.sync(() => heard.push("first emitted")) }),
      Effect.provideService(RunningCalls, {
        find: () => ({ output: () => "of the first", answer: () => Effect.undefined, stop: Effect.void }),
        forget: () => {}
      }),
      Effect.provideService(References.CurrentLogLevel, "Debug"),
      Effect.provideService(OfRequest, "of the first"),
      Effect.withSpan("the first")
    )
    assert.strictEqual(first.level, "Debug")
    assert.strictEqual(first.span?._tag === "Span" ? first.span.name : "", "the first")
    assert.strictEqual(first.server, "server")
    assert.strictEqual(first.other, "none")
    assert.strictEqual(first.running, "of the first")
    const second = yield* request("second")
    assert.deepStrictEqual(second, {
      level: "Info",
      span: undefined,
      server: "server",
      other: "none",
      running: undefined
    })
    assert.deepStrictEqual(heard, ["first emitted", "first warned", "second warned"])
  }))
