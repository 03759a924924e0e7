// A request that a person has to answer, and what it becomes: pure functions over the list of a project's requests.
// Which backend keeps the list makes no difference to them.
import { Schema } from "effect"
import { AuditTouched } from "../audit/AuditEntry.ts"
import { Caller } from "../call/Caller.ts"
import { askersOf } from "../permission/PermissionGate.ts"

/**
 * `once`: this call with these arguments, one time. `session`: the offered rules until the caller's session ends.
 * `always`: the offered rules in this project. `no`: not this time. `never`: no, and a rule that says so.
 */
export const ApprovalAnswer = Schema.Literals(["once", "session", "always", "no", "never"])
export type ApprovalAnswer = typeof ApprovalAnswer.Type

/** `expired`: nobody answered in time, or the answer was not used in time. `spent`: the call that it allowed has run. */
export const ApprovalState = Schema.Literals(["pending", "approved", "rejected", "expired", "spent"])
export type ApprovalState = typeof ApprovalState.Type

/** A question of the permission gate, as it is kept: what would be touched, never with parameters. */
export const AskedAccess = Schema.Struct({
  /** "fs.write(src/a.ts)" */
  access: Schema.String,
  /** The same, for rules. Absent if no rule can name it, or if it carries a secret. */
  touches: Schema.optionalKey(AuditTouched),
  rule: Schema.String,
  /** See `Ask`. */
  askedBy: Schema.optionalKey(Schema.Array(Schema.String)),
  reason: Schema.String,
  /** "allow: fs.write(src/**)". Absent of each ask if the offers of all would not cover the whole call. */
  offer: Schema.optionalKey(Schema.String),
  /** "deny: fs.write(src/a.ts)": what `never` makes. Absent if no rule can name exactly this, or the call's line is named. */
  denial: Schema.optionalKey(Schema.String)
})
export type AskedAccess = typeof AskedAccess.Type

/** The tool that a call would run. */
export const AskedTool = Schema.Struct({
  /** "project:tools/deploy.yaml" */
  name: Schema.String,
  version: Schema.String,
  /** "signed by you at 2026-11-23T05:00:00Z" */
  signer: Schema.String
})
export type AskedTool = typeof AskedTool.Type

export const Approval = Schema.Struct({
  /** Ten letters and digits, for people to type. Knowing it gives no right. */
  id: Schema.String,
  /** The call that asked. */
  call: Schema.String,
  caller: Caller,
  /** The process that filed it, as long as the caller's session is one of that process. */
  pid: Schema.optionalKey(Schema.Int),
  /** The session that asked has ended, while its process runs on. */
  ended: Schema.optionalKey(Schema.Literal(true)),
  /** "run tool deploy" */
  what: Schema.String,
  /** Absent if another action than running a tool is asked about. */
  tool: Schema.optionalKey(AskedTool),
  asks: Schema.Array(AskedAccess),
  details: Schema.String,
  /** `details` with long contents by their ends. Absent if they decide, or are shown whole anyway. */
  brief: Schema.optionalKey(Schema.String),
  /** What `details` only names by size and digest. A person can agree to it only at a terminal. */
  unreadable: Schema.Array(Schema.String),
  /** What an answer `once` is for; see `ApprovalRequest`. */
  digest: Schema.String,
  /** When it was asked, in milliseconds. */
  at: Schema.Int,
  /** When it expires: unanswered, or answered and unused. */
  until: Schema.Int,
  state: ApprovalState,
  answered: Schema.optionalKey(Schema.Struct({
    answer: ApprovalAnswer,
    /** The rules that the answer made. */
    rules: Schema.Array(Schema.String),
    /** "answered at /dev/pts/3" */
    by: Schema.String,
    at: Schema.Int
  })),
  /** The call that used the answer. */
  spent: Schema.optionalKey(Schema.Struct({ call: Schema.String, at: Schema.Int })),
  /** The caller has been told that it expired. */
  told: Schema.optionalKey(Schema.Literal(true)),
  /** A person closed the question without an answer. It waits, and takes no place from other requests. */
  dismissed: Schema.optionalKey(Schema.Literal(true))
})
export type Approval = typeof Approval.Type

/** A project's requests, oldest first. */
export type Approvals = ReadonlyArray<Approval>

/** A request without what the store adds. */
export type NewApproval = Pick<
  Approval,
  "id" | "call" | "caller" | "pid" | "what" | "tool" | "asks" | "details" | "brief" | "unreadable" | "digest"
>

/** How many requests of one caller wait at most; beside them, as many that a person has dismissed. */
export const waitingAtMost = 20

/** How long a finished request is shown, in milliseconds, and how many of them. */
const shownFor = 24 * 60 * 60 * 1000
const shownAtMost = 200

/** A clock may be set back by this much, in milliseconds, before what was asked "later" counts as expired. */
const clockStep = 60_000

const isOpen = ({ state }: Approval): boolean => state === "pending" || state === "approved"

/** A clock that was set back makes no answer live longer. */
export const isInTime = ({ answered, at, until }: Approval, now: number): boolean =>
  now < until && now >= (answered?.at ?? at) - clockStep

/** Whose request it is. A label is the caller's own claim, and a server's session ends with a restart. */
const isSameCaller = (a: Pick<Caller, "surface" | "client">, b: Caller): boolean =>
  a.surface === b.surface && a.client === b.client

const askKey = (ask: AskedAccess): string => JSON.stringify([ask.access, askersOf(ask), ask.reason])

/** Whether everything that is asked now was shown then. If the rules changed since, the person is asked anew. */
const covers = (shown: Approval, asks: ReadonlyArray<AskedAccess>): boolean => {
  const keys = new Set(shown.asks.map(askKey))
  return asks.every((ask) => keys.has(askKey(ask)))
}

/** Marks what has expired, and drops what is finished and old. The same list if nothing changes. */
export const settle = (approvals: Approvals, now: number): Approvals => {
  const marked = approvals.map((one): Approval =>
    isOpen(one) && !isInTime(one, now) ? { ...one, state: "expired" } : one
  )
  const finished = marked.filter((one) => !isOpen(one))
  const old = new Set(
    finished.filter((one, index) => one.until < now - shownFor || index < finished.length - shownAtMost)
  )
  const isSame = old.size === 0 && marked.every((one, index) => one === approvals[index])
  return isSame ? approvals : marked.filter((one) => !old.has(one))
}

export type AnsweredApproval = Approval & { readonly answered: Answered }

const isAnswered = (approval: Approval): approval is AnsweredApproval => approval.answered !== undefined

export type Claim =
  | { readonly _tag: "Approved" | "Rejected"; readonly approval: AnsweredApproval }
  | { readonly _tag: "Pending" | "Expired"; readonly approval: Approval }
  | { readonly _tag: "Full"; readonly waiting: number }

/**
 * Uses up an answer for exactly this request, or files it. The same request of one session is one while it waits. A
 * request whose session has ended is the repeating session's from then on, and so is its answer. Each session that still
 * runs has its own. An answer that made rules ends with the first of them: with their session, or when it is removed. `approvals` are settled, `life` is in
 * milliseconds. `hasRules`: whether every rule that an answer made is still remembered for this caller.
 */
export const claim = (
  approvals: Approvals,
  request: NewApproval,
  now: number,
  life: number,
  hasEnded: (approval: Approval) => boolean,
  hasRules: (approval: AnsweredApproval) => boolean
): readonly [Claim, Approvals] => {
  const replace = (from: Approval, to: Approval) => approvals.map((one) => one === from ? to : one)
  const mine = approvals.filter((one) => one.digest === request.digest && isSameCaller(one.caller, request.caller))
  const isOwn = ({ caller }: Approval): boolean => caller.session === request.caller.session
  // A call of an embedding program may have been a session of its own.
  const isOver = (one: Approval): boolean => hasEnded(one) || one.caller.session === one.call
  const usable = mine.filter(isAnswered).filter((one) =>
    one.state === "approved" && covers(one, request.asks) && (isOwn(one) || isOver(one)) && hasRules(one)
  )
  const approved = usable.find(isOwn) ?? usable[0]
  if (approved !== undefined) {
    const spent: AnsweredApproval = { ...approved, state: "spent", spent: { call: request.call, at: now } }
    return [{ _tag: "Approved", approval: spent }, replace(approved, spent)]
  }
  const waits = mine.filter(({ state }) => state === "pending")
  const pending = waits.find(isOwn) ?? waits.find(hasEnded)
  if (pending !== undefined && covers(pending, request.asks)) {
    if (isOwn(pending) && !hasEnded(pending)) return [{ _tag: "Pending", approval: pending }, approvals]
    const { brief, call, caller, details, pid } = request
    const { ended: _, ...rest } = pending
    const shown = brief === undefined ? { details } : { details, brief }
    const adopted: Approval = { ...rest, call, caller, ...shown, ...(pid === undefined ? {} : { pid }) }
    return [{ _tag: "Pending", approval: adopted }, replace(pending, adopted)]
  }
  const rejected = mine.filter(isAnswered).findLast((one) => one.state === "rejected" && isInTime(one, now))
  if (rejected !== undefined) return [{ _tag: "Rejected", approval: rejected }, approvals]
  const expired = mine.findLast(({ state }) => state === "expired")
  if (pending === undefined && expired !== undefined && expired.told !== true) {
    return [{ _tag: "Expired", approval: expired }, replace(expired, { ...expired, told: true })]
  }
  // What was shown is not what is asked now.
  const rest = approvals.filter((one) => one !== pending)
  const waiting =
    rest.filter((one) => one.state === "pending" && one.dismissed !== true && isSameCaller(one.caller, request.caller))
      .length
  if (waiting >= waitingAtMost) return [{ _tag: "Full", waiting }, approvals]
  const filed: Approval = { ...request, at: now, until: now + life, state: "pending" }
  return [{ _tag: "Pending", approval: filed }, [...rest, filed]]
}

/** A session of a server has ended, and the server goes on. The same list if nothing of it is open. */
export const endSession = (approvals: Approvals, session: string): Approvals => {
  const isOf = (one: Approval): boolean => isOpen(one) && one.caller.session === session
  return approvals.some(isOf)
    ? approvals.map((one): Approval => isOf(one) ? { ...one, ended: true } : one)
    : approvals
}

/** A person closed the question without an answer. The caller's oldest dismissed request goes if there are too many. */
export const dismiss = (approvals: Approvals, id: string): Approvals => {
  const at = approvals.findIndex((one) => one.id === id && one.state === "pending" && one.dismissed !== true)
  const found = approvals[at]
  if (found === undefined) return approvals
  const others = approvals.filter((one) =>
    one.state === "pending" && one.dismissed === true && isSameCaller(one.caller, found.caller)
  )
  const oldest = others.length >= waitingAtMost ? others[0] : undefined
  return approvals.with(at, { ...found, dismissed: true }).filter((one) => one !== oldest)
}

/** Whether the answer lets the call run. */
export const grants = (answer: ApprovalAnswer): boolean => answer !== "no" && answer !== "never"

/** The rules that `session` and `always` make, unless the person changes them. */
export const offersOf = (asks: ReadonlyArray<AskedAccess>): ReadonlyArray<string> => [
  ...new Set(asks.flatMap(({ offer }) => offer ?? []))
]

/** The rules that `never` makes. */
export const denialsOf = (asks: ReadonlyArray<AskedAccess>): ReadonlyArray<string> => [
  ...new Set(asks.flatMap(({ denial }) => denial ?? []))
]

/**
 * The answers that a request can get. A command is a session of its own, so `session` would mean nothing there, nor
 * after the session has ended.
 */
export const answersOf = ({ asks, caller }: Approval, hasEnded: boolean): ReadonlyArray<ApprovalAnswer> => [
  "once",
  // Rules for a part of it would settle nothing: the rest would be asked again.
  ...(asks.some(({ offer }) => offer === undefined)
    ? []
    : caller.surface === "cli" || hasEnded
    ? ["always" as const]
    : ["session", "always"] as const),
  "no",
  ...(denialsOf(asks).length === 0 ? [] : ["never" as const])
]

export type Answered = NonNullable<Approval["answered"]>

/** Why a request cannot get an answer that others can. */
export const whyNot = (answer: ApprovalAnswer, { caller }: Approval, hasEnded: boolean): string => {
  if (answer === "never") return "no rule can name exactly what it asks, so there is nothing to make"
  if (answer === "session" && hasEnded) return "the session that asked has ended, so a rule for it would allow nothing"
  if (answer === "session" && caller.surface === "cli") return "a command is a session of its own"
  return "no rule can be made of all that it asks: it can be allowed only once"
}

/** Refuses requests that wait, all by one act. */
export const refuseAll = (approvals: Approvals, ids: ReadonlySet<string>, by: string, now: number, life: number) =>
  approvals.map((one): Approval =>
    one.state === "pending" && ids.has(one.id)
      ? { ...one, state: "rejected", answered: { answer: "no", rules: [], by, at: now }, until: now + life }
      : one
  )
