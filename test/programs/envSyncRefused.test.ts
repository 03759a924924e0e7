import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { appendFileSync, existsSync } from "node:fs"
import { join } from "node:path"
import { envSync } from "../../src/programs/envSync.ts"
import { pythonTool, syncWorld } from "../layers/dependency/syncWorld.ts"

const caller = { surface: "cli", client: "tester", session: "s" } as const

it.live("a sync of all tools names those that declare packages and may not run, and installs nothing for them", () =>
  Effect.gen(function*() {
    const world = yield* syncWorld({
      "hello.py": pythonTool(["kiwi-greet"], "print(1)"),
      "plain.py": pythonTool([], "print(1)")
    })
    for (const tool of ["hello", "plain"]) appendFileSync(join(world.project, `.ai/tools/${tool}.py`), "# changed\n")
    const sync = envSync(
      { upgrade: false, allowBuild: false, plan: () => Effect.void, progress: () => Effect.void },
      caller
    )
    const synced = yield* world.inKernel(sync)
    assert.deepStrictEqual(synced.map(({ error, state, tool }) => [tool, state, error?.code]), [
      ["hello", "refused", "TAMPERED"]
    ])
    assert.isFalse(existsSync(world.envs))
  }))
