// Real projects for end-to-end tests: a home of their own, the built program, an MCP client at the other end.
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { compiled } from "../compiled.ts"
import { detached, person } from "../person.ts"
import { giveKey } from "../personKey.ts"
import { questionText } from "../questionText.ts"

export const kiwi = new URL("../../../bin/kiwi.cjs", import.meta.url).pathname

export interface World {
  readonly folder: string
  readonly project: string
  readonly env: Record<string, string>
  /** Writes a file below the project. */
  readonly write: (path: string, text: string) => void
  readonly run: (...args: ReadonlyArray<string>) => { readonly status: number | null; readonly out: string }
  readonly remove: () => void
}

/** A temporary home with a project in it, made by `kiwi init` unless told otherwise. */
export const makeWorld = (options: { readonly init?: boolean } = {}): World => {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "kiwi-mcp-")))
  const project = join(folder, "project")
  mkdirSync(project)
  const env: Record<string, string> = {
    PATH: process.env["PATH"] ?? "",
    HOME: folder,
    KIWI_HOME: join(folder, "home"),
    USER_SPACE: join(folder, "user"),
    ...compiled,
    ...person
  }
  giveKey(join(folder, "home"))
  const run = (...args: ReadonlyArray<string>) => {
    const { status, stderr, stdout } = spawnSync(process.execPath, [kiwi, ...args], {
      env,
      encoding: "utf8",
      cwd: project
    })
    return { status, out: stdout + stderr }
  }
  if (options.init !== false) {
    const { out, status } = run("init", project)
    if (status !== 0) throw new Error(out)
  }
  return {
    folder,
    project,
    env,
    run,
    write: (path, text) => {
      mkdirSync(dirname(join(project, path)), { recursive: true })
      writeFileSync(join(project, path), text)
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

export interface Answer {
  readonly status: string
  readonly data?: unknown
  readonly error?: { readonly code: string; readonly message: string; readonly remediation?: string }
  readonly metadata?: Readonly<Record<string, unknown>>
}

/** What a client answers to a question. */
export interface Reply {
  readonly action: "accept" | "decline" | "cancel"
  readonly content?: Readonly<Record<string, string>>
}

/**
 * An MCP client of a server on this world's project. `agree` is the person at its other end; `reply`: what they answer
 * in place of yes.
 */
export const connect = async (
  world: World,
  options: {
    readonly mode?: "legacy" | "auto"
    readonly agree?: boolean
    readonly reply?: Reply
    readonly args?: ReadonlyArray<string>
  } = {}
) => {
  const asked: Array<string> = []
  const client = new Client({ name: "e2e", version: "1.0.0" }, {
    versionNegotiation: { mode: options.mode ?? "legacy" },
    capabilities: options.agree === undefined ? {} : { elicitation: { form: {} } }
  })
  if (options.agree !== undefined) {
    client.setRequestHandler("elicitation/create", (request) => {
      asked.push(questionText(request.params))
      return { ...options.reply ?? { action: "accept" as const, content: { agree: options.agree === true } } }
    })
  }
  const serve = [kiwi, "serve", ...(options.args ?? ["--project", world.project])]
  const transport = new StdioClientTransport({
    // A person has nothing above their server but their client; anybody else may be where they like.
    ...(options.agree === undefined ? { command: process.execPath, args: serve } : detached(process.execPath, serve)),
    env: world.env,
    cwd: world.project,
    stderr: "pipe"
  })
  let said = ""
  transport.stderr?.on("data", (data: Buffer) => said += data.toString())
  await client.connect(transport)
  const call = async (
    name: string,
    args: Record<string, unknown>,
    rest: Parameters<Client["callTool"]>[1] = {}
  ): Promise<Answer> => {
    const { structuredContent } = await client.callTool({ name, arguments: args }, rest)
    // The client has checked it against the output schema.
    return structuredContent as unknown as Answer
  }
  return { client, call, asked, said: () => said, pid: () => transport.pid }
}

/** Ids of running processes whose command line has `text` in it. */
export const processesWith = (text: string): ReadonlyArray<number> =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((name) => {
    try {
      return readFileSync(join("/proc", name, "cmdline"), "utf8").includes(text) ? [Number(name)] : []
    } catch {
      return []
    }
  })

export const until = async (test: () => boolean, milliseconds = 10_000): Promise<number> => {
  const started = Date.now()
  while (!test()) {
    if (Date.now() - started > milliseconds) throw new Error("it did not happen in time")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return Date.now() - started
}

export const pythonTool = (body: string, config = ""): string =>
  `"""A tool of a test."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "test"
INPUT_SCHEMA = {"type": "object", "properties": {"n": {"type": "number"}}}
${config}
import sys
asked = sys.argv[1:]
${body}
`
