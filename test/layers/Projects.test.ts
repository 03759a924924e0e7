import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import type { ProjectServices } from "../../src/layers/projectGraph.ts"
import * as Projects from "../../src/layers/Projects.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { Workspace } from "../../src/services/workspace/Workspace.ts"

class Built extends Context.Service<Built, { readonly order: Array<string> }>()("test/Built") {}

/** A layer without options, as most of a kernel's are: what it is of, it learns from the layer under it. */
const store = Layer.effect(
  ItemStore,
  Effect.gen(function*() {
    const { state } = yield* Workspace
    const { order } = yield* Built
    yield* Effect.acquireRelease(
      Effect.sync(() => order.push(state)),
      () => Effect.sync(() => order.push(`${state} closed`))
    )
    return yield* Effect.provide(ItemStore, Layer.mock(ItemStore, { rootOf: () => Option.some(state) }))
  })
)

const layer = Projects.layerWith((key) => {
  const kernel: unknown = Layer.provideMerge(
    store,
    Layer.mock(Workspace, { project: Option.none(), state: key, cwd: key })
  )
  return kernel as Layer.Layer<ProjectServices, never, Built>
})

const stateOf = Effect.map(ItemStore, ({ rootOf }) => Option.getOrThrow(rootOf("project")))

it.effect("each project has its own services, and keeps them", () =>
  Effect.gen(function*() {
    const projects = yield* Projects.Projects
    const { order } = yield* Built
    for (const key of ["one", "two", "three", "one", "two"]) {
      assert.strictEqual(yield* projects.use(key)(stateOf), key)
    }
    assert.deepStrictEqual(order, ["one", "two", "three"])
    yield* projects.close("two")
    assert.strictEqual(yield* projects.use("two")(stateOf), "two")
    assert.deepStrictEqual(order, ["one", "two", "three", "two closed", "two"])
  }).pipe(Effect.provide(Layer.provideMerge(layer, Layer.succeed(Built, { order: [] })))))
