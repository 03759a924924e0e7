// Runs the official conformance suite against a server, and reads what it prints.
import { spawn } from "node:child_process"

export const revisions = ["2025-11-25", "2026-07-28"] as const
export type Revision = typeof revisions[number]

/** What the suite can ask of a server that has none of its fixtures: Kiwi's own. */
export const withoutFixtures: Readonly<Record<Revision, ReadonlyArray<string>>> = {
  "2025-11-25": [
    "server-initialize",
    "server-session-lifecycle",
    "logging-set-level",
    "ping",
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "dns-rebinding-protection"
  ],
  "2026-07-28": [
    "tools-list",
    "server-sse-multiple-streams",
    "resources-list",
    "sep-2164-resource-not-found",
    "prompts-list",
    "dns-rebinding-protection",
    "caching",
    "input-required-result-unsupported-methods",
    "http-header-validation"
  ]
}

export interface Outcome {
  readonly scenario: string
  readonly passed: number
  readonly failed: number
  /** Counts for the revision; the suite runs a few more, for information. */
  readonly required: boolean
}

/** Starts a server whose stderr names its endpoint. */
export const start = async (command: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = process.env) => {
  const child = spawn(command, [...args], { env, stdio: ["ignore", "ignore", "pipe"] })
  const over = new Promise<void>((resolve) => child.on("close", () => resolve()))
  let said = ""
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.on("data", (data: Buffer) => {
      said += data.toString()
      const [, found] = /^KIWI_MCP_URL=(\S+)$/m.exec(said) ?? []
      if (found !== undefined) resolve(found)
    })
    void over.then(() => reject(new Error(`the server did not start: ${said}`)))
  })
  return {
    url,
    stop: () => {
      child.kill("SIGTERM")
      return over
    }
  }
}

const suite = new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url).pathname

const printed = (args: ReadonlyArray<string>) =>
  new Promise<string>((resolve, reject) => {
    const child = spawn(process.execPath, [suite, ...args], { stdio: ["ignore", "pipe", "pipe"] })
    let text = ""
    child.stdout.on("data", (data: Buffer) => text += data.toString())
    child.stderr.on("data", (data: Buffer) => text += data.toString())
    child.on("error", reject)
    child.on("close", () => resolve(text))
  })

const line = /^[✓✗] ([\w./-]+): (\d+) passed, (\d+) failed$/gmu
const unscored = /^ {2}[✓✗] ([\w./-]+) \(/gmu

/** Everything that a revision asks of a server, scenario by scenario. */
export const requirements = async (url: string, revision: Revision): Promise<ReadonlyArray<Outcome>> => {
  const text = await printed(["server", "--url", url, "--requirements", revision])
  const summary = text.slice(text.indexOf("=== SUMMARY ==="))
  const extra = new Set(Array.from(summary.matchAll(unscored), ([, scenario]) => scenario))
  const outcomes = Array.from(summary.matchAll(line), ([, scenario = "", passed, failed]) => ({
    scenario,
    passed: Number(passed),
    failed: Number(failed),
    required: !extra.has(scenario)
  }))
  if (outcomes.length === 0) throw new Error(`the suite said nothing that can be read:\n${text.slice(-2000)}`)
  return outcomes
}
