// Starts servers for tests of the wire, and speaks raw JSON-RPC with them.
import { spawn } from "node:child_process"
import type { ChildProcessWithoutNullStreams } from "node:child_process"

export const fakeServer = new URL("./fakeServer.ts", import.meta.url).pathname

const ended = (child: ChildProcessWithoutNullStreams) =>
  new Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>((resolve) => {
    child.on("close", (code, signal) => resolve({ code, signal }))
  })

/** An HTTP server on a free port of loopback. */
export const listen = async (options: { readonly noAuth?: boolean; readonly token?: string } = {}) => {
  const child = spawn(process.execPath, [fakeServer, options.noAuth === true ? "http-no-auth" : "http"], {
    env: { ...process.env, ...(options.token === undefined ? {} : { KIWI_HTTP_TOKEN: options.token }) }
  })
  const over = ended(child)
  let said = ""
  let out = ""
  child.stdout.on("data", (data: Buffer) => out += data.toString())
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (data: Buffer) => {
      said += data.toString()
      const [, found] = /^KIWI_MCP_URL=(\S+)$/m.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
    void over.then(() => reject(new Error(said + out)))
  })
  return {
    url,
    over,
    /** What it said on stderr, and on stdout. */
    said: () => said,
    printed: () => out,
    token: /^KIWI_HTTP_TOKEN=(\S+)$/m.exec(said)?.[1],
    close: async () => {
      child.kill("SIGTERM")
      return over
    }
  }
}

export type Message = Readonly<Record<string, unknown>>

/** A server at the end of two pipes. */
export const openStdio = (
  command: ReadonlyArray<string> = [fakeServer, "stdio"],
  env: NodeJS.ProcessEnv = { ...process.env }
) => {
  const child = spawn(process.execPath, [...command], { env })
  const over = ended(child)
  const lines: Array<string> = []
  let rest = ""
  let said = ""
  let wake = () => {}
  child.stdin.on("error", () => {})
  child.stderr.on("data", (data: Buffer) => said += data.toString())
  child.stdout.on("data", (data: Buffer) => {
    const parts = (rest + data.toString()).split("\n")
    rest = parts.pop() ?? ""
    lines.push(...parts)
    wake()
  })
  const parsed: Array<Message> = []
  const messages = (): ReadonlyArray<Message> => {
    for (const line of lines.slice(parsed.length)) parsed.push(JSON.parse(line))
    return parsed
  }
  const heardFrom = (first: number) => ({
    /** Every message so far. Throws where a line is no JSON. */
    messages: () => messages().slice(first),
    /** The first message that fits, also if it came before. */
    until: async (fits: (message: Message) => boolean, milliseconds = 20_000): Promise<Message> => {
      const deadline = Date.now() + milliseconds
      for (;;) {
        const found = messages().slice(first).find(fits)
        if (found !== undefined) return found
        const left = deadline - Date.now()
        if (left <= 0) throw new Error(`nothing fits in ${lines.slice(first).join("\n").slice(0, 2000)}\n${said}`)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, left)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
    }
  })
  const server = {
    child,
    over,
    said: () => said,
    /** What stands after the last line end. */
    rest: () => rest,
    raw: (text: string | Uint8Array) => child.stdin.write(text),
    send: (message: unknown) => child.stdin.write(`${JSON.stringify(message)}\n`)
  }
  return {
    ...server,
    ...heardFrom(0),
    /** The same server, without the messages until now. */
    fromNow: () => ({ ...server, ...heardFrom(lines.length) })
  }
}

export const initialize = (id: string | number = "init", protocolVersion = "2025-11-25") => ({
  jsonrpc: "2.0",
  id,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "0" } }
})
