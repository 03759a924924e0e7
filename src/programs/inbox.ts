// What waits for a person in a project, what they answered lately, and what was refused.
import { Clock, Effect, Option } from "effect"
import { sha256 } from "../layers/identity/sha256.ts"
import { userRulesPath } from "../layers/permission/ruleSources.ts"
import type { Approval } from "../services/approval/Approval.ts"
import { offersOf } from "../services/approval/Approval.ts"
import { ApprovalNotFound } from "../services/approval/ApprovalErrors.ts"
import { ApprovalStore, type ListedApproval } from "../services/approval/ApprovalStore.ts"
import { together } from "../services/approval/recordAnswer.ts"
import type { AuditEntry } from "../services/audit/AuditEntry.ts"
import { AuditLog } from "../services/audit/AuditLog.ts"
import type { Caller } from "../services/call/Caller.ts"
import { isWild } from "../services/capability/scopes/PathPattern.ts"
import { safeLine } from "../services/error/safeText.ts"
import type { Intervention } from "../services/limit/Interventions.ts"
import { Interventions } from "../services/limit/Interventions.ts"
import { RuleRefused } from "../services/permission/PermissionErrors.ts"
import { originOf } from "../services/permission/rule/ruleOrigin.ts"
import { Settings } from "../services/settings/Settings.ts"
import { shellWord } from "../services/text/shellWord.ts"
import type { HumanRequest } from "../services/trust/HumanAct.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { asHuman } from "./humanAct.ts"

export interface InboxRequest {
  readonly id: string
  readonly state: Approval["state"]
  readonly what: string
  /** "ada by mcp" */
  readonly caller: string
  readonly session: string
  readonly touches: ReadonlyArray<string>
  readonly reasons: ReadonlyArray<string>
  readonly rules: ReadonlyArray<string>
  /** The rules that `session` and `always` make. */
  readonly offers: ReadonlyArray<string>
  readonly answers: ReadonlyArray<string>
  readonly asked_at: string
  readonly expires_at: string
  /** Others that the same answer settles. */
  readonly settles?: ReadonlyArray<string>
  readonly answer?: string
  readonly answered_by?: string
  /** The call that used the answer. */
  readonly call?: string
}

export interface Refused {
  readonly call: string
  readonly at: string
  readonly operation: string
  readonly item: string
  readonly rule?: string
  readonly code: string
  readonly message: string
  /** The rule that would allow it: "fs.read(/etc/hosts)". */
  readonly allow?: string
  /** The id of the rule that denies it, which a person can remove: "user:4". */
  readonly denied_by?: string
}

/** A caller that is stuck, or that leaves a decision to a person. The texts are its own. */
export interface AskedHelp {
  readonly id: string
  readonly kind: Intervention["kind"]
  readonly caller: string
  readonly at: string
  readonly priority: Intervention["priority"]
  readonly reason: string
  readonly options: ReadonlyArray<string>
  readonly context?: string
}

export interface Inbox {
  readonly waiting: ReadonlyArray<InboxRequest>
  readonly help: ReadonlyArray<AskedHelp>
  readonly refused: ReadonlyArray<Refused>
}

const refusalsShown = 10
/** In milliseconds. */
const refusalsWithin = 7 * 24 * 60 * 60 * 1_000

const time = (at: number): string => new Date(at).toISOString()

export const shown = (approval: ListedApproval, others: ReadonlyArray<Approval> = []): InboxRequest => {
  const { answered, answers, asks, at, caller, id, spent, state, until, what } = approval
  const unique = (texts: ReadonlyArray<string>) => [...new Set(texts)]
  return {
    id,
    state,
    what,
    caller: `${caller.client} by ${caller.surface}`,
    session: caller.session,
    touches: unique(asks.map(({ access }) => access)),
    reasons: unique(asks.map(({ reason }) => reason)),
    rules: unique(asks.map(({ rule }) => rule)),
    offers: offersOf(asks),
    answers,
    asked_at: time(at),
    expires_at: time(until),
    ...(others.length === 0 ? {} : { settles: others.map((one) => one.id) }),
    ...(answered === undefined ? {} : { answer: answered.answer, answered_by: answered.by }),
    ...(spent === undefined ? {} : { call: spent.call })
  }
}

/** What `kiwi permissions remove` takes, from a rule's name in the audit. Undefined for what Kiwi ships. */
const ruleIdOf = (rule = ""): string | undefined => {
  const origin = originOf(rule)
  switch (origin._tag) {
    case "File":
      // No command edits a profile.
      return origin.file === userRulesPath ? `${origin.tier}:${origin.line}` : undefined
    case "Remembered":
      return origin.id
    case "Shipped":
      return undefined
  }
}

/** A refusal that only a person's answer, or nobody's, explains is not one that a rule would have prevented. */
const refusalOf = (entry: AuditEntry): ReadonlyArray<Refused> => {
  if (entry.kind !== "result" || entry.outcome !== "denied" || entry.error === undefined) return []
  const denied = ruleIdOf(entry.rule)
  return [{
    call: entry.call,
    at: entry.at,
    operation: entry.operation ?? "run",
    item: entry.subject.item,
    ...(entry.rule === undefined ? {} : { rule: entry.rule }),
    code: entry.error.code,
    message: entry.error.message,
    ...(entry.error.allow === undefined ? {} : { allow: entry.error.allow }),
    ...(denied === undefined ? {} : { denied_by: denied })
  }]
}

const helpOf = ({ at, client, context, id, kind, options, priority, reason }: Intervention): AskedHelp => ({
  id,
  kind,
  caller: client,
  at: time(at),
  priority,
  reason,
  options,
  ...(context === undefined ? {} : { context })
})

/** What was refused within a week, newest first. Reads the audit of that week, unlike `waits`. */
export const refusedLately = Effect.gen(function*() {
  const audit = yield* AuditLog
  const since = (yield* Clock.currentTimeMillis) - refusalsWithin
  const denied = yield* audit.read({ limit: refusalsShown, outcome: "denied", since })
  return denied.flatMap(refusalOf).toReversed()
})

/** The client that made a refused call, for a rule about that client alone. */
export const refusedClient = Effect.fnUntraced(function*({ allow = "", call }: Refused) {
  const entries = yield* (yield* AuditLog).read({ call })
  const client = entries.find((entry) => entry.kind === "request")?.caller.client
  return client === undefined || isWild(client)
    ? yield* new RuleRefused({ rule: safeLine(allow), issue: "is not made, since no rule can name its caller" })
    : client
})

/** What waits for a person. */
export const waits = Effect.gen(function*() {
  const store = yield* ApprovalStore
  const interventions = yield* Interventions
  const waiting = (yield* store.list).filter(({ state }) => state === "pending")
  return {
    waiting: together(waiting).map(([first, ...others]) => shown(first, others)),
    help: (yield* interventions.waiting).map(helpOf)
  } satisfies Omit<Inbox, "refused">
})

export const inbox = Effect.gen(function*() {
  return { ...(yield* waits), refused: yield* refusedLately } satisfies Inbox as Inbox
})

/**
 * A person has dealt with what a caller asked for. `said`: what the caller is told: an option's number, counted from 1, or
 * any text.
 */
export const settleHelp = Effect.fnUntraced(function*(id: string, caller: Caller, said?: string) {
  const interventions = yield* Interventions
  const found = (yield* interventions.waiting).find((one) => one.id === id)
  if (found === undefined) return yield* new ApprovalNotFound({ id })
  const answer = said === undefined ? undefined : found.options[Number(said) - 1] ?? said
  const request: HumanRequest = {
    kind: "approve",
    title: answer === undefined ? `Take ${id} off your list` : `Answer ${id}`,
    details: answer === undefined ? found.reason : `${found.reason}\n\nYour answer: ${answer}`,
    digest: sha256(JSON.stringify(["settle", found, answer])),
    command: `kiwi inbox --done ${shellWord(id)}${answer === undefined ? "" : ` --say ${shellWord(answer)}`}`
  }
  // Who asked is told once, also that there is no answer in words.
  const told = answer ?? (found.kind === "escalation" ? "" : undefined)
  yield* asHuman(request, caller, () => interventions.settle(id, told))
  return answer
})

export interface Status extends Inbox {
  readonly project: string | null
  readonly trust: "trusted" | "restricted" | "no project"
  readonly reason?: string
  /** Tools that you let run with less isolation than they need. */
  readonly lowered?: Readonly<Record<string, string>>
  /** Answered or expired within a day, newest first. */
  readonly finished: ReadonlyArray<InboxRequest>
}

export const status = Effect.gen(function*() {
  const store = yield* ApprovalStore
  const { project } = yield* Workspace
  const state = yield* Effect.flatMap(ProjectTrust, (trust) => trust.state)
  const { isolationTools } = yield* Effect.flatMap(Settings, ({ current }) => current)
  const finished = (yield* store.list).filter((one) => one.state !== "pending")
  return {
    project: Option.getOrNull(Option.map(project, ({ root }) => root)),
    trust: state._tag === "Trusted" ? "trusted" : state._tag === "Restricted" ? "restricted" : "no project",
    ...(state._tag === "Restricted" ? { reason: state.reason } : {}),
    ...(isolationTools.size === 0 ? {} : { lowered: Object.fromEntries(isolationTools) }),
    ...(yield* inbox),
    finished: finished.toReversed().slice(0, refusalsShown).map((one) => shown(one))
  } satisfies Status as Status
})

export interface RequestStatus extends InboxRequest {
  readonly details: string
  /** Of the question, while it waits: an answer over HTTP names it. */
  readonly digest?: string
}

/** Says of a question, whose id looks like a request's, how it is answered. */
export const withQuestions = <A, E, R>(found: Effect.Effect<A, E | ApprovalNotFound, R>) =>
  Effect.catchIf(
    found,
    (error) => error instanceof ApprovalNotFound,
    Effect.fnUntraced(function*(error) {
      const { waiting } = yield* Interventions
      const isQuestion = (yield* waiting).some(({ id }) => id === error.id)
      return yield* isQuestion ? new ApprovalNotFound({ id: error.id, isQuestion }) : error
    })
  )

/** One request, or those of a session, newest first. */
export const requestStatus = Effect.fnUntraced(function*(id: string) {
  const store = yield* ApprovalStore
  const all = yield* store.list
  const found = all.filter((one) => one.id === id || one.caller.session === id)
  if (found.length === 0) return yield* new ApprovalNotFound({ id })
  return yield* Effect.forEach(
    found.toReversed(),
    (one): Effect.Effect<RequestStatus> =>
      Effect.match(store.propose(one.id), {
        onFailure: () => ({ ...shown(one), details: one.details }),
        onSuccess: ({ question: { digest } }) => ({ ...shown(one), details: one.details, digest })
      })
  )
})
