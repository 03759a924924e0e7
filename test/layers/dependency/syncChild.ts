// `kiwi env sync` of one tool in a process of its own: what is killed, and what comes at the same time.
import { Effect } from "effect"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { syncTool } from "./syncWorld.ts"

const [project, home, userSpace, item = ""] = process.argv.slice(2)

await Effect.runPromise(
  syncTool(item).pipe(
    Effect.map((outcome) =>
      process.stdout.write(JSON.stringify({ state: outcome?.state, digest: outcome?.set.digest }))
    ),
    Effect.provide(Kernel.layer({ project, home, userSpace }))
  )
)
