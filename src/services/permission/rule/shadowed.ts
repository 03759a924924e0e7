// Rules of one file that never decide, since a stricter rule of the same file is about all that they are about.
import type { PathPattern } from "./pathPattern.ts"
import { literalPrefix, matchesSegments } from "./pathPattern.ts"
import { type Rule } from "./Rule.ts"
import type { LinedRule } from "./ruleFile.ts"
import { speaksAbout } from "./ruleSubject.ts"

export interface Shadowed {
  readonly line: number
  readonly issue: string
  readonly hint: string
}

const strictness = { allow: 0, ask: 1, deny: 2 } as const

/** Whether it is known that every path of `inner` is one of `outer`. */
const isWithin = (inner: PathPattern, outer: PathPattern, restricts: boolean): boolean => {
  if (inner.absolute !== outer.absolute) return false
  const around = restricts ? outer.reach : outer.folded
  const prefix = literalPrefix(outer)
  if (around.at(-1) === "**" && prefix.length === around.length - 1) {
    return prefix.every((name, index) => inner.folded[index] === name)
  }
  return literalPrefix(inner).length === inner.folded.length
    ? matchesSegments(around, inner.folded)
    : inner.folded.join("/") === outer.folded.join("/")
}

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
    ? inner.every((one) => outer.some((other) => isWithin(one, other, by.outcome !== "allow")))
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
