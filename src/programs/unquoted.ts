// What is wrong with an item quotes it, and what a restricted project's files say is not repeated: they are named.
import { Effect } from "effect"
import { ItemInvalid, withoutWords } from "../services/item/ItemErrors.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"

/** The error as it may be told now. */
export const unquoted = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  const isRestricted = (yield* trust.state)._tag === "Restricted"
  return <E>(error: E) =>
    isRestricted && error instanceof ItemInvalid && error.item.startsWith("project:") ? withoutWords(error) : error
})
