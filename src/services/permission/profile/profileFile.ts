// The text of a `profiles.yaml`: a map from a profile's name to what it holds.
import { Effect, Result, Schema } from "effect"
import { decodeNode } from "../../workspace/controlFile.ts"
import { ControlInvalid, maxControlBytes, parseControlYaml } from "../../workspace/controlYaml.ts"
import type { ControlIssue, YamlNode } from "../../workspace/controlYaml.ts"
import type { LinedRule } from "../rule/ruleFile.ts"
import { makeRules } from "../rule/ruleFile.ts"
import type { RuleContext } from "../rule/ruleSubject.ts"
import { isProfileName, ProfileEntry } from "./Profile.ts"

const ProfileFile = Schema.Struct({ profiles: Schema.optionalKey(Schema.Record(Schema.String, ProfileEntry)) })

export interface WrittenProfile {
  readonly line: number
  readonly entry: ProfileEntry
  readonly rules: ReadonlyArray<LinedRule>
}

const inMap = (node: YamlNode | undefined, key: string) => node?._tag === "Map" ? node.entries.get(key) : undefined

/** Fails with every issue, at its line. One invalid profile makes the whole file invalid. */
export const parseProfileFile = Effect.fnUntraced(function*(bytes: Uint8Array, context: RuleContext) {
  const root = yield* parseControlYaml(bytes, maxControlBytes)
  const { profiles = {} } = yield* Effect.fromResult(decodeNode(root, ProfileFile))
  const node = inMap(root, "profiles")?.value
  const found = new Map<string, WrittenProfile>()
  const issues: Array<ControlIssue> = []
  for (const [name, entry] of Object.entries(profiles)) {
    const { column = 1, line = 1, value } = inMap(node, name) ?? {}
    if (!isProfileName(name)) {
      const issue = "has a name that is not 1 to 48 letters, digits, dots, - and _, beginning with a letter or digit"
      issues.push({ line, column, path: "a profile", issue })
      continue
    }
    const rules = makeRules(inMap(value, "rules")?.value, entry.rules ?? [], context, `profiles.${name}.rules`)
    if (Result.isFailure(rules)) issues.push(...rules.failure)
    else found.set(name, { line, entry, rules: rules.success })
  }
  const [first, ...rest] = issues
  return first === undefined ? found : yield* new ControlInvalid({ issues: [first, ...rest.slice(0, 19)] })
})
