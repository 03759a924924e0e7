// A person's answers `never`, as one more text of rules: they deny like every other rule that denies.
import { Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Caller } from "../../services/call/Caller.ts"
import type { RuleSource } from "../../services/permission/PermissionRules.ts"
import type { RememberedRule } from "../../services/permission/RememberedRules.ts"
import { parseRuleLine } from "../../services/permission/rule/Rule.ts"
import { type PlacedRule, RuleIndex } from "../../services/permission/rule/RuleIndex.ts"
import type { RuleContext } from "../../services/permission/rule/ruleSubject.ts"
import { appliesTo } from "./settleAsks.ts"

const none: ReadonlyArray<RuleSource> = []

export const makeDenials = (context: RuleContext) => {
  const known = new WeakMap<ReadonlyArray<RememberedRule>, BoundedMap<string, ReadonlyArray<RuleSource>>>()

  const sourcesOf = (remembered: ReadonlyArray<RememberedRule>, caller: Caller): ReadonlyArray<RuleSource> => {
    const rules = remembered.filter((one) => appliesTo(one, caller)).flatMap(({ id, rule: line }) => {
      const rule = Result.getOrUndefined(parseRuleLine(line, context))
      return rule?.outcome === "deny" ? [{ rule, file: "remembered", line: 0, id } satisfies PlacedRule] : []
    })
    return rules.length === 0
      ? none
      : [{ file: "remembered", rules: new RuleIndex(rules), narrows: true, ignored: 0, unusable: undefined }]
  }

  /** Empty if no answer denies anything to this caller. */
  return (remembered: ReadonlyArray<RememberedRule>, caller: Caller): ReadonlyArray<RuleSource> => {
    if (remembered.length === 0) return none
    const ofList = known.get(remembered) ?? new BoundedMap(100)
    known.set(remembered, ofList)
    const key = JSON.stringify([caller.client, caller.session])
    const sources = ofList.get(key) ?? sourcesOf(remembered, caller)
    ofList.set(key, sources)
    return sources
  }
}
