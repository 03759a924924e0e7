// Everything that is wrong with the rules of user and project and with those of their profiles, as the files are now.
import { Effect, Option, Result } from "effect"
import {
  projectProfilesFile,
  projectProfilesPath,
  userProfilesFile,
  userProfilesPath
} from "../layers/permission/profile/profileTexts.ts"
import { matchesName } from "../services/capability/scopes/PathPattern.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { parseProfileFile } from "../services/permission/profile/profileFile.ts"
import { misleading } from "../services/permission/rule/misleading.ts"
import { type LinedRule, parseRuleFile } from "../services/permission/rule/ruleFile.ts"
import { type Shadowed, shadowed, shadowedBy } from "../services/permission/rule/shadowed.ts"
import { type ControlInvalid, sentenceOf } from "../services/workspace/controlYaml.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { listRules, placeOf, readAt, type RuleProblem } from "./permissions.ts"

/** The rules of one file, or of one profile. */
interface RuleText {
  readonly file: string
  readonly profile?: string
  readonly rules: ReadonlyArray<LinedRule>
}

const invalid = (file: string, { issues }: ControlInvalid): ReadonlyArray<RuleProblem> =>
  issues.map((issue) => ({
    file,
    line: issue.line,
    issue: sentenceOf(issue),
    hint: "Until it is corrected, nothing but looking is allowed",
    fatal: true
  }))

/** Rules on tools that nobody has. */
const unknownTools = Effect.fnUntraced(function*(rules: ReadonlyArray<LinedRule>) {
  if (!rules.some(({ rule }) => rule.tool !== undefined)) return []
  const tools = yield* (yield* ItemStore).list({ type: "tool" })
  const names = tools.flatMap(({ category, id, source }) => [id, `${source?.name ?? category}/${id}`])
  return rules.flatMap(({ line, rule: { tool } }): ReadonlyArray<Shadowed> =>
    tool === undefined || names.some((name) => matchesName(tool, name)) ? [] : [{
      line,
      issue: "there is no tool that it is about now",
      hint: "kiwi search finds the names of tools"
    }]
  )
})

export const checkPermissions = Effect.fn("checkPermissions")(function*() {
  const { userHome: home } = yield* KiwiHome
  const { project } = yield* Workspace
  const problems: Array<RuleProblem> = []
  const texts: Array<RuleText> = []
  for (const tier of ["user", "project"] as const) {
    if (tier === "project" && Option.isNone(project)) continue
    const { file, path, root } = yield* placeOf(tier)
    const bytes = yield* readAt(root, path)
    if (bytes !== undefined) {
      const rules = yield* Effect.result(parseRuleFile(bytes, { home }))
      if (Result.isSuccess(rules)) texts.push({ file, rules: rules.success })
      else problems.push(...invalid(file, rules.failure))
    }
    const [profilesFile, profilesPath] = tier === "user"
      ? [userProfilesFile, userProfilesPath]
      : [projectProfilesFile, projectProfilesPath]
    const profileBytes = yield* readAt(root, profilesPath)
    if (profileBytes === undefined) continue
    const profiles = yield* Effect.result(parseProfileFile(profileBytes, { home }))
    if (Result.isFailure(profiles)) problems.push(...invalid(profilesFile, profiles.failure))
    else {
      for (const [profile, { rules }] of profiles.success) texts.push({ file: profilesFile, profile, rules })
    }
  }
  const files = texts.filter(({ profile }) => profile === undefined)
  for (const text of texts) {
    const { file, profile, rules } = text
    const found = [
      ...shadowed(rules),
      ...files.flatMap((other) => other === text ? [] : shadowedBy(other, rules)),
      ...misleading(rules),
      ...yield* unknownTools(rules)
    ]
    problems.push(...found.map(({ hint, issue, line }) => ({
      file,
      line,
      issue: profile === undefined ? issue : `profile ${profile}: ${issue}`,
      hint,
      fatal: false
    })))
  }
  const { problems: now } = yield* listRules()
  const known = new Set(problems.filter(({ fatal }) => fatal).map(({ file, line }) => `${file}:${line}`))
  return [...problems, ...now.filter(({ fatal, file, line }) => !fatal || !known.has(`${file}:${line}`))]
})
