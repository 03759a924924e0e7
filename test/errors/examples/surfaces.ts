// What a command, the MCP server, the demo and a program that embeds Kiwi say by themselves.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer, Redacted } from "effect"
import { McpTest } from "effect/ai"
import * as fs from "node:fs"
import { createServer } from "node:net"
import * as ClientsFile from "../../../src/layers/call/ClientsFile.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { demo } from "../../../src/programs/demo/demo.ts"
import { makeKiwi } from "../../../src/programs/makeKiwi.ts"
import { decoderOf, SearchArguments } from "../../../src/programs/mcp/arguments.ts"
import { serveHttp } from "../../../src/programs/mcp/serve.ts"
import * as Server from "../../../src/programs/mcp/server.ts"
import { stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"
import { unattendedClient } from "../../../src/programs/namedClient.ts"
import { runCli } from "../../programs/cli/runCli.ts"
import * as MemoryProject from "../../programs/mcp/memoryProject.ts"
import { add } from "../../services/call/Clients.contract.ts"
import { project } from "../Example.ts"
import type { Examples } from "../Example.ts"
import { kernelOfSurfaces } from "../surfaces.ts"

/** What a command prints with `--json`. */
const command = (args: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const place = yield* project()
    fs.writeFileSync(`${place.project}/notes.txt`, "")
    const { stdout } = yield* runCli([...args, "--json"], { cwd: place.project, kernel: kernelOfSurfaces(place) })
    return JSON.parse(stdout).error
  })

const http = (options: { readonly host?: string; readonly port?: number; readonly token?: string }) =>
  Effect.gen(function*() {
    const inMemory = yield* MemoryProject.make
    const { host = "127.0.0.1", port = 0, token } = options
    return yield* Effect.flip(
      serveHttp({
        project: "",
        client: "tester",
        host,
        port,
        allowedHosts: [],
        presence: { nobody: undefined, agent: undefined },
        token: token === undefined ? undefined : Redacted.make(token),
        noAuth: token === undefined,
        user: "you"
      }).pipe(Effect.provide(Layer.merge(inMemory.layer, OutboundMemory.layer)))
    )
  })

/** A port of this machine on which somebody listens. */
const taken = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
)

export const examples: Examples = {
  InvalidUsage: { when: "A command is misspelt", produce: command(["serch", "add"]) },
  Unexpected: {
    when: "A part of Kiwi fails as it should never do",
    produce: Effect.map(runCli(["search", "add", "--json"]), ({ stdout }) => JSON.parse(stdout).error)
  },
  InternalError: {
    when: "A part of the server fails as it should never do",
    produce: Effect.gen(function*() {
      const inMemory = yield* MemoryProject.make
      inMemory.disk = "broken"
      const { registrations } = yield* Server.make({
        project: "",
        client: "tester",
        presence: { nobody: undefined, agent: undefined }
      })
      const client = yield* McpTest.makeClient(Layer.provide(registrations, inMemory.layer), {
        protocols: stdioProtocols,
        protocolVersion: "2025-11-25"
      })
      const { structuredContent } = yield* client.callTool({ name: "execute", arguments: { item_id: "add" } })
      return JSON.parse(JSON.stringify(structuredContent)).error
    })
  },
  InvalidArguments: {
    when: "An agent misspells an argument of `search` and leaves its query out",
    produce: Effect.flip(Effect.fromResult(decoderOf("search", SearchArguments)({ qery: "add" })))
  },
  ProjectNotFound: {
    when: "A command names a folder that is not there",
    produce: command(["search", "add", "--project", "no-such-folder"])
  },
  InitRefused: { when: "A file is to become a project", produce: command(["init", "notes.txt"]) },
  ClientNameRefused: {
    when: "A client is to have a name with a space",
    produce: command(["client", "add", "my laptop"])
  },
  ClientNotAdded: {
    when: "A server is started for a client that nobody added",
    produce: command(["serve", "--client", "laptop"])
  },
  ClientIsApprover: {
    when: "A server is started for a client that only answers requests",
    produce: Effect.flatMap(project(), ({ home }) => {
      const clients = ClientsFile.layer.pipe(
        Layer.provide(Layer.mergeAll(SafeFilesNode.layer, ProcessLockMemory.layer)),
        Layer.provideMerge(KiwiHomeNode.layerWith({ home }))
      )
      return Effect.andThen(add("phone", "approver"), Effect.flip(unattendedClient("phone"))).pipe(
        Effect.provide(clients)
      )
    })
  },
  ClientUnknown: { when: "A client is removed that nobody added", produce: command(["client", "remove", "laptop"]) },
  CopyRefused: {
    when: "One of Kiwi's own tools is to be copied",
    produce: command(["load", "tool", "ping", "--destination", "user"])
  },
  HttpTokenWeak: { when: "KIWI_HTTP_TOKEN is a word", produce: http({ token: "letmein" }) },
  HttpAuthRequired: { when: "A server is to listen to everybody, without a token", produce: http({ host: "0.0.0.0" }) },
  HttpUnavailable: {
    when: "Something else listens on the port",
    produce: Effect.flatMap(taken, (server) => {
      const address = server.address()
      return http({ port: typeof address === "object" && address !== null ? address.port : 0 })
    })
  },
  DemoFailed: {
    when: "The demo cannot start the Kiwi that it is to show",
    produce: Effect.flip(
      demo({ env: process.env, started: { node: process.execPath, script: "no-such-program.cjs" } }, {
        during: (_title, play) => play,
        show: () => Effect.void
      })
    ).pipe(Effect.provide(NodeServices.layer))
  },
  KiwiArgumentInvalid: {
    when: "A program in plain JavaScript misspells what it wants signed",
    produce: Effect.gen(function*() {
      const { home, project: root, userSpace } = yield* project()
      const kiwi = makeKiwi({ project: root, home, userSpace })
      const sign: (input: never) => Promise<unknown> = kiwi.sign
      const error = yield* Effect.promise(() =>
        sign({ item_id: "add" } as never).then(() => undefined, (failure: unknown) => failure)
      )
      yield* Effect.promise(() => kiwi.close())
      return error
    })
  },
  KiwiClosed: {
    when: "A program calls a tool after it closed its Kiwi",
    produce: Effect.gen(function*() {
      const { home, project: root, userSpace } = yield* project()
      const kiwi = makeKiwi({ project: root, home, userSpace })
      yield* Effect.promise(() => kiwi.close())
      return yield* Effect.promise(() => kiwi.run("ping").then(() => undefined, (error: unknown) => error))
    })
  }
}
