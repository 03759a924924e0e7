// Rules that would have let calls through to which a person agreed, from the audit and from the requests that the person
// answered. They are only proposed: adding them is an act of a person, who sees the difference.
import { Clock, Effect, Result, Stream } from "effect"
import { addRules, rulesOf } from "../layers/permission/editRuleFile.ts"
import type { ApprovalRejected } from "../services/approval/ApprovalErrors.ts"
import { ApprovalStore } from "../services/approval/ApprovalStore.ts"
import type { AuditEntry } from "../services/audit/AuditEntry.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import { codeOf } from "../services/error/KiwiError.ts"
import { RememberedRules } from "../services/permission/RememberedRules.ts"
import { makeRule, parseRuleLine, type RuleEntry, showRule } from "../services/permission/rule/Rule.ts"
import { covers } from "../services/permission/rule/shadowed.ts"
import { type AskedCall, suggestRules } from "../services/permission/suggestRules.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { diffOf, editRules, placeOf, readAt, type RuleTier } from "./permissions.ts"

/** A call that no proposed rule lets through. */
export interface UnsuggestedCall {
  readonly at: string
  readonly item: string
  readonly caller: string
  /** "fs.write(src/a.ts)" */
  readonly touches: ReadonlyArray<string>
  readonly why: string
}

export interface SuggestedRules {
  readonly days: number
  readonly file: string
  /** "allow: fs.write(src/**) [caller dev]" */
  readonly rules: ReadonlyArray<string>
  /** The change of the file. "" if nothing is proposed. */
  readonly diff: string
  /** What a person agreed to, and no rule is proposed for. */
  readonly left: ReadonlyArray<UnsuggestedCall>
  /** What was refused: by a person, or by a rule. */
  readonly refused: ReadonlyArray<UnsuggestedCall>
}

const day = 24 * 60 * 60 * 1_000

const rejection: ApprovalRejected["_tag"] = "ApprovalRejected"
const saidNo = codeOf({ _tag: rejection })

type ResultEntry = Extract<AuditEntry, { readonly kind: "result" }>

const isAnswered = ({ approval, asked = [], outcome }: ResultEntry): boolean =>
  (outcome === "success" || outcome === "failure") &&
  (approval?.by !== undefined || (asked.length > 0 && asked.every(({ answer }) => answer !== undefined)))

const unsuggested = (call: AskedCall, why: string): UnsuggestedCall => ({
  at: call.at,
  item: call.item,
  caller: call.client,
  touches: [...new Set(call.asked.map(({ access }) => access))],
  why
})

/** What a person was asked in the last `days`, by what became of it. */
const readAsked = Effect.fnUntraced(function*(days: number) {
  const audit = yield* AuditLog
  const store = yield* ApprovalStore
  const since = (yield* Clock.currentTimeMillis) - days * day
  const rejected = new Set((yield* store.list).flatMap(({ id, state }) => state === "rejected" ? [id] : []))
  const clients = new Map<string, string>()
  const approved: Array<AskedCall> = []
  const refused: Array<AskedCall> = []
  const denied: Array<UnsuggestedCall> = []
  /** By the request, since the same call may be repeated. */
  const refusedIds = new Set<string>()

  const take = (entry: AuditEntry): void => {
    if (entry.kind === "request") {
      clients.set(entry.call, entry.caller.client)
      return
    }
    const client = entry.kind === "result" ? clients.get(entry.call) : undefined
    if (entry.kind !== "result" || client === undefined) return
    clients.delete(entry.call)
    const { approval, asked = [], at, error, subject } = entry
    const call: AskedCall = { item: subject.item, client, digest: subject.chain_digest, at, asked }
    const id = approval?.id ?? ""
    if (asked.length > 0 && (error?.code === saidNo || rejected.has(id))) {
      if (!refusedIds.has(id)) refused.push(call)
      refusedIds.add(id)
    } else if (asked.length > 0 && isAnswered(entry)) approved.push(call)
    else if (entry.operation === undefined && entry.outcome === "denied" && error !== undefined) {
      denied.push(unsuggested(call, error.message))
    }
  }
  yield* Stream.runForEach(audit.stream({ since }), ({ entry }) => Effect.sync(() => take(entry)))
  return { approved, refused, denied }
})

/** The latest, each once. */
const latest = (calls: ReadonlyArray<UnsuggestedCall>): ReadonlyArray<UnsuggestedCall> =>
  [...new Map(calls.map((call) => [JSON.stringify([call.item, call.caller, call.touches, call.why]), call])).values()]
    .toReversed().slice(0, 20)

/** The rules to add to this tier's file, and what they are made of. */
const propose = Effect.fnUntraced(function*(days: number, tier: RuleTier) {
  const { userHome } = yield* KiwiHome
  const { cwd } = yield* Workspace
  const remembered = yield* (yield* RememberedRules).current
  const { file, path, root } = yield* placeOf(tier)
  const context = { home: userHome }
  const before = yield* readAt(root, path)
  const known = yield* rulesOf(file, before, context)
  const { approved, denied, refused } = yield* readAsked(days)
  const never = (client: string) =>
    remembered.flatMap((one) => {
      const rule = one.client === client && one.rule.startsWith("deny:") ? parseRuleLine(one.rule, context) : undefined
      return rule !== undefined && Result.isSuccess(rule) ? [rule.success] : []
    })
  const { left, rules } = suggestRules(approved, refused, never, cwd)
  const entries: Array<RuleEntry> = []
  const shown: Array<string> = []
  for (const entry of rules) {
    const rule = makeRule(entry, context)
    // What a rule of the file allows or denies already needs no other.
    if (Result.isFailure(rule) || known.some((other) => covers(other.rule, rule.success))) continue
    entries.push(entry)
    shown.push(showRule(rule.success))
  }
  const text = entries.length === 0 ? undefined : yield* addRules(file, before, entries, context)
  const suggested: SuggestedRules = {
    days,
    file,
    rules: shown,
    diff: text === undefined ? "" : diffOf(before, text),
    left: latest(left.map(({ call, why }) => unsuggested(call, why))),
    refused: latest([...denied, ...refused.map((call) => unsuggested(call, "a person said no"))])
  }
  return { entries, suggested }
})

/** Proposes rules. Changes nothing. */
export const suggestPermissions = Effect.fn("suggestPermissions")(function*(days: number, tier: RuleTier) {
  return (yield* propose(days, tier)).suggested
})

/** Adds the proposed rules, if a person agrees. Returns whether they count now, or undefined if nothing is proposed. */
export const applySuggestions = Effect.fn("applySuggestions")(function*(days: number, tier: RuleTier, caller: Caller) {
  const { userHome } = yield* KiwiHome
  const { entries, suggested } = yield* propose(days, tier)
  if (entries.length === 0) return { suggested, accepted: undefined }
  const { accepted } = yield* editRules(
    {
      tier,
      title: `Add ${entries.length === 1 ? "a rule" : `${entries.length} rules`} for what you have agreed to`,
      command: `kiwi permissions suggest --days ${days} --apply${tier === "project" ? " --tier project" : ""}`
    },
    caller,
    (file, before) => addRules(file, before, entries, { home: userHome })
  )
  return { suggested, accepted }
})
