// What is remembered of an item, and what follows from it: pure, shared by every ItemHistory.
import { Result, Schema, SemVer } from "effect"
import { showLocation } from "../item/Item.ts"
import type { ItemLocation } from "../item/Item.ts"
import { GoesBack } from "./Verifier.ts"

export const ItemPast = Schema.Struct({
  format: Schema.Literal(1),
  /** For whoever reads the file: its name is a hash. */
  item: Schema.String,
  /** The last bytes that a person signed here, and whether they were shown that the item hides another. */
  lastSigned: Schema.optional(Schema.Struct({ digest: Schema.String, hides: Schema.Boolean })),
  /** The newest version that has run. */
  newest: Schema.optional(Schema.Struct({ version: Schema.String, digest: Schema.String })),
  /** What a person has signed since the newest version ran; it may be older. */
  accepted: Schema.optional(Schema.String)
})
export type ItemPast = typeof ItemPast.Type

export const nothing = (location: ItemLocation): ItemPast => ({ format: 1, item: showLocation(location) })

/** `a` < `b`. A version that is none counts as the lowest. */
export const isBelow = (a: string, b: string): boolean => {
  const [left, right] = [SemVer.parse(a), SemVer.parse(b)]
  if (Result.isFailure(right)) return false
  return Result.isFailure(left) || SemVer.isLessThan(left.success, right.success)
}

export const isNewer = (past: ItemPast, version: string): boolean =>
  past.newest === undefined || isBelow(past.newest.version, version)

export const afterRun = ({ accepted, ...past }: ItemPast, version: string, digest: string): ItemPast => ({
  ...past,
  newest: { version, digest },
  // What was accepted counts until something newer runs: after that, going back to it is a new question.
  ...(accepted === digest ? { accepted } : {})
})

export const afterSigning = (past: ItemPast, digest: string, hides: boolean): ItemPast => ({
  ...past,
  lastSigned: { digest, hides },
  accepted: digest
})

export const checkForward = (
  past: ItemPast,
  location: ItemLocation,
  version: string,
  digest: string
): GoesBack | undefined =>
  past.newest === undefined || !isBelow(version, past.newest.version) || past.accepted === digest
    ? undefined
    : new GoesBack({
      item: showLocation(location),
      from: past.newest.version,
      to: version,
      command: `kiwi sign ${location.type} ${location.id}`
    })

export const acceptedHiding = (past: ItemPast, digest: string): boolean =>
  past.lastSigned !== undefined && past.lastSigned.hides && past.lastSigned.digest === digest
