// A profile: what its callers see and may run, rules for them, their lock mode, and the tools that their server lists by
// name. Every text that defines it holds: an item is in it if each of them lists the item, and the strictest rule and
// lock mode count.
import { Schema } from "effect"
import { matchesName } from "../../capability/scopes/PathPattern.ts"
import type { ItemLocation } from "../../item/Item.ts"
import { ItemType, Tier } from "../../item/ItemId.ts"
import { LockMode, stricter } from "../../lockfile/LockMode.ts"
import type { RuleSource } from "../PermissionRules.ts"
import { RuleEntry } from "../rule/Rule.ts"

/** At most this many tools are listed by name. */
const mostExposed = 10

const profileName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,47}$/

export const isProfileName = (name: string): boolean => profileName.test(name)

const word = "[A-Za-z0-9_][A-Za-z0-9_.-]*"
const wild = "[A-Za-z0-9_*][A-Za-z0-9_.*-]*"
const itemPattern = new RegExp(`^(?:${wild}/)*${wild}$`)
const serverPattern = new RegExp(`^${wild}$`)
const toolRef = new RegExp(`^(?:${word}/)*${word}$`)
const longestPattern = 256

/** Also of a union with a map: what is wrong inside of the map is then still named. */
const where = <A>(pattern: RegExp, message: string) =>
  Schema.makeFilter((given: A) => typeof given !== "string" || (given.length <= longestPattern && pattern.test(given)))
    .annotate({ message })

const anItem = "must be an id or category/id, in which * is any characters"
const aTool = "must be the id of one tool, or category/id"

const oneOrMany = <S extends Schema.ConstraintDecoder<string>>(item: S, message: string) =>
  Schema.Union([item, Schema.NonEmptyArray(item)]).annotate({ message })

const ListedEntry = Schema.Union([
  Schema.String,
  Schema.Struct({
    id: Schema.optionalKey(Schema.String.check(where(itemPattern, anItem))),
    type: Schema.optionalKey(oneOrMany(ItemType, "must be directive, tool or knowledge, or a list of them")),
    tier: Schema.optionalKey(oneOrMany(Tier, "must be project, user or system, or a list of them"))
  })
]).check(where(itemPattern, anItem))
type ListedEntry = typeof ListedEntry.Type

const ExposedEntry = Schema.Union([
  Schema.String,
  Schema.Struct({ id: Schema.String.check(where(toolRef, aTool)), tier: Schema.optionalKey(Tier) })
]).check(where(toolRef, aTool))

/** A profile as it is written. */
export const ProfileEntry = Schema.Struct({
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(300))),
  items: Schema.optionalKey(Schema.Array(ListedEntry)),
  servers: Schema.optionalKey(Schema.Array(
    Schema.String.check(where(serverPattern, "must be the name of a server, in which * is any characters"))
  )),
  rules: Schema.optionalKey(Schema.Array(RuleEntry)),
  lockfile_mode: Schema.optionalKey(LockMode),
  expose: Schema.optionalKey(
    Schema.Array(ExposedEntry).check(
      Schema.isMaxLength(mostExposed).annotate({ message: `must have at most ${mostExposed} tools` })
    )
  )
})
export type ProfileEntry = typeof ProfileEntry.Type

/** A tool that is listed by name. */
export interface ExposedRef {
  /** `id`, `category/id` or `server/id`. */
  readonly id: string
  /** Default: the first of project, user and system that has it and that the profile lists. */
  readonly tier: Tier | undefined
}

/** What one text says of a profile. */
export interface ProfileText {
  /** "user:config/profiles.yaml" or "project:config/profiles.yaml". */
  readonly file: string
  readonly line: number
  readonly entry: ProfileEntry
  /** `narrows`: nobody has accepted the text as it is, so that it allows and exposes nothing. */
  readonly rules: RuleSource
}

export interface Profile {
  readonly name: string
  /** The user's, then the project's. At least one. */
  readonly texts: ReadonlyArray<ProfileText>
}

/** What of an item's location a profile is about. `tier`: undefined is no tier that a profile can name. */
export type Listable = Pick<ItemLocation, "type" | "id" | "category" | "source"> & { readonly tier?: Tier | undefined }

/** Tools for the results of a caller's own calls: without them a long call or output would be lost. */
const ofEveryProfile = new Set(["call.result", "call.stop", "output_read"])

const fits = <A>(wanted: A | ReadonlyArray<A> | undefined, given: A | undefined): boolean =>
  wanted === undefined || (given !== undefined && [wanted].flat().includes(given))

const namesItem = (pattern: string, { category, id, source }: Listable): boolean =>
  pattern.includes("/")
    ? matchesName(pattern, source !== undefined ? `${source.name}/${id}` : category === "" ? id : `${category}/${id}`)
    : source === undefined && matchesName(pattern, id)

const listsAs = (entry: ListedEntry, item: Listable): boolean =>
  typeof entry === "string"
    ? namesItem(entry, item)
    : fits(entry.type, item.type) && fits(entry.tier, item.tier) &&
      (entry.id === undefined ? item.source === undefined : namesItem(entry.id, item))

const refOf = (entry: typeof ExposedEntry.Type): ExposedRef =>
  typeof entry === "string" ? { id: entry, tier: undefined } : { id: entry.id, tier: entry.tier }

const isExposed = ({ id, tier }: ExposedRef, item: Listable): boolean =>
  item.type === "tool" && (tier === undefined || tier === item.tier) && namesItem(id, item)

const textLists = ({ entry: { expose = [], items, servers } }: ProfileText, item: Listable): boolean =>
  (items === undefined && servers === undefined) ||
  items?.some((one) => listsAs(one, item)) === true ||
  (item.source !== undefined && servers?.some((name) => matchesName(name, item.source!.name)) === true) ||
  expose.some((one) => isExposed(refOf(one), item))

/** Whether the item is in the profile. An item that is not is treated like one that does not exist. */
export const isListed = ({ texts }: Profile, item: Listable): boolean =>
  (item.tier === "system" && ofEveryProfile.has(item.id)) || texts.every((text) => textLists(text, item))

/** The strictest of all texts, or undefined if none names one. */
export const lockModeOf = ({ texts }: Profile): LockMode | undefined =>
  texts.reduce<LockMode | undefined>(
    (mode, { entry: { lockfile_mode: own } }) => own === undefined ? mode : stricter(own, mode),
    undefined
  )

/** The tools to list by name: those of the first accepted text that names any. */
export const exposedBy = ({ texts }: Profile): ReadonlyArray<ExposedRef> =>
  texts.find(({ entry, rules }) => entry.expose !== undefined && !rules.narrows)?.entry.expose?.map(refOf) ?? []

/** The tools that only texts name which nobody has accepted as they are: none of them is listed by name. */
export const exposedUnaccepted = (profile: Profile): ReadonlyArray<ExposedRef & { readonly file: string }> =>
  exposedBy(profile).length > 0 ?
    [] :
    profile.texts.flatMap(({ entry: { expose = [] }, file, rules }) =>
      rules.narrows ? expose.map((one) => ({ ...refOf(one), file })) : []
    )

/** Whether every item is in the profile. */
export const listsEverything = ({ texts }: Profile): boolean =>
  texts.every(({ entry: { items, servers } }) => items === undefined && servers === undefined)

/** The rule by which a profile refuses. */
export const profileRule = (name: string): string => `profile:${name}`
