// Copying an item into another tier, where it is then found and believed as its signer's.
import { Effect } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import { ItemCopies } from "../services/integrity/ItemCopies.ts"
import { showLocation } from "../services/item/Item.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import type { ItemQuery } from "../services/item/ItemStore.ts"
import { findListed } from "../services/permission/profile/callerProfile.ts"
import { govern } from "./govern.ts"

export interface Copied {
  /** "project:tools/math/add.py" */
  readonly to: string
  /** The older version that was there. */
  readonly replaced?: string
  /** False if the same bytes were there already. */
  readonly written: boolean
}

/** Names the very item that the caller's profile lists. */
const listedQuery = Effect.fnUntraced(function*(caller: Caller, query: ItemQuery) {
  if (caller.profile === undefined) return query
  const { location } = yield* findListed(caller, query)
  return { id: qualifiedId(location), type: location.type, tier: location.tier }
})

export const copyItem = Effect.fn("copyItem")(function*(
  { destination, version, ...query }: ItemQuery & {
    readonly destination: "project" | "user"
    readonly version?: string | undefined
  },
  caller: Caller
) {
  const copies = yield* ItemCopies
  return yield* govern(
    {
      caller,
      operation: "load",
      subject: {
        item: query.id,
        ...(query.type === undefined ? {} : { type: query.type }),
        ...(query.tier === undefined ? {} : { tier: query.tier })
      },
      parameters: { destination, version },
      lost: "warn"
    },
    Effect.fnUntraced(function*(about) {
      const planned = yield* copies.plan(yield* listedQuery(caller, query), destination, version)
      const { snapshot } = planned.verified
      about({ type: planned.to.type, version: planned.item.version, digest: snapshot.digest })
      return { planned, action: { _tag: "Copy", to: planned.to, verified: planned.verified } as const }
    }),
    ({ planned }) =>
      Effect.as(
        copies.perform(planned),
        {
          to: showLocation(planned.to),
          ...(planned.replaces === undefined ? {} : { replaced: planned.replaces }),
          written: !planned.same
        } satisfies Copied as Copied
      )
  )
})
