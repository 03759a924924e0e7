// Coding agents, as data: what their processes are called, and which variables they leave behind. An editor that hosts
// an agent (Cursor, Windsurf, VS Code, Zed, a JetBrains IDE) is none by itself, so nothing is here that such an editor
// also sets in the terminal that a person types in (CURSOR_TRACE_ID, ZED_TERM, TERM_PROGRAM, KIRO_AGENT_PATH).
import type { ProcessInfo } from "./Lineage.ts"

export interface CodingAgent {
  readonly name: string
  /** File name of its program or script, in lower case, without an ending. */
  readonly programs: ReadonlyArray<string>
  /** Parts of the path of its program or script. */
  readonly paths: ReadonlyArray<string>
  /**
   * Variables of its own process, which an MCP server that it starts may inherit. `NAME`, `NAME=value`, `NAME~part` for
   * a value with that part, or `PREFIX_*`.
   */
  readonly variables: ReadonlyArray<string>
  /** Variables that it sets for the commands of its shell, and not for MCP servers. */
  readonly shellVariables: ReadonlyArray<string>
  /** Whether an MCP server that it starts leads a process group of its own. */
  readonly serversLeadGroup?: true
}

const agent = (name: string, parts: Partial<CodingAgent>): CodingAgent => ({
  name,
  programs: [],
  paths: [],
  variables: [],
  shellVariables: [],
  ...parts
})

export const codingAgents: ReadonlyArray<CodingAgent> = [
  // Seen with 2.1.330, 0.169.0, 1.18.33, 0.24.4 and 0.61.0: what a shell command gets, and what an MCP server gets.
  agent("Claude Code", {
    programs: ["claude"],
    paths: ["/@anthropic-ai/claude-code", "/claude/versions/"],
    variables: ["CLAUDECODE", "CLAUDE_CODE_IS_COWORK"],
    shellVariables: ["CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"]
  }),
  agent("Codex", {
    programs: ["codex"],
    paths: ["/@openai/codex"],
    shellVariables: ["CODEX_*"],
    serversLeadGroup: true
  }),
  agent("opencode", {
    programs: ["opencode"],
    paths: ["/opencode-ai/"],
    variables: ["OPENCODE", "OPENCODE_PID"],
    shellVariables: ["OPENCODE_SESSION_ID"]
  }),
  agent("Qwen Code", { programs: ["qwen"], paths: ["/@qwen-code/qwen-code"], shellVariables: ["QWEN_CODE"] }),
  agent("Gemini CLI", { programs: ["gemini"], paths: ["/@google/gemini-cli"], variables: ["GEMINI_CLI"] }),
  // From their documentation and sources.
  agent("Cursor", {
    programs: ["cursor-agent"],
    paths: ["/cursor-agent/versions/"],
    shellVariables: ["CURSOR_AGENT", "CURSOR_EXTENSION_HOST_ROLE=agent-exec"]
  }),
  agent("Copilot", {
    programs: ["copilot"],
    paths: ["/@github/copilot"],
    shellVariables: ["COPILOT_AGENT", "COPILOT_AGENT_SESSION_ID", "COPILOT_AGENT_JOB_ID", "COPILOT_CLI"]
  }),
  agent("Goose", { programs: ["goose"], shellVariables: ["GOOSE_TERMINAL"] }),
  agent("Amp", { programs: ["amp"], paths: ["/@sourcegraph/amp"], shellVariables: ["AMP_CURRENT_THREAD_ID"] }),
  agent("Cline", { programs: ["cline"], paths: ["/node_modules/cline/"], shellVariables: ["CLINE_ACTIVE"] }),
  agent("Aider", { programs: ["aider"] }),
  agent("Crush", { programs: ["crush"], paths: ["/@charmland/crush"], shellVariables: ["CRUSH"] }),
  agent("Windsurf", { shellVariables: ["WINDSURF_CASCADE_TERMINAL"] }),
  agent("Kilo Code", {
    programs: ["kilo", "kilocode"],
    paths: ["/@kilocode/cli"],
    variables: ["KILOCODE_FEATURE=cli"]
  }),
  agent("Roo Code", { shellVariables: ["ROO_ACTIVE"], variables: ["ROO_CLI_RUNTIME"] }),
  agent("Continue", { paths: ["/@continuedev/cli"] }),
  agent("Droid", { programs: ["droid"], paths: ["/@factory/cli"] }),
  agent("Augment", {
    programs: ["auggie"],
    paths: ["/@augmentcode/auggie"],
    shellVariables: ["AUGMENT_AGENT"]
  }),
  agent("Devin", { programs: ["devin"] }),
  agent("Antigravity", { shellVariables: ["ANTIGRAVITY_AGENT"] }),
  agent("Junie", { programs: ["junie"], paths: ["/@jetbrains/junie"], variables: ["JUNIE_DATA"] }),
  agent("Kiro", { programs: ["kiro-cli", "kiro-cli-chat"] }),
  agent("Amazon Q", { programs: ["qchat"], shellVariables: ["AWS_EXECUTION_ENV~AmazonQ-For-CLI"] }),
  agent("Trae", { programs: ["trae-cli", "trae-agent"], shellVariables: ["TRAE_AI_SHELL_ID"] }),
  agent("OpenHands", { programs: ["openhands"] }),
  agent("Jules", { programs: ["jules"], paths: ["/@google/jules"] }),
  agent("Pi", { paths: ["/pi-coding-agent/"], variables: ["PI_CODING_AGENT"] }),
  agent("iFlow", { programs: ["iflow"], paths: ["/@iflow-ai/iflow-cli"], variables: ["IFLOW_CLI"] }),
  agent("Grok", { programs: ["grok"], variables: ["GROK_AGENT=1"] }),
  agent("Kimi", { programs: ["kimi", "kimi-cli"] }),
  agent("OpenClaw", { programs: ["openclaw"], paths: ["/node_modules/openclaw/"], shellVariables: ["OPENCLAW_SHELL"] }),
  agent("Plandex", { programs: ["plandex"] }),
  // The names that several agents share.
  agent("a coding agent", { variables: ["AI_AGENT", "AGENT"] })
]

/** Variables with an agent's prefix that people set themselves. */
const ofThePerson: ReadonlySet<string> = new Set(["CODEX_HOME", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN"])

export type Variables = Readonly<Record<string, string | undefined>>

const isSet = (value: string | undefined): value is string =>
  value !== undefined && value !== "" && value !== "0" && value.toLowerCase() !== "false"

const matches = (mark: string, name: string, value: string): boolean => {
  if (mark.endsWith("*")) return name.startsWith(mark.slice(0, -1)) && !ofThePerson.has(name)
  const [, own = mark, relation, wanted = ""] = /^([A-Z0-9_]+)([=~])(.+)$/.exec(mark) ?? []
  if (name !== own) return false
  return relation === "=" ? value === wanted : relation === "~" ? value.includes(wanted) : true
}

export interface AgentVariable {
  readonly agent: CodingAgent
  /** Its name. */
  readonly variable: string
}

/** The first variable that says that an agent, or an agent's shell, is at work. */
export const findVariable = (env: Variables, which: "any" | "of its shell"): AgentVariable | undefined => {
  for (const one of codingAgents) {
    const marks = which === "any" ? [...one.shellVariables, ...one.variables] : one.shellVariables
    if (marks.length === 0) continue
    for (const variable of Object.keys(env)) {
      const value = env[variable]
      if (isSet(value) && marks.some((mark) => matches(mark, variable, value))) return { agent: one, variable }
    }
  }
  return undefined
}

/** The last part of a path, in lower case, without an ending that only says how it is run. */
export const baseName = (path: string): string =>
  (/[^/\\]*$/.exec(path)?.[0] ?? "").toLowerCase().replace(/\.(exe|cmd|[cm]?js|[cm]?ts|py|sh)$/, "")

const interpreters = /^(node|nodejs|bun|deno|python[0-9.]*|pypy[0-9.]*|ruby|perl|sh|bash|dash|zsh|fish|mainthread)$/

/** Options of interpreters whose value is the next argument. */
const takesValue: ReadonlySet<string> = new Set(["-r", "--require", "--import", "--loader", "-C", "--conditions", "-W"])

/** The script that an interpreter runs, or the module of `python -m`; `undefined` for any other program. */
export const scriptOf = ({ argv, name, program }: ProcessInfo): string | undefined => {
  const own = baseName(program ?? argv[0] ?? name)
  if (!interpreters.test(own)) return undefined
  for (let at = 1; at < argv.length; at++) {
    const argument = argv[at]!
    if (argument === "-m") return argv[at + 1]
    if (/^-[a-z]*c$/.test(argument) || argument === "-e" || argument === "--eval") return undefined
    if (takesValue.has(argument)) at++
    else if (!argument.startsWith("-")) return argument
  }
  return undefined
}

/** The agent that this process is. */
export const agentOf = (info: ProcessInfo): CodingAgent | undefined => {
  const script = scriptOf(info)
  const files = [info.program, info.argv[0], script].filter((file) => file !== undefined)
  const names = new Set([info.name.toLowerCase(), ...files.map(baseName)])
  const paths = files.map((file) => file.replaceAll("\\", "/"))
  return codingAgents.find((one) =>
    one.programs.some((program) => names.has(program)) ||
    one.paths.some((part) => paths.some((path) => `${path}/`.includes(part)))
  )
}
