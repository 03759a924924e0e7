// Rewrites a remedy for an agent. The command line's remedies name commands, which an agent would type into its own
// shell, where a person's act would become the agent's. So a command that is also an MCP call becomes that call, and
// any other command or setting of this machine becomes something to tell the person.
import { withProject } from "../text/withProject.ts"
import { callIn } from "./calls.ts"
import type { ErrorObject, KiwiError } from "./KiwiError.ts"
import { toErrorObject } from "./KiwiError.ts"

/** The words of a command line. Quotes and angle brackets group words. */
const wordsOf = (command: string): ReadonlyArray<string> =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(<[^>]*>)|(\S+)/g)].map((match) =>
    match.slice(1).find((part) => part) ?? ""
  )

const show = (call: string, given: Readonly<Record<string, string>>): string =>
  `${call} {${Object.entries(given).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")}}`

interface CallContext {
  /** Path of the project, if it is not the server's own. */
  readonly project: string | undefined
}

const projectArgument = ({ project }: CallContext): Readonly<Record<string, string>> =>
  project === undefined ? {} : { project_path: project }

const item = (call: string, context: CallContext, [type, id, ...rest]: ReadonlyArray<string | undefined>) =>
  type === undefined || id === undefined || rest.length > 0
    ? undefined
    : show(call, { item_id: id, item_type: type, ...projectArgument(context) })

/** The MCP equivalent of a call in an embedding program. */
const sameCall = (remediation: string, context: CallContext): string | undefined => {
  const call = callIn(remediation)
  switch (call?._tag) {
    case undefined:
      return undefined
    case "Search":
      return `Call ${show("search", { query: call.query, ...projectArgument(context) })}`
    case "Load":
      return `Call ${show("load", { item_id: call.id, item_type: call.type, ...projectArgument(context) })}`
    case "Open":
      return "Name the project in project_path, or tell the person to start the server in the project that was meant"
  }
}

const lockTools: ReadonlySet<string> = new Set(["diff", "freeze", "validate"])

/** The MCP call that asks the person for a command's act. Undefined if there is none, or the command has flags. */
const askOf = (command: string, context: CallContext): string | undefined => {
  const [verb, ...words] = wordsOf(command)
  return verb === "sign" ? item("sign", context, words) : undefined
}

/** The MCP call equivalent to a command. */
const callOf = (command: string, context: CallContext): string | undefined => {
  const ask = askOf(command, context)
  if (ask !== undefined) return `ask the person with ${ask}`
  const [verb, ...words] = wordsOf(command)
  switch (verb) {
    case "lockfile": {
      const [what = "", tool, ...rest] = words
      return tool === undefined || rest.length > 0 || !lockTools.has(what) || context.project !== undefined
        ? undefined
        : `execute {item_id: "lockfile_${what}", parameters: {tool: ${JSON.stringify(tool)}}}`
    }
    default:
      return undefined
  }
}

/** A `kiwi …` command in a sentence: up to a backtick, a semicolon, a bracket or the end of the line. */
const command = /`kiwi ([a-z-][^`\n]*)`|(?<=^|: |[a-z] |\()kiwi (-?-?[a-z][^`;)\n]*)/g

/** Things that only somebody at this machine can do: commands, their flags, variables, files outside the project. */
const ofThisMachine =
  /\bkiwi [a-z-]|(?:^|[\s[`:])--[a-z]|\bKIWI_|\$[A-Z]|\b(?:git|npm|pip|chmod|export|install) |\bkeychain\b|\.env\b|yourself|\bas you\b/i

/**
 * The remedy without anything that an agent could type into its own shell. `project`: the call's project, if it is not
 * the server's own.
 */
export const agentRemedy = (remediation: string, project?: string): string => {
  const context = { project }
  const named = (typed: string): string =>
    project === undefined || typed.includes("--project")
      ? typed
      : withProject(typed, project)
  const told = remediation.replaceAll(
    command,
    (_, quoted: string | undefined, plain: string | undefined) =>
      quoted === undefined ? named(`kiwi ${plain}`) : `\`${named(`kiwi ${quoted}`)}\``
  )
  if (/^(?:Ask|Tell) the person/.test(remediation)) return told
  const same = sameCall(remediation, context)
  if (same !== undefined) return same
  const whole = remediation.startsWith("kiwi ") ? callOf(remediation.slice("kiwi ".length), context) : undefined
  if (whole !== undefined) return whole.replace(/^ask /, "Ask ").replace(/^(?=[a-z]+ \{)/, "Call ")
  const text = remediation.replaceAll(
    command,
    (_, quoted: string | undefined, plain: string | undefined) =>
      quoted === undefined
        ? callOf(plain ?? "", context) ?? named(`kiwi ${plain}`)
        : callOf(quoted, context) ?? `\`${named(`kiwi ${quoted}`)}\``
  )
  if (!ofThisMachine.test(text)) return text
  // The text for the person is unchanged; what the agent itself can do is appended.
  const asks = [...remediation.matchAll(command)].flatMap(([, quoted, plain]) =>
    askOf(quoted ?? plain ?? "", context) ?? []
  )
  return (/^kiwi [a-z-]/.test(told) ? "Tell the person to type, at a terminal of their own: " : "Tell the person: ") +
    told + asks.map((ask) => `. Or ask them with ${ask}`).join("")
}

/** The wire form of an error, for an agent. */
export const toAgentErrorObject = (error: KiwiError, project?: string): ErrorObject => {
  const object = toErrorObject(error)
  return object.remediation === undefined
    ? object
    : { ...object, remediation: agentRemedy(object.remediation, project) }
}

/** One of Kiwi's own reports, in JSON, with every `remediation` rewritten for an agent. Not for tools' data. */
export const forAgent = (report: unknown): unknown => {
  if (Array.isArray(report)) return report.map((one) => forAgent(one))
  if (typeof report !== "object" || report === null) return report
  return Object.fromEntries(
    Object.entries(report).map(([key, value]) => [
      key,
      key === "remediation" && typeof value === "string" ? agentRemedy(value) : forAgent(value)
    ])
  )
}
