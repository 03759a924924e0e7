// Stores one value of a person's secrets: in the keychain, or in a file below `$KIWI_HOME`. A value is in the keychain
// only if it could be read back. A keychain too small for the value (Windows takes 1,280 characters) stores the key of
// a sealed file. The caller records where the value is.
//
// Gotcha: `put` replaces in place. In the keychain the key of a file has its own entry and is reused, so that a
// process that is killed at any point leaves the previous value, wherever it was.
import { Data, Effect, Redacted, Result } from "effect"
import { userInfo } from "node:os"
import { dirname, join } from "node:path"
import { type ReadRefused, SafeFiles, WriteRefused } from "../../services/files/SafeFiles.ts"
import { Keychain, KeychainUnavailable } from "../../services/identity/Keychain.ts"
import type { VaultPlace } from "../../services/vault/VaultPlace.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { attempt } from "../files/attempt.ts"
import { statOf } from "../files/believe.ts"
import * as SealedText from "./sealedText.ts"

/** Where one value can be stored. */
export interface Slot {
  /** The keychain's entry. The key of a sealed file has this name followed by ":key". */
  readonly account: string
  /** The file, relative to `$KIWI_HOME`. */
  readonly path: string
  /** The subject that a sealed text is bound to. */
  readonly boundTo: string
  /** Whether the value is base64url. Otherwise it is any text, and a file contains it in base64url. */
  readonly isBase64Url: boolean
  /** Whether a passphrase also seals it in the keychain. */
  readonly isAlwaysSealed: boolean
  /** For the warning that the value is not in the keychain: "Your signing key". */
  readonly title: string
  /** For that warning: how to give a plain file a passphrase. */
  readonly advice?: string
}

export type Where = "keychain" | "file"

/** The value is stored but cannot be read now, or it is gone. */
export class ValueUnavailable extends Data.TaggedError("ValueUnavailable")<{
  /** `keychain`: it cannot be used. `lost`: it no longer has the value. `file`: the file or its key cannot be used. */
  readonly why: "keychain" | "lost" | "file"
  /** For `file`, the text after the file's path: "is missing". Otherwise a sentence. */
  readonly detail: string
  /** If there is more to do than restoring a backup. */
  readonly remedy?: string | undefined
  readonly cause?: KeychainUnavailable | undefined
}> {}

/** The value is sealed, and this passphrase does not open it. */
export class ValueLocked extends Data.TaggedError("ValueLocked")<{ readonly passphrase: "missing" | "wrong" }> {}

/** There is not enough memory for sealing with a passphrase. */
export class NotSealed extends Data.TaggedError("NotSealed")<{}> {}

/** In UTF-16 units: the limit of the smallest keychain. */
const smallestKeychain = 1_280
const maxFile = 1_048_576

const read: Record<ReadRefused["issue"], string> = {
  symlink: "is not a regular file",
  outside: "is not a regular file",
  "not-a-file": "is not a regular file",
  "too-large": "is damaged",
  foreign: "belongs to another user, or others can write it",
  permission: "cannot be read",
  io: "cannot be read"
}

const inFile = ({ isBase64Url }: Slot, value: Redacted.Redacted) =>
  isBase64Url ? value : Redacted.make(Buffer.from(Redacted.value(value), "utf8").toString("base64url"))
const fromFile = ({ isBase64Url }: Slot, value: Redacted.Redacted) =>
  isBase64Url ? value : Redacted.make(Buffer.from(Redacted.value(value), "base64url").toString("utf8"))

export const make = Effect.fnUntraced(function*(kdf?: SealedText.Kdf) {
  const { home } = yield* KiwiHome
  const keychain = yield* Keychain
  const files = yield* SafeFiles

  /** Windows has no file modes; its user id is -1. */
  const hasModes = (attempt(() => userInfo().uid) ?? -1) !== -1

  const keyOf = ({ account }: Slot) => `${account}:key`

  const seal = (slot: Slot, value: Redacted.Redacted, passphrase: Redacted.Redacted | undefined) =>
    Effect.mapError(SealedText.print(inFile(slot, value), slot.boundTo, passphrase, kdf), () => new NotSealed())

  const writeKeychain = Effect.fnUntraced(function*(account: string, text: Redacted.Redacted) {
    yield* keychain.set(account, text)
    const kept = yield* keychain.get(account)
    if (kept === undefined || Redacted.value(kept) !== Redacted.value(text)) {
      return yield* new KeychainUnavailable({ detail: "it does not keep what is stored in it" })
    }
  })

  const writeFile = Effect.fnUntraced(function*({ path }: Slot, text: string) {
    yield* files.makeDirectory(home, dirname(path), { mode: 0o700 })
    yield* files.write(home, path, text, { mode: 0o600 })
    const kept = yield* Effect.orElseSucceed(files.read(home, path, { maxBytes: maxFile }), () => undefined)
    if (kept === undefined || new TextDecoder().decode(kept) !== text) {
      return yield* new WriteRefused({ path, issue: "io", detail: "what was written there cannot be read back" })
    }
  })

  const fileKey = Effect.fnUntraced(function*(slot: Slot) {
    const before = yield* keychain.get(keyOf(slot))
    if (before !== undefined && SealedText.isKey(before)) return before
    const key = SealedText.newKey()
    yield* writeKeychain(keyOf(slot), key)
    return key
  })

  const putInKeychain = Effect.fnUntraced(
    function*(slot: Slot, value: Redacted.Redacted, passphrase: Redacted.Redacted | undefined) {
      const isSealed = slot.isAlwaysSealed && passphrase !== undefined
      yield* writeKeychain(slot.account, isSealed ? Redacted.make(yield* seal(slot, value, passphrase)) : value)
      return isSealed ? "keychain (encrypted)" as const : "keychain" as const
    }
  )

  const putInFile = Effect.fnUntraced(
    function*(slot: Slot, value: Redacted.Redacted, passphrase: Redacted.Redacted | undefined) {
      yield* writeFile(slot, yield* seal(slot, value, passphrase))
      return passphrase === undefined ? "file (0600)" as const : "file (encrypted)" as const
    }
  )

  /** Stores the value in this place only. */
  const putAt = (
    where: Where,
    ...args: Parameters<typeof putInFile>
  ): Effect.Effect<VaultPlace, NotSealed | WriteRefused | KeychainUnavailable> =>
    where === "keychain" ? putInKeychain(...args) : putInFile(...args)

  /** Stores the value in the keychain, or in a file with one warning. Returns where. */
  const put = Effect.fnUntraced(function*(
    slot: Slot,
    value: Redacted.Redacted,
    passphrase: Redacted.Redacted | undefined
  ): Effect.fn.Return<VaultPlace, NotSealed | WriteRefused> {
    const kept = yield* Effect.result(putInKeychain(slot, value, passphrase))
    if (Result.isSuccess(kept)) return kept.success
    const isSealed = slot.isAlwaysSealed && passphrase !== undefined
    if (!isSealed && Redacted.value(value).length > smallestKeychain) {
      const key = yield* Effect.option(fileKey(slot))
      if (key._tag === "Some") {
        yield* writeFile(slot, SealedText.printWithKey(inFile(slot, value), slot.boundTo, key.value))
        return "file (key in the keychain)"
      }
    }
    const why = kept.failure._tag === "KeychainUnavailable" ? `${kept.failure.message}. ` : ""
    yield* Effect.logWarning(
      `${why}${slot.title} is kept in a file under $KIWI_HOME/${dirname(slot.path)} instead, ` +
        (passphrase === undefined
          ? `readable for your user alone${slot.advice === undefined ? "" : `; ${slot.advice}`}`
          : "encrypted by KIWI_PASSPHRASE")
    )
    return yield* putInFile(slot, value, passphrase)
  })

  const unreadable = (detail: string, remedy?: string) => new ValueUnavailable({ why: "file", detail, remedy })
  const noKeychain = (cause: KeychainUnavailable) =>
    new ValueUnavailable({ why: "keychain", detail: cause.message, remedy: cause.remediation, cause })

  const readFile = Effect.fnUntraced(function*({ path }: Slot) {
    const stat = statOf(join(home, path))
    const bytes = yield* Effect.mapError(
      files.read(home, path, { maxBytes: maxFile, own: true }),
      (error) => unreadable(read[error.issue], error.remediation)
    )
    if (stat === undefined || bytes === undefined) return yield* unreadable("is missing")
    if (hasModes && (Number(stat.mode) & 0o077) !== 0) {
      return yield* unreadable("is readable for others", `chmod 600 $KIWI_HOME/${path}`)
    }
    return new TextDecoder().decode(bytes)
  })

  const readKeychain = Effect.fnUntraced(function*(account: string) {
    const secret = yield* Effect.mapError(keychain.get(account), noKeychain)
    return secret ?? (yield* new ValueUnavailable({ why: "lost", detail: "it is no longer in the keychain" }))
  })

  const readText = (slot: Slot, where: Where): Effect.Effect<string, ValueUnavailable> =>
    where === "file" ? readFile(slot) : Effect.map(readKeychain(slot.account), Redacted.value)

  const open = Effect.fnUntraced(
    function*(slot: Slot, text: string, passphrase: Redacted.Redacted | undefined) {
      const key = SealedText.protectionOf(text) === "aes-256-gcm" ? yield* readKeychain(keyOf(slot)) : undefined
      const opened = yield* Effect.mapError(
        SealedText.parse(text, slot.boundTo, { passphrase, key }),
        (issue) =>
          issue === "damaged"
            ? unreadable("is damaged")
            : new ValueLocked({ passphrase: issue === "missing-passphrase" ? "missing" : "wrong" })
      )
      return fromFile(slot, opened)
    }
  )

  /** Returns the value. How a file opens is read from the file, whatever its recorded place. */
  const get = Effect.fnUntraced(function*(slot: Slot, where: Where, passphrase: Redacted.Redacted | undefined) {
    const text = yield* readText(slot, where)
    // A value that was never sealed is in the keychain as it is. The sealed form is JSON, which base64url cannot be.
    return where === "keychain" && !(slot.isAlwaysSealed && text.startsWith("{"))
      ? Redacted.make(text)
      : yield* open(slot, text, passphrase)
  })

  /** Whether the passphrase opens the value. Undefined if the value is not sealed by one, so that any opens it. */
  const opensWith = Effect.fnUntraced(function*(slot: Slot, where: Where, passphrase: Redacted.Redacted) {
    const text = yield* readText(slot, where)
    if (SealedText.protectionOf(text) !== "scrypt-aes-256-gcm") return undefined
    return yield* Effect.match(open(slot, text, passphrase), { onSuccess: () => true, onFailure: () => false })
  })

  /** An absent file is fine, here and below. */
  const removeFile = ({ path }: Slot) => files.remove(home, path)
  const removeEntry = ({ account }: Slot) => Effect.asVoid(keychain.remove(account))

  /** Removes the key of a sealed file that is gone. A key that remains opens nothing. */
  const removeKey = (slot: Slot) => Effect.ignore(keychain.remove(keyOf(slot)))

  return { put, putAt, putInFile, get, opensWith, removeFile, removeEntry, removeKey }
})
