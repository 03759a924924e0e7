// Named item sources that a search could not include.
import { Effect } from "effect"
import { namedSources } from "../services/item/ItemSources.ts"

/** One note for each named source that does not answer now. */
export const unansweredSources = Effect.gen(function*() {
  const { named } = yield* namedSources
  const listings = yield* Effect.forEach(named.values(), ({ listing, tier }) => listing(tier, "tool"), {
    concurrency: "unbounded"
  })
  const notes = listings.flatMap(({ problems }) => problems)
    .filter(({ _tag }) => _tag === "ItemUnreadable").map(({ message }) => message)
  const found: { readonly notes?: ReadonlyArray<string> } = notes.length === 0 ? {} : { notes }
  return found
})
