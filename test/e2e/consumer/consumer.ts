// A user's program: pack.test.ts type-checks it against the packed package, in a project of its own, and runs it. What
// it prints is what the test expects.
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Kiwi from "kiwi-mcp"
import * as KiwiTesting from "kiwi-mcp/testing"

const Sum = Schema.Struct({ sum: Schema.Finite })

const run: Effect.Effect<
  { readonly sum: number },
  Kiwi.ToolCallError | Kiwi.ResultUnexpected | Kiwi.HomeRefused | Kiwi.KernelOptionInvalid | Kiwi.ProjectNotFound
> = Effect.provide(Kiwi.runToolAs(Sum)("add", { a: 1, b: 2 }), Kiwi.Kernel.layer({ project: "." }))

const promised = async (): Promise<unknown> => {
  await using kiwi = Kiwi.makeKiwi({ project: "." })
  return (await kiwi.run("slug", { title: "Hello there" })).data
}

const tested = async (): Promise<unknown> => {
  const echo = JSON.stringify({
    version: "1.0.0",
    tool_type: "script",
    executor_id: "subprocess",
    config: { command: "echo" }
  })
  await using kiwi = KiwiTesting.makeTestKiwi({
    project: { "tools/say.yaml": echo },
    programs: new Map([["echo", () => Effect.succeed({ stdout: "in memory" })]])
  })
  return (await kiwi.run("say")).data
}

console.log(JSON.stringify({
  library: Kiwi.version,
  testing: KiwiTesting.version,
  run: await Effect.runPromise(run),
  promised: await promised(),
  tested: await tested()
}))
