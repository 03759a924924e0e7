// One permission rule: whether it allows, asks or denies, what it is about, and for which calls it holds.
import { Result, Schema } from "effect"
import { parsePattern, whyNeverAllowed } from "../../capability/command/CommandPattern.ts"
import * as PathPattern from "../../capability/scopes/PathPattern.ts"
import type { RuleContext, ScopedKind, Scopes, Target } from "./ruleSubject.ts"
import {
  kindOfCapability,
  parseCapability,
  parseEach,
  parseHost,
  parseName,
  parseSubject,
  parseTool,
  undecided
} from "./ruleSubject.ts"

const outcomes = ["allow", "ask", "deny"] as const
export type Outcome = typeof outcomes[number]

export interface Rule {
  readonly outcome: Outcome
  /** What it is about, as one line: "fs.write(src/**)". Author's words: escape it for a person. */
  readonly subject: string
  /** "fs.write", "kiwi.search", "kiwi.*". Undefined: the tool itself or, with scopes, whatever it touches. */
  readonly capability: string | undefined
  /** The tool that is run, or through which the access is made: an id, or `category/id` or `source/id`; with `*`. */
  readonly tool: string | undefined
  /** Undefined: every scope. */
  readonly scopes: Scopes | undefined
  /** Names of callers, with `*`. */
  readonly caller: ReadonlyArray<string> | undefined
  readonly action: ReadonlyArray<ActionName> | undefined
  /** JSON Schemas by the name of the parameter. */
  readonly parameters: Readonly<Record<string, Schema.JsonObject>> | undefined
  readonly tier: ReadonlyArray<"project" | "user" | "system"> | undefined
  /** "you", a key id, or the name that you gave a signer. */
  readonly signer: ReadonlyArray<string> | undefined
  /** Digests of the tool or its chain. */
  readonly digest: ReadonlyArray<string> | undefined
  /** Only for such runs of a tool. Undefined: for all. */
  readonly when: ReadonlyArray<RunNovelty> | undefined
  /** For the person who is asked, or whose agent is refused. */
  readonly reason: string | undefined
  readonly entry: RuleEntry
}

/** The names by which rules call actions. */
const actionNames = [
  "run",
  "use-secret",
  "copy",
  "follow",
  "search",
  "load",
  "read-output",
  "help",
  "sign",
  "sync-packages",
  "change-locks"
] as const
export type ActionName = typeof actionNames[number]

/**
 * `first-run`: no person has agreed yet that the caller runs the tool in this project. `changed`: what they agreed to last
 * was another version, or signed by somebody else; or nothing, so that there is nothing to compare with.
 */
const runNovelties = ["first-run", "changed"] as const
export type RunNovelty = typeof runNovelties[number]

const oneOrMany = <S extends Schema.ConstraintDecoder<string>>(item: S) =>
  Schema.Union([item, Schema.NonEmptyArray(item)]).annotate({ message: "must be one or a list of them" })

const Text = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1_024))
const Patterns = oneOrMany(Text)
const Subject = Schema.Union([Text, Schema.Null]).annotate({
  message: "must be a line such as fs.write(src/**), or empty where tool or capability says what it is about"
})

/** A rule as it is written. Exactly one of `allow`, `ask` and `deny` is set. */
export const RuleEntry = Schema.Struct({
  allow: Schema.optionalKey(Subject),
  ask: Schema.optionalKey(Subject),
  deny: Schema.optionalKey(Subject),
  caller: Schema.optionalKey(Patterns),
  action: Schema.optionalKey(oneOrMany(Schema.Literals(actionNames))),
  tool: Schema.optionalKey(Text),
  capability: Schema.optionalKey(Text),
  paths: Schema.optionalKey(Patterns),
  commands: Schema.optionalKey(Patterns),
  hosts: Schema.optionalKey(Patterns),
  names: Schema.optionalKey(Patterns),
  parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Json))),
  tier: Schema.optionalKey(oneOrMany(Schema.Literals(["project", "user", "system"]))),
  signer: Schema.optionalKey(Patterns),
  digest: Schema.optionalKey(oneOrMany(Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)))),
  when: Schema.optionalKey(oneOrMany(Schema.Literals(runNovelties))),
  reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(300)))
})
export type RuleEntry = typeof RuleEntry.Type

/** What is wrong with a rule: the key of the entry, and the text after it: "must be …". Quotes nothing of the rule. */
export interface RuleIssue {
  readonly key: string
  readonly issue: string
}

const listOf = <A>(value: A | ReadonlyArray<A> | undefined): ReadonlyArray<A> | undefined =>
  value === undefined ? undefined : Array.isArray(value) ? value as ReadonlyArray<A> : [value as A]

const listKeys = { paths: "Path", commands: "Command", hosts: "Host", names: "Secret" } as const

/** Adds what the keys `paths`, `commands`, `hosts` and `names` say. */
const withLists = (
  target: Target,
  entry: RuleEntry,
  { home }: RuleContext
): Result.Result<Target, RuleIssue> => {
  const added: Array<Scopes> = []
  for (const key of ["paths", "commands", "hosts", "names"] as const) {
    const given = listOf(entry[key])
    if (given === undefined) continue
    const kind = listKeys[key]
    const at = (issue: string): RuleIssue => ({ key, issue })
    if (target.scopes !== undefined) return Result.fail(at("must not be beside a line that has parentheses"))
    const about = target.capability === undefined ? undefined : kindOfCapability(target.capability)
    if (target.capability !== undefined ? about !== kind : target.tool === undefined) {
      return Result.fail(at("must be beside a capability or a tool that has such scopes"))
    }
    const parsed: Result.Result<Scopes, string> = kind === "Path"
      ? Result.map(parseEach(given, (text) => PathPattern.parse(text, home)), (Path) => ({ Path }))
      : kind === "Command"
      ? Result.map(parseEach(given, parsePattern), (Command) => ({ Command }))
      : kind === "Host"
      ? Result.map(parseEach(given, parseHost), (Host) => ({ Host }))
      : Result.map(parseEach(given, parseName), (Secret) => ({ Secret }))
    if (Result.isFailure(parsed)) return Result.fail(at(parsed.failure))
    added.push(parsed.success)
  }
  return Result.succeed(added.length === 0 ? target : { ...target, scopes: Object.assign({}, ...added) })
}

/** `outcome` of the entry, and its line. */
const outcomeOf = (entry: RuleEntry): Result.Result<readonly [Outcome, string | null], RuleIssue> => {
  const given = outcomes.filter((outcome) => entry[outcome] !== undefined)
  const [outcome] = given
  return outcome === undefined || given.length > 1
    ? Result.fail({ key: "", issue: "must have exactly one of allow, ask and deny" })
    : Result.succeed([outcome, entry[outcome] ?? null])
}

const targetOf = (
  outcome: Outcome,
  line: string | null,
  entry: RuleEntry,
  context: RuleContext
): Result.Result<Target, RuleIssue> => {
  const nothing: Target = { capability: undefined, tool: undefined, scopes: undefined }
  const first = line === null
    ? Result.succeed(nothing)
    : Result.mapError(parseSubject(line, context), (issue): RuleIssue => ({ key: outcome, issue }))
  return Result.flatMap(first, (target): Result.Result<Target, RuleIssue> => {
    const { capability, tool } = entry
    if (tool !== undefined && target.tool !== undefined) {
      return Result.fail({ key: "tool", issue: "must not be beside a line that names a tool" })
    }
    if (capability !== undefined && line !== null) {
      return Result.fail({ key: "capability", issue: "must not be beside a line that says what the rule is about" })
    }
    const named = tool === undefined
      ? Result.succeed(target.tool)
      : Result.mapError(parseTool(tool), (issue): RuleIssue => ({ key: "tool", issue }))
    const able = capability === undefined
      ? Result.succeed(target.capability)
      : Result.mapError(parseCapability(capability), (issue): RuleIssue => ({ key: "capability", issue }))
    return Result.map(Result.all([named, able]), ([of, what]) => ({ ...target, tool: of, capability: what }))
  })
}

/** "deploy" in "tool.deploy"; the line, where there is one. */
const showSubject = (line: string | null, { capability, tool }: Target, entry: RuleEntry): string => {
  if (line !== null) return entry.tool === undefined ? line.trim() : `${line.trim()} through ${tool}`
  const lists = Object.keys(listKeys).flatMap((key) => listOf(entry[key as keyof typeof listKeys]) ?? [])
  const scopes = lists.length === 0 ? "" : `(${lists.join(", ")})`
  return capability === undefined
    ? `${tool}${scopes}`
    : `${capability}${scopes}${tool === undefined ? "" : ` through ${tool}`}`
}

const everyScope: Readonly<Record<ScopedKind, string>> = {
  Path: "must say which paths: fs.read(**) for all of the project",
  Command: "must say which commands: process.exec(npm test)",
  Host: "must say which hosts: net.http(api.github.com)",
  Secret: "must say which secrets: secret.use(GITHUB_TOKEN)"
}

/** Why a rule is refused: it allows too much, or restricts too little. */
const whyRefused = (outcome: Outcome, { capability, scopes, tool }: Target): string | undefined => {
  if (outcome !== "allow" && scopes?.Line !== undefined) {
    return "must name a program: any other spelling of a whole line gets around it"
  }
  if (outcome !== "allow") return undefined
  if (capability === undefined) {
    return tool === undefined ? "must say what it allows: * alone would allow everything" : undefined
  }
  const kind = kindOfCapability(capability)
  if (kind !== undefined && scopes === undefined) return everyScope[kind]
  const never = (scopes?.Command ?? []).map(whyNeverAllowed).find((why) => why !== undefined)
  return never === undefined ? undefined : `can never count: ${never}`
}

export const makeRule = (entry: RuleEntry, context: RuleContext): Result.Result<Rule, RuleIssue> =>
  Result.gen(function*() {
    const [outcome, line] = yield* outcomeOf(entry)
    const target = yield* Result.flatMap(
      targetOf(outcome, line, entry, context),
      (one) => withLists(one, entry, context)
    )
    if (line === null && target.capability === undefined && target.tool === undefined) {
      return yield* Result.fail({ key: outcome, issue: "must say what it is about" })
    }
    const nothing = target.capability === undefined ? undefined : undecided(target.capability, outcome)
    if (nothing !== undefined) {
      return yield* Result.fail({ key: entry.capability === undefined ? outcome : "capability", issue: nothing })
    }
    const issue = whyRefused(outcome, target)
    if (issue !== undefined) return yield* Result.fail({ key: outcome, issue })
    const { parameters } = entry
    if (
      parameters !== undefined &&
      (target.tool === undefined || target.capability !== undefined || target.scopes !== undefined)
    ) {
      return yield* Result.fail({ key: "parameters", issue: "must be in a rule about a tool itself" })
    }
    if (
      entry.when !== undefined &&
      (outcome !== "ask" || target.capability !== undefined || target.scopes !== undefined)
    ) {
      return yield* Result.fail({
        key: "when",
        issue: "must be in a rule that asks about tools: deploy, github/* or *"
      })
    }
    return {
      outcome,
      subject: showSubject(line, target, entry),
      ...target,
      caller: listOf<string>(entry.caller),
      action: listOf<ActionName>(entry.action),
      parameters,
      tier: listOf<"project" | "user" | "system">(entry.tier),
      signer: listOf<string>(entry.signer),
      digest: listOf<string>(entry.digest),
      when: listOf<RunNovelty>(entry.when),
      reason: entry.reason,
      entry
    }
  })

/** Reads a rule in one line: "allow: fs.write(src/**)". Fails with the issue. */
export const parseRuleLine = (text: string, context: RuleContext = {}): Result.Result<Rule, string> => {
  const parts = /^\s*(allow|ask|deny):\s*(.*)$/su.exec(text)
  if (parts === null) return Result.fail("must begin with allow:, ask: or deny:")
  return Result.mapError(makeRule({ [parts[1]!]: parts[2]! }, context), ({ issue }) => issue)
}

/** "allow: fs.write(src/**)", with its conditions in brackets. Author's words: escape it for a person. */
export const showRule = (rule: Rule): string => {
  const conditions = (["caller", "action", "tier", "signer", "digest", "when"] as const).flatMap((key) => {
    const values = rule[key]
    return values === undefined ? [] : [`${key} ${values.join(" or ")}`]
  })
  const parameters = rule.parameters === undefined ? [] : [`parameters ${Object.keys(rule.parameters).join(", ")}`]
  const all = [...conditions, ...parameters]
  return `${rule.outcome}: ${rule.subject}${all.length === 0 ? "" : ` [${all.join("; ")}]`}`
}
