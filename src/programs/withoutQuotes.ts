// An error about an item may quote the item. For a restricted project, such an error is replaced by one that only names
// the file.
import { Effect } from "effect"
import { ItemInvalid, withoutWords } from "../services/item/ItemErrors.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"

/** Returns the function that makes an error safe to show now. */
export const withoutQuotes = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  const isRestricted = (yield* trust.state)._tag === "Restricted"
  return <E>(error: E) =>
    isRestricted && error instanceof ItemInvalid && error.item.startsWith("project:") ? withoutWords(error) : error
})
