// The text of a `permissions.yaml`: a map with a list of rules.
import { Effect, Result, Schema } from "effect"
import { safeLine } from "../../error/safeText.ts"
import { decodeNode } from "../../workspace/controlFile.ts"
import { ControlInvalid, maxControlBytes, parseControlYaml } from "../../workspace/controlYaml.ts"
import type { ControlIssue, YamlNode } from "../../workspace/controlYaml.ts"
import { makeRule, type Rule, RuleEntry, type RuleIssue } from "./Rule.ts"
import type { RuleContext } from "./ruleSubject.ts"

const RuleFile = Schema.Struct({ rules: Schema.optionalKey(Schema.Array(RuleEntry)) })

export interface LinedRule {
  readonly rule: Rule
  readonly line: number
}

const issueAt = (node: YamlNode | undefined, place: string, { issue, key }: RuleIssue): ControlIssue => {
  const entry = node?._tag === "Map" ? node.entries.get(key) : undefined
  const { column, line } = entry?.value ?? node ?? { line: 1, column: 1 }
  return { line, column, path: safeLine(`${place}${key === "" ? "" : `.${key}`}`, 120), issue }
}

/** Every rule of a list, or every issue. `list`: where the entries are written. `place`: the path of the list: "rules". */
export const makeRules = (
  list: YamlNode | undefined,
  entries: ReadonlyArray<RuleEntry>,
  context: RuleContext,
  place: string
): Result.Result<ReadonlyArray<LinedRule>, ReadonlyArray<ControlIssue>> => {
  const nodes = list?._tag === "List" ? list.items : []
  const made: Array<LinedRule> = []
  const issues: Array<ControlIssue> = []
  for (const [index, entry] of entries.entries()) {
    const rule = makeRule(entry, context)
    const at = nodes[index]
    if (Result.isSuccess(rule)) made.push({ rule: rule.success, line: at?.line ?? 1 })
    else issues.push(issueAt(at, `${place}[${index}]`, rule.failure))
  }
  return issues.length === 0 ? Result.succeed(made) : Result.fail(issues)
}

/** Fails with every issue, at its line. One invalid rule makes the whole file invalid. */
export const parseRuleFile = Effect.fnUntraced(function*(bytes: Uint8Array, context: RuleContext) {
  const node = yield* parseControlYaml(bytes, maxControlBytes)
  const { rules = [] } = yield* Effect.fromResult(decodeNode(node, RuleFile))
  const list = node._tag === "Map" ? node.entries.get("rules")?.value : undefined
  const made = makeRules(list, rules, context, "rules")
  if (Result.isSuccess(made)) return made.success
  const [first, ...rest] = made.failure
  return first === undefined ? [] : yield* new ControlInvalid({ issues: [first, ...rest.slice(0, 19)] })
})
