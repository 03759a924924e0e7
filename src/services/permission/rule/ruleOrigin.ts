// Where a rule is from, read from its name in decisions and in the audit.
import type { Tier } from "../../item/ItemId.ts"

export type RuleOrigin =
  /** A line of a file: "user:config/permissions.yaml:4", "project:config/profiles.yaml:7". */
  | { readonly _tag: "File"; readonly tier: Exclude<Tier, "system">; readonly file: string; readonly line: number }
  /** An answer of a person: "remembered k7f3m2qa9x". */
  | { readonly _tag: "Remembered"; readonly id: string }
  /** What Kiwi ships with, by its name: "project-changes". */
  | { readonly _tag: "Shipped" }

export const originOf = (name: string): RuleOrigin => {
  const [, tier, file, line] = /^(user|project):(\S+\.yaml):(\d+)$/.exec(name) ?? []
  if (file !== undefined) return { _tag: "File", tier: tier === "user" ? tier : "project", file, line: Number(line) }
  const id = /^remembered (\S+)$/.exec(name)?.[1]
  return id === undefined ? { _tag: "Shipped" } : { _tag: "Remembered", id }
}
