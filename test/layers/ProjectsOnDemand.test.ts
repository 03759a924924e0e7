import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Projects } from "../../src/layers/Projects.ts"
import * as ProjectsOnDemand from "../../src/layers/ProjectsOnDemand.ts"
import * as KiwiHomeNode from "../../src/layers/workspace/KiwiHomeNode.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { Workspace } from "../../src/services/workspace/Workspace.ts"
import { temporary } from "../support/temporary.ts"

const inHome = (options: KiwiHomeNode.KiwiHomeOptions) =>
  ProjectsOnDemand.layer.pipe(Layer.provide(KiwiHomeNode.layerWith(options)))

const findPing = Effect.flatMap(ItemStore, (store) => store.find({ id: "core/ping" }))

it.effect("makes a kernel with the first project that is opened, and one for all of them", () =>
  Effect.gen(function*() {
    const folder = yield* temporary
    const home = join(folder, "home")
    for (const name of ["home", "a", "b"]) mkdirSync(join(folder, name), { mode: 0o700 })
    yield* Effect.gen(function*() {
      const projects = yield* Projects
      assert.deepStrictEqual(readdirSync(home), [])
      const found = yield* projects.use("")(findPing)
      assert.strictEqual(found.location.tier, "system")
      const roots = yield* Effect.forEach(
        ["a", "b"],
        (name) => projects.use(join(folder, name))(Effect.map(Workspace, (workspace) => workspace.cwd)),
        { concurrency: 2 }
      )
      assert.deepStrictEqual(roots, [join(folder, "a"), join(folder, "b")])
    }).pipe(Effect.provide(inHome({ home, userSpace: join(folder, "user") })))
  }))

for (const home of ["~root/.kiwi", "$HOME/.kiwi", "%USERPROFILE%\\.kiwi", "a\nb", `/${"a".repeat(40_000)}`]) {
  for (const name of ["home", "userSpace"] as const) {
    it.effect(`is refused with a ${name} of ${JSON.stringify(home.slice(0, 20))}, when it is built`, () =>
      Effect.gen(function*() {
        const refused = yield* Effect.flip(Effect.provide(Projects, inHome({ home: "/tmp/kiwi", [name]: home })))
        assert.strictEqual(refused._tag, "HomeRefused")
      }))
  }
}

it.effect("opens its kernel in the home that was decided at the start, whatever the variables say since", () =>
  Effect.gen(function*() {
    const folder = yield* temporary
    const home = join(folder, "home")
    const variables: Record<string, string> = { KIWI_HOME: home, USER_SPACE: join(folder, "user"), HOME: folder }
    const provider = ConfigProvider.make((path) =>
      Effect.sync(() => {
        const value = variables[path.join("_")]
        return value === undefined ? undefined : ConfigProvider.makeValue(value)
      })
    )
    yield* Effect.gen(function*() {
      const projects = yield* Projects
      variables["KIWI_HOME"] = "~root/elsewhere"
      assert.strictEqual((yield* projects.use("")(findPing)).location.tier, "system")
    }).pipe(Effect.provide(Layer.provideMerge(inHome({}), ConfigProvider.layer(provider))))
  }))
