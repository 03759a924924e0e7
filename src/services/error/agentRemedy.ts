// A remedy as an agent is given it. The command line's remedies name commands; an agent that reads one types it into
// its own shell, where a person's act would be an agent's. So a command that is also an MCP call becomes that call, and
// whatever else is a command or a setting of this machine becomes something to tell the person.
import type { ErrorObject, KiwiError } from "./KiwiError.ts"
import { toErrorObject } from "./KiwiError.ts"

/** The words of a command line; quotes and angle brackets hold them together. */
const wordsOf = (command: string): ReadonlyArray<string> =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(<[^>]*>)|(\S+)/g)].map((match) =>
    match.slice(1).find((part) => part) ?? ""
  )

const show = (call: string, given: Readonly<Record<string, string>>): string =>
  `${call} {${Object.entries(given).map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")}}`

const item = (call: string, type: string | undefined, id: string | undefined, rest: ReadonlyArray<string>) =>
  type === undefined || id === undefined || rest.length > 0 ? undefined : show(call, { item_id: id, item_type: type })

const lockTools: ReadonlySet<string> = new Set(["diff", "freeze", "validate"])

/** The MCP call that does what a command does; undefined where there is none, or the command has flags. */
const callOf = (command: string): string | undefined => {
  const [verb, first, second, ...rest] = wordsOf(command)
  switch (verb) {
    case "sign": {
      const sign = item("sign", first, second, rest)
      return sign === undefined ? undefined : `ask the person with ${sign}`
    }
    case "load":
      return item("load", first, second, rest)
    case "search":
      return first === undefined ? undefined : show("search", { query: [first, second, ...rest].join(" ").trim() })
    case "lockfile":
      return first === undefined || second === undefined || rest.length > 0 || !lockTools.has(first)
        ? undefined
        : `execute {item_id: "lockfile_${first}", parameters: {tool: ${JSON.stringify(second)}}}`
    default:
      return undefined
  }
}

/** `kiwi …` where a sentence gives it to be typed: up to a backtick, a semicolon, a bracket or the line's end. */
const command = /`kiwi ([a-z-][^`\n]*)`|(?<=^|: |[a-z] |\()kiwi (-?-?[a-z][^`;)\n]*)/g

/** What only somebody at this machine can do: commands, their flags, variables, files outside the project. */
const ofThisMachine =
  /\bkiwi [a-z-]|(?:^|[\s[`:])--[a-z]|\bKIWI_|\$[A-Z]|\b(?:git|npm|pip|chmod|export|install) |\bkeychain\b|\.env\b|yourself/i

/** The same remedy with nothing in it that an agent could type into a shell of its own. */
export const agentRemedy = (remediation: string): string => {
  if (/^(?:Ask|Tell) the person/.test(remediation)) return remediation
  const whole = remediation.startsWith("kiwi ") ? callOf(remediation.slice("kiwi ".length)) : undefined
  if (whole !== undefined) return whole.replace(/^ask /, "Ask ").replace(/^(?=[a-z]+ \{)/, "Call ")
  const text = remediation.replaceAll(
    command,
    (found, quoted: string | undefined, plain: string | undefined) => callOf(quoted ?? plain ?? "") ?? found
  )
  if (!ofThisMachine.test(text)) return text
  return /^kiwi [a-z-]/.test(text)
    ? `Tell the person to type, at a terminal of their own: ${text}`
    : `Tell the person: ${text}`
}

/** The wire form of an error for an agent. */
export const toAgentErrorObject = (error: KiwiError): ErrorObject => {
  const object = toErrorObject(error)
  return object.remediation === undefined ? object : { ...object, remediation: agentRemedy(object.remediation) }
}

/** A report of Kiwi's own, in JSON, with every `remediation` in it as an agent is given it. Not for data of tools. */
export const forAgent = (report: unknown): unknown => {
  if (Array.isArray(report)) return report.map(forAgent)
  if (typeof report !== "object" || report === null) return report
  return Object.fromEntries(
    Object.entries(report).map(([key, value]) => [
      key,
      key === "remediation" && typeof value === "string" ? agentRemedy(value) : forAgent(value)
    ])
  )
}
