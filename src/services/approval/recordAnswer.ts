// Records an answer, to the request and to the others that it settles: those that its rules would decide if they were
// asked now.
import { Result } from "effect"
import { askersOf } from "../permission/PermissionGate.ts"
import { matchRule } from "../permission/rule/matchRule.ts"
import { parseRuleLine, type Rule } from "../permission/rule/Rule.ts"
import type { RuleContext } from "../permission/rule/ruleSubject.ts"
import type { Answered, Approval, Approvals, ApprovalState, AskedAccess } from "./Approval.ts"
import { offersOf } from "./Approval.ts"

/** The project's root is not known here: an absolute rule settles no request for a path in the project. */
const unknownRoot = "\0"

/** `line`: the rule that was offered or that denies. It decides where no rule can name what was asked. */
const matches = (
  rules: ReadonlyArray<Rule>,
  lines: ReadonlySet<string>,
  { caller }: Approval,
  { touches }: AskedAccess,
  line = ""
) => {
  // What is offered of a command may be the whole line that it is in.
  if ((touches === undefined || touches._tag === "Command") && lines.has(line)) return true
  if (touches === undefined) return false
  const query = {
    client: caller.client,
    action: "run",
    item: undefined,
    foremost: undefined,
    root: unknownRoot
  } as const
  return rules.some((rule) => matchRule(rule, query, touches) === "yes")
}

/**
 * Whether the answer to `of` settles `other` as well. An answer that allows has to cover everything that `other` asks, and
 * counts for questions of the same rules only, as the rules that it makes do; one denial is enough to refuse it.
 */
const makeSettles = (
  of: Approval,
  { answer, rules }: Pick<Answered, "answer" | "rules">,
  context: RuleContext
): (other: Approval) => boolean => {
  const made = rules.flatMap((rule) => Result.getOrUndefined(parseRuleLine(rule, context)) ?? [])
  const lines = new Set(rules)
  const asking = new Set(of.asks.flatMap(askersOf))
  const isAllowed = (other: Approval) => (ask: AskedAccess): boolean =>
    askersOf(ask).every((one) => asking.has(one)) && matches(made, lines, other, ask, ask.offer)
  const isDenied = (other: Approval) => (ask: AskedAccess): boolean => matches(made, lines, other, ask, ask.denial)
  return (other) => {
    if (other.state !== "pending" || other.caller.client !== of.caller.client) return false
    if (answer === "never") return other.asks.some(isDenied(other))
    if (answer !== "always" && (answer !== "session" || other.caller.session !== of.caller.session)) return false
    return other.asks.every(isAllowed(other))
  }
}

/**
 * Requests that one answer settles, together: the first stands for all. One that only the answer `always` settles stands
 * for itself.
 */
export const together = <A extends Approval>(
  approvals: ReadonlyArray<A>
): ReadonlyArray<readonly [A, ...ReadonlyArray<A>]> => {
  const groups: Array<readonly [A, ...ReadonlyArray<A>]> = []
  let rest = approvals
  for (let [first] = rest; first !== undefined; [first] = rest) {
    const rules = offersOf(first.asks)
    const settles = makeSettles(first, { answer: "session", rules }, {})
    const others = rest.filter((one) => one !== first && first.state === "pending" && settles(one))
    groups.push([first, ...others])
    const taken = new Set([first, ...others])
    rest = rest.filter((one) => !taken.has(one))
  }
  return groups
}

/** Records an answer to a request that waits, and to the others that it settles. */
export const record = (
  approvals: Approvals,
  approval: Approval,
  answered: Answered,
  life: number,
  context: RuleContext = {}
): Approvals => {
  const settles = makeSettles(approval, answered, context)
  const state: ApprovalState = answered.answer !== "no" && answered.answer !== "never" ? "approved" : "rejected"
  return approvals.map((one) =>
    one.id === approval.id || settles(one)
      ? { ...one, state, answered, until: answered.at + life }
      : one
  )
}
