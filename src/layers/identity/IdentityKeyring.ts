// Your item key: in the keychain, or where that cannot be had when the key is made, in a file under `$KIWI_HOME/keys`.
// The choice is made once and recorded with the public side in `identity.json`: a keychain that is gone later is an
// error, never a reason for a second identity.
import { Effect, Layer, Option, Redacted, Schema } from "effect"
import { lstatSync, readFileSync, statSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import { Identity, KeyUnavailable } from "../../services/identity/Identity.ts"
import { Keychain } from "../../services/identity/Keychain.ts"
import type { HumanAct } from "../../services/trust/HumanAct.ts"
import { Signer } from "../../services/trust/SignerTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { SafeFiles } from "../../services/workspace/SafeFiles.ts"
import { errorCode } from "../process/errorCode.ts"
import { variable } from "../process/variable.ts"
import * as Ed25519 from "./ed25519.ts"
import * as KeyFile from "./keyFile.ts"

const Stored = Schema.Literals(["keychain", "key file (encrypted)", "key file (0600)"])

const Recorded = Schema.Struct({
  version: Schema.Literal(1),
  keyId: Signer.fields.keyId.check(Schema.isPattern(/^[0-9a-f]{16}$/)),
  publicKey: Signer.fields.publicKey.check(Schema.isPattern(/^[A-Za-z0-9_-]{43}$/)),
  name: Signer.fields.name,
  storedIn: Stored
})
type Recorded = typeof Recorded.Type

type State =
  | { readonly _tag: "None" }
  | { readonly _tag: "Damaged"; readonly detail: string }
  | { readonly _tag: "Recorded"; readonly identity: Recorded }

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Recorded))

const none: State = { _tag: "None" }
const damaged = (detail: string): State => ({ _tag: "Damaged", detail })

const parseIdentity = (text: string): State => {
  const identity = Option.getOrUndefined(decode(text))
  if (identity === undefined) return damaged("identity.json is not what Kiwi writes")
  if (Ed25519.keyIdOf(identity.publicKey) !== identity.keyId) return damaged("identity.json contradicts itself")
  return { _tag: "Recorded", identity }
}

const readIdentity = (file: string): State => {
  try {
    return parseIdentity(readFileSync(file, "utf8"))
  } catch (error) {
    return errorCode(error) === "ENOENT" ? none : damaged("identity.json cannot be read")
  }
}

const startOver = "Restore $KIWI_HOME from a backup. If the key is lost, move identity.json away: the next signature " +
  "makes a new identity, and what the old one signed must be signed again"

const keyFileRemedy: Readonly<Record<KeyFile.KeyFileIssue, string>> = {
  "is damaged": startOver,
  "is encrypted and KIWI_PASSPHRASE is not set": "Set KIWI_PASSPHRASE to the passphrase that the key was made with",
  "does not open by this passphrase": "Set KIWI_PASSPHRASE to the passphrase that the key was made with"
}

/** Your account on this machine; the number is -1 where there is none. */
const account = (): { readonly name: string; readonly uid: number } => {
  try {
    const { uid, username } = userInfo()
    return { name: username, uid }
  } catch {
    return { name: "you", uid: -1 }
  }
}

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const keychain = yield* Keychain
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const passphrase = Option.getOrUndefined(Option.map(yield* variable("KIWI_PASSPHRASE"), Redacted.make))

  const identityFile = join(home, "identity.json")
  let known: { readonly stamp: string; readonly state: State } | undefined

  const state = Effect.try((): State => {
    const stat = statSync(identityFile, { bigint: true, throwIfNoEntry: false })
    if (stat === undefined) return none
    const stamp = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`
    if (known?.stamp !== stamp) known = { stamp, state: readIdentity(identityFile) }
    return known.state
  }).pipe(Effect.orElseSucceed(() => damaged("$KIWI_HOME cannot be read")))

  const recorded = Effect.map(state, (s) => s._tag === "Recorded" ? s.identity : undefined)

  const toSigner = ({ keyId, name, publicKey }: Recorded): Signer => ({ keyId, publicKey, name })

  const existing = Effect.fnUntraced(function*() {
    const current = yield* state
    if (current._tag === "Damaged") {
      return yield* new KeyUnavailable({ detail: current.detail, remedy: startOver })
    }
    return current._tag === "Recorded" ? current.identity : undefined
  })

  const keyPath = (keyId: string): string => `keys/item-${keyId}.json`
  const entry = (keyId: string): string => `item:${keyId}`

  /** Puts the key where it will stay, and says where that is. */
  const store = Effect.fnUntraced(function*(pair: Ed25519.KeyPair, keyId: string) {
    const inKeychain = yield* keychain.set(entry(keyId), pair.privateKey).pipe(
      Effect.andThen(keychain.get(entry(keyId))),
      Effect.map((read) => read !== undefined && Redacted.value(read) === Redacted.value(pair.privateKey)),
      Effect.catch((error) =>
        Effect.as(
          Effect.logWarning(
            `${error.message}. Your signing key is kept in a file under $KIWI_HOME/keys instead, ` +
              (passphrase === undefined
                ? "readable for your user alone; kiwi doctor says how to have it encrypted"
                : "encrypted by KIWI_PASSPHRASE")
          ),
          false
        )
      )
    )
    if (inKeychain) return "keychain" as const
    const text = yield* Effect.mapError(
      KeyFile.print(pair, passphrase),
      () => new KeyUnavailable({ detail: "it could not be encrypted", remedy: "Free some memory and try again" })
    )
    yield* files.makeDirectory(home, "keys", { mode: 0o700 })
    yield* files.write(home, keyPath(keyId), text, { mode: 0o600, exclusive: true })
    return passphrase === undefined ? "key file (0600)" as const : "key file (encrypted)" as const
  })

  const create = Effect.fnUntraced(function*() {
    // Another process may have made it while this one waited for the lock.
    const other = yield* existing()
    if (other !== undefined) return other
    const pair = Ed25519.generate()
    const keyId = Ed25519.keyIdOf(pair.publicKey)
    const storedIn = yield* store(pair, keyId)
    const identity: Recorded = { version: 1, keyId, publicKey: pair.publicKey, name: account().name, storedIn }
    yield* files.write(home, "identity.json", `${JSON.stringify(identity, null, 2)}\n`, {
      mode: 0o600,
      exclusive: true
    })
    return identity
  })

  const ensure = Effect.gen(function*() {
    const identity = (yield* existing()) ?? (yield* locks.withLock(home, "identity")(create()))
    return toSigner(identity)
  }).pipe(Effect.withSpan("Identity.ensure"))

  const readKeyFile = (path: string) =>
    Effect.try({
      try: () => {
        const stat = lstatSync(join(home, path))
        if (!stat.isFile()) return { problem: "is not a regular file" }
        const { uid } = account()
        if (uid !== -1 && stat.uid !== uid) return { problem: "belongs to another user" }
        if (uid !== -1 && (stat.mode & 0o077) !== 0) return { problem: "is readable for others" }
        return { text: readFileSync(join(home, path), "utf8") }
      },
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

  const openKey = Effect.fnUntraced(function*({ keyId, publicKey, storedIn }: Recorded) {
    if (storedIn === "keychain") {
      const secret = yield* Effect.mapError(
        keychain.get(entry(keyId)),
        (error) =>
          new KeyUnavailable({
            detail: `it is in the keychain. ${error.message}`,
            remedy: "Unlock the keychain and try again; without it nothing can be signed here",
            cause: error
          })
      )
      if (secret !== undefined) return secret
      return yield* new KeyUnavailable({ detail: "it is no longer in the keychain", remedy: startOver })
    }
    const path = keyPath(keyId)
    return yield* Effect.mapError(
      KeyFile.parse(yield* readKeyFile(path), publicKey, passphrase),
      (issue) => new KeyUnavailable({ detail: `the key file ${path} ${issue}`, remedy: keyFileRemedy[issue] })
    )
  })

  const sign = Effect.fn("Identity.sign")(function*(messages: ReadonlyArray<string>, act: HumanAct) {
    if (act.kind !== "sign") {
      return yield* new KeyUnavailable({
        detail: "it signs only what a person has agreed to sign",
        remedy: "Ask the person to sign: kiwi sign TYPE ID"
      })
    }
    const identity = yield* existing()
    if (identity === undefined) {
      return yield* new KeyUnavailable({ detail: "there is none yet", remedy: "kiwi identity" })
    }
    const privateKey = yield* openKey(identity)
    const signatures = Ed25519.sign({ publicKey: identity.publicKey, privateKey }, messages)
    if (signatures !== undefined) return signatures
    return yield* new KeyUnavailable({ detail: "what is kept is not the key of your identity", remedy: startOver })
  })

  const opensWith = Effect.fn("Identity.opensWith")(function*(typed: Redacted.Redacted) {
    const identity = yield* recorded
    if (identity?.storedIn !== "key file (encrypted)") return undefined
    return yield* readKeyFile(keyPath(identity.keyId)).pipe(
      Effect.flatMap((text) => KeyFile.parse(text, identity.publicKey, typed)),
      Effect.match({ onSuccess: () => true, onFailure: () => false })
    )
  })

  return Identity.of({
    current: Effect.map(recorded, (identity) => identity && toSigner(identity)),
    storedIn: Effect.map(recorded, (identity) => identity?.storedIn),
    ensure,
    sign,
    opensWith
  })
})

export const layer = Layer.effect(Identity, make)
