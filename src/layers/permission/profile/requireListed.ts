// Refuses an action about an item that is not in the caller's profile. The gate asks it about every action, so that no
// way to an item leads around the profile.
import { Effect, Option } from "effect"
import { parseItemRef } from "../../../services/item/ItemId.ts"
import type { Action } from "../../../services/permission/Action.ts"
import { notInProfile } from "../../../services/permission/profile/callerProfile.ts"
import { isListed, type Listable, type Profile } from "../../../services/permission/profile/Profile.ts"

/** `category/id` of a lock, whose tier is not known. */
const ofLock = (name: string): Listable | undefined =>
  Option.getOrUndefined(
    Option.map(parseItemRef(name), ({ category = "", id }) => ({ type: "tool", id, category }))
  )

/** Undefined: an item that no profile can list. */
const itemsOf = (action: Action): ReadonlyArray<Listable | undefined> => {
  switch (action._tag) {
    case "Run":
    case "UseSecret":
    case "SyncPackages":
      return [action.chain.leaf.tool.location]
    case "Follow":
      return [action.location]
    case "Load":
      return [action.item]
    case "Copy":
      return [action.to]
    case "Sign":
      return action.items
    case "ChangeLocks":
      return action.tools.map(ofLock)
    case "Search":
    case "ReadOutput":
    case "Help":
    case "SignalHelp":
      return []
  }
}

export const requireListed = (profile: Profile, action: Action) => {
  const items = itemsOf(action)
  const at = items.findIndex((item) => item === undefined || !isListed(profile, item))
  return at < 0 ? Effect.void : Effect.fail(notInProfile(profile.name, items[at]?.id ?? "a lock"))
}
