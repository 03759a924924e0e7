// Whether a person can be behind an act, decided here for the command line and the server. Each function returns why
// not, or `undefined`. This is a guard rail: a process that leaves an agent's process tree and environment is not
// recognized.
import {
  agentOf,
  baseName,
  type CodingAgent,
  findVariable,
  isDaemonOf,
  isRelaunched,
  scriptOf,
  scriptsOf,
  type Variables
} from "./codingAgents.ts"
import type { ProcessInfo } from "./Lineage.ts"

/** Set for a tool that Kiwi runs and for everything that it starts. (People set `KIWI_PROJECT` themselves.) */
const isCall = (env: Variables): boolean => env["KIWI_CALL"] !== undefined && env["KIWI_CALL"] !== ""

/** The folder of the Kiwi installation that this program belongs to. */
const kiwiOf = (path: string): string | undefined => {
  const [, folder, file] = /^(.*)\/(bin\/kiwi\.cjs|src\/programs\/bin\/kiwi\.ts|dist\/bin\/(?:start|kiwi)\.js)$/
    .exec(path.replaceAll("\\", "/")) ?? []
  return file?.startsWith("dist/") === true && !/\/kiwi[^/]*$/.test(folder ?? "") ? undefined : folder
}

/** Whether it is a Kiwi that restored its name after `node --title` had overwritten its arguments. */
const isTitled = ({ argv: [first = ""], program }: ProcessInfo): boolean =>
  program === undefined ? first === "kiwi" : /^(node|bun)/.test(baseName(program)) && /^kiwi( |$)/.test(first)

/** The arguments after Kiwi's own script. Undefined if no argument can be Kiwi's script. */
const kiwiArguments = (info: ProcessInfo): ReadonlyArray<string> | undefined => {
  if (isTitled(info)) return info.argv.join(" ").split(" ").slice(1)
  const scripts = scriptsOf(info)
  const at = scripts.findIndex((script, i) => kiwiOf(info.scripts?.[i] ?? script) !== undefined)
  return at < 0 ? undefined : info.argv.slice(info.argv.indexOf(scripts[at]!) + 1)
}

/** A Kiwi that started an ancestor of this process: its tools run below it. */
const kiwiAbove = (lineage: ReadonlyArray<ProcessInfo>): ProcessInfo | undefined => {
  const [self, parent] = lineage
  // An older Node re-executes with a newer one and the same arguments. The demo also plays a person.
  const isHandOver = (info: ProcessInfo, given: ReadonlyArray<string>) =>
    info === parent && info.session === self?.session && info.group === self?.group && info.stdio === self?.stdio &&
    given.join("\0") === kiwiArguments(self!)?.join("\0")
  return lineage.slice(1).find((info) => {
    const given = kiwiArguments(info)
    return given !== undefined && given[0] !== "demo" && !isHandOver(info, given)
  })
}

/** Why this process is part of a tool's call. */
export const callSeen = (env: Variables, lineage: ReadonlyArray<ProcessInfo> | undefined): string | undefined => {
  if (isCall(env)) return "KIWI_CALL is set: a tool runs this command"
  const kiwi = kiwiAbove(lineage ?? [])
  return kiwi && `Kiwi itself (process ${kiwi.pid}) runs this command: it is part of a tool's call`
}

export const unreadable = "it is not known who started it"

interface Found {
  readonly agent: CodingAgent
  readonly info: ProcessInfo
  /** Distance above this process. 0: above the leader of its session or group. */
  readonly at: number
}

/** The outermost agent: it may have started everything below it. */
const findAgent = (lineage: ReadonlyArray<ProcessInfo>): Found | undefined => {
  for (let at = lineage.length - 1; at > 0; at--) {
    const agent = agentOf(lineage[at]!)
    if (agent !== undefined) return { agent, at, info: lineage[at]! }
  }
  for (const info of lineage[0]?.leaders ?? []) {
    const agent = agentOf(info)
    if (agent !== undefined) return { agent, at: 0, info }
  }
  return undefined
}

/** Why a coding agent seems to run this process, as a sentence. Undefined if nothing shows it. */
export const agentSeen = (env: Variables, lineage: ReadonlyArray<ProcessInfo> | undefined): string | undefined => {
  const set = findVariable(env, "any")
  if (set !== undefined) return `${set.variable} is set: ${set.agent.name} seems to run this command`
  const above = lineage === undefined ? undefined : findAgent(lineage)
  return above && `${above.agent.name} runs this command (process ${above.info.pid})`
}

/**
 * Why there is nobody whom this process could ask. Agents read it too, so it says what was seen but not how to
 * circumvent it; docs/trust.md tells people.
 */
export const whyNotThere = (env: Variables, lineage: ReadonlyArray<ProcessInfo> | undefined): string | undefined =>
  agentSeen(env, lineage) ?? (lineage === undefined ? unreadable : undefined)

export interface Typed {
  readonly env: Variables
  readonly lineage: ReadonlyArray<ProcessInfo> | undefined
  /** Whether stdin is a terminal, or the data that the command was told to read from it. */
  readonly stdin: boolean
  readonly stdout: boolean
}

/**
 * Why a command was not typed by a person at a terminal. Whether there is a terminal to ask on is checked elsewhere.
 */
export const whyNotTyped = ({ env, lineage, stdin, stdout }: Typed): string | undefined => {
  const call = callSeen(env, lineage)
  if (call !== undefined) return call
  const seen = whyNotThere(env, lineage)
  if (seen !== undefined) return seen
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
  // npm overwrites its arguments with what it does.
  if (startsOthers.test(program) || (program === "node" && /^(npm|pnpm|yarn) /.test(first))) return true
  if (shells.test(program)) return /^-[a-z]*c$/.test(second)
  if (program !== "node" && program !== "bun") return false
  const script = scriptOf(info)
  return script !== undefined && (script === own || info.scripts?.[0] === own || startScripts.test(baseName(script)))
}

/**
 * If an agent's shell commands run in a session of their own and its MCP servers do not: nobody can join another
 * session.
 */
const sharesSession = (self: ProcessInfo, agent: ProcessInfo, { serversLeadGroup }: CodingAgent): boolean =>
  self.session === undefined || agent.session === undefined
    ? serversLeadGroup === true || self.group === agent.group
    : self.session === agent.session

export interface Answered {
  readonly env: Variables
  readonly lineage: ReadonlyArray<ProcessInfo> | undefined
  readonly transport: "stdio" | "http"
  /** Real path of the script that starts Kiwi; an older Node re-executes it with a newer one. */
  readonly script: string
}

/** Whether it is what an agent gives a server. A file or a named pipe could also be open to others. */
const isClients = (stdio: string | undefined): boolean =>
  stdio === undefined || /^(pipe|socket):\[\d+\] (pipe|socket):\[\d+\]$/.test(stdio)

/** Why a client's answer to a question is not a person's. */
export const whyNotAnswered = ({ env, lineage, script, transport }: Answered): string | undefined => {
  if (isCall(env)) return "KIWI_CALL is set: a tool started this server"
  if (lineage === undefined) return `${unreadable}: this server`
  const kiwi = kiwiAbove(lineage)
  if (kiwi !== undefined) return `Kiwi itself (process ${kiwi.pid}) is above this server: a tool started it`
  const command = findVariable(env, "of its shell")
  if (command !== undefined) {
    return `${command.variable} is set: a command of ${command.agent.name}'s shell started this server`
  }
  const found = findAgent(lineage)
  if (found === undefined) {
    const set = findVariable(env, "any")
    return set === undefined
      ? undefined
      : `${set.variable} is set and ${set.agent.name} is not above this server: a command of an agent started it`
  }
  const { agent } = found
  if (transport === "http" || found.at === 0) return `a command of ${agent.name} started this server`
  const at = isDaemonOf(lineage[found.at - 1], found.info, agent) ? found.at - 1 : found.at
  const outer = lineage[at]!
  // Between the agent and this server only launchers and the agent itself, restarted, are allowed. A launcher passes on
  // its stdin and stdout; a client in between, whatever its name, has others.
  const { stdio } = lineage[0]!
  const inner = lineage.slice(1, at)
  const start = inner.findIndex((info) => isRelaunched(info, outer, agent))
  const between = inner.find((info, i) =>
    start >= 0 && i >= start
      ? !isRelaunched(info, outer, agent)
      : info.stdio !== stdio || !isLauncher(info, script)
  )
  if (between !== undefined) {
    return `${baseName(between.program ?? between.argv[0] ?? between.name)} is between ${agent.name} and this server`
  }
  if (!lineage.slice(0, at).every((info) => sharesSession(info, outer, agent))) {
    return `a command of ${agent.name}'s shell started this server`
  }
  return isClients(stdio) ? undefined : "stdin or stdout of this server is a file: others can write to it"
}

/** The agent that started the server, for the audit. */
export const startedBy = (lineage: ReadonlyArray<ProcessInfo> | undefined): string | undefined =>
  lineage === undefined ? undefined : findAgent(lineage)?.agent.name
