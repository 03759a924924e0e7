// Coding agents, as data: what their processes are called, and which variables they leave behind. An editor that hosts
// an agent (Cursor, Windsurf, VS Code, Zed, a JetBrains IDE) is none by itself, so nothing is here that such an editor
// also sets in the terminal that a person types in (CURSOR_TRACE_ID, ZED_TERM, TERM_PROGRAM, KIRO_AGENT_PATH).
import type { ProcessInfo } from "./Lineage.ts"

export interface CodingAgent {
  readonly name: string
  /** File name of its program, of its script in a folder `bin`, or of its Python module: in lower case, no ending. */
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
  // Seen with 2.1.330, 0.169.0, 1.18.33, 0.24.4 and 0.61.0: what a shell command gets, and what an MCP server gets.
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

// The names that several agents share. People have an AGENT of their own too, so not every value counts.
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

const interpreters =
  /^(node[-v0-9.]*|nodejs|bun|deno|python[0-9.]*|pypy[0-9.]*|ruby|perl|sh|bash|dash|zsh|fish|mainthread)$/

const isInterpreter = ({ argv, name, program }: ProcessInfo): boolean =>
  interpreters.test(baseName(program ?? argv[0] ?? name))

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "))

interface Options {
  /** What is called so. */
  readonly programs: RegExp
  /** Those whose value is the next argument. */
  readonly withValue: ReadonlySet<string>
  /** Those without a value, besides what `switches` matches. */
  readonly long: ReadonlySet<string>
  readonly switches: RegExp
  /** Those that give code in the place of a script. */
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
  // What takes a value is read before these, by `python`.
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

/** What `bun` and `deno` want before a script. */
const subcommands = words("run x exec")

/**
 * Python's options that have a value, which ends a group of letters: `-Im aider`, `-Imaider`, `-uXutf8`. Of two, the
 * first has the other in its value.
 */
const pythonValue = (argument: string): { readonly option?: string; readonly value?: string } => {
  const [, option, value] = /^-[A-Za-z]*?([cmWX])(.*)$/.exec(argument) ?? []
  return option === undefined || value === undefined ? {} : { option, value }
}

interface Runs {
  /** What may be the script. More than one: an option is not known, which may have a value. */
  readonly scripts: ReadonlyArray<string>
  /** What may be the module that Python runs. */
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
    // One that is not known may have the next argument as its value: then any may be the script, or name the module.
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

/** What may be the script that an interpreter runs; none for any other program. */
export const scriptsOf = (info: ProcessInfo): ReadonlyArray<string> => runs(info).scripts

/** The script that an interpreter runs; `undefined` where that is not certain. */
export const scriptOf = (info: ProcessInfo): string | undefined => {
  const { scripts } = runs(info)
  return scripts.length === 1 ? scripts[0] : undefined
}

const withSlashes = (path: string): string => path.replaceAll("\\", "/")

/** Where the package lies that Deno or Bun runs by its name: `npm:@google/gemini-cli@1/x`. */
const packagePath = (script: string): string =>
  script.replace(/^npm:\/?((?:@[^/@]+\/)?[^/@]+).*$/, "/node_modules/$1/.bin/$1")

/** The agent that this process is. */
export const agentOf = (info: ProcessInfo): CodingAgent | undefined => {
  const { modules, ...found } = runs(info)
  const scripts = found.scripts.map(packagePath)
  const files = [info.program, info.argv[0], ...scripts, ...(info.scripts ?? [])]
    .filter((file) => file !== undefined).map(withSlashes)
  // A script that somebody has lying about may be called anything; one that a package manager put there is a command.
  const installed = scripts.filter((script) => /[/\\]\.?bin[/\\][^/\\.]+$/.test(script))
  const names = new Set([info.program, info.argv[0], ...installed].map((file) => baseName(file ?? "")))
  if (!isInterpreter(info)) names.add(info.name.toLowerCase())
  for (const module of modules) names.add(module.toLowerCase().replace(/\..*/, ""))
  return codingAgents.find((one) =>
    one.programs.some((program) => names.has(program)) ||
    one.paths.some((part) => files.some((path) => `${path}/`.includes(part)))
  )
}

/** The file that a process runs: not what it is called. */
const fileOf = (info: ProcessInfo): string | undefined => {
  if (!isInterpreter(info)) return info.program ?? info.argv[0]
  const script = scriptOf(info)
  return script === undefined ? undefined : info.scripts?.[0] ?? script
}

/** The folder of the package of an agent that a file belongs to; the file itself where it is in none. */
const packageOf = (file: string, { paths }: CodingAgent): string => {
  const path = withSlashes(file)
  const part = paths.find((one) => path.includes(one))
  return part === undefined ? path : path.slice(0, path.indexOf(part) + part.length)
}

/** Whether a process is the agent that `outer` is, started again: by what it runs, since anything can have its name. */
export const isRelaunched = (info: ProcessInfo, outer: ProcessInfo, kind: CodingAgent): boolean => {
  const [one, other] = [fileOf(info), fileOf(outer)]
  return one !== undefined && other !== undefined && packageOf(one, kind) === packageOf(other, kind)
}

/** Options of an agent's program with which it does not use its daemon, or is one. */
const noDaemon: ReadonlySet<string> = new Set(["exec", "e", "app-server", "mcp-server", "--no-daemon"])

/** Whether a process is the daemon that the agent `outer` has started. */
export const isDaemonOf = (info: ProcessInfo | undefined, outer: ProcessInfo, { daemon }: CodingAgent): boolean =>
  daemon !== undefined && info?.program?.includes(daemon) === true && info.argv.includes("app-server") &&
  !outer.argv.some((argument) => noDaemon.has(argument))
