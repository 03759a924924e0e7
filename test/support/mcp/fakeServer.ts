// A process that serves the project in memory, for tests of the wire: `fakeServer.ts stdio`, `http` or `http-no-auth`.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Config, Console, Effect, Layer, Option } from "effect"
import { flushCompileCache } from "node:module"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import { serveHttp, serveStdio } from "../../../src/programs/mcp/serve.ts"
import { reserveStdout } from "../../../src/programs/mcp/transport/reserveStdout.ts"
import * as MemoryProject from "../../programs/mcp/memoryProject.ts"

const [, , transport] = process.argv
const believed = { nobody: undefined, agent: undefined }

const program = Effect.gen(function*() {
  const project = yield* MemoryProject.make
  project.onInterrupt = () => console.error("INTERRUPTED")
  if (transport === "stdio") {
    const output = reserveStdout(process)
    console.log("this line must never reach the client")
    process.stdout.write("nor this one\n")
    yield* serveStdio({ project: "", client: "tester", presence: believed, input: process.stdin, output }).pipe(
      Effect.provide(project.layer),
      Effect.ensuring(Effect.suspend(() => Console.error(`ENDED interrupted=${project.interrupted}`)))
    )
    return
  }
  const token = Option.getOrUndefined(yield* Config.option(Config.Redacted("KIWI_HTTP_TOKEN")))
  return yield* serveHttp({
    project: "",
    client: "tester",
    host: "127.0.0.1",
    port: 0,
    allowedHosts: [],
    presence: believed,
    token,
    noAuth: transport === "http-no-auth",
    user: "somebody"
  }).pipe(Effect.provide(Layer.merge(project.layer, OutboundMemory.layer)))
})

// A test may kill it.
flushCompileCache()
NodeRuntime.runMain(Effect.scoped(program))
