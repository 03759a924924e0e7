// Your item key: in the keychain or, if there is no keychain when the key is made, in a file under `$KIWI_HOME/keys`.
// The choice is made once and recorded with the public key in `identity.json`: a keychain that is missing later is an
// error and never a reason for a second identity. `identity.json` also says which copy of the key is current, so that
// changing the passphrase is one atomic write: the copy under the old passphrase stays until the new one was read back.
import { Effect, Layer, Option, Predicate, Redacted, Schema } from "effect"
import { userInfo } from "node:os"
import { join } from "node:path"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import type { PassphraseChange } from "../../services/identity/Identity.ts"
import { Identity, isEncryptedPlace, KeyLocked, KeyUnavailable } from "../../services/identity/Identity.ts"
import type { HumanAct } from "../../services/trust/HumanAct.ts"
import { Signer } from "../../services/trust/SignerTrust.ts"
import { isInKeychain } from "../../services/vault/VaultPlace.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Readings } from "../files/believe.ts"
import type { Kdf } from "../vault/sealedText.ts"
import * as Slots from "../vault/slots.ts"
import * as Ed25519 from "./ed25519.ts"
import { KeyPlace, type PublicSide, slotOf, startOver, storedAs, unavailable, whereOf } from "./key/keySlots.ts"
import { checkNewPassphrase, givenPassphrase } from "./key/newPassphrase.ts"
import { checkChange, passphraseRequest } from "./key/passphraseChange.ts"

const Recorded = Schema.Struct({
  version: Schema.Literal(1),
  keyId: Signer.fields.keyId.check(Schema.isPattern(/^[0-9a-f]{16}$/)),
  publicKey: Signer.fields.publicKey.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/)),
  name: Signer.fields.name,
  ...KeyPlace.fields,
  /** A copy that is not current and must be removed: an incomplete one, or the previous one. */
  leftover: Schema.optionalKey(KeyPlace)
})
type Recorded = typeof Recorded.Type

type State =
  | { readonly _tag: "None" }
  | { readonly _tag: "Damaged"; readonly detail: string; readonly remedy: string }
  | { readonly _tag: "Recorded"; readonly identity: Recorded }

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Recorded))

const fileName = "identity.json"
const maxBytes = 65_536

const none: State = { _tag: "None" }
const damaged = (detail: string, remedy = startOver): State => ({ _tag: "Damaged", detail, remedy })

const parseIdentity = (text: string): State => {
  const identity = Option.getOrUndefined(decode(text))
  if (identity === undefined) return damaged("identity.json is not what Kiwi writes")
  // The copy to remove must never be the current one.
  const counts = identity.leftover === undefined || identity.leftover.copy !== identity.copy
  if (Ed25519.keyIdOf(identity.publicKey) !== identity.keyId || !counts) {
    return damaged("identity.json contradicts itself")
  }
  return { _tag: "Recorded", identity }
}

/** Your account on this machine. In a container it may have a number but no name. */
const accountName = (): string => {
  try {
    return userInfo().username
  } catch {
    return "user"
  }
}

const noKey = () => new KeyUnavailable({ detail: "there is none yet", remedy: "kiwi identity" })
const notItsKey = () =>
  new KeyUnavailable({ detail: "the stored key is not the key of your identity", remedy: startOver })

const placeOf = ({ copy, storedIn }: KeyPlace): KeyPlace => copy === undefined ? { storedIn } : { storedIn, copy }

export const make = Effect.fnUntraced(function*(options: {
  /** The cost parameters for deriving a key from a passphrase. */
  readonly kdf?: Kdf
}) {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const passphrase = yield* givenPassphrase

  const withIdentityLock = locks.withLock(home, "identity")
  const readings = new Readings<State>()

  const readIdentity = files.read(home, fileName, { maxBytes, own: true }).pipe(Effect.match({
    onSuccess: (bytes) => bytes === undefined ? none : parseIdentity(new TextDecoder().decode(bytes)),
    onFailure: ({ detail, issue, remediation }) =>
      damaged(
        `identity.json is not read: ${detail}`,
        issue === "symlink" || issue === "foreign" || issue === "permission" ? remediation : startOver
      )
  }))

  const state = Effect.map(readings.getEffect(join(home, fileName), readIdentity), (found) => found ?? none)

  const recorded = Effect.map(state, (s) => s._tag === "Recorded" ? s.identity : undefined)

  const toSigner = ({ keyId, name, publicKey }: Recorded): Signer => ({ keyId, publicKey, name })

  const existing = Effect.fnUntraced(function*() {
    const current = yield* state
    if (current._tag === "Damaged") {
      return yield* new KeyUnavailable({ detail: current.detail, remedy: current.remedy })
    }
    return current._tag === "Recorded" ? current.identity : undefined
  })

  const slots = yield* Slots.make(options.kdf)

  const open = (identity: PublicSide, place: KeyPlace, typed: Redacted.Redacted | undefined) => {
    const [slot, where] = [slotOf(identity, place), whereOf(place)]
    return Effect.catchTag(
      slots.get(slot, where, typed),
      "ValueUnavailable",
      (error) => Effect.fail(unavailable(slot, where, error))
    )
  }

  const record = (identity: Recorded, exclusive = false) =>
    files.write(home, fileName, `${JSON.stringify(identity, null, 2)}\n`, { mode: 0o600, exclusive })

  /** Stores the key and returns where. */
  const store = Effect.fnUntraced(function*(
    pair: Ed25519.KeyPair,
    keyId: string,
    sealedBy: Redacted.Redacted | undefined
  ) {
    yield* checkNewPassphrase(sealedBy)
    const slot = slotOf({ keyId, publicKey: pair.publicKey }, {})
    const place = yield* Effect.catchTag(
      slots.put(slot, pair.privateKey, sealedBy),
      "NotSealed",
      () =>
        Effect.fail(
          new KeyUnavailable({ detail: "it could not be encrypted", remedy: "Free some memory and try again" })
        )
    )
    return { storedIn: storedAs(isInKeychain(place) ? "keychain" : "file", sealedBy !== undefined) }
  })

  const create = Effect.fnUntraced(function*(sealedBy: Redacted.Redacted | undefined) {
    // Another process may have made the key while this one waited for the lock.
    const other = yield* existing()
    if (other !== undefined) return other
    const pair = Ed25519.generate()
    const keyId = Ed25519.keyIdOf(pair.publicKey)
    const place = yield* store(pair, keyId, sealedBy)
    const identity: Recorded = { version: 1, keyId, publicKey: pair.publicKey, name: accountName(), ...place }
    yield* record(identity, true)
    return identity
  })

  const ensure = Effect.fn("Identity.ensure")(function*(act?: Pick<HumanAct, "agent">) {
    const sealedBy = act?.agent === undefined ? passphrase : undefined
    const identity = (yield* existing()) ?? (yield* withIdentityLock(create(sealedBy)))
    return toSigner(identity)
  })

  /** Removes the copy that is not current, if there is one. */
  const tidy = Effect.fnUntraced(function*(identity: Recorded) {
    const { leftover, ...tidied } = identity
    if (leftover === undefined) return identity
    const slot = slotOf(identity, leftover)
    yield* whereOf(leftover) === "keychain" ? slots.removeEntry(slot) : slots.removeFile(slot)
    yield* record(tidied)
    return tidied
  })

  const sign = Effect.fn("Identity.sign")(function*(messages: ReadonlyArray<string>, act: HumanAct) {
    if (act.kind !== "sign") {
      return yield* new KeyUnavailable({
        detail: "it signs only what a person has agreed to sign",
        remedy: "Ask the person to sign: kiwi sign TYPE ID"
      })
    }
    // The passphrase cannot change while the key is open.
    const pair = yield* withIdentityLock(Effect.gen(function*() {
      const identity = yield* Effect.filterOrFail(existing(), Predicate.isNotUndefined, noKey)
      const privateKey = yield* open(identity, identity, act.passphrase ?? passphrase).pipe(
        Effect.mapError((error) =>
          error._tag === "KeyUnavailable" ? error : new KeyLocked({
            passphrase: error.passphrase === "wrong" && act.passphrase === undefined
              ? "wrong-variable"
              : error.passphrase,
            command: "kiwi sign tool ID",
            overClient: act.by === "elicitation"
          })
        )
      )
      yield* Effect.ignore(tidy(identity))
      return { publicKey: identity.publicKey, privateKey }
    }))
    const signatures = Ed25519.sign(pair, messages)
    return signatures ?? (yield* notItsKey())
  })

  const opensWith = Effect.fn("Identity.opensWith")(function*(typed: Redacted.Redacted) {
    const identity = yield* recorded
    if (identity === undefined || !isEncryptedPlace(identity.storedIn)) return undefined
    return yield* Effect.orElseSucceed(
      slots.opensWith(slotOf(identity, identity), whereOf(identity), typed),
      () => false
    )
  })

  const locked = Effect.gen(function*() {
    const identity = yield* recorded
    if (identity === undefined || !isEncryptedPlace(identity.storedIn)) return undefined
    if (passphrase === undefined) return "missing"
    return (yield* opensWith(passphrase)) === false ? "wrong-variable" : undefined
  }).pipe(Effect.withSpan("Identity.locked"))

  const proposePassphrase = Effect.fnUntraced(function*(what: "encrypt" | "decrypt") {
    const identity = yield* existing()
    return identity === undefined ? yield* noKey() : passphraseRequest(what, identity.keyId)
  })

  /** Writes the next copy and reads it back. Only then does it become current, and the previous one is removed. */
  const replaceCopy = Effect.fnUntraced(function*(before: Recorded, pair: Ed25519.KeyPair, to: PassphraseChange["to"]) {
    const where = whereOf(before)
    const next: KeyPlace = { storedIn: storedAs(where, to !== undefined), copy: (before.copy ?? 0) + 1 }
    const begun: Recorded = { ...before, leftover: next }
    yield* record(begun)
    yield* slots.putAt(where, slotOf(before, next), pair.privateKey, to).pipe(
      Effect.mapError((error) =>
        new KeyUnavailable({
          detail: "its new copy could not be written and read back, so the key is unchanged" +
            (error.message === "" ? "" : `. ${error.message}`),
          remedy: "kiwi doctor checks the keychain and the disk; then try again"
        })
      ),
      Effect.tapError(() => Effect.ignore(tidy(begun)))
    )
    const after: Recorded = { ...before, ...next, leftover: placeOf(before) }
    yield* record(after)
    yield* tidy(after).pipe(Effect.catch((error) =>
      Effect.logWarning(
        `${error.message}. The previous copy of your signing key is still there; the next signature removes it`
      )
    ))
  })

  const changePassphrase = Effect.fn("Identity.changePassphrase")(function*(change: PassphraseChange, act: HumanAct) {
    yield* withIdentityLock(Effect.gen(function*() {
      const identity = yield* Effect.filterOrFail(existing(), Predicate.isNotUndefined, noKey)
      const command = yield* checkChange(change, act, identity.keyId)
      const privateKey = yield* Effect.catchTag(
        open(identity, identity, change.from),
        "ValueLocked",
        (wrong) => Effect.fail(new KeyLocked({ passphrase: wrong.passphrase, command, overClient: false }))
      )
      const pair = { publicKey: identity.publicKey, privateKey }
      if (Ed25519.sign(pair, []) === undefined) return yield* notItsKey()
      yield* tidy(identity).pipe(
        Effect.catchTag("KeychainUnavailable", (cause) =>
          Effect.fail(
            new KeyUnavailable({
              detail: `a previous copy of it could not be removed.  ${cause.message}`,
              remedy: cause.remediation,
              cause
            })
          )),
        Effect.flatMap((tidied) => replaceCopy(tidied, pair, change.to)),
        Effect.uninterruptible
      )
    }))
  })

  return Identity.of({
    current: Effect.map(recorded, (identity) => identity && toSigner(identity)),
    storedIn: Effect.map(recorded, (identity) => identity?.storedIn),
    ensure,
    sign,
    opensWith,
    locked,
    proposePassphrase,
    changePassphrase
  })
})

export const layerWith = (options: Parameters<typeof make>[0]) => Layer.effect(Identity, make(options))

export const layer = layerWith({})
