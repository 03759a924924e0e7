// The official libraries: today's in both of its eras, and the one that older clients are built on. Two bridges are
// driven by the older one, as desktop clients do it.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as OlderStdio } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport as OlderHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport as OlderTransport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js"
import { spawn } from "node:child_process"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { Wrong } from "../flows.ts"
import { pause } from "../terminal.ts"
import type { Target } from "../world.ts"
import type { CallOptions, Person, Session, Subject } from "./Subject.ts"
import { asText } from "./Subject.ts"

const info = { name: "clients", version: "1.0.0" }
const capabilities = { elicitation: { form: {} } }

const requestOptions = ({ onProgress, signal }: CallOptions) => ({
  ...(signal !== undefined && { signal }),
  ...(onProgress !== undefined && { onprogress: () => onProgress() })
})

const today = (mode: "legacy" | "auto"): Subject => ({
  client: `@modelcontextprotocol/client (${mode})`,
  packages: ["@modelcontextprotocol/client"],
  over: ["stdio", "http"],
  asks: true,
  open: async ({ person, target, transport, world }) => {
    const client = new Client(info, { versionNegotiation: { mode }, capabilities })
    client.setRequestHandler(
      "elicitation/create",
      ({ params }) => person.agree(params.message, Object(params)["requestedSchema"])
    )
    await client.connect(
      transport === "http"
        ? new StreamableHTTPClientTransport(new URL(target.url), { requestInit: { headers: target.headers } })
        : new StdioClientTransport({
          command: target.command,
          args: [...target.args],
          env: world.env,
          stderr: "ignore"
        })
    )
    return {
      names: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, input, options = {}) =>
        asText(await client.callTool({ name, arguments: { ...input } }, requestOptions(options))),
      close: () => client.close()
    }
  }
})

const older = async (transport: OlderTransport, person: Person, more?: () => void): Promise<Session> => {
  const client = new OlderClient(info, { capabilities })
  client.setRequestHandler(
    ElicitRequestSchema,
    ({ params }) => person.agree(params.message, Object(params)["requestedSchema"])
  )
  await client.connect(transport)
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, input, options = {}) =>
      asText(await client.callTool({ name, arguments: { ...input } }, undefined, requestOptions(options))),
    close: async () => {
      await client.close()
      more?.()
    }
  }
}

const olderHttp = (url: string, headers: Target["headers"] = {}) =>
  // The library's own types disagree where optional properties are exact.
  new OlderHttp(new URL(url), { requestInit: { headers: { ...headers } } }) as unknown as OlderTransport

const olderStdio = (command: string, args: ReadonlyArray<string>, env: Record<string, string>) =>
  new OlderStdio({ command, args: [...args], env, stderr: "ignore" })

const sdk: Subject = {
  client: "@modelcontextprotocol/sdk",
  packages: ["@modelcontextprotocol/sdk"],
  over: ["stdio", "http"],
  asks: true,
  open: ({ person, target, transport, world }) =>
    older(
      transport === "http"
        ? olderHttp(target.url, target.headers)
        : olderStdio(target.command, target.args, world.env),
      person
    )
}

const headerLine = ({ headers }: Target) => Object.entries(headers).map(([name, value]) => `${name}: ${value}`)

const mcpRemote: Subject = {
  client: "mcp-remote (stdio to HTTP)",
  packages: ["mcp-remote"],
  over: ["http"],
  asks: true,
  open: ({ part, person, target, world }) => {
    const args = [target.url, "--allow-http", "--transport", "http-only"]
    const headers = headerLine(target).flatMap((line) => ["--header", line])
    const env = { ...world.env, MCP_REMOTE_CONFIG_DIR: world.home("mcp-remote").home }
    return older(olderStdio(part.bin("mcp-remote"), [...args, ...headers], env), person)
  }
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** A server on stdio, offered over HTTP. */
const gatewayToHttp: Subject = {
  client: "supergateway (HTTP to stdio)",
  packages: ["supergateway"],
  over: ["stdio"],
  asks: true,
  open: async ({ part, person, target, world }) => {
    const port = await freePort()
    const stdio = ["--stdio", [target.command, ...target.args].join(" ")]
    const http = ["--outputTransport", "streamableHttp", "--stateful", "--port", String(port)]
    const gateway = spawn(part.bin("supergateway"), [...stdio, ...http, "--healthEndpoint", "/health"], {
      env: world.env,
      stdio: "ignore",
      detached: true
    })
    const stop = () => void process.kill(-Number(gateway.pid), "SIGTERM")
    for (const end = Date.now() + 20_000;;) {
      if (await fetch(`http://127.0.0.1:${port}/health`).then(({ ok }) => ok, () => false)) break
      if (Date.now() > end) {
        stop()
        throw new Wrong("the gateway did not start")
      }
      await pause(100)
    }
    return older(olderHttp(`http://127.0.0.1:${port}/mcp`), person, stop)
  }
}

/** A server on HTTP, offered on stdio. */
const gatewayToStdio: Subject = {
  client: "supergateway (stdio to HTTP)",
  packages: ["supergateway"],
  over: ["http"],
  // It connects as a client of its own, without its client's capabilities.
  asks: false,
  lacks: { progress: "it drops the token that asks for it" },
  open: ({ part, person, target, world }) => {
    const headers = headerLine(target).flatMap((line) => ["--header", line])
    const args = ["--streamableHttp", target.url, "--logLevel", "none", ...headers]
    return older(olderStdio(part.bin("supergateway"), args, world.env), person)
  }
}

export const official: ReadonlyArray<Subject> = [
  today("legacy"),
  today("auto"),
  sdk,
  mcpRemote,
  gatewayToHttp,
  gatewayToStdio
]
