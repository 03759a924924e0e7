// Coding agents, as data: the names of their processes, and the variables that they set. An editor that hosts an agent
// (Cursor, Windsurf, VS Code, Zed, a JetBrains IDE) is not an agent by itself. So variables that such an editor also
// sets in a person's terminal are not listed (CURSOR_TRACE_ID, ZED_TERM, TERM_PROGRAM, KIRO_AGENT_PATH).
import type { ProcessInfo } from "./Lineage.ts"

export interface CodingAgent {
  readonly name: string
  /** File name of its program, of its script in a folder `bin`, or of its Python module: lower case, no extension. */
  readonly programs: ReadonlyArray<string>
  /** Parts of the path of its program or script. */
  readonly paths: ReadonlyArray<string>
  /**
   * Variables of its own process, which an MCP server that it starts may inherit: `NAME`, `NAME=value`, `NAME~part` for
   * a value that contains the part, or `PREFIX_*`.
   */
  readonly variables: ReadonlyArray<string>
  /** Variables that it sets for the commands of its shell but not for MCP servers. */
  readonly shellVariables: ReadonlyArray<string>
  /** Whether an MCP server that it starts leads a process group of its own. */
  readonly serversLeadGroup?: true
  /** A part of the path of a program that it runs in a session of its own, and that starts its MCP servers. */
  readonly daemon?: string
}

const agent = (name: string, parts: Partial<CodingAgent>): CodingAgent => ({
  name,
  programs: [],
  paths: [],
  variables: [],
  shellVariables: [],
  ...parts
})

const known: ReadonlyArray<CodingAgent> = [
  // Observed with 2.1.330, 0.169.0, 1.18.33, 0.24.4 and 0.61.0: the variables of a shell command and of an MCP server.
  agent("Claude Code", {
    programs: ["claude"],
    paths: ["/@anthropic-ai/claude-code", "/share/claude/versions/"],
    variables: ["CLAUDECODE", "CLAUDE_CODE_IS_COWORK"],
    shellVariables: ["CLAUDE_CODE_CHILD_SESSION", "CLAUDE_PID"]
  }),
  agent("Codex", {
    programs: ["codex"],
    paths: ["/@openai/codex"],
    shellVariables: [
      "CODEX_CI",
      "CODEX_THREAD_ID",
      "CODEX_SESSION_ID",
      "CODEX_TOOL_CALL_ID",
      "CODEX_SANDBOX",
      "CODEX_SANDBOX_*"
    ],
    serversLeadGroup: true,
    daemon: "/app-server-daemon/releases/"
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
  agent("Goose", { programs: ["goose", "goosed"], shellVariables: ["GOOSE_TERMINAL"] }),
  agent("Amp", { programs: ["amp"], paths: ["/@sourcegraph/amp"], shellVariables: ["AMP_CURRENT_THREAD_ID"] }),
  agent("Cline", { programs: ["cline"], paths: ["/node_modules/cline/"], shellVariables: ["CLINE_ACTIVE"] }),
  agent("Aider", { programs: ["aider"], paths: ["/site-packages/aider/"] }),
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
  agent("Pi", { programs: ["pi"], paths: ["/pi-coding-agent/"], variables: ["PI_CODING_AGENT"] }),
  agent("iFlow", { programs: ["iflow"], paths: ["/@iflow-ai/iflow-cli"], variables: ["IFLOW_CLI"] }),
  agent("Grok", { programs: ["grok"], variables: ["GROK_AGENT=1"] }),
  agent("Kimi", { programs: ["kimi", "kimi-cli"] }),
  agent("OpenClaw", { programs: ["openclaw"], paths: ["/node_modules/openclaw/"], shellVariables: ["OPENCLAW_SHELL"] }),
  agent("Plandex", { programs: ["plandex"] })
]

// Names that several agents share. People also have an AGENT of their own, so not every value counts.
const shared = agent("a coding agent", {
  variables: [
    "AI_AGENT",
    ...["1", "true", "claude-code", ...known.flatMap(({ programs }) => programs)].map((value) => `AGENT=${value}`)
  ]
})

export const codingAgents: ReadonlyArray<CodingAgent> = [...known, shared]

export type Variables = Readonly<Record<string, string | undefined>>

const isSet = (value: string | undefined): value is string =>
  value !== undefined && value !== "" && value !== "0" && value.toLowerCase() !== "false"

const matches = (mark: string, name: string, value: string): boolean => {
  if (mark.endsWith("*")) return name.startsWith(mark.slice(0, -1))
  const [, own = mark, relation, wanted = ""] = /^([A-Z0-9_]+)([=~])(.+)$/.exec(mark) ?? []
  if (name !== own) return false
  return relation === "=" ? value.toLowerCase() === wanted : relation === "~" ? value.includes(wanted) : true
}

export interface AgentVariable {
  readonly agent: CodingAgent
  /** Its name. */
  readonly variable: string
}

/** The first variable that shows that an agent, or an agent's shell, is running this. */
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

/** The last part of a path, in lower case, without an executable's extension. */
export const baseName = (path: string): string =>
  (/[^/\\]*$/.exec(path)?.[0] ?? "").toLowerCase().replace(/\.(exe|cmd|[cm]?js|[cm]?ts|py|sh)$/, "")

const interpreters =
  /^(node[-v0-9.]*|nodejs|bun|deno|python[0-9.]*|pypy[0-9.]*|ruby|perl|sh|bash|dash|zsh|fish|mainthread)$/

const isInterpreter = ({ argv, name, program }: ProcessInfo): boolean =>
  interpreters.test(baseName(program ?? argv[0] ?? name))

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

interface Options {
  /** Names of its program. */
  readonly programs: RegExp
  /** Options whose value is the next argument. */
  readonly withValue: ReadonlySet<string>
  /** Options without a value, besides those that `switches` matches. */
  readonly long: ReadonlySet<string>
  readonly switches: RegExp
  /** Options that give code instead of a script. */
  readonly code: RegExp
}

const interpreterOptions: ReadonlyArray<Options> = [
  {
    programs: /^(node|bun|deno|mainthread)/,
    withValue: words("-r --require --import --loader -C --conditions --title --env-file --input-type"),
    long: words(
      "--expose-gc --no-warnings --enable-source-maps --use-system-ca --watch --inspect --bun " +
        "--experimental-strip-types"
    ),
    switches: /^-i$/,
    code: /^(-p?e|-p|--eval|--print)(=|$)/
  },
  // Options with a value are read before these, by `python`.
  {
    programs: /^(python|pypy)/,
    withValue: words(""),
    long: words(""),
    switches: /^-[A-Za-z]+$/,
    code: /^-[^-]*c/
  },
  {
    programs: /./,
    withValue: words("-I -O -o +O +o"),
    long: words("--login --posix --norc --noprofile"),
    switches: /^[-+][A-Za-z]+$/,
    code: /^(-[A-Za-z]*c|--eval)$/
  }
]

const optionsOf = (program: string): Options => interpreterOptions.find(({ programs }) => programs.test(program))!

/** Subcommands of `bun` and `deno` that precede a script. */
const subcommands = words("run x exec")

/**
 * Python's options with a value, which ends a group of letters: `-Im aider`, `-Imaider`, `-uXutf8`. If two match, the
 * first has the other in its value.
 */
const pythonValue = (argument: string): { readonly option?: string; readonly value?: string } => {
  const [, option, value] = /^-[A-Za-z]*?([cmWX])(.*)$/.exec(argument) ?? []
  return option === undefined || value === undefined ? {} : { option, value }
}

interface Runs {
  /** Candidates for the script. There is more than one after an unknown option, which may have a value. */
  readonly scripts: ReadonlyArray<string>
  /** Candidates for the module that Python runs. */
  readonly modules: ReadonlyArray<string>
}

/** What an interpreter runs. */
const runs = (info: ProcessInfo): Runs => {
  const none: Runs = { scripts: [], modules: [] }
  if (!isInterpreter(info)) return none
  const { argv } = info
  const program = baseName(info.program ?? argv[0] ?? info.name)
  const isPython = /^(python|pypy)/.test(program)
  const { code, long, switches, withValue } = optionsOf(program)
  const modulesAt = (at: number): ReadonlyArray<string> => {
    const { option, value } = isPython ? pythonValue(argv[at]!) : {}
    return option === "m" ? [value || (argv[at + 1] ?? "")] : []
  }
  for (let at = 1; at < argv.length; at++) {
    const argument = argv[at]!
    const { option, value } = isPython ? pythonValue(argument) : {}
    if (option === "m") return { ...none, modules: modulesAt(at) }
    if (option === "W" || option === "X") at += value === "" ? 1 : 0
    else if (code.test(argument) || (argument === "-e" && /^(ruby|perl)/.test(program))) return none
    else if (withValue.has(argument)) at++
    else if (/^(bun|deno)/.test(program) && subcommands.has(argument)) continue
    else if (!/^[-+]/.test(argument)) return { ...none, scripts: [argument] }
    // The next argument may be an unknown option's value. Then any later one may be the script, or name the module.
    else if (!argument.includes("=") && argument !== "--" && !long.has(argument) && !switches.test(argument)) {
      const rest = argv.slice(at + 1)
      return {
        scripts: rest.filter((one) => !one.startsWith("-")),
        modules: rest.flatMap((_, i) => modulesAt(at + 1 + i))
      }
    }
  }
  return none
}

/** Candidates for the script that an interpreter runs. Empty for any other program. */
export const scriptsOf = (info: ProcessInfo): ReadonlyArray<string> => runs(info).scripts

/** The script that an interpreter runs. Undefined unless it is certain. */
export const scriptOf = (info: ProcessInfo): string | undefined => {
  const { scripts } = runs(info)
  return scripts.length === 1 ? scripts[0] : undefined
}

const withSlashes = (path: string): string => path.replaceAll("\\", "/")

/** The path of the package that Deno or Bun runs by its name: `npm:@google/gemini-cli@1/x`. */
const packagePath = (script: string): string =>
  script.replace(/^npm:\/?((?:@[^/@]+\/)?[^/@]+).*$/, "/node_modules/$1/.bin/$1")

/** The agent that this process is, if any. */
export const agentOf = (info: ProcessInfo): CodingAgent | undefined => {
  const { modules, ...found } = runs(info)
  const scripts = found.scripts.map(packagePath)
  const files = [info.program, info.argv[0], ...scripts, ...(info.scripts ?? [])]
    .filter((file) => file !== undefined).map(withSlashes)
  // A person's own script may have any name; one installed by a package manager is a command.
  const installed = scripts.filter((script) => /[/\\]\.?bin[/\\][^/\\.]+$/.test(script))
  const names = new Set([info.program, info.argv[0], ...installed].map((file) => baseName(file ?? "")))
  if (!isInterpreter(info)) names.add(info.name.toLowerCase())
  for (const module of modules) names.add(module.toLowerCase().replace(/\..*/, ""))
  return codingAgents.find((one) =>
    one.programs.some((program) => names.has(program)) ||
    one.paths.some((part) => files.some((path) => `${path}/`.includes(part)))
  )
}

/** The file that a process runs, not its name. */
const fileOf = (info: ProcessInfo): string | undefined => {
  if (!isInterpreter(info)) return info.program ?? info.argv[0]
  const script = scriptOf(info)
  return script === undefined ? undefined : info.scripts?.[0] ?? script
}

/** The package folder of an agent that a file belongs to. The file itself if it is in none. */
const packageOf = (file: string, { paths }: CodingAgent): string => {
  const path = withSlashes(file)
  const part = paths.find((one) => path.includes(one))
  return part === undefined ? path : path.slice(0, path.indexOf(part) + part.length)
}

/**
 * Whether a process is the agent `outer`, restarted. Decided by the file it runs, since any process can have the name.
 */
export const isRelaunched = (info: ProcessInfo, outer: ProcessInfo, kind: CodingAgent): boolean => {
  const [one, other] = [fileOf(info), fileOf(outer)]
  return one !== undefined && other !== undefined && packageOf(one, kind) === packageOf(other, kind)
}

/** Options with which an agent's program does not use its daemon, or is the daemon. */
const noDaemon: ReadonlySet<string> = new Set(["exec", "e", "app-server", "mcp-server", "--no-daemon"])

/** Whether a process is the daemon that the agent `outer` started. */
export const isDaemonOf = (info: ProcessInfo | undefined, outer: ProcessInfo, { daemon }: CodingAgent): boolean =>
  daemon !== undefined && info?.program?.includes(daemon) === true && info.argv.includes("app-server") &&
  !outer.argv.some((argument) => noDaemon.has(argument))
