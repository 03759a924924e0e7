// The profile of a caller, and finding items for one: what a profile does not list is refused in the same words as what
// does not exist.
import { Effect } from "effect"
import type { Caller } from "../../call/Caller.ts"
import { safeLine } from "../../error/safeText.ts"
import { showLocation } from "../../item/Item.ts"
import { ItemAmbiguous } from "../../item/ItemErrors.ts"
import { qualifiedId } from "../../item/ItemPath.ts"
import type { FoundItem, ItemQuery } from "../../item/ItemStore.ts"
import { ItemStore } from "../../item/ItemStore.ts"
import { PermissionDenied } from "../PermissionGate.ts"
import { isListed, listsEverything, type Profile, profileRule } from "./Profile.ts"
import { Profiles } from "./Profiles.ts"

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

const profileNamed = Effect.fnUntraced(function*(name: string) {
  const { current } = yield* Profiles
  const profiles = yield* Effect.mapError(current, ({ message }) => unusable(name, message))
  return profiles.get(name) ?? (yield* unusable(name, "no file has it any more"))
})

/** The caller's profile; undefined if it has none. Without one that can be used, everything is refused. */
export const profileOf = ({ profile }: Caller): Effect.Effect<Profile | undefined, PermissionDenied, Profiles> =>
  profile === undefined ? Effect.undefined : profileNamed(profile)

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

/** Finds as `ItemStore.find` does, among the items that the caller's profile lists. */
export const findListed = Effect.fnUntraced(function*(caller: Caller, query: ItemQuery) {
  const store = yield* ItemStore
  const profile = yield* profileOf(caller)
  return yield* profile === undefined ? store.find(query) : among(store, profile, query)
})
