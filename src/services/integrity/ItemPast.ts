// An item's record and what follows from it: pure functions, shared by every ItemHistory.
import { Result, Schema, SemVer } from "effect"
import { showLocation } from "../item/Item.ts"
import type { ItemLocation } from "../item/Item.ts"
import { GoesBack } from "./Verifier.ts"

/** The limit of answers kept for one item. The oldest is dropped first, and asked for again. */
export const maxAgreed = 100

/** What a person was told about the bytes that they accepted. */
export const Agreed = Schema.Struct({
  digest: Schema.String,
  /** They are older than a version that has run. */
  goesBack: Schema.Boolean,
  /** The item hides another. */
  hides: Schema.Boolean
})
export type Agreed = typeof Agreed.Type

export const ItemPast = Schema.Struct({
  format: Schema.Literal(1),
  /** For people who read the file, since its name is a hash. */
  item: Schema.String,
  /** The last bytes that a person accepted here. */
  lastSigned: Schema.optional(Schema.Struct({ digest: Schema.String })),
  /** The newest version that has run: its bytes of the last run, and the key that signed them. */
  newest: Schema.optional(Schema.Struct({
    version: Schema.String,
    digest: Schema.String,
    keyId: Schema.optional(Schema.String)
  })),
  /** Which of the two is more recent. */
  latest: Schema.optional(Schema.Literals(["signed", "ran"])),
  /** The last answer for each digest that goes back or hides, newest last. At most `maxAgreed`. */
  agreed: Schema.optional(Schema.Array(Agreed))
})
export type ItemPast = typeof ItemPast.Type

export const nothing = (location: ItemLocation): ItemPast => ({ format: 1, item: showLocation(location) })

/** `a` < `b`. An invalid version is lower than any other. */
export const isBelow = (a: string, b: string): boolean => {
  const [left, right] = [SemVer.parse(a), SemVer.parse(b)]
  if (Result.isFailure(right)) return false
  return Result.isFailure(left) || SemVer.isLessThan(left.success, right.success)
}

/** Whether a run of these bytes changes the record. A run of older bytes does not. */
export const isNews = ({ lastSigned, latest, newest }: ItemPast, version: string, digest: string): boolean =>
  newest === undefined || isBelow(newest.version, version) ||
  (!isBelow(version, newest.version) &&
    (digest !== newest.digest || (latest === "signed" && lastSigned?.digest !== digest)))

/** The newest version that has run, if `version` is below it. */
export const goesBackFrom = ({ newest }: ItemPast, version: string): string | undefined =>
  newest !== undefined && isBelow(version, newest.version) ? newest.version : undefined

export const afterRun = (past: ItemPast, version: string, digest: string, keyId?: string): ItemPast => ({
  ...past,
  newest: { version, digest, ...(keyId === undefined ? {} : { keyId }) },
  latest: "ran"
})

/** Bytes that were accepted on this machine: a person agreed to them, or they ran. */
export type Accepted =
  | { readonly _tag: "Signed"; readonly digest: string }
  | { readonly _tag: "Ran"; readonly digest: string; readonly version: string; readonly keyId: string | undefined }

const signedLast = ({ lastSigned }: ItemPast): Accepted | undefined => lastSigned && { _tag: "Signed", ...lastSigned }

/** The newest that ran. If a person has signed it too, it counts as theirs, whoever signed what ran. */
export const acceptedNewest = (past: ItemPast): Accepted | undefined => {
  const { lastSigned, newest } = past
  if (newest === undefined || newest.digest === lastSigned?.digest) return newest && signedLast(past)
  return { _tag: "Ran", digest: newest.digest, version: newest.version, keyId: newest.keyId }
}

/**
 * What a diff compares with: the newest that ran, or what a person accepted since. Nothing in the project influences
 * it.
 */
export const acceptedLast = (past: ItemPast): Accepted | undefined =>
  past.latest === "signed" || past.newest === undefined ? signedLast(past) : acceptedNewest(past)

export const afterSigning = (past: ItemPast, answer: Agreed): ItemPast => {
  const others = (past.agreed ?? []).filter(({ digest }) => digest !== answer.digest)
  return {
    ...past,
    lastSigned: { digest: answer.digest },
    latest: "signed",
    agreed: (answer.goesBack || answer.hides ? [...others, answer] : others).slice(-maxAgreed)
  }
}

const hasAgreed = ({ agreed = [] }: ItemPast, digest: string, to: "goesBack" | "hides"): boolean =>
  agreed.some((answer) => answer.digest === digest && answer[to])

export const checkForward = (
  past: ItemPast,
  location: ItemLocation,
  version: string,
  digest: string
): GoesBack | undefined => {
  const from = goesBackFrom(past, version)
  return from === undefined || hasAgreed(past, digest, "goesBack")
    ? undefined
    : new GoesBack({
      item: showLocation(location),
      from,
      to: version,
      command: `kiwi sign ${location.type} ${location.id}`
    })
}

export const acceptedHiding = (past: ItemPast, digest: string): boolean => hasAgreed(past, digest, "hides")
