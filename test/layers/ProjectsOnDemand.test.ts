import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { Projects } from "../../src/layers/Projects.ts"
import * as ProjectsOnDemand from "../../src/layers/ProjectsOnDemand.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { Workspace } from "../../src/services/workspace/Workspace.ts"
import { temporary } from "../support/temporary.ts"

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
    }).pipe(Effect.provide(ProjectsOnDemand.layer({ home, userSpace: join(folder, "user") })))
  }))
