// Adds and removes rules in the text of a `permissions.yaml`. Everything else stays as it is, comments included.
import { Effect, Result } from "effect"
import { safeLine } from "../../services/error/safeText.ts"
import { RuleRefused, RulesInvalid } from "../../services/permission/PermissionErrors.ts"
import type { RuleEntry } from "../../services/permission/rule/Rule.ts"
import { makeRule } from "../../services/permission/rule/Rule.ts"
import { parseRuleFile } from "../../services/permission/rule/ruleFile.ts"
import type { RuleContext } from "../../services/permission/rule/ruleSubject.ts"
import { sentenceOf } from "../../services/workspace/controlYaml.ts"

const head = "# What agents may do: kiwi permissions --help. In each file deny beats ask, and ask beats allow.\n"

/** The rules of a text, which has to be valid. */
export const rulesOf = (file: string, before: Uint8Array | undefined, context: RuleContext) =>
  before === undefined ?
    Effect.succeed([]) :
    Effect.mapError(parseRuleFile(before, context), ({ issues: [issue] }) =>
      new RulesInvalid({ file, line: issue.line, issue: sentenceOf(issue) }))

/** The new text, with these rules at the end. */
export const addRules = Effect.fnUntraced(function*(
  file: string,
  before: Uint8Array | undefined,
  entries: ReadonlyArray<RuleEntry>,
  context: RuleContext
) {
  const { Document, isSeq, parseDocument } = yield* Effect.promise(() => import("yaml"))
  for (const entry of entries) {
    const rule = makeRule(entry, context)
    if (Result.isSuccess(rule)) continue
    const typed = entry.allow ?? entry.ask ?? entry.deny ?? ""
    return yield* new RuleRefused({ rule: safeLine(JSON.stringify(typed), 300), issue: rule.failure.issue })
  }
  yield* rulesOf(file, before, context)
  const alone = () => new Document({ rules: entries }).toString({ lineWidth: 0 })
  if (before === undefined) return head + alone()
  const document = parseDocument(new TextDecoder().decode(before))
  const list = document.get("rules")
  if (isSeq(list)) {
    // The list without any rule is `[]`, and the next ones have lines of their own.
    if (list.items.length === 0) list.flow = false
    for (const entry of entries) list.add(document.createNode(entry))
  } else if (document.contents === null) return new TextDecoder().decode(before) + alone()
  else document.set("rules", entries)
  return document.toString({ lineWidth: 0 })
})

/** The new text without the rule that begins in this line. Undefined if none does. */
export const removeRule = Effect.fnUntraced(function*(
  file: string,
  before: Uint8Array | undefined,
  line: number,
  context: RuleContext
) {
  const { isSeq, parseDocument } = yield* Effect.promise(() => import("yaml"))
  const index = (yield* rulesOf(file, before, context)).findIndex((one) => one.line === line)
  if (before === undefined || index < 0) return undefined
  const document = parseDocument(new TextDecoder().decode(before))
  const list = document.get("rules")
  if (!isSeq(list)) return undefined
  list.delete(index)
  return document.toString({ lineWidth: 0 })
})
