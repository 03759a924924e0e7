// Whether a person can be behind an act: the one decision of the command line and of the server. Both answer with why
// nobody can be, or `undefined`. A guard rail: what leaves an agent's process tree and its environment is not seen.
import { agentOf, baseName, type CodingAgent, findVariable, scriptOf, type Variables } from "./codingAgents.ts"
import type { ProcessInfo } from "./Lineage.ts"

/** A tool that Kiwi runs has one of these, and so has whatever it starts. */
const ofATool = ["KIWI_CALL", "KIWI_PROJECT"]

/** The variable by which this process is part of a tool's call. */
export const callVariable = (env: Variables): string | undefined =>
  ofATool.find((name) => env[name] !== undefined && env[name] !== "")

const unreadable = "it cannot be seen who started it"

interface Found {
  readonly agent: CodingAgent
  /** How far above this process. */
  readonly at: number
}

const findAncestor = (lineage: ReadonlyArray<ProcessInfo>): Found | undefined => {
  for (let at = 1; at < lineage.length; at++) {
    const agent = agentOf(lineage[at]!)
    if (agent !== undefined) return { agent, at }
  }
  return undefined
}

/** What says that a coding agent runs this process, for a sentence of its own; `undefined` where nothing does. */
export const agentSeen = (
  env: Variables,
  lineage: ReadonlyArray<ProcessInfo> | undefined
): string | undefined => {
  const set = findVariable(env, "any")
  if (set !== undefined) return `${set.variable} is set: ${set.agent.name} seems to run this command`
  const above = lineage === undefined ? undefined : findAncestor(lineage)
  return above === undefined ? undefined : `${above.agent.name} runs this command`
}

export interface Typed {
  readonly env: Variables
  readonly lineage: ReadonlyArray<ProcessInfo> | undefined
  /** Whether stdin is a terminal, or the data that the command was told to read there. */
  readonly stdin: boolean
  readonly stdout: boolean
}

/** Why a command was not typed by a person at a terminal. Whether there is a terminal to ask on is another question. */
export const whyNotTyped = ({ env, lineage, stdin, stdout }: Typed): string | undefined => {
  const call = callVariable(env)
  if (call !== undefined) return `${call} is set: a tool runs this command`
  const seen = agentSeen(env, lineage)
  if (seen !== undefined) return seen
  if (lineage === undefined) return unreadable
  if (!stdin) return "stdin is not a terminal"
  return stdout ? undefined : "stdout is not a terminal"
}

const shells = /^(sh|bash|dash|zsh|ash|ksh)$/
const startsOthers = /^(env|npx|npm|pnpm|pnpx|yarn|corepack|bunx|uv|uvx|docker|podman)$/
const startScripts = /^(npx|npm|pnpm|pnpx|yarn|yarnpkg|corepack)(-cli)?$/

/** Programs that only start another one. `own`: the script that starts Kiwi. */
const isLauncher = (info: ProcessInfo, own: string): boolean => {
  const [first = "", second = ""] = info.argv
  const program = baseName(info.program ?? first)
  // npm writes what it does in the place of its arguments.
  if (startsOthers.test(program) || (program === "node" && /^(npm|pnpm|yarn) /.test(first))) return true
  if (shells.test(program)) return /^-[a-z]*c$/.test(second)
  if (program !== "node" && program !== "bun") return false
  const script = scriptOf(info)
  return script !== undefined && (script === own || info.script === own || startScripts.test(baseName(script)))
}

/** Where a shell's commands run in a session of their own, and MCP servers do not: nobody can join another's session. */
const sharesSession = (self: ProcessInfo, agent: ProcessInfo, { serversLeadGroup }: CodingAgent): boolean =>
  self.session === undefined || agent.session === undefined
    ? serversLeadGroup === true || self.group === agent.group
    : self.session === agent.session

export interface Answered {
  readonly env: Variables
  readonly lineage: ReadonlyArray<ProcessInfo> | undefined
  readonly transport: "stdio" | "http"
  /** Real path of the script that starts Kiwi: an older Node hands over to a newer one by it. */
  readonly script: string
}

/** Why a client's answer to a question is not a person's. */
export const whyNotAnswered = ({ env, lineage, script, transport }: Answered): string | undefined => {
  if (env["KIWI_CALL"] !== undefined && env["KIWI_CALL"] !== "") return "KIWI_CALL is set: a tool started this server"
  if (lineage === undefined) return `${unreadable}: this server`
  const command = findVariable(env, "of its shell")
  if (command !== undefined) {
    return `${command.variable} is set: a command of ${command.agent.name}'s shell started this server`
  }
  const found = findAncestor(lineage)
  if (found === undefined) {
    const set = findVariable(env, "any")
    return set === undefined
      ? undefined
      : `${set.variable} is set and ${set.agent.name} is not above this server: a command of an agent started it`
  }
  const { agent, at } = found
  if (transport === "http") return `a command of ${agent.name} started this server`
  // A launcher hands on its stdin and stdout; a client in between, whatever it is called, has others.
  const { stdio } = lineage[0]!
  const between = lineage.slice(1, at).find((info) => info.stdio !== stdio || !isLauncher(info, script))
  if (between !== undefined) {
    return `${baseName(between.program ?? between.argv[0] ?? between.name)} is between ${agent.name} and this server`
  }
  if (!sharesSession(lineage[0]!, lineage[at]!, agent)) return `a command of ${agent.name}'s shell started this server`
  // An agent that an agent started has nobody in front of it.
  const outer = lineage.slice(at + 1).map(agentOf)
  const last = outer.findLastIndex((one) => one !== undefined)
  const alone = outer.slice(0, last + 1).every((one) => one === agent)
  return alone ? undefined : `a command of ${outer[last]?.name ?? "an agent"} started ${agent.name}`
}

/** The agent that started a server whose client is believed, for the record. */
export const startedBy = (lineage: ReadonlyArray<ProcessInfo> | undefined): string | undefined =>
  lineage === undefined ? undefined : findAncestor(lineage)?.agent.name
