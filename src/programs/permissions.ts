// Permissions: what the rules are, and changing them. Changing is an act of a person, who sees the difference first.
import { Effect, Predicate, TextDiff } from "effect"
import { sha256 } from "../layers/identity/sha256.ts"
import { addRules, removeRule } from "../layers/permission/editRuleFile.ts"
import { projectRulesFile, projectRulesPath, userRulesFile, userRulesPath } from "../layers/permission/ruleSources.ts"
import type { Caller } from "../services/call/Caller.ts"
import { safeLine } from "../services/error/safeText.ts"
import { ReadRefused, SafeFiles } from "../services/files/SafeFiles.ts"
import { lineEdits } from "../services/integrity/SigningPlan.ts"
import { RuleRefused } from "../services/permission/PermissionErrors.ts"
import { PermissionRules } from "../services/permission/PermissionRules.ts"
import type { RememberedRule } from "../services/permission/RememberedRules.ts"
import { RememberedRules } from "../services/permission/RememberedRules.ts"
import type { Outcome, RuleEntry } from "../services/permission/rule/Rule.ts"
import { showRule } from "../services/permission/rule/Rule.ts"
import { shellWord } from "../services/text/shellWord.ts"
import type { HumanRequest } from "../services/trust/HumanAct.ts"
import { noProject, ProjectRestricted, ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { maxControlBytes } from "../services/workspace/controlYaml.ts"
import { KiwiHome } from "../services/workspace/KiwiHome.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { asHuman } from "./humanAct.ts"

export type RuleTier = "user" | "project"

export interface ListedRule {
  /** What `kiwi permissions remove` takes: "user:4", "project:4", or a remembered rule's own. */
  readonly id: string
  readonly rule: string
  readonly reason?: string
}

export interface ListedRules {
  readonly rules: ReadonlyArray<ListedRule>
  readonly remembered: ReadonlyArray<RememberedRule>
  readonly problems: ReadonlyArray<RuleProblem>
}

export interface RuleProblem {
  readonly file: string
  readonly line: number
  readonly issue: string
  readonly hint: string
  /** Nothing is allowed until it is fixed. */
  readonly fatal: boolean
}

const ignoredProblem = (file: string, count: number): RuleProblem => ({
  file,
  line: 1,
  issue: `${count} ${
    count === 1 ? "rule that allows does" : "rules that allow do"
  } not count, since nobody has accepted this file as it is`,
  hint: "kiwi trust project",
  fatal: false
})

export const listRules = Effect.fn("listRules")(function*() {
  const sources = yield* (yield* PermissionRules).current
  const remembered = yield* (yield* RememberedRules).current
  const problems = sources.flatMap(({ file, ignored, unusable }): ReadonlyArray<RuleProblem> => [
    ...(unusable === undefined ? [] : [{ file, ...unusable, fatal: true }]),
    ...(ignored === 0 ? [] : [ignoredProblem(file, ignored)])
  ])
  const rules = sources.flatMap(({ file, rules: { rules: placed } }) =>
    placed.map(({ line, rule }): ListedRule => ({
      id: `${file === userRulesFile ? "user" : "project"}:${line}`,
      rule: showRule(rule),
      ...(rule.reason === undefined ? {} : { reason: rule.reason })
    }))
  )
  return { rules, remembered, problems } satisfies ListedRules as ListedRules
})

export const placeOf = Effect.fnUntraced(function*(tier: RuleTier) {
  const { userSpace } = yield* KiwiHome
  if (tier === "user") return { root: userSpace, path: userRulesPath, file: userRulesFile }
  const { project } = yield* Workspace
  const { root } = yield* Effect.fromOption(project).pipe(
    Effect.mapError(() => new ProjectRestricted({ reason: noProject, remedy: "kiwi init" }))
  )
  return { root, path: projectRulesPath, file: projectRulesFile }
})

export const readAt = Effect.fnUntraced(function*(root: string, path: string) {
  const files = yield* SafeFiles
  return yield* files.read(root, path, { maxBytes: maxControlBytes, own: true })
})

export const diffOf = (before: Uint8Array | undefined, after: string): string =>
  TextDiff.unified(lineEdits(new TextDecoder().decode(before), after)).trimEnd()

/** Shows the difference to a person, and writes the file if they agree. */
export const editRules = Effect.fnUntraced(function*<E, R>(
  { command, tier, title }: { readonly tier: RuleTier; readonly title: string; readonly command: string },
  caller: Caller,
  change: (file: string, before: Uint8Array | undefined) => Effect.Effect<string, E, R>
) {
  const files = yield* SafeFiles
  const trust = yield* ProjectTrust
  const { file, path, root } = yield* placeOf(tier)
  const before = yield* readAt(root, path)
  const text = yield* change(file, before)
  const after = new TextEncoder().encode(text)
  const request: HumanRequest = {
    kind: "permissions",
    title,
    details: `${file}:\n\n${diffOf(before, text)}`,
    digest: sha256(JSON.stringify([root, path, text])),
    command
  }
  const accepted = yield* asHuman(request, caller, () =>
    Effect.gen(function*() {
      const now = yield* readAt(root, path)
      if (Buffer.compare(now ?? new Uint8Array(), before ?? new Uint8Array()) !== 0) {
        return yield* new ReadRefused({ path, issue: "io", detail: "it has changed since it was shown" })
      }
      yield* files.write(root, path, after, tier === "user" ? { mode: 0o600 } : {})
      return tier === "user" || (yield* trust.renew(path, { before, after }))
    }))
  return { file, accepted }
})

export interface AddRuleInput {
  readonly outcome: Outcome
  /** "fs.write(src/**)" */
  readonly rule: string
  readonly tier: RuleTier
  readonly conditions: Pick<RuleEntry, "caller" | "signer" | "reason">
}

const flags = ({ conditions, tier }: AddRuleInput): string =>
  [
    ...(tier === "project" ? ["--tier project"] : []),
    ...Object.entries(conditions).flatMap(([name, value]) =>
      typeof value === "string" ? [`--${name} ${shellWord(value)}`] : []
    )
  ].map((flag) => ` ${flag}`).join("")

/** Adds a rule to the user's file or to the project's. */
export const addPermission = Effect.fn("addPermission")(function*(input: AddRuleInput, caller: Caller) {
  const { userHome } = yield* KiwiHome
  const { conditions, outcome, rule, tier } = input
  const entry: RuleEntry = { [outcome]: rule, ...conditions }
  return yield* editRules(
    {
      tier,
      title: `Add the rule ${outcome}: ${safeLine(rule)}`,
      command: `kiwi permissions ${outcome} ${shellWord(rule)}${flags(input)}`
    },
    caller,
    (file, before) => addRules(file, before, [entry], { home: userHome })
  )
})

const unknownRule = (id: string) =>
  new RuleRefused({
    rule: safeLine(JSON.stringify(id), 120),
    issue: "is not the id of a rule",
    hint: "kiwi permissions list shows every rule with its id"
  })

/** Removes a rule of a file, or a remembered one. Returns the rule. */
export const removePermission = Effect.fn("removePermission")(function*(id: string, caller: Caller) {
  const { userHome } = yield* KiwiHome
  const command = `kiwi permissions remove ${shellWord(id)}`
  const inFile = /^(user|project):(\d{1,7})$/.exec(id)
  if (inFile !== null) {
    const tier = inFile[1] === "user" ? "user" : "project"
    return yield* editRules(
      { tier, title: `Remove the rule ${id}`, command },
      caller,
      (file, before) =>
        Effect.filterOrFail(
          removeRule(file, before, Number(inFile[2]), { home: userHome }),
          Predicate.isNotUndefined,
          () => unknownRule(id)
        )
    )
  }
  const remembered = yield* RememberedRules
  const known = (yield* remembered.current).find((one) => one.id === id)
  if (known === undefined) return yield* unknownRule(id)
  const request: HumanRequest = {
    kind: "permissions",
    title: `Forget the answer ${id}`,
    details: `${known.rule}\nfor ${known.client}, ${known.by}, ${known.at}`,
    digest: sha256(JSON.stringify(["forget", known])),
    command
  }
  yield* asHuman(request, caller, () => remembered.remove([id]))
  return { file: "remembered", accepted: true }
})
