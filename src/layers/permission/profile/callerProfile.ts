// The profile of a caller, and finding items for one: what a profile does not list is refused in the same words as what
// does not exist.
import { Context, Effect } from "effect"
import type { Caller } from "../../../services/call/Caller.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import { showLocation } from "../../../services/item/Item.ts"
import { ItemAmbiguous, type ItemNotFound } from "../../../services/item/ItemErrors.ts"
import { qualifiedId } from "../../../services/item/ItemPath.ts"
import type { FoundItem, ItemQuery } from "../../../services/item/ItemStore.ts"
import { ItemStore } from "../../../services/item/ItemStore.ts"
import { PermissionDenied } from "../../../services/permission/PermissionGate.ts"
import { isListed, listsEverything, type Profile, profileRule } from "../../../services/permission/profile/Profile.ts"
import { Profiles } from "../../../services/permission/profile/Profiles.ts"

export const notInProfile = (profile: string, id: string) =>
  new PermissionDenied({
    what: `use "${safeLine(id, 200)}"`,
    rule: profileRule(profile),
    reason: `the profile ${profile} has no such item`,
    hint: "Search shows what there is. What a profile has is a person's choice"
  })

const unusable = (profile: string, reason: string) =>
  new PermissionDenied({
    what: "use anything",
    rule: profileRule(profile),
    reason: `the profile ${profile} cannot be used: ${safeLine(reason, 400)}`,
    hint: `kiwi profile show ${profile}`
  })

const profileOf = Effect.fnUntraced(function*({ current }: Profiles["Service"], name: string) {
  const profiles = yield* Effect.mapError(current, ({ message }) => unusable(name, message))
  return profiles.get(name) ?? (yield* unusable(name, "no file has it any more"))
})

/** The caller's profile; undefined if it has none. Without one that can be used, everything is refused. */
export const makeProfileOf = Effect.map(
  Profiles,
  (profiles) => ({ profile }: Caller): Effect.Effect<Profile | undefined, PermissionDenied> =>
    profile === undefined ? Effect.undefined : profileOf(profiles, profile)
)

/** The highest item that the profile lists: one that it does not list hides none that it does. */
const listedOf = (profile: Profile, { hides, location }: FoundItem, tier: ItemQuery["tier"]): FoundItem | undefined => {
  if (isListed(profile, location)) return { hides, location }
  const at = tier === undefined ? hides.findIndex((lower) => isListed(profile, lower)) : -1
  const lower = hides[at]
  return lower === undefined ? undefined : { location: lower, hides: hides.slice(at + 1) }
}

const among = Effect.fnUntraced(function*(store: ItemStore["Service"], profile: Profile, query: ItemQuery) {
  const refused = notInProfile(profile.name, query.id)
  const found = yield* store.find(query).pipe(
    Effect.catchTags({
      ItemAmbiguous: Effect.fnUntraced(function*() {
        const all = yield* store.list({ type: query.type, tier: query.tier })
        const named = all.filter((one) =>
          (one.id === query.id || qualifiedId(one) === query.id) && isListed(profile, one)
        )
        const [first] = named
        if (first === undefined) return yield* refused
        const isOne = named.every((one) => one.type === first.type && qualifiedId(one) === qualifiedId(first))
        return isOne
          ? yield* store.find({ id: qualifiedId(first), type: first.type, tier: first.tier })
          : yield* new ItemAmbiguous({ id: query.id, candidates: named.map(showLocation) })
      })
    }),
    // What it names may not be in the profile. Of one that has every item, nothing is concealed.
    Effect.catchTag("ItemNotFound", (error) => Effect.fail(listsEverything(profile) ? error : refused))
  )
  return listedOf(profile, found, query.tier) ?? (yield* refused)
})

const findAs = (
  store: ItemStore["Service"],
  profiles: Profiles["Service"],
  { profile: name }: Caller,
  query: ItemQuery
): Effect.Effect<FoundItem, Effect.Error<ReturnType<typeof among>> | ItemNotFound> =>
  name === undefined
    ? store.find(query)
    : Effect.flatMap(profileOf(profiles, name), (profile) => among(store, profile, query))

/** Finds as `ItemStore.find` does, among the items that the caller's profile lists. */
export const makeFindListed = Effect.gen(function*() {
  const store = yield* ItemStore
  const profiles = yield* Profiles
  return (caller: Caller, query: ItemQuery) => findAs(store, profiles, caller, query)
})

/** The same for one item. */
export const findListed = (caller: Caller, query: ItemQuery) =>
  Effect.contextWith((services: Context.Context<ItemStore | Profiles>) =>
    findAs(Context.get(services, ItemStore), Context.get(services, Profiles), caller, query)
  )
