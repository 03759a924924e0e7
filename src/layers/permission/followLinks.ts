// What rules that ask or deny are about where their paths lead over links. Accesses are real paths, so a rule about
// `secrets` would say nothing of what is opened through the link `secrets`: such a rule is also about the link's target,
// by any name. A rule that allows follows no link: whoever can make or change one would choose what it allows.
import { patternOf } from "../../services/capability/scopes/PathPattern.ts"
import type { Rule } from "../../services/permission/rule/Rule.ts"
import { type PlacedRule, RuleIndex } from "../../services/permission/rule/RuleIndex.ts"
import { behindLinks } from "../files/behindLinks.ts"

/** A link that is made or changed counts after at most this many milliseconds: looking for each call takes too long. */
const believedFor = 1_000

const follow = (rule: Rule, root: string): Rule => {
  const paths = (rule.outcome === "allow" ? undefined : rule.scopes?.Path) ?? []
  const behind = paths.flatMap((pattern) => {
    const found = behindLinks(pattern, root)
    return found === undefined ? [] : [patternOf(found.segments, found.absolute)]
  })
  return behind.length === 0 ? rule : { ...rule, scopes: { ...rule.scopes, Path: [...paths, ...behind] } }
}

/** The rules, with those that restrict about the targets of links too. The same array if there are no such links. */
export const followLinks = (rules: ReadonlyArray<PlacedRule>, root: string): ReadonlyArray<PlacedRule> => {
  const followed = rules.map((placed) => {
    const rule = follow(placed.rule, root)
    return rule === placed.rule ? placed : { ...placed, rule }
  })
  return followed.every((placed, index) => placed === rules[index]) ? rules : followed
}

/** As `followLinks`, for an index. `now`: milliseconds. */
export const makeFollowIndex = (root: string) => {
  const known = new WeakMap<RuleIndex, { readonly at: number; readonly index: RuleIndex }>()
  return (index: RuleIndex, now: number): RuleIndex => {
    const last = known.get(index)
    if (last !== undefined && now >= last.at && now - last.at < believedFor) return last.index
    const rules = followLinks(index.rules, root)
    const followed = rules === index.rules ? index : new RuleIndex(rules)
    known.set(index, { at: now, index: followed })
    return followed
  }
}
