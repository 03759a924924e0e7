// Whether a rule speaks about an access. A rule that allows is read exactly; one that asks or denies is read in the
// widest sense: any case, any spelling of a letter, whatever a command may start.
import type { Access, PathAccess } from "../../capability/Access.ts"
import { asCommand, openAsCommand, partlyAsCommand } from "../../capability/command/asCommand.ts"
import { matchesCommand, mayReach, reachesCommand } from "../../capability/command/CommandPattern.ts"
import { isSameLine } from "../../capability/command/exactLine.ts"
import * as HostPattern from "../../capability/scopes/HostPattern.ts"
import {
  literalPrefix,
  matchesName,
  matchesSegments,
  type PathPattern,
  segmentsOf
} from "../../capability/scopes/PathPattern.ts"
import { foldName } from "../../files/foldName.ts"
import { isYours, type SignedBy } from "../../integrity/Verifier.ts"
import type { Tier } from "../../item/ItemId.ts"
import { guardedRead, namesGuarded } from "../guardedPaths.ts"
import type { ActionName, Rule, RunNovelty } from "./Rule.ts"
import type { ScopedKind } from "./ruleSubject.ts"
import { kindOfCapability, scopedKinds, speaksAbout } from "./ruleSubject.ts"

/** The tool, directive or entry that an action is about. */
export interface RuleItem {
  readonly id: string
  /** `source/id`, or `category/id`. */
  readonly name: string
  readonly source: string | undefined
  readonly tier: Tier
  readonly digests: ReadonlyArray<string>
  /** Who signed each link of its chain. */
  readonly by: ReadonlyArray<SignedBy | undefined>
}

/** What rules may depend on, besides the access. */
export interface RuleQuery {
  /** `Caller.client` */
  readonly client: string
  readonly action: ActionName
  readonly item: RuleItem | undefined
  /** The foremost kind that the action touches: what scopes on a tool mean. */
  readonly foremost: ScopedKind | undefined
  /** The real path of the project's root. */
  readonly root: string
  /** Of a run: what is new about it. Undefined: not known, so that a rule about it holds. */
  readonly novelty?: ReadonlyArray<RunNovelty>
}

export const foremostOf = (accesses: ReadonlyArray<Access>): ScopedKind | undefined =>
  scopedKinds.find((kind) => accesses.some(({ _tag }) => _tag === kind))

/**
 * `perhaps`: the command cannot be taken apart, so nobody knows whether it is what the rule is about; or, once the gate
 * has looked at the parameters, the rule allows the tool with others.
 */
export type Match = "yes" | "perhaps" | "no"

const oneOf = (patterns: ReadonlyArray<string>, name: string): boolean =>
  patterns.some((pattern) => matchesName(pattern, name))

const matchesTool = (pattern: string, { id, name }: RuleItem): boolean =>
  pattern.includes("/") ? matchesName(pattern, name) : matchesName(pattern, id)

const isSigner = (wanted: string, by: SignedBy | undefined, exact: boolean): boolean => {
  if (by === undefined) return false
  if (wanted === "you") return isYours(by)
  if (by._tag !== "Signer" || by.standing._tag === "Unknown") return false
  const { signer } = by.standing
  if (signer.keyId === wanted || signer.publicKey === wanted) return !exact || by.kind === "person"
  // A project chooses the names of the signers that it proposes.
  const named = by.standing._tag === "You" || by.standing.by === "person"
  return signer.name === wanted && (!exact || (named && by.kind === "person"))
}

const signedAsWanted = (wanted: ReadonlyArray<string>, { by }: RuleItem, allows: boolean): boolean => {
  const fits = (one: SignedBy | undefined) => wanted.some((signer) => isSigner(signer, one, allows))
  // What you signed, and what came with Kiwi, may be below another's tool.
  return allows ? by.length > 0 && by.every((one) => fits(one) || (one !== undefined && isYours(one))) : by.some(fits)
}

const isFrom = (by: SignedBy | undefined, source: string | undefined): boolean =>
  by !== undefined && (isYours(by) || (by._tag === "Source" && by.name === source))

const defaultSigner = ["you"]

/** Everything that does not depend on the access. */
const holdsFor = (rule: Rule, query: RuleQuery): boolean => {
  const { item } = query
  const allows = rule.outcome === "allow"
  if (rule.caller !== undefined && !oneOf(rule.caller, query.client)) return false
  if (rule.action !== undefined && !rule.action.includes(query.action)) return false
  if (rule.tool !== undefined && (item === undefined || !matchesTool(rule.tool, item))) return false
  if (rule.tier !== undefined && (item === undefined || !rule.tier.includes(item.tier))) return false
  if (rule.digest !== undefined && !rule.digest.some((digest) => item?.digests.includes(digest) === true)) return false
  // A source's name says already where its items come from, and nothing of what they are built on.
  const ofSource = item?.source !== undefined && rule.tool?.startsWith(`${item.source}/`) === true
  if (allows && ofSource && !item.by.every((by) => isFrom(by, item.source))) return false
  const signer = rule.signer ?? (allows && rule.tool !== undefined && !ofSource ? defaultSigner : undefined)
  return signer === undefined || (item !== undefined && signedAsWanted(signer, item, allows))
}

export const absoluteOf = (path: string, root: string): string =>
  path.startsWith("/") ? path : path === "." ? root : `${root}/${path}`

/** Whether the project is in the folder. */
export const isAround = (path: string, root: string): boolean => path === "/" || `${root}/`.startsWith(`${path}/`)

/** The path that was taken apart last: an access is compared with many rules, one after the other. */
let last: { readonly path: string; readonly names: ReadonlyArray<string>; readonly folded: ReadonlyArray<string> } = {
  path: ".",
  names: [],
  folded: []
}

const namesOf = (path: string): typeof last => {
  if (path !== last.path) {
    const names = segmentsOf(path)
    last = { path, names, folded: names.map(foldName) }
  }
  return last
}

const matchesPath = (
  pattern: PathPattern,
  { below, capability, path }: PathAccess,
  root: string,
  allows: boolean
): boolean => {
  if (!pattern.absolute && path.startsWith("/")) return false
  const { folded, names } = namesOf(pattern.absolute ? absoluteOf(path, root) : path)
  if (allows) {
    // `src` is the folder alone, `src/**` everything in it, too.
    if (below === true && pattern.segments.at(-1) !== "**") return false
    return matchesSegments(pattern.segments, names) && (guardedRead(path) === undefined || namesGuarded(pattern))
  }
  if (matchesSegments(pattern.reach, folded)) return true
  if (capability !== "fs.delete") return false
  // Deleting a folder deletes what is below it.
  const prefix = literalPrefix(pattern)
  return prefix.length >= folded.length && folded.every((name, index) => name === prefix[index])
}

/** Whether something below the folder may match. */
const mayBeBelow = (pattern: PathPattern, { path }: PathAccess, root: string): boolean => {
  if (!pattern.absolute && path.startsWith("/")) return isAround(path, root)
  const { folded } = namesOf(pattern.absolute ? absoluteOf(path, root) : path)
  return literalPrefix(pattern).slice(0, folded.length).every((name, index) => name === folded[index])
}

const matchesScopes = ({ outcome, scopes }: Rule, access: Access, { root }: RuleQuery): Match => {
  const allows = outcome === "allow"
  const found = (is: boolean | undefined): Match => is === true ? "yes" : "no"
  switch (access._tag) {
    case "Path":
      return scopes?.Path?.some((pattern) => matchesPath(pattern, access, root, allows)) === true
        ? "yes"
        : !allows && access.below === true &&
            scopes?.Path?.some((pattern) => mayBeBelow(pattern, access, root)) === true
        ? "perhaps"
        : "no"
    case "Host":
      return found(scopes?.Host?.some((pattern) => HostPattern.matches(pattern, access.host, access.port, allows)))
    case "Secret":
      return found(
        scopes?.Secret?.some((name) =>
          allows ? matchesName(name, access.name) : matchesName(foldName(name), foldName(access.name))
        )
      )
    case "Command": {
      const { line } = access
      if (line !== undefined && scopes?.Line !== undefined && isSameLine(scopes.Line, line)) return "yes"
      if (scopes?.Command === undefined) return "no"
      const command = asCommand(access)
      if (command === undefined) {
        if (allows) return "no"
        const partly = partlyAsCommand(access)
        if (partly !== undefined && scopes.Command.some((pattern) => reachesCommand(pattern, partly))) return "yes"
        const open = openAsCommand(access)
        return open === undefined || scopes.Command.some((pattern) => mayReach(pattern, open)) ? "perhaps" : "no"
      }
      return found(
        scopes.Command.some((pattern) => allows ? matchesCommand(pattern, command) : reachesCommand(pattern, command))
      )
    }
    default:
      return "no"
  }
}

const isNew = (when: ReadonlyArray<RunNovelty>, { action, novelty }: RuleQuery, { _tag }: Access): boolean =>
  _tag === "Tool" && action === "run" && (novelty === undefined || when.some((one) => novelty.includes(one)))

/** Whether the rule is about this access in this query, whatever its `parameters` say. */
export const matchRule = (rule: Rule, query: RuleQuery, access: Access): Match => {
  const { capability, outcome, scopes, tool } = rule
  const isAny = capability === undefined && tool === undefined
  const about = isAny
    ? true
    : capability !== undefined
    ? speaksAbout(capability, access.capability, outcome)
    : scopes === undefined
    ? access._tag === "Tool"
    : access._tag === query.foremost
  if (!about || (rule.when !== undefined && !isNew(rule.when, query, access)) || !holdsFor(rule, query)) return "no"
  return scopes === undefined ? "yes" : matchesScopes(rule, access, query)
}

/** Whether `capability` of a rule can be about accesses of this kind at all. */
export const kindsOf = (rule: Rule): ReadonlyArray<ScopedKind> => {
  if (rule.capability !== undefined) {
    const kind = kindOfCapability(rule.capability)
    return kind === undefined ? [] : [kind]
  }
  return scopedKinds.filter((kind) => rule.scopes?.[kind] !== undefined)
}
