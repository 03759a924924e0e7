// Where the private key is kept: an entry of the keychain, or a file under `$KIWI_HOME/keys`. Each copy has a name of its
// own, with the key's id and a number, so that a new form never overwrites the one that it replaces.
import { Data, Effect, Redacted, Schema } from "effect"
import { lstatSync, readFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { KeyUnavailable } from "../../../services/identity/Identity.ts"
import type { Keychain, KeychainUnavailable } from "../../../services/identity/Keychain.ts"
import type { SafeFiles, WriteRefused } from "../../../services/workspace/SafeFiles.ts"
import { errorCode } from "../../process/errorCode.ts"
import type * as Ed25519 from "../ed25519.ts"
import * as KeyFile from "../keyFile.ts"

export const KeyPlace = Schema.Struct({
  storedIn: Schema.Literals(["keychain", "keychain (encrypted)", "key file (encrypted)", "key file (0600)"]),
  /** Which copy. The first has no number. */
  copy: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })))
})
export type KeyPlace = typeof KeyPlace.Type
type StoredIn = KeyPlace["storedIn"]

export const isInKeychain = ({ storedIn }: KeyPlace): boolean => storedIn.startsWith("keychain")

/** How the same kind of place is called with a passphrase, or without one. */
export const storedAs = (where: "keychain" | "file", encrypted: boolean): StoredIn =>
  where === "keychain"
    ? encrypted ? "keychain (encrypted)" : "keychain"
    : encrypted
    ? "key file (encrypted)"
    : "key file (0600)"

/** The key is encrypted, and this passphrase does not open it. */
export class NotOpened extends Data.TaggedError("NotOpened")<{ readonly passphrase: "missing" | "wrong" }> {}

export const startOver =
  "Restore $KIWI_HOME from a backup. If the key is lost, move identity.json away: the next signature " +
  "makes a new identity, and what the old one signed must be signed again"

const uidOf = (): number => {
  try {
    return userInfo().uid
  } catch {
    return -1
  }
}

/** Why the file cannot be used, or its text. */
const readPrivate = (file: string) => {
  const stat = lstatSync(file)
  if (!stat.isFile()) return { problem: "is not a regular file" }
  const uid = uidOf()
  if (uid !== -1 && stat.uid !== uid) return { problem: "belongs to another user" }
  if (uid !== -1 && (stat.mode & 0o077) !== 0) return { problem: "is readable for others" }
  return { text: readFileSync(file, "utf8") }
}

export const make = (options: {
  readonly home: string
  readonly keychain: Keychain["Service"]
  readonly files: SafeFiles["Service"]
  readonly kdf: KeyFile.Kdf | undefined
}) => {
  const { files, home, keychain } = options

  const suffix = ({ copy }: KeyPlace, separator: string): string => copy === undefined ? "" : `${separator}${copy}`
  const entry = (keyId: string, place: KeyPlace): string => `item:${keyId}${suffix(place, ":")}`
  const pathOf = (keyId: string, place: KeyPlace): string => `keys/item-${keyId}${suffix(place, ".")}.json`

  const print = (pair: Ed25519.KeyPair, place: KeyPlace, passphrase: Redacted.Redacted | undefined) =>
    passphrase === undefined && isInKeychain(place)
      ? Effect.succeed(Redacted.value(pair.privateKey))
      : Effect.mapError(
        KeyFile.print(pair, passphrase, options.kdf),
        () => new KeyUnavailable({ detail: "it could not be encrypted", remedy: "Free some memory and try again" })
      )

  const writeFile = Effect.fnUntraced(function*(
    keyId: string,
    place: KeyPlace,
    pair: Ed25519.KeyPair,
    passphrase: Redacted.Redacted | undefined
  ) {
    const text = yield* print(pair, place, passphrase)
    yield* files.makeDirectory(home, "keys", { mode: 0o700 })
    yield* files.write(home, pathOf(keyId, place), text, { mode: 0o600 })
  })

  const writeKeychain = Effect.fnUntraced(function*(
    keyId: string,
    place: KeyPlace,
    pair: Ed25519.KeyPair,
    passphrase: Redacted.Redacted | undefined
  ) {
    yield* keychain.set(entry(keyId, place), Redacted.make(yield* print(pair, place, passphrase)))
  })

  const write = (
    ...args: Parameters<typeof writeFile>
  ): Effect.Effect<void, KeyUnavailable | KeychainUnavailable | WriteRefused> =>
    isInKeychain(args[1]) ? writeKeychain(...args) : writeFile(...args)

  const readFile = (path: string) =>
    Effect.try({
      try: () => readPrivate(join(home, path)),
      catch: (error) => errorCode(error) === "ENOENT" ? "is missing" : "cannot be read"
    }).pipe(
      Effect.flatMap((read) => read.text === undefined ? Effect.fail(read.problem) : Effect.succeed(read.text)),
      Effect.mapError((problem) =>
        new KeyUnavailable({
          detail: `the key file ${path} ${problem}`,
          remedy: problem === "is readable for others" ? `chmod 600 $KIWI_HOME/${path}` : startOver
        })
      )
    )

  const readKeychain = Effect.fnUntraced(function*(account: string) {
    const secret = yield* Effect.mapError(
      keychain.get(account),
      (error) =>
        new KeyUnavailable({
          detail: `it is in the keychain. ${error.message}`,
          remedy: "Unlock the keychain and try again; without it nothing can be signed here",
          cause: error
        })
    )
    if (secret !== undefined) return Redacted.value(secret)
    return yield* new KeyUnavailable({ detail: "it is no longer in the keychain", remedy: startOver })
  })

  const read = (keyId: string, place: KeyPlace): Effect.Effect<string, KeyUnavailable> =>
    isInKeychain(place) ? readKeychain(entry(keyId, place)) : readFile(pathOf(keyId, place))

  const open = Effect.fnUntraced(function*(
    { keyId, publicKey }: { readonly keyId: string; readonly publicKey: string },
    place: KeyPlace,
    passphrase: Redacted.Redacted | undefined
  ) {
    const text = yield* read(keyId, place)
    // A plain key is no JSON: it is kept in the keychain as it is.
    if (isInKeychain(place) && !text.startsWith("{")) return Redacted.make(text, { label: "private key" })
    return yield* Effect.mapError(KeyFile.parse(text, publicKey, passphrase), (issue) => {
      if (issue === "is damaged") {
        const what = isInKeychain(place) ? "what the keychain has" : `the key file ${pathOf(keyId, place)}`
        return new KeyUnavailable({ detail: `${what} ${issue}`, remedy: startOver })
      }
      return new NotOpened({ passphrase: passphrase === undefined ? "missing" : "wrong" })
    })
  })

  /** `undefined` for a key that is not sealed, whatever its place is called: it would open by any passphrase. */
  const opensWith = Effect.fnUntraced(function*(
    { keyId, publicKey }: { readonly keyId: string; readonly publicKey: string },
    place: KeyPlace,
    passphrase: Redacted.Redacted
  ) {
    const text = yield* read(keyId, place)
    if (!KeyFile.isSealed(text)) return undefined
    return yield* Effect.match(KeyFile.parse(text, publicKey, passphrase), {
      onSuccess: () => true,
      onFailure: () => false
    })
  })

  /** Absent is fine. */
  const remove = (keyId: string, place: KeyPlace) =>
    isInKeychain(place)
      ? Effect.asVoid(keychain.remove(entry(keyId, place)))
      : files.remove(home, pathOf(keyId, place))

  return { write, writeFile, open, opensWith, remove }
}
