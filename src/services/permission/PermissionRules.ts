// The rules of `permissions.yaml` of user and project, as they are on disk now.
import { Context, type Effect } from "effect"
import type { RuleIndex } from "./rule/RuleIndex.ts"

/** A text of rules cannot be used, so nothing but looking is allowed. */
export interface RulesUnusable {
  readonly line: number
  readonly issue: string
  readonly hint: string
}

/** One text with rules. A file that was changed since a person accepted it counts as two: as accepted, and as it is. */
export interface RuleSource {
  /** "user:config/permissions.yaml" or "project:config/permissions.yaml". */
  readonly file: string
  readonly rules: RuleIndex
  /** Nobody has accepted it as it is: it makes things stricter, also than what holds without rules. */
  readonly narrows: boolean
  /** How many of its rules do not count, since they allow and nobody has accepted the file as it is. */
  readonly ignored: number
  readonly unusable: RulesUnusable | undefined
}

export class PermissionRules extends Context.Service<PermissionRules, {
  /** The user's, then the project's. Each rule of each source that speaks holds: the strictest decides. */
  readonly current: Effect.Effect<ReadonlyArray<RuleSource>>
}>()("kiwi/services/permission/PermissionRules") {}
