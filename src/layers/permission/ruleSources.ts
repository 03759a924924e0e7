// Reads texts of rules as sources: shared by both backends of PermissionRules.
import { Effect, Result } from "effect"
import type { RuleSource } from "../../services/permission/PermissionRules.ts"
import type { LinedRule } from "../../services/permission/rule/ruleFile.ts"
import { parseRuleFile } from "../../services/permission/rule/ruleFile.ts"
import { RuleIndex } from "../../services/permission/rule/RuleIndex.ts"
import type { RuleContext } from "../../services/permission/rule/ruleSubject.ts"
import type { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { type ControlInvalid, sentenceOf } from "../../services/workspace/controlYaml.ts"
import { makeLastTexts, readProjectTexts } from "../workspace/controlPair.ts"

export const projectRulesPath = ".ai/config/permissions.yaml"
export const userRulesPath = "config/permissions.yaml"
export const userRulesFile = `user:${userRulesPath}`
export const projectRulesFile = `project:${userRulesPath}`

const none = new RuleIndex([])

const unusable = (file: string, line: number, issue: string, hint: string): RuleSource => ({
  file,
  rules: none,
  narrows: false,
  ignored: 0,
  unusable: { line, issue, hint }
})

/** Where nothing can be read. */
export const unreadable = (
  file: string,
  { hint, issue }: { readonly issue: string; readonly hint: string }
): RuleSource => unusable(file, 1, issue, hint)

export const makeReadSource = (context: RuleContext) => {
  const once = makeLastTexts<RuleSource>()

  const sourceOf = (
    file: string,
    narrow: boolean,
    parsed: Result.Result<ReadonlyArray<LinedRule>, ControlInvalid>
  ): RuleSource => {
    if (Result.isFailure(parsed)) {
      const [issue] = parsed.failure.issues
      // Nobody has accepted a text that only narrows, so no word of it is quoted.
      const said = narrow ? "this line is no rule, and nobody has accepted this file as it is" : sentenceOf(issue)
      return unusable(file, issue.line, said, "kiwi permissions check")
    }
    const held = narrow ? parsed.success.filter(({ rule }) => rule.outcome !== "allow") : parsed.success
    return {
      file,
      rules: new RuleIndex(held.map(({ line, rule }) => ({ rule, line, file }))),
      narrows: narrow,
      ignored: parsed.success.length - held.length,
      unusable: undefined
    }
  }

  /** `narrow`: its rules that allow do not count. */
  return (slot: string, bytes: Uint8Array, file: string, narrow: boolean) =>
    once(
      slot,
      bytes,
      Effect.map(Effect.result(parseRuleFile(bytes, context)), (parsed) => sourceOf(file, narrow, parsed))
    )
}

export const readProjectRules = (trust: ProjectTrust["Service"], read: ReturnType<typeof makeReadSource>) =>
  readProjectTexts(
    trust,
    projectRulesPath,
    (slot, bytes, narrows) => read(slot, bytes, projectRulesFile, narrows)
  ).pipe(
    Effect.catchTag(
      "ProjectRestricted",
      ({ reason, remediation = "kiwi trust project" }) =>
        Effect.succeed([unusable(projectRulesFile, 1, reason, remediation)])
    )
  )
