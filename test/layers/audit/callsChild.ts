// A process that is to be killed: `PROJECT HOME USER EFFECTS NAME` makes calls of a tool, eight at once, for ever. The
// tool writes its mark to the file EFFECTS, which is its effect. Says "ready" on stdout when the first call is done.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"

const [, , project, home, userSpace, effects, name] = process.argv

const tool = `tool_id: mark
version: "1.0.0"
tool_type: builtin
executor_id: builtin
category: acme
description: "Leaves a mark"
config:
  handler: mark
input_schema:
  type: object
  properties:
    mark: { type: string }
    filler: { type: string }
`

const layer = Kernel.layer({
  project,
  home,
  userSpace,
  items: { "tools/acme/mark.yaml": tool },
  builtins: new Map([["mark", ({ parameters }) =>
    Effect.sync(() => {
      fs.appendFileSync(effects!, `${String((parameters as { mark?: unknown }).mark)}\n`)
      return { data: null, metadata: {} }
    })]])
})

const call = (mark: string) =>
  Effect.flatMap(ToolProxy, (proxy) =>
    proxy.call({
      callId: mark,
      caller: { surface: "embed", client: "killed", session: name! },
      item: "acme/mark",
      parameters: { mark, filler: "x".repeat(mark.length * 50) },
      dryRun: false
    }))

await Effect.runPromise(
  Effect.gen(function*() {
    yield* call(`${name}-first`)
    process.stdout.write("ready\n")
    yield* Effect.forEach(
      Array.from({ length: 8 }, (_, i) => i),
      (i) => {
        let count = 0
        return Effect.forever(Effect.suspend(() => Effect.andThen(Effect.yieldNow, call(`${name}-${i}-${count++}`))))
      },
      { concurrency: "unbounded" }
    )
  }).pipe(Effect.provide(layer))
)
