// What a rule is about, as it is written in one line: "fs.write(src/**)", "shell.run(npm test, git commit *)", "github/*".
import { Result } from "effect"
import { accessCapabilities, type CommandLine } from "../../capability/Access.ts"
import { capabilities } from "../../capability/CapabilityModule.ts"
import { type CommandPattern, parsePatterns } from "../../capability/command/CommandPattern.ts"
import { parseLine } from "../../capability/command/exactLine.ts"
import { denied, granted, hasName, type Names } from "../../capability/impliedNames.ts"
import * as HostPattern from "../../capability/scopes/HostPattern.ts"
import * as PathPattern from "../../capability/scopes/PathPattern.ts"
import type { ScopeKind } from "../../capability/scopes/Scope.ts"
import { nearest } from "../../schema/schemaIssues.ts"

/** The kinds of accesses that have scopes, the foremost first: a rule on a tool means the foremost that a call has. */
export const scopedKinds = ["Command", "Host", "Path", "Secret"] as const
export type ScopedKind = typeof scopedKinds[number]

export interface Scopes {
  readonly Command?: ReadonlyArray<CommandPattern>
  /** Exactly this line. Then `Command` is empty. */
  readonly Line?: CommandLine
  readonly Host?: ReadonlyArray<HostPattern.HostPattern>
  readonly Path?: ReadonlyArray<PathPattern.PathPattern>
  /** Names, with `*`. */
  readonly Secret?: ReadonlyArray<string>
}

const kinds: Partial<Readonly<Record<ScopeKind, ScopedKind>>> = {
  path: "Path",
  command: "Command",
  host: "Host",
  name: "Secret"
}

export const kindOfCapability = (capability: string): ScopedKind | undefined => {
  const found = capabilities.get(capability)
  return found && kinds[found.scope]
}

/** Every capability of the modules, and all of Kiwi's own. */
const known = [...capabilities.keys(), "kiwi.*"]

/** First words of capabilities that tools are named by too: with them only whole names are capabilities. */
const alsoTools = new Set(["tool", "git", "db"])

/** The other first words name no tool in a rule, so that a misspelt capability is not taken for a tool. */
const reserved = new Set(known.map((name) => name.slice(0, name.indexOf("."))).filter((word) => !alsoTools.has(word)))

const namesCapability = (name: string): boolean =>
  known.includes(name) || (name.includes(".") && reserved.has(name.slice(0, name.indexOf("."))))

/** A tool as the subject of a line. */
export const showTool = (id: string): string => namesCapability(id) ? `tool.${id}` : id

/** Rules about these would do nothing: what has the effect that is meant. */
const instead: Readonly<Record<string, string>> = {
  "fs.exec": "process.exec(bin/build *)",
  "fs.absolute": "the path, as in fs.read(/etc/**)",
  "net.websocket": "net.http(api.github.com)",
  "git.read": "git.* for Kiwi's tools, process.exec(git log *) for commands",
  "git.push": "process.exec(git push *)",
  "env.read": "secret.use(NAME)"
}

/** Whether a rule about the capability speaks about anything that a call needs. */
const isDecided = (capability: string, outcome: "allow" | "ask" | "deny"): boolean =>
  accessCapabilities.some((one) => speaksAbout(capability, one, outcome))

/** Why a rule about the capability would do nothing. Undefined if it does something. */
export const undecided = (capability: string, outcome: "allow" | "ask" | "deny"): string | undefined => {
  if (isDecided(capability, outcome)) return undefined
  if (capability === "kiwi.execute") return "would do nothing: write tool.* for every tool"
  const meant = Object.hasOwn(instead, capability) ? `${instead[capability]}, or ` : ""
  return `would do nothing, since no call needs it: write ${meant}tool.${capability} for a tool of that name`
}

const toolName = /^(?:[A-Za-z0-9_*][A-Za-z0-9_.*-]*\/)*[a-z0-9*_][a-z0-9_.*-]*$/
const secretName = /^[A-Za-z0-9_.*-]{1,128}$/

/** The parts of a list, separated by commas. A part that begins with `"` is JSON text, and may contain commas. */
const splitList = (text: string): ReadonlyArray<string> | undefined => {
  const parts: Array<string> = []
  for (let rest = text;;) {
    const found = /^\s*("(?:[^"\\]|\\.)*"|[^,"][^,]*|)\s*(?:,|$)/su.exec(rest)
    if (found === null) return undefined
    const [whole, part = ""] = found
    const unquoted = part.startsWith("\"")
      ? Result.getOrUndefined(Result.try((): unknown => JSON.parse(part)))
      : part.trimEnd()
    if (typeof unquoted !== "string") return undefined
    parts.push(unquoted)
    if (!whole.endsWith(",")) return parts
    rest = rest.slice(whole.length)
  }
}

export const parseEach = <A>(parts: ReadonlyArray<string>, parse: (text: string) => Result.Result<A, string>) =>
  Result.all(parts.map(parse))

export const parseName = (text: string): Result.Result<string, string> =>
  secretName.test(text) ? Result.succeed(text) : Result.fail("must be a name of letters, digits, _, . and -, or *")

/** A whole domain such as `*.com` is more than a person means. */
export const parseHost = (text: string): Result.Result<HostPattern.HostPattern, string> =>
  Result.filterOrFail(
    HostPattern.parse(text),
    ({ host }) => !/^\.[^.]+$/.test(host),
    () => "must have at least two names after *."
  )

export interface RuleContext {
  /** The person's home folder, for paths that begin with `~/`. */
  readonly home?: string | undefined
}

/** The scopes of one kind in a line. */
const parseScopes = (
  kind: ScopedKind,
  text: string,
  { home }: RuleContext
): Result.Result<Scopes, string> => {
  if (kind === "Command") {
    const Line = parseLine(text)
    return Line === undefined
      ? Result.map(parsePatterns(text), (Command) => ({ Command }))
      : Result.succeed({ Command: [], Line })
  }
  const parts = splitList(text)
  if (parts === undefined) return Result.fail("must be a list with commas between; quote a part that has a comma")
  switch (kind) {
    case "Path":
      return Result.map(parseEach(parts, (part) => PathPattern.parse(part, home)), (Path) => ({ Path }))
    case "Host":
      return Result.map(parseEach(parts, parseHost), (Host) => ({ Host }))
    case "Secret":
      return Result.map(parseEach(parts, parseName), (Secret) => ({ Secret }))
  }
}

/** Whether a part that has no quotes has several words, or what a shell reads as more than words. */
const looksLikeCommand = (text: string): boolean =>
  text.replace(/"(?:[^"\\]|\\.)*"/gsu, "").split(",").some((part) => /[\s;|&<>$`]/.test(part.trim()))

/** Scopes on a tool: which kind they are depends on what the tool touches, so they are read as each kind that fits. */
const parseToolScopes = (text: string, context: RuleContext): Result.Result<Scopes, string> => {
  const read = scopedKinds.map((kind) => parseScopes(kind, text, context))
  const fits = read.filter(Result.isSuccess).map(({ success }) => success)
  // It would only be read as a path, and so would silently miss the command that it means.
  const [command] = read
  if (command !== undefined && Result.isFailure(command) && looksLikeCommand(text)) {
    return Result.fail(`${command.failure}. If it is a path, put it in double quotes`)
  }
  return fits.length > 0 ? Result.succeed(Object.assign({}, ...fits)) : Result.map(read[2]!, (scopes) => scopes)
}

export interface Target {
  readonly capability: string | undefined
  readonly tool: string | undefined
  readonly scopes: Scopes | undefined
}

export const parseCapability = (name: string): Result.Result<string, string> => {
  if (known.includes(name)) return Result.succeed(name)
  if (name.startsWith("mcp.")) {
    return Result.fail("must be written as a server's name and its tools: github/*, github/list_issues")
  }
  const decided = known.filter((one) => isDecided(one, "allow"))
  const meant = nearest(name, decided)
  return Result.fail(
    meant === undefined
      ? `is no capability: there are ${decided.join(", ")}; a tool of that name is tool.NAME`
      : `is no capability; did you mean ${meant}?`
  )
}

export const parseTool = (name: string): Result.Result<string, string> =>
  toolName.test(name) && name.length <= 256
    ? Result.succeed(name)
    : Result.fail("must name a tool, such as deploy, filesystem.* or github/*")

/** Longer lines are refused: a person could not read them in a question. */
const maxLine = 1_024

/** Reads "fs.write(src/**)", "shell.run(npm test, git commit *)", "github/*", "kiwi.sign" or "*". */
export const parseSubject = (line: string, context: RuleContext): Result.Result<Target, string> => {
  if (line.length > maxLine) return Result.fail(`is longer than ${maxLine} characters`)
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(line)) return Result.fail("contains a control character")
  const parts = /^\s*([^()\s]+?)\s*(?:\((.*)\))?\s*$/su.exec(line)
  if (parts === null) return Result.fail("must be a name with what it is about in parentheses: fs.write(src/**)")
  const [, name = "", inner] = parts
  if (inner?.trim() === "") return Result.fail("must have something between its parentheses, or none")
  if (name === "*" && inner === undefined) {
    return Result.succeed({ capability: undefined, tool: undefined, scopes: undefined })
  }
  if (name.startsWith("tool.")) {
    return inner === undefined
      ? Result.map(parseTool(name.slice(5)), (tool) => ({ capability: undefined, tool, scopes: undefined }))
      : Result.map(
        Result.all([parseTool(name.slice(5)), parseToolScopes(inner, context)]),
        ([tool, scopes]) => ({ capability: undefined, tool, scopes })
      )
  }
  if (namesCapability(name)) {
    return Result.flatMap(parseCapability(name), (capability): Result.Result<Target, string> => {
      if (inner === undefined) return Result.succeed({ capability, tool: undefined, scopes: undefined })
      const kind = kindOfCapability(capability)
      return kind === undefined
        ? Result.fail(
          undecided(capability, "allow") ?? "must have nothing in parentheses: this capability has no scope"
        )
        : Result.map(parseScopes(kind, inner, context), (scopes) => ({ capability, tool: undefined, scopes }))
    })
  }
  return Result.map(
    Result.all([parseTool(name), inner === undefined ? Result.succeed(undefined) : parseToolScopes(inner, context)]),
    ([tool, scopes]) => ({ capability: undefined, tool, scopes })
  )
}

/** The capabilities that a rule about `capability` speaks about. */
export const spokenAbout = (capability: string, outcome: "allow" | "ask" | "deny"): Names =>
  (outcome === "allow" ? granted : denied)(capability)

/** Whether a rule about `capability` speaks about the capability `given` of an access. */
export const speaksAbout = (capability: string, given: string, outcome: "allow" | "ask" | "deny"): boolean =>
  hasName(spokenAbout(capability, outcome), given)
