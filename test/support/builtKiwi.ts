// Drives the built program as people and their agents do: by commands, and by the official MCP client over stdio or
// HTTP. A world has a home and a user space of its own and knows everything that may have been written outside.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { assert } from "vitest"
import { compiled } from "./compiled.ts"
import { detached, ended, person as ofThePerson } from "./person.ts"
import { giveKey } from "./personKey.ts"
import { questionText } from "./questionText.ts"

export const kiwi = new URL("../../bin/kiwi.cjs", import.meta.url).pathname

export type Json = Readonly<Record<string, unknown>>

/** An answer of one of the five tools. */
export interface Answer {
  readonly status: string
  readonly data: unknown
  readonly code: string | undefined
  readonly error: { readonly code: string; readonly message: string; readonly remediation?: string } | undefined
  /** All of it, as text. */
  readonly text: string
}

/** What the person behind a client does when asked. */
export type Person = (message: string) => { readonly action: string; readonly content?: Json }
export const agrees: Person = () => ({ action: "accept", content: { agree: true } })

export interface ConnectOptions {
  readonly project: string
  readonly transport?: "stdio" | "http"
  readonly era?: "legacy" | "auto"
  readonly person?: Person
  readonly env?: Record<string, string>
  /** Further arguments of `kiwi serve`. */
  readonly serve?: ReadonlyArray<string>
}

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const toAnswer = (result: unknown): Answer => {
  assert.isTrue(isRecord(result) && isRecord(result["structuredContent"]), JSON.stringify(result))
  const structured = JSON.parse(JSON.stringify((result as Json)["structuredContent"]))
  return {
    status: structured.status,
    data: structured.data,
    code: structured.error?.code,
    error: structured.error,
    text: JSON.stringify(result)
  }
}

export interface CliRun {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export const makeWorld = () => {
  const root = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "kiwi-world-")))
  const closing: Array<() => Promise<unknown>> = []
  const home = join(root, "home")
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: join(root, "person"),
    TMPDIR: join(root, "tmp"),
    KIWI_HOME: home,
    USER_SPACE: join(root, "user"),
    KIWI_KEYCHAIN: "off",
    ...compiled,
    ...ofThePerson
  }
  for (const name of ["person", "tmp"]) fs.mkdirSync(join(root, name))
  giveKey(home)

  const start = (args: ReadonlyArray<string>, more: Record<string, string> = {}) =>
    spawn(process.execPath, [kiwi, ...args], { cwd: root, env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] })

  const run = (args: ReadonlyArray<string>, more?: Record<string, string>) =>
    new Promise<CliRun>((resolve) => {
      const child = start(args, more)
      const said = { stdout: "", stderr: "" }
      child.stdout.on("data", (data: Buffer) => said.stdout += data.toString())
      child.stderr.on("data", (data: Buffer) => said.stderr += data.toString())
      child.on("close", (code) => resolve({ code, ...said }))
    })

  let servers = 0
  const listen = async (
    project: string,
    more: Record<string, string> = {},
    serve: ReadonlyArray<string> = []
  ) => {
    const pidFile = join(root, `server-${++servers}`)
    const { args, command } = detached(
      process.execPath,
      [kiwi, "serve", "--project", project, "--http", "--no-auth", ...serve],
      pidFile
    )
    const child = spawn(command, args, { cwd: root, env: { ...env, ...more }, stdio: ["ignore", "pipe", "pipe"] })
    closing.push(
      () =>
        new Promise((resolve) => {
          child.on("close", resolve)
          process.kill(Number(fs.readFileSync(pidFile, "utf8")), "SIGTERM")
        })
    )
    return new Promise<URL>((resolve, reject) => {
      let said = ""
      child.on("close", () => reject(new Error(said)))
      child.stderr.on("data", (data: Buffer) => {
        said += data.toString()
        const [, url] = /^KIWI_MCP_URL=(\S+)$/m.exec(said) ?? []
        if (url !== undefined) resolve(new URL(url))
      })
    })
  }

  const connect = async (
    { env: own = {}, era = "auto", person, project, serve = [], transport = "stdio" }: ConnectOptions
  ) => {
    const client = new Client({ name: "e2e", version: "1.0.0" }, {
      versionNegotiation: { mode: era },
      capabilities: person === undefined ? {} : { elicitation: { form: {} } }
    })
    const asked: Array<string> = []
    if (person !== undefined) {
      client.setRequestHandler("elicitation/create", (request) => {
        asked.push(questionText(request.params))
        const { action, content } = person(request.params.message)
        // A client may answer whatever it likes: that is what is tested.
        return { action: action as "accept", ...(content === undefined ? {} : { content: content as {} }) }
      })
    }
    const pidFile = join(root, `server-${++servers}`)
    let said = ""
    if (transport === "http") await client.connect(new StreamableHTTPClientTransport(await listen(project, own, serve)))
    else {
      const stdio = new StdioClientTransport({
        ...detached(process.execPath, [kiwi, "serve", "--project", project, ...serve], pidFile),
        env: { ...env, ...own },
        stderr: "pipe"
      })
      stdio.stderr?.on("data", (data: Buffer) => said += data.toString())
      await client.connect(stdio)
      const close = client.close.bind(client)
      client.close = () => close().then(() => ended(pidFile))
    }
    closing.push(() => client.close())
    const call = async (tool: string, args: Json = {}) =>
      toAnswer(await client.callTool({ name: tool, arguments: { ...args } }))
    return {
      client,
      asked,
      said: () => said,
      call,
      execute: (item_id: string, parameters: Json = {}, others: Json = {}) =>
        call("execute", { item_id, parameters, ...others })
    }
  }

  const write = (path: string, text: string | Uint8Array, mode = 0o644) => {
    const file = join(root, path)
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.writeFileSync(file, text, { mode })
    return file
  }

  return {
    root,
    home,
    env,
    run,
    /** A command with `--json`: its exit code and its value. */
    json: async (args: ReadonlyArray<string>, more?: Record<string, string>) => {
      const { code, stderr, stdout } = await run([...args, "--json"], more)
      assert.doesNotThrow(() => JSON.parse(stdout), undefined, `${stdout}\n${stderr}`)
      return { code, stderr, value: JSON.parse(stdout) }
    },
    connect,
    write,
    /** A trusted project with the examples of `kiwi init`, signed. */
    init: async (name = "project") => {
      const made = await run(["init", join(root, name)])
      assert.strictEqual(made.code, 0, made.stderr)
      return join(root, name)
    },
    /** Disconnects, stops and removes everything. */
    close: async () => {
      await Promise.all(closing.splice(0).toReversed().map((end) => end()))
      fs.rmSync(root, { recursive: true, force: true })
    }
  }
}

export type World = ReturnType<typeof makeWorld>
export type Connection = Awaited<ReturnType<World["connect"]>>
