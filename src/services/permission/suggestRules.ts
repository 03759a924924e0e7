// The narrowest rules that let calls through to which a person has agreed. One access is one rule, of one caller. Several
// become one of a folder, or of a program with its subcommand, if nothing that the person refused is in it. No rule is
// as wide as an offer may not be: see `suggestPattern`. Pure.
import { Result } from "effect"
import type { AuditAsked } from "../audit/AuditEntry.ts"
import { mark } from "../audit/redaction.ts"
import type { Access, PathAccess } from "../capability/Access.ts"
import { asCommand } from "../capability/command/asCommand.ts"
import { intersectPatterns, matchesCommand, showPattern } from "../capability/command/CommandPattern.ts"
import type { CommandPattern } from "../capability/command/CommandPattern.ts"
import { suggestPattern } from "../capability/command/suggestPattern.ts"
import { isWild, literalPrefix, segmentsOf } from "../capability/scopes/PathPattern.ts"
import { foldName } from "../files/foldName.ts"
import { folderRule, ruleFor } from "./offeredRule.ts"
import { foremostOf, matchRule, type RuleQuery } from "./rule/matchRule.ts"
import { makeRule, type Rule, type RuleEntry } from "./rule/Rule.ts"
import { originOf } from "./rule/ruleOrigin.ts"

/** A call about which a person was asked, as the audit has it. */
export interface AskedCall {
  /** The tool. */
  readonly item: string
  /** `Caller.client` */
  readonly client: string
  /** SHA-256 of the tool's chain, if it is known. */
  readonly digest?: string | undefined
  /** ISO 8601. */
  readonly at: string
  readonly asked: ReadonlyArray<typeof AuditAsked.Type>
}

export interface LeftCall {
  readonly call: AskedCall
  readonly why: string
}

export interface Suggestions {
  readonly rules: ReadonlyArray<RuleEntry>
  /** Approved calls that these rules do not let through. */
  readonly left: ReadonlyArray<LeftCall>
}

/** From so many different accesses on, one rule stands for them. */
const several = 3

/** An access, and a rule that allows exactly it. */
interface Candidate {
  readonly access: Access
  readonly entry: RuleEntry
}

/** Whether a secret was removed from it: what it touches is then not known. */
const isRedacted = (asked: typeof AuditAsked.Type): boolean => JSON.stringify(asked).includes(mark)

/** A rule that allows one access to one caller, or why there is none. */
const candidateOf = (
  asked: typeof AuditAsked.Type,
  { client, digest }: AskedCall
): Result.Result<Candidate, string> => {
  const access = isRedacted(asked) ? undefined : asked.touches
  const allow = access === undefined ? undefined : ruleFor(access)
  if (access === undefined || allow === undefined) return Result.fail("no rule can name what it touches")
  if (isWild(client)) return Result.fail("no rule can name its caller")
  // A secret is for the tool that was agreed to, as it was.
  if (access._tag === "Secret" && digest === undefined) return Result.fail("the audit does not have its tool's digest")
  const entry = { allow, caller: client, ...(access._tag === "Secret" && digest !== undefined ? { digest } : {}) }
  return Result.mapBoth(makeRule(entry, {}), {
    onFailure: ({ issue }) => `its rule ${issue}`,
    onSuccess: () => ({ access, entry })
  })
}

const candidatesOf = (call: AskedCall): Result.Result<ReadonlyArray<Candidate>, string> => {
  // A rule that a person wrote, in a profile too, asks on purpose, and wins over any rule that allows.
  const own = call.asked.find(({ rule }) => originOf(rule)._tag === "File")
  if (own !== undefined) return Result.fail(`${own.rule} asks, and wins over a rule that allows`)
  return Result.all(call.asked.map((one) => candidateOf(one, call)))
}

const keyOf = (entry: RuleEntry): string => JSON.stringify([entry.allow, entry.caller, entry.digest])

const queryOf = (call: AskedCall, accesses: ReadonlyArray<Access>, root: string): RuleQuery => ({
  client: call.client,
  action: accesses.some(({ _tag }) => _tag === "Secret") ? "use-secret" : "run",
  item: {
    id: call.item,
    name: call.item,
    source: undefined,
    tier: "project",
    digests: call.digest === undefined ? [] : [call.digest],
    by: []
  },
  foremost: foremostOf(accesses),
  root
})

const parsed = (entries: ReadonlyArray<RuleEntry>): ReadonlyArray<Rule> =>
  entries.flatMap((entry) => Result.match(makeRule(entry, {}), { onFailure: () => [], onSuccess: (rule) => [rule] }))

/** Whether the rules allow everything that the call asked about. */
const areAllowed = (rules: ReadonlyArray<Rule>, call: AskedCall, root: string): boolean => {
  const accesses = call.asked.map(({ touches }) => touches)
  const known = accesses.filter((access) => access !== undefined)
  const query = queryOf(call, known, root)
  return accesses.every((access) =>
    access !== undefined && rules.some((rule) => matchRule(rule, query, access) === "yes")
  )
}

/** Folders for several of the paths, the innermost first; and the paths that are in none. */
const mergeFolders = (paths: ReadonlyArray<string>, isFree: (folder: string) => boolean) => {
  const folders = new Set<string>()
  for (const path of paths) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) folders.add(path.slice(0, at))
  }
  let single = paths
  let merged: ReadonlyArray<string> = []
  for (const folder of [...folders].toSorted((a, b) => segmentsOf(b).length - segmentsOf(a).length)) {
    const isInside = (path: string) => path.startsWith(`${folder}/`)
    if (single.filter(isInside).length < several || !isFree(folder)) continue
    single = single.filter((path) => !isInside(path))
    merged = [...merged.filter((one) => !isInside(one)), folder]
  }
  return { merged, single }
}

/** Whether a path of one may be a path of the other. */
const mayMeet = (folder: ReadonlyArray<string>, prefix: ReadonlyArray<string>): boolean =>
  folder.slice(0, prefix.length).every((name, index) => name === prefix[index])

/** Programs with a subcommand, for several of the commands. */
const mergeCommands = (accesses: ReadonlyArray<Access>, isFree: (pattern: CommandPattern) => boolean) => {
  const groups = new Map<string, { readonly pattern: CommandPattern; readonly of: Array<Access> }>()
  for (const access of accesses) {
    const command = access._tag === "Command" ? asCommand(access) : undefined
    const pattern = command === undefined ? undefined : suggestPattern(command, true)
    if (pattern === undefined || !pattern.open || pattern.words.length === 0) continue
    const shown = showPattern(pattern)
    const group = groups.get(shown)
    if (group === undefined) groups.set(shown, { pattern, of: [access] })
    else group.of.push(access)
  }
  return [...groups.values()].filter(({ of, pattern }) => of.length >= several && isFree(pattern))
}

/** Every path, command or host that must stay outside of a merged rule: what was refused, and what `never` denies. */
interface Outside {
  readonly accesses: ReadonlyArray<Access>
  readonly never: ReadonlyArray<Rule>
}

const merge = (candidates: ReadonlyArray<Candidate>, client: string, { accesses, never }: Outside) => {
  const isFreeFolder = (folder: string): boolean => {
    const names = segmentsOf(folder).map(foldName)
    return !accesses.some((access) =>
      access._tag === "Path" && mayMeet(names, segmentsOf(access.path).map(foldName))
    ) &&
      !never.some(({ scopes }) => scopes?.Path?.some((pattern) => mayMeet(names, literalPrefix(pattern))) === true)
  }
  const isFreeCommand = (pattern: CommandPattern): boolean =>
    !accesses.some((access) => {
      const command = access._tag === "Command" ? asCommand(access) : undefined
      return command !== undefined && matchesCommand(pattern, command)
    }) &&
    !never.some(({ scopes }) =>
      scopes?.Command?.some((other) => intersectPatterns(pattern, other) !== undefined) === true
    )
  const writes = candidates.flatMap(({ access }) =>
    access._tag === "Path" && access.capability === "fs.write" && !access.path.startsWith("/") ? [access.path] : []
  )
  const { merged } = mergeFolders(writes, isFreeFolder)
  const folders = merged.flatMap((folder) => {
    const allow = folderRule("fs.write", `${folder}/`)
    return allow === undefined ? [] : [{ allow, folder }]
  })
  const commands = mergeCommands(candidates.map(({ access }) => access), isFreeCommand)
  const mergedCommands = new Set(commands.flatMap(({ of }) => of))
  const isMerged = (access: Access): boolean =>
    mergedCommands.has(access) ||
    (access._tag === "Path" && access.capability === "fs.write" &&
      folders.some(({ folder }) => (access as PathAccess).path.startsWith(`${folder}/`)))
  return [
    ...candidates.filter(({ access }) => !isMerged(access)).map(({ entry }) => entry),
    ...folders.map(({ allow }): RuleEntry => ({ allow, caller: client })),
    ...commands.map(({ pattern }): RuleEntry => ({ allow: `process.exec(${showPattern(pattern)})`, caller: client }))
  ]
}

/**
 * `never`: what the person's remembered answers deny, by caller. `root`: of the project.
 */
export const suggestRules = (
  approved: ReadonlyArray<AskedCall>,
  refused: ReadonlyArray<AskedCall>,
  never: (client: string) => ReadonlyArray<Rule>,
  root: string
): Suggestions => {
  const left: Array<LeftCall> = []
  const possible: Array<{ readonly call: AskedCall; readonly candidates: ReadonlyArray<Candidate> }> = []
  for (const call of approved) {
    const candidates = candidatesOf(call)
    if (Result.isFailure(candidates)) left.push({ call, why: candidates.failure })
    else possible.push({ call, candidates: candidates.success })
  }
  const rules: Array<RuleEntry> = []
  for (const client of new Set(possible.map(({ call }) => call.client))) {
    const denies = never(client)
    const refusedHere = refused.filter((call) => call.client === client)
    const banned = ({ candidates, call }: typeof possible[number]): boolean =>
      candidates.some(({ access }) =>
        denies.some((rule) => matchRule(rule, queryOf(call, [access], root), access) === "yes")
      )
    let kept = possible.filter((one) => one.call.client === client)
    const drop = (isOut: (one: typeof possible[number]) => boolean, why: string) => {
      left.push(...kept.filter(isOut).map(({ call }) => ({ call, why })))
      kept = kept.filter((one) => !isOut(one))
    }
    drop(banned, "an answer \"never\" denies it")
    for (const no of refusedHere) {
      if (!areAllowed(parsed(kept.flatMap(({ candidates }) => candidates.map(({ entry }) => entry))), no, root)) {
        continue
      }
      const isPart = ({ candidates }: typeof possible[number]) =>
        candidates.some(({ entry }) => no.asked.some((_, index) => areAllowed(parsed([entry]), only(no, index), root)))
      drop(isPart, "its rule would allow what was refused")
    }
    const byKey = new Map(kept.flatMap(({ candidates }) => candidates.map((one) => [keyOf(one.entry), one] as const)))
    const accesses = refusedHere.flatMap(({ asked }) => asked.flatMap(({ touches }) => touches ?? []))
    rules.push(...merge([...byKey.values()], client, { accesses, never: denies }))
  }
  return { rules, left }
}

/** The call with one of its questions. */
const only = (call: AskedCall, index: number): AskedCall => ({ ...call, asked: [call.asked[index]!] })
