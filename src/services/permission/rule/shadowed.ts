// Rules of one file that never decide, since a stricter rule of the same file is about all that they are about.
import { areSegmentsWithin, type PathPattern } from "../../capability/scopes/PathPattern.ts"
import { type Rule } from "./Rule.ts"
import type { LinedRule } from "./ruleFile.ts"
import { speaksAbout } from "./ruleSubject.ts"

export interface Shadowed {
  readonly line: number
  readonly issue: string
  readonly hint: string
}

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/** Whether it is known that every path that `rule` is about by `inner` is one that `by` is about by `outer`. */
const isWithin = (rule: Rule, inner: PathPattern, by: Rule, outer: PathPattern): boolean =>
  inner.absolute === outer.absolute &&
  (by.outcome === "allow"
    ? areSegmentsWithin(inner.segments, outer.segments)
    : areSegmentsWithin(rule.outcome === "allow" ? inner.folded : inner.reach, outer.reach))

const conditions = ({ action, caller, digest, parameters, signer, tier, when }: Rule): string =>
  JSON.stringify([action, caller, digest, parameters, signer, tier, when])

const isUnconditional = (rule: Rule): boolean => conditions(rule) === conditions({ ...rule, ...none })

const none = {
  action: undefined,
  caller: undefined,
  digest: undefined,
  parameters: undefined,
  signer: undefined,
  tier: undefined,
  when: undefined
}

/** Whether `by` is about everything that `rule` is about. */
export const covers = (by: Rule, rule: Rule): boolean => {
  if (!isUnconditional(by) && conditions(by) !== conditions(rule)) return false
  if (by.capability === undefined && by.tool === undefined) return true
  if (by.tool !== undefined && by.tool !== rule.tool) return false
  if (by.capability === undefined || rule.capability === undefined) {
    return by.capability === rule.capability && by.subject === rule.subject
  }
  if (!speaksAbout(by.capability, rule.capability, by.outcome)) return false
  if (by.scopes === undefined) return true
  const [inner, outer] = [rule.scopes?.Path, by.scopes.Path]
  return inner !== undefined && outer !== undefined
    ? inner.every((one) => outer.some((other) => isWithin(rule, one, by, other)))
    : by.subject === rule.subject
}

export const shadowed = (rules: ReadonlyArray<LinedRule>): ReadonlyArray<Shadowed> =>
  rules.flatMap(({ line, rule }) => {
    const over = rules.find((other) =>
      other.line !== line &&
      (strictness[other.rule.outcome] > strictness[rule.outcome] ||
        (other.rule.outcome === rule.outcome && other.line < line)) &&
      covers(other.rule, rule)
    )
    return over === undefined ? [] : [{
      line,
      issue: `this rule never decides, since the rule in line ${over.line} is about all of it`,
      hint: "Remove one of them"
    }]
  })

/** Rules that never decide, since a stricter one of another text is about all that they are about. */
export const shadowedBy = (
  others: { readonly file: string; readonly rules: ReadonlyArray<LinedRule> },
  rules: ReadonlyArray<LinedRule>
): ReadonlyArray<Shadowed> =>
  rules.flatMap(({ line, rule }) => {
    const over = others.rules.find((other) =>
      strictness[other.rule.outcome] > strictness[rule.outcome] && covers(other.rule, rule)
    )
    return over === undefined ? [] : [{
      line,
      issue: `this rule never decides, since the one in ${others.file}, line ${over.line}, is about all of it`,
      hint: "Remove one of them"
    }]
  })
