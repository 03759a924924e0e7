// What every ApprovalStore shares, above a backend that changes the list of requests atomically.
import { Clock, Duration, Effect } from "effect"
import { randomInt } from "node:crypto"
import type { AnsweredApproval, Approval, ApprovalAnswer, Approvals } from "../../services/approval/Approval.ts"
import {
  answersOf,
  claim,
  dismiss,
  endSession,
  grants,
  isInTime,
  offersOf,
  refuseAll,
  settle,
  whyNot
} from "../../services/approval/Approval.ts"
import type { ApprovalsUnavailable } from "../../services/approval/ApprovalErrors.ts"
import {
  AnswerRefused,
  ApprovalClosed,
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalPending,
  ApprovalRejected,
  ApprovalsFull
} from "../../services/approval/ApprovalErrors.ts"
import type { AnswerOptions } from "../../services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import { record } from "../../services/approval/recordAnswer.ts"
import { redactUrls } from "../../services/audit/urlSecrets.ts"
import { showAccess } from "../../services/capability/Access.ts"
import type { Access } from "../../services/capability/Access.ts"
import { answeredRuleIssue } from "../../services/permission/answeredRule.ts"
import { lineRule, ruleFor } from "../../services/permission/offeredRule.ts"
import { type Ask, askersOf } from "../../services/permission/PermissionGate.ts"
import { type RememberedRule, RememberedRules } from "../../services/permission/RememberedRules.ts"
import { Settings } from "../../services/settings/Settings.ts"
import type { HumanAct } from "../../services/trust/HumanAct.ts"
import { requireAct, sawUnreadable } from "../../services/trust/HumanAct.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { appliesTo } from "../permission/settleAsks.ts"
import { questionOf, refusalOf, rulesOf } from "./approvalQuestion.ts"
import { touchedOf } from "./auditAsked.ts"

export interface ApprovalBackend {
  /**
   * Changes the list while no other process does. A list that comes back as the same is not written. A list that cannot
   * be believed is an empty one: what it allowed is asked anew.
   */
  readonly change: <A, E>(
    change: (approvals: Approvals) => Effect.Effect<readonly [A, Approvals], E>
  ) => Effect.Effect<A, E | ApprovalsUnavailable>
  readonly read: Effect.Effect<Approvals, ApprovalsUnavailable>
  /** This process, and whether another one runs. Absent: no other process files requests. */
  readonly processes?: { readonly own: number; readonly runs: (pid: number) => boolean }
}

/** Without letters and digits that look alike. */
const letters = "abcdefghjkmnpqrstuvwxyz23456789"

const newId = Effect.sync(() => Array.from({ length: 10 }, () => letters[randomInt(letters.length)]).join(""))

/** How the person was reached, for the audit and the remembered rules: "answered at /dev/pts/3". */
const byOf = ({ agent, by, seen }: HumanAct): string =>
  `${seen ?? by}${agent === undefined || seen?.includes(agent) === true ? "" : ` (${agent})`}`

/** A rule is kept in plain text and has to be exact, so none is made of what carries a secret. */
const isKeepable = (rule: string | undefined): rule is string => rule !== undefined && redactUrls(rule) === rule

const keepableOf = (access: Access) => {
  const whole = showAccess(access)
  const shown = redactUrls(whole)
  const touches = shown === whole ? touchedOf(access) : undefined
  return { access: shown, ...(touches === undefined ? {} : { touches }) }
}

/** The rules for each of what is asked; none if they would not be about the whole call. */
const rulesFor = (asks: ReadonlyArray<Ask>) => {
  // A person who has agreed that a tool runs is not asked that again, whatever the rules.
  const canCover = asks.every(({ offer, ran }) => isKeepable(offer) || ran !== undefined)
  const named = asks.map(({ access }) => {
    const rule = access._tag === "Plain" ? undefined : lineRule(access) ?? ruleFor(access)
    return isKeepable(rule) ? { denial: `deny: ${rule}` } : undefined
  })
  const inLine = asks.map(({ access }) => lineRule(access) !== undefined)
  const canName = named.every((one) => one !== undefined)
  return asks.map(({ offer }, at) => ({
    ...(canCover && isKeepable(offer) ? { offer } : {}),
    // A rule that denies a whole line says all of it: its parts may run in others.
    ...(inLine.includes(true) ? inLine[at] === true ? named[at] : {} : canName ? named[at] : {})
  }))
}

/** Whether all rules that an answer made are in `known`. Another answer may have made the same rule for other questions. */
const madeIn = (known: ReadonlyArray<RememberedRule>) => ({ answered, asks }: AnsweredApproval): boolean => {
  const asking = asks.flatMap(askersOf)
  return answered.rules.every((line) =>
    known.some(({ answers, rule }) => rule === line && asking.every((one) => answers?.includes(one) ?? true))
  )
}

export const make = Effect.fnUntraced(function*({ change, processes, read }: ApprovalBackend) {
  const settings = yield* Settings
  const remembered = yield* RememberedRules
  const { userHome } = yield* KiwiHome

  const life = Effect.map(settings.current, ({ approvalsTimeout }) => Duration.toMillis(approvalsTimeout))

  const hasEnded = ({ ended, pid }: Approval): boolean =>
    ended === true || (pid !== undefined && processes?.runs(pid) === false)

  const possibleFor = (approval: Approval): ReadonlyArray<ApprovalAnswer> =>
    approval.state === "pending" ? answersOf(approval, hasEnded(approval)) : []

  const find = Effect.fnUntraced(function*(approvals: Approvals, id: string, now: number, again = false) {
    const named = approvals.find((one) => one.id === id)
    const waiting = approvals.filter(({ caller, state }) => state === "pending" && caller.session === id)
    const found = named ?? (waiting.length === 1 ? waiting[0] : undefined)
    if (found === undefined) {
      return yield* new ApprovalNotFound({
        id,
        ...(waiting.length === 0 ? {} : { several: waiting.map((one) => one.id) })
      })
    }
    const isRefused = again && found.state === "rejected" && isInTime(found, now)
    if (found.state !== "pending" && !isRefused) {
      return yield* new ApprovalClosed({ id: found.id, what: found.what, state: found.state })
    }
    return found
  })

  const checkRules = Effect.fnUntraced(function*(
    approval: Approval,
    answers: ReadonlyArray<ApprovalAnswer>,
    rules: ReadonlyArray<string>
  ) {
    const { id } = approval
    const refuse = (issue: string, hint: string) => new AnswerRefused({ id, issue, hint })
    const makes = answers.every((answer) => answer === "session" || answer === "always")
      ? "allow: "
      : answers.every((answer) => answer === "never")
      ? "deny: "
      : undefined
    if (makes === undefined || rules.length === 0) {
      return yield* refuse(
        "only the answers session, always and never make a rule",
        `Say which: kiwi approve ${id} --always --rule 'RULE'`
      )
    }
    const offers = offersOf(approval.asks)
    for (const rule of rules) {
      const issue = rule.startsWith(makes)
        ? answeredRuleIssue(rule, offers)
        : `a rule of this answer begins with "${makes}"`
      if (issue !== undefined) {
        return yield* refuse(`the rule "${rule}" cannot be made: ${issue}`, `Give one like: ${offers[0] ?? "deny: …"}`)
      }
    }
  })

  /** The rule that the answer `never` made decides before any answer. */
  const requireTakenBack = Effect.fnUntraced(function*({ answered, id }: Approval) {
    if (answered?.answer !== "never" || !(yield* remembered.current).some((rule) => rule.id === id)) return
    return yield* new AnswerRefused({
      id,
      issue: `the answer "never" made a rule that refuses it`,
      hint: `Take it back first: kiwi permissions remove ${id}`
    })
  })

  const ask = Effect.fnUntraced(function*(approval: Approval, { answers, rules }: AnswerOptions) {
    const isRefused = approval.state === "rejected"
    if (isRefused) yield* requireTakenBack(approval)
    const possible = isRefused ? answersOf(approval, hasEnded(approval)).filter(grants) : possibleFor(approval)
    const offered = answers ?? possible
    const other = offered.find((answer) => !possible.includes(answer))
    if (other !== undefined || offered.length === 0) {
      return yield* new AnswerRefused({
        id: approval.id,
        issue: other === undefined ? "nothing is no answer" : whyNot(other, approval, hasEnded(approval)),
        hint: `It can be answered with: ${possible.join(", ")}`
      })
    }
    if (rules !== undefined) yield* checkRules(approval, offered, rules)
    return { approval, question: questionOf(approval, offered, rules) }
  })

  const waitingOf = Effect.fnUntraced(function*(approvals: Approvals, session: string | undefined) {
    const waiting = approvals.filter(({ caller, state }) =>
      state === "pending" && (session === undefined || caller.session === session)
    )
    return waiting.length > 0 ? waiting : yield* new ApprovalNotFound({ id: session ?? "that waits" })
  })

  const settled = (approvals: Approvals) => Effect.map(Clock.currentTimeMillis, (now) => settle(approvals, now))

  return ApprovalStore.of({
    require: Effect.fnUntraced(function*(asking) {
      const { asks, brief, callId, caller, details, digest, tool, unreadable = [], what } = asking
      const rules = rulesFor(asks)
      const request = {
        id: yield* newId,
        call: callId,
        caller,
        ...(processes === undefined ? {} : { pid: processes.own }),
        what,
        ...(tool === undefined ? {} : { tool }),
        asks: asks.map((one, at) => ({
          ...keepableOf(one.access),
          rule: one.rule,
          ...(one.askedBy === undefined ? {} : { askedBy: one.askedBy }),
          reason: one.reason,
          ...rules[at]
        })),
        details,
        ...(brief === undefined ? {} : { brief }),
        unreadable,
        digest
      }
      const lasts = yield* life
      const claimed = yield* change(Effect.fnUntraced(function*(approvals) {
        const now = yield* Clock.currentTimeMillis
        const known = (yield* remembered.current).filter((one) => appliesTo(one, caller))
        return claim(settle(approvals, now), request, now, lasts, hasEnded, madeIn(known))
      }))
      const rule = asks[0]?.rule ?? ""
      if (claimed._tag === "Full") return yield* new ApprovalsFull({ what, rule })
      const { id, until } = claimed.approval
      switch (claimed._tag) {
        case "Approved": {
          const { answer, by } = claimed.approval.answered
          return { id, by, answer, rule: `approved ${answer}` }
        }
        case "Pending":
          return yield* new ApprovalPending({ id, what, rule, until: new Date(until).toISOString() })
        case "Rejected":
          return yield* new ApprovalRejected({ id, what, rule, answer: claimed.approval.answered.answer })
        case "Expired":
          return yield* new ApprovalExpired({ id, what, rule })
      }
    }),
    list: Effect.map(Effect.flatMap(read, settled), (all) => all.map((one) => ({ ...one, answers: possibleFor(one) }))),
    propose: Effect.fnUntraced(function*(id, options = {}) {
      const now = yield* Clock.currentTimeMillis
      return yield* ask(yield* find(settle(yield* read, now), id, now, options.again), options)
    }),
    answer: Effect.fnUntraced(function*(id, act, options = {}) {
      const lasts = yield* life
      return yield* change(Effect.fnUntraced(function*(approvals) {
        const now = yield* Clock.currentTimeMillis
        const current = settle(approvals, now)
        const { approval, question } = yield* ask(yield* find(current, id, now, options.again), options)
        yield* requireAct(question, act)
        const answer = answersOf(approval, hasEnded(approval)).find((one) => one === act.choice)
        if (answer === undefined || question.choices?.some(({ value }) => value === answer) !== true) {
          return yield* new AnswerRefused({
            id: approval.id,
            issue: `"${act.choice ?? ""}" was not among the answers`,
            hint: "Choose one of the answers that are shown"
          })
        }
        // A dialog shows the brief, which names the rest by its ends and its digest.
        const saw = sawUnreadable(act) || (act.by === "elicitation" && approval.brief !== undefined)
        if (grants(answer) && approval.unreadable.length > 0 && !saw) {
          return yield* new AnswerRefused({
            id: approval.id,
            issue: "it has a text that is too long to be shown whole here",
            hint: `Answer it at a terminal: kiwi approve ${approval.id}`
          })
        }
        const rules = rulesOf(approval, answer, options.rules)
        const by = byOf(act)
        const { caller: { client, session }, pid } = approval
        const until = answer !== "session" ? {} : pid === undefined ? { session } : { session, pid }
        yield* remembered.add(rules.map((rule, index) => ({
          id: index === 0 ? approval.id : `${approval.id}-${index + 1}`,
          rule,
          client,
          ...until,
          at: new Date(now).toISOString(),
          by,
          answers: [...new Set(approval.asks.flatMap(askersOf))],
          approval: approval.id
        })))
        const after = record(current, approval, { answer, rules, by, at: now }, lasts, { home: userHome })
        return [after.find((one) => one.id === approval.id) ?? approval, after] as const
      }))
    }),
    proposeRefusal: Effect.fnUntraced(function*(session) {
      const approvals = yield* waitingOf(yield* Effect.flatMap(read, settled), session)
      return { approvals, question: refusalOf(approvals, session) }
    }),
    refuse: Effect.fnUntraced(function*(act, session) {
      const lasts = yield* life
      return yield* change(Effect.fnUntraced(function*(approvals) {
        const now = yield* Clock.currentTimeMillis
        const current = settle(approvals, now)
        const waiting = yield* waitingOf(current, session)
        yield* requireAct(refusalOf(waiting, session), act)
        const ids = new Set(waiting.map(({ id }) => id))
        return [waiting.length, refuseAll(current, ids, byOf(act), now, lasts)] as const
      }))
    }),
    endSession: (session) =>
      change((approvals) => Effect.succeed([undefined, endSession(approvals, session)] as const)),
    dismiss: (id) => change((approvals) => Effect.succeed([undefined, dismiss(approvals, id)] as const))
  })
})
