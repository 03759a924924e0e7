// MCP clients for a shell: each call is a command, and cancelling is Ctrl-C.
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { Wrong } from "../flows.ts"
import type { Target, World } from "../world.ts"
import type { Session, Subject } from "./Subject.ts"

/** Runs a command to its end; everything that it said. */
const runCommand = (world: World, home: string, argv: ReadonlyArray<string>, signal?: AbortSignal): Promise<string> =>
  new Promise((resolve, reject) => {
    const [command = "", ...args] = argv
    // In a session of its own, as from a script: there is no terminal to ask on.
    const child = spawn(command, args, {
      env: { ...world.env, HOME: home, MCPORTER_OAUTH_TIMEOUT_MS: "1" },
      cwd: home,
      stdio: ["ignore", "pipe", "pipe"],
      detached: true
    })
    let said = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (data: Buffer) => said += data.toString())
    const group = (name: NodeJS.Signals) => {
      try {
        process.kill(-Number(child.pid), name)
      } catch {
        // It has ended.
      }
    }
    const late = setTimeout(() => group("SIGKILL"), 90_000)
    signal?.addEventListener("abort", () => group("SIGINT"))
    child.on("error", reject)
    child.on("close", () => {
      clearTimeout(late)
      resolve(said)
    })
  })

const toolNames = ["search", "load", "execute", "sign", "help"]
/** The names of Kiwi's tools that a text lists, and any other that it lists in the same way. */
const namesIn = (text: string): ReadonlyArray<string> => {
  const named = Array.from(text.matchAll(/"name"\s*:\s*"([\w-]+)"/g), ([, name = ""]) => name)
  const tools = named.filter((name) => toolNames.includes(name))
  return tools.length > 0 ? [...new Set(tools)] : toolNames.filter((name) => new RegExp(`\\b${name}\\b`).test(text))
}

const commandSession = (
  world: World,
  home: string,
  list: ReadonlyArray<string>,
  call: (tool: string, input: Readonly<Record<string, unknown>>) => ReadonlyArray<string>,
  close?: ReadonlyArray<string>
): Session => ({
  names: async () => namesIn(await runCommand(world, home, list)),
  call: (tool, input, { signal } = {}) => runCommand(world, home, call(tool, input), signal),
  close: async () => close === undefined ? undefined : runCommand(world, home, close)
})

/** The configuration file that most clients read. */
const mcpServers = (target: Target, transport: "stdio" | "http", type: boolean) => ({
  mcpServers: {
    kiwi: transport === "http"
      ? { ...(type && { type: "http" }), url: target.url, headers: target.headers }
      : { command: target.command, args: target.args, env: target.env }
  }
})

const noListener = "its commands show none"

const inspector: Subject = {
  client: "@modelcontextprotocol/inspector --cli",
  packages: ["@modelcontextprotocol/inspector"],
  over: ["stdio", "http"],
  asks: false,
  lacks: { progress: noListener },
  open: ({ part, target, transport, world }) => {
    const { home } = world.home("inspector")
    const to = transport === "stdio"
      ? [
        ...Object.entries(target.env).flatMap(([name, value]) => ["-e", `${name}=${value}`]),
        target.command,
        ...target.args
      ]
      : [
        target.url,
        "--transport",
        "http",
        ...Object.entries(target.headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`])
      ]
    const method = (...args: ReadonlyArray<string>) => [part.bin("mcp-inspector"), "--cli", ...to, "--method", ...args]
    return Promise.resolve(
      commandSession(world, home, method("tools/list"), (tool, input) =>
        method(
          "tools/call",
          "--tool-name",
          tool,
          ...Object.entries(input).flatMap(([name, value]) => [
            "--tool-arg",
            `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`
          ])
        ))
    )
  }
}

const mcporter: Subject = {
  client: "mcporter",
  packages: ["mcporter"],
  over: ["stdio", "http"],
  asks: false,
  lacks: { progress: noListener },
  open: ({ part, target, transport, world }) => {
    const { home, write } = world.home("mcporter")
    const config = write("config/mcporter.json", { ...mcpServers(target, transport, false), imports: [] })
    const base = [part.bin("mcporter"), "--config", config]
    return Promise.resolve(
      commandSession(
        world,
        home,
        [...base, "list", "kiwi", "--json"],
        (tool, input) => [...base, "call", `kiwi.${tool}`, "--args", JSON.stringify(input), "--output", "raw"]
      )
    )
  }
}

const mcpc: Subject = {
  client: "@apify/mcpc",
  packages: ["@apify/mcpc"],
  over: ["stdio", "http"],
  asks: false,
  lacks: { progress: noListener },
  // Its session is a process of its own, which hears nothing of a Ctrl-C.
  cancelsByClosing: ["stdio", "http"],
  open: async ({ part, target, transport, world }) => {
    const { home, write } = world.home("mcpc")
    const config = write("mcp.json", mcpServers(target, transport, false))
    const session = `@k${randomUUID().slice(0, 8)}`
    const bin = part.bin("mcpc")
    const said = await runCommand(world, home, [bin, "connect", `${config}:kiwi`, session, "--no-profile"])
    if (!/Server:.* kiwi/.test(said)) throw new Wrong(said)
    return commandSession(
      world,
      home,
      [bin, session, "tools-list", "--json"],
      (tool, input) => [bin, session, "tools-call", tool, JSON.stringify(input), "--json"],
      [bin, "close", session]
    )
  }
}

const mcpCli: Subject = {
  client: "@wong2/mcp-cli",
  packages: ["@wong2/mcp-cli"],
  over: ["stdio"],
  asks: false,
  lacks: { progress: noListener, list: "only its menu lists, which needs a terminal" },
  open: ({ part, target, transport, world }) => {
    const { home, write } = world.home("mcp-cli")
    const config = write("config.json", mcpServers(target, transport, true))
    const call = (tool: string, input: unknown) => [
      part.bin("mcp-cli"),
      "--config",
      config,
      "call-tool",
      `kiwi:${tool}`,
      "--args",
      JSON.stringify(input)
    ]
    return Promise.resolve(commandSession(world, home, [], call))
  }
}

export const commands: ReadonlyArray<Subject> = [inspector, mcporter, mcpc, mcpCli]
