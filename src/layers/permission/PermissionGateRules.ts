// Decides by the rules of user and project, and by what Kiwi ships where neither has one. Every access of an action is
// decided by itself, and the strictest outcome holds for all. A remembered answer settles what would be asked, and never
// what is denied; the answer `never` is one more rule that denies.
import { Clock, Effect, Layer, Result } from "effect"
import type { Caller } from "../../services/call/Caller.ts"
import type { Access, ToolAccess } from "../../services/capability/Access.ts"
import { showAccess } from "../../services/capability/Access.ts"
import { safeLine } from "../../services/error/safeText.ts"
import type { Action } from "../../services/permission/Action.ts"
import { showAction } from "../../services/permission/Action.ts"
import { lineRule, offerFor } from "../../services/permission/offeredRule.ts"
import type { Ask, Decision, JudgedAccess, SettledAsk } from "../../services/permission/PermissionGate.ts"
import { PermissionDenied, PermissionGate } from "../../services/permission/PermissionGate.ts"
import type { RuleSource } from "../../services/permission/PermissionRules.ts"
import { PermissionRules } from "../../services/permission/PermissionRules.ts"
import { profileOf } from "../../services/permission/profile/callerProfile.ts"
import { profileRule } from "../../services/permission/profile/Profile.ts"
import { Profiles } from "../../services/permission/profile/Profiles.ts"
import { RememberedRules } from "../../services/permission/RememberedRules.ts"
import { matchRule, type RuleQuery } from "../../services/permission/rule/matchRule.ts"
import { parseRuleLine, type Rule, showRule } from "../../services/permission/rule/Rule.ts"
import type { FoundRule, PlacedRule } from "../../services/permission/rule/RuleIndex.ts"
import { showTool } from "../../services/permission/rule/ruleSubject.ts"
import { ChildProcesses } from "../../services/process/ChildProcesses.ts"
import { SchemaValidator } from "../../services/schema/SchemaValidator.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { sha256 } from "../identity/sha256.ts"
import { realOrPlanned } from "../workspace/home/homeFolders.ts"
import { makeFollowIndex } from "./followLinks.ts"
import { requireListed } from "./profile/requireListed.ts"
import { makeDenials } from "./rememberedDenials.ts"
import { accessesOf, queryOf } from "./ruleQuery.ts"
import { noveltyOf } from "./runNovelty.ts"
import { makeSettle } from "./settleAsks.ts"
import {
  asItsTool,
  askOf,
  neverAllowed,
  refused,
  shippedDefault,
  type Surroundings,
  type Verdict
} from "./shippedDefault.ts"

/** Possible while the rules cannot be read: it shows something, or a person confirms it. */
const alwaysPossible = new Set<Action["_tag"]>(["Search", "Load", "Help", "Sign", "ChangeLocks"])

/** "user:config/permissions.yaml:4" */
export const nameOf = ({ file, id, line }: PlacedRule): string => id === undefined ? `${file}:${line}` : `${file} ${id}`

const digests = new WeakMap<Rule, string>()

/** A rule as answers know it. Its line may change, and another rule may come to stand there. */
const identityOf = ({ file, rule }: PlacedRule): string => {
  const digest = digests.get(rule) ?? sha256(JSON.stringify(rule.entry))
  digests.set(rule, digest)
  return `${file} ${digest}`
}

const shown = ({ rule }: PlacedRule): string => safeLine(showRule(rule), 200)

const strictness = ({ match, rule }: FoundRule): number =>
  rule.outcome === "deny" ? match === "yes" ? 3 : 2 : rule.outcome === "ask" || match === "perhaps" ? 2 : 1

/** A rule that allows the tool, but not with these parameters. */
const allowsOthers = ({ match, rule }: FoundRule): boolean => rule.outcome === "allow" && match === "perhaps"

/** Of the rules of one file that allow, one is enough. */
const withoutCovered = (found: ReadonlyArray<FoundRule>): ReadonlyArray<FoundRule> => {
  const allowing = new Set(
    found.filter(({ match, rule }) => rule.outcome === "allow" && match === "yes").map(({ file }) => file)
  )
  return found.filter((one) => !allowsOthers(one) || !allowing.has(one.file))
}

/** The strictest rule, or undefined. Of equally strict ones, the first in the first file. */
const strictest = (found: ReadonlyArray<FoundRule>): FoundRule | undefined => {
  let best: FoundRule | undefined
  for (const one of found) {
    const by = best === undefined ? 1 : strictness(one) - strictness(best)
    if (by > 0 || (by === 0 && best !== undefined && one.file === best.file && one.line < best.line)) best = one
  }
  return best
}

const novel = ({ when }: Rule): string =>
  when === undefined
    ? ""
    : when.includes("changed")
    ? ", and nobody has agreed to it as it is now; it is asked again if it changes"
    : ", and nobody has agreed yet that this caller runs it here"

/**
 * The tool itself, if a rule that names it covers this one: not a tool of another signer. Nothing is offered for a rule
 * that asks about some calls alone, or about what is new.
 */
const toolOffer = ({ parameters, when }: Rule, access: ToolAccess, query: RuleQuery): string | undefined => {
  if (parameters !== undefined || when !== undefined) return undefined
  const offer = showTool(access.id)
  const allowing = Result.getOrUndefined(parseRuleLine(`allow: ${offer}`))
  return allowing !== undefined && matchRule(allowing, query, access) === "yes" ? offer : undefined
}

/** What a rule says about an access. */
const verdictOf = (found: FoundRule, access: Access, query: RuleQuery, confined: boolean): Verdict => {
  const { rule } = found
  const name = nameOf(found)
  const why = rule.reason === undefined ? "" : `: ${safeLine(rule.reason, 300)}`
  switch (strictness(found)) {
    case 3:
      return {
        _tag: "Deny",
        rule: name,
        reason:
          `the rule "${shown(found)}"${found.id === undefined ? "" : `, which a person's answer "never" made,`} ` +
          `denies ${safeLine(showAccess(access))}${why}`,
        hint: found.id === undefined
          ? `It is in ${name}. Do not try another way; a person may change it: kiwi permissions list`
          : `Do not try another way. A person takes it back with: kiwi permissions remove ${found.id}`
      }
    case 2: {
      const offer = access._tag === "Tool" ? toolOffer(rule, access, query) : offerFor(access, confined)
      const isUnclear = found.match === "perhaps"
      const about = allowsOthers(found)
        ? "allows it with other parameters"
        : !isUnclear
        ? "is about it"
        : access._tag === "Path"
        ? "is about something below it"
        : "may be about it, since it cannot be told whether this is such a command"
      return {
        _tag: "Ask",
        rule: name,
        reason: `the rule "${shown(found)}" ${about}${novel(rule)}${why}`,
        // A person who has seen a whole line knows what it does; what is below a folder nobody has seen.
        ...(offer === undefined || (isUnclear && lineRule(access) === undefined) ? {} : { offer: `allow: ${offer}` })
      }
    }
    default:
      return { _tag: "Allow", rule: name }
  }
}

/** The question of all rules that ask, and of the default if it asks too: an answer settles it if it is for each. */
const questionOf = (
  found: ReadonlyArray<FoundRule>,
  own: Verdict | undefined,
  access: Access,
  query: RuleQuery,
  confined: boolean
): Verdict => {
  const asking = found.filter((one) => strictness(one) === 2)
  const all = asking.toSorted((a, b) => a.file === b.file ? a.line - b.line : 0)
    .map((one) => verdictOf(one, access, query, confined))
    .filter((verdict) => verdict._tag === "Ask")
  const asks = own?._tag === "Ask" ? [own] : []
  const [first = asks[0]] = all
  return {
    _tag: "Ask",
    rule: first?.rule ?? "",
    askedBy: [...new Set([...asking.map(identityOf), ...asks.map(({ rule }) => rule)])].toSorted(),
    reason: [...new Set([...all, ...asks].map(({ reason }) => reason))].join("; "),
    ...(all.some(({ offer }) => offer === undefined) ? {} : { offer: first?.offer })
  }
}

/** The text of a file that nobody accepted is not quoted: whoever wrote it would speak to the caller. */
const unusableRules = (action: Action, { file, narrows, unusable }: RuleSource) =>
  new PermissionDenied({
    what: showAction(action),
    rule: "unusable-rules",
    reason: `the permission rules cannot be used, so nothing is allowed: ${file}, line ${unusable?.line ?? 1}: ${
      narrows ? "it does not have the form of rules" : safeLine(unusable?.issue ?? "", 300)
    }`,
    hint: narrows ? "kiwi permissions check" : unusable?.hint ?? "kiwi permissions check"
  })

const foundIn = (sources: ReadonlyArray<RuleSource>, query: RuleQuery, access: Access): ReadonlyArray<FoundRule> => {
  let all: ReadonlyArray<FoundRule> = []
  for (const { rules } of sources) {
    const found = rules.find(query, access)
    if (found.length > 0) all = all.length === 0 ? found : [...all, ...found]
  }
  return all
}

/** Decides one access by the rules of all sources, and by the default. */
const makeJudge = Effect.gen(function*() {
  const { levels } = yield* ChildProcesses
  const { validate } = yield* SchemaValidator
  const { home, userSpace, verified } = yield* KiwiHome
  const { cwd } = yield* Workspace
  const around: Surroundings = {
    root: cwd,
    closed: cwd.startsWith(`${home}/`) ? [verified] : [home],
    unwritable: () => [userSpace, realOrPlanned(userSpace)],
    sandboxed: levels.has("sandboxed")
  }

  /** Whether the call's parameters are as the rule says. What cannot be checked restricts, and allows nothing. */
  const fits = Effect.fnUntraced(function*({ rule }: FoundRule, access: Access) {
    if (rule.parameters === undefined) return true
    const given = access._tag === "Tool" ? access.parameters : undefined
    const restricts = rule.outcome !== "allow"
    if (given === undefined) return false
    for (const [name, schema] of Object.entries(rule.parameters)) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined
      if (value === undefined) return false
      const issues = yield* validate({
        schema: { type: "object", properties: { [name]: schema } },
        what: "parameters of a rule",
        value: { [name]: value },
        closed: false,
        origin: { _tag: "foreign" }
      }).pipe(Effect.map((checked) => checked.issues.length), Effect.orElseSucceed(() => restricts ? 0 : 1))
      if (issues > 0) return false
    }
    return true
  })

  /** A rule that allows the tool with other parameters still speaks: the default would allow what it left out. */
  const withParameters = (one: FoundRule, access: Access) =>
    Effect.map(
      fits(one, access),
      (does): ReadonlyArray<FoundRule> =>
        does ? [one] : one.rule.outcome === "allow" ? [{ ...one, match: "perhaps" }] : []
    )

  const judge = (
    sources: ReadonlyArray<RuleSource>,
    query: RuleQuery,
    action: Action,
    access: Access
  ): Verdict | Effect.Effect<Verdict> => {
    const never = neverAllowed(action, access, around)
    if (never !== undefined) return never
    const all = foundIn(sources, query, access)
    const decideOn = (found: ReadonlyArray<FoundRule>): Verdict => {
      const best = strictest(found)
      if (best === undefined) return shippedDefault(action, access, around)
      // Only a rule that allows takes the place of the default.
      const own = found.some((one) => one.rule.outcome === "allow" && !allowsOthers(one))
        ? undefined
        : shippedDefault(action, access, around)
      if (own?._tag === "Deny" && strictness(best) < 3) return own
      return strictness(best) === 2
        ? questionOf(found, own, access, query, around.sandboxed)
        : verdictOf(best, access, query, around.sandboxed)
    }
    return all.some(({ rule }) => rule.parameters !== undefined)
      ? Effect.map(
        Effect.forEach(all, (one) => withParameters(one, access)),
        (fitting) => decideOn(withoutCovered(fitting.flat()))
      )
      : decideOn(all)
  }

  return { around, judge }
})

/** The parts of a line that cannot be taken apart are one question. */
const withoutRepeated = (asks: ReadonlyArray<Ask>): ReadonlyArray<Ask> =>
  asks.length < 2 ? asks : [
    ...new Map(
      asks.map((ask) => {
        const { access, askedBy, offer, reason, rule } = ask
        const below = access._tag === "Path" && access.below
        return [JSON.stringify([showAccess(access), below, rule, askedBy, reason, offer]), ask]
      })
    ).values()
  ]

const outcomes = { Allow: "allow", Ask: "ask", Deny: "deny" } as const

const judgedOf = (
  verdict: Verdict,
  access: Access,
  query: RuleQuery,
  sources: ReadonlyArray<RuleSource>
): JudgedAccess => ({
  access,
  outcome: outcomes[verdict._tag],
  rule: verdict.rule,
  reason: verdict._tag === "Allow" ? undefined : verdict.reason,
  hint: verdict._tag === "Deny" ? verdict.hint : undefined,
  offer: verdict._tag === "Ask" ? verdict.offer : undefined,
  speaks: foundIn(sources, query, access)
})

export const make = Effect.gen(function*() {
  const { current } = yield* PermissionRules
  const profiles = yield* Profiles
  const remembered = yield* RememberedRules
  const { userHome } = yield* KiwiHome
  const { around, judge } = yield* makeJudge
  const settle = makeSettle({ home: userHome })
  const denials = makeDenials({ home: userHome })
  const followIndex = makeFollowIndex(around.root)

  /** With rules that restrict also about what links in their paths lead to. */
  const followed = (sources: ReadonlyArray<RuleSource>, accesses: ReadonlyArray<Access>) =>
    accesses.some(({ _tag }) => _tag === "Path")
      ? Effect.map(
        Clock.currentTimeMillis,
        (now) =>
          sources.map((source) => {
            const rules = followIndex(source.rules, now)
            return rules === source.rules ? source : { ...source, rules }
          })
      )
      : Effect.succeed(sources)

  const decide = Effect.fnUntraced(function*(
    caller: Caller,
    action: Action,
    watch?: (judged: JudgedAccess) => void
  ) {
    const profile = caller.profile === undefined
      ? undefined
      : yield* Effect.provideService(profileOf(caller), Profiles, profiles)
    const written = profile === undefined
      ? yield* current
      : [...yield* current, ...profile.texts.map(({ rules }) => rules)]
    const unusable = written.find((source) => source.unusable !== undefined)
    if (unusable !== undefined && !alwaysPossible.has(action._tag)) return yield* unusableRules(action, unusable)
    if (profile !== undefined) yield* requireListed(profile, action)
    const accesses = accessesOf(action)
    const answers = yield* remembered.current
    const sources = yield* followed([...written, ...denials(answers, caller)], accesses)
    const run = sources.some(({ rules: { hasWhen } }) => hasWhen) ? noveltyOf(answers, caller, action) : undefined
    const query = { ...queryOf(caller, action, accesses, around.root), ...run }
    const rules = new Set<string>(profile === undefined ? [] : [profileRule(profile.name)])
    const asks: Array<Ask> = []
    let denied: Extract<Verdict, { readonly _tag: "Deny" }> | undefined
    for (const access of accesses) {
      const decided = judge(sources, query, action, access)
      const verdict = Effect.isEffect(decided) ? yield* decided : decided
      watch?.(judgedOf(verdict, access, query, sources))
      if (verdict._tag === "Deny") {
        denied ??= verdict
        if (watch === undefined) break
        continue
      }
      if (verdict !== asItsTool) rules.add(verdict.rule)
      if (verdict._tag !== "Ask") continue
      const ask = askOf(verdict, access)
      asks.push(run === undefined || access._tag !== "Tool" ? ask : { ...ask, ran: run.ran })
    }
    if (denied !== undefined) return yield* refused(action, denied)
    const rule = [...rules].slice(0, 5).join(", ")
    if (asks.length === 0) return { rule, asks } satisfies Decision as Decision
    const { asks: open, by } = settle(answers, caller, query, asks)
    const settled = by.map((one): SettledAsk => Object.assign({}, one.ask, { answer: nameOf(one.rule) }))
    const settling = new Set(settled.map(({ answer }) => answer))
    return {
      rule: [rule, ...settling].join(", "),
      asks: withoutRepeated(open),
      ...(settled.length === 0 ? {} : { settled })
    } satisfies Decision as Decision
  })

  return PermissionGate.of({ decide })
})

export const layer = Layer.effect(PermissionGate, make)
