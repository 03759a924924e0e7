// Records an answer, to the request and to the others that it settles: those that its rules would decide if they were
// asked now.
import { Result } from "effect"
import type { Access, PathCapability } from "../capability/Access.ts"
import { matchRule } from "../permission/rule/matchRule.ts"
import { parseRuleLine, type Rule } from "../permission/rule/Rule.ts"
import type { Answered, Approval, Approvals, ApprovalState, AskedAccess } from "./Approval.ts"
import { rulesAsking } from "./Approval.ts"

/** "src/a.ts" of "fs.write(src/a.ts)" */
const scopeOf = (shown: string, capability: string): string => shown.slice(capability.length + 1, -1)

/** What was asked about, from the rule that names exactly this. Undefined if none does. */
const accessOf = ({ access, denial }: AskedAccess): Access | undefined => {
  const exact = denial === undefined ? undefined : Result.getOrUndefined(parseRuleLine(denial))
  const { capability, scopes } = exact ?? {}
  if (capability === undefined || scopes === undefined) return undefined
  const shown = scopeOf(access, capability)
  if (scopes.Path !== undefined) return { _tag: "Path", capability: capability as PathCapability, path: shown }
  if (scopes.Secret !== undefined) return { _tag: "Secret", capability: "secret.use", name: shown }
  if (scopes.Host !== undefined) {
    const port = shown.lastIndexOf(":")
    return { _tag: "Host", capability: "net.http", host: shown.slice(0, port), port: Number(shown.slice(port + 1)) }
  }
  const [command] = scopes.Command ?? []
  const words = command?.words.filter((word) => typeof word === "string") ?? []
  return command === undefined || command.open || command.assignments.length > 0 ||
      words.length < command.words.length
    ? undefined
    : { _tag: "Command", capability: "process.exec", words: [command.program, ...words], text: shown }
}

/** The project's root is not known here: an absolute rule settles no request for a path in the project. */
const unknownRoot = "\0"

/** `line`: the rule that was offered or that denies. It alone decides where no rule can name exactly what was asked. */
const matches = (
  rules: ReadonlyArray<Rule>,
  lines: ReadonlySet<string>,
  { caller }: Approval,
  ask: AskedAccess,
  line = ""
) => {
  const access = accessOf(ask)
  // What is offered of a command may be the whole line that it is in.
  if ((access === undefined || access._tag === "Command") && lines.has(line)) return true
  if (access === undefined) return false
  const query = {
    client: caller.client,
    action: "run",
    item: undefined,
    foremost: undefined,
    root: unknownRoot
  } as const
  return rules.some((rule) => matchRule(rule, query, access) === "yes")
}

/**
 * Whether the answer to `of` settles `other` as well. An answer that allows has to cover everything that `other` asks, and
 * counts for questions of the same rules only, as the rules that it makes do; one denial is enough to refuse it.
 */
const makeSettles = (of: Approval, { answer, rules }: Answered): (other: Approval) => boolean => {
  const made = rules.flatMap((rule) => Result.getOrUndefined(parseRuleLine(rule)) ?? [])
  const lines = new Set(rules)
  const asking = new Set(of.asks.flatMap(rulesAsking))
  const isAllowed = (other: Approval) => (ask: AskedAccess): boolean =>
    rulesAsking(ask).every((rule) => asking.has(rule)) && matches(made, lines, other, ask, ask.offer)
  const isDenied = (other: Approval) => (ask: AskedAccess): boolean => matches(made, lines, other, ask, ask.denial)
  return (other) => {
    if (other.state !== "pending" || other.caller.client !== of.caller.client) return false
    if (answer === "never") return other.asks.some(isDenied(other))
    if (answer !== "always" && (answer !== "session" || other.caller.session !== of.caller.session)) return false
    return other.asks.every(isAllowed(other))
  }
}

/** Records an answer to a request that waits, and to the others that it settles. */
export const record = (
  approvals: Approvals,
  approval: Approval,
  answered: Answered,
  life: number
): Approvals => {
  const settles = makeSettles(approval, answered)
  const state: ApprovalState = answered.answer !== "no" && answered.answer !== "never" ? "approved" : "rejected"
  return approvals.map((one) =>
    one.id === approval.id || settles(one)
      ? { ...one, state, answered, until: answered.at + life }
      : one
  )
}
