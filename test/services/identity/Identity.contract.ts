// What every identity does.
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { Identity, isEncryptedPlace } from "../../../src/services/identity/Identity.ts"
import type { HumanAct, HumanRequest } from "../../../src/services/trust/HumanAct.ts"

export const signing: HumanAct = { kind: "sign", digest: "", by: "terminal" }

/** By the raw public key alone, as anybody who was given it would. */
export const isSignedBy = (publicKey: string, message: string, signature: string): boolean =>
  verify(
    null,
    Buffer.from(message),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" }),
    Buffer.from(signature, "base64url")
  )

export const agreeToChange = ({ digest, kind }: HumanRequest): HumanAct => ({ kind, digest, by: "terminal" })

const redacted = (text: string | undefined) => text === undefined ? undefined : Redacted.make(text)

/** What `kiwi identity encrypt` and `decrypt` do once everything has been typed. */
export const change = (from: string | undefined, to: string | undefined) =>
  Effect.gen(function*() {
    const identity = yield* Identity
    const act = agreeToChange(yield* identity.proposePassphrase(to === undefined ? "decrypt" : "encrypt"))
    return yield* identity.changePassphrase({ from: redacted(from), to: redacted(to) }, act)
  })

/** Which of the passphrases open the key to sign: "" stands for none. */
export const openers = Effect.fnUntraced(function*(passphrases: ReadonlyArray<string>) {
  const identity = yield* Identity
  return yield* Effect.filter(
    passphrases,
    (one) =>
      identity.sign(["m"], one === "" ? signing : { ...signing, passphrase: Redacted.make(one) }).pipe(
        Effect.as(true),
        Effect.catchTag("KeyLocked", () => Effect.succeed(false))
      )
  )
})

/** `made`: the passphrase that its key has from the first, which its environment has. */
export const contract = <E>(name: string, implementation: Layer.Layer<Identity, E>, made?: string) =>
  layer(implementation, { timeout: "120 seconds" })(`${name} satisfies Identity`, (it) => {
    it.effect("is nobody before the first signature, and the same ever after", () =>
      Effect.gen(function*() {
        const identity = yield* Identity
        assert.isUndefined(yield* identity.current)
        assert.isUndefined(yield* identity.storedIn)
        assert.strictEqual((yield* Effect.flip(identity.sign(["x"], signing)))._tag, "KeyUnavailable")
        const signer = yield* identity.ensure()
        assert.deepStrictEqual(yield* identity.ensure(), signer)
        assert.deepStrictEqual(yield* identity.current, signer)
        assert.match(signer.publicKey, /^[A-Za-z0-9_-]{43}$/)
        const digest = createHash("sha256").update(Buffer.from(signer.publicKey, "base64url")).digest("hex")
        assert.strictEqual(signer.keyId, digest.slice(0, 16))
        assert.isString(yield* identity.storedIn)
      }))

    it.effect("signs every message by the key that it shows, only where a person agreed to sign", () =>
      Effect.gen(function*() {
        const identity = yield* Identity
        const { publicKey } = yield* identity.ensure()
        const messages = ["one", "zwei \u00fc", ""]
        const signatures = yield* identity.sign(messages, signing)
        messages.forEach((message, index) => {
          assert.isTrue(isSignedBy(publicKey, message, signatures[index]!))
          assert.isFalse(isSignedBy(publicKey, `${message}.`, signatures[index]!))
        })
        for (const kind of ["identity", "trust-project", "trust-signer", "revoke-signer"] as const) {
          const error = yield* Effect.flip(identity.sign(messages, { ...signing, kind }))
          assert.strictEqual(error._tag, "KeyUnavailable")
        }
      }))

    it.effect(
      "gets a passphrase, changes it and loses it, and stays the same key, with its old signatures",
      () =>
        Effect.gen(function*() {
          const identity = yield* Identity
          const signer = yield* identity.ensure()
          const place = yield* identity.storedIn
          assert.isDefined(place)
          const [before] = yield* identity.sign(["old"], signing)
          // From here on no environment knows the passphrase.
          yield* change(made, "first passphrase")
          assert.isTrue(isEncryptedPlace((yield* identity.storedIn) ?? ""))
          assert.strictEqual(yield* identity.locked, made === undefined ? "missing" : "wrong-variable")
          const without = yield* Effect.flip(identity.sign(["m"], signing))
          assert.strictEqual(without._tag, "KeyLocked")
          for (const by of ["elicitation", "terminal"] as const) {
            const locked = yield* Effect.flip(identity.sign(["m"], { ...signing, by }))
            assert.include(toErrorObject(locked).remediation, "kiwi sign tool ID")
          }
          yield* change("first passphrase", "second passphrase \u00e9")
          assert.deepStrictEqual(
            yield* openers(["", "first passphrase", "second passphrase e\u0301", "second passphrase", made ?? "x"]),
            ["second passphrase e\u0301"]
          )
          assert.deepStrictEqual(
            yield* Effect.forEach(
              ["second passphrase \u00e9", "first passphrase", ""],
              (typed) => identity.opensWith(Redacted.make(typed))
            ),
            [true, false, false]
          )
          assert.deepStrictEqual(yield* identity.ensure(), signer)
          yield* change("second passphrase \u00e9", made)
          assert.deepStrictEqual(yield* identity.storedIn, place)
          assert.isUndefined(yield* identity.locked)
          const [after] = yield* identity.sign(["new"], signing)
          assert.isTrue(isSignedBy(signer.publicKey, "old", before!))
          assert.isTrue(isSignedBy(signer.publicKey, "new", after!))
        }),
      120_000
    )

    it.effect(
      "changes nothing for an act that was given for something else, an old passphrase that is not its, or a weak new one",
      () =>
        Effect.gen(function*() {
          const identity = yield* Identity
          const { keyId } = yield* identity.ensure()
          const [encrypt, decrypt] = [
            yield* identity.proposePassphrase("encrypt"),
            yield* identity.proposePassphrase("decrypt")
          ]
          assert.include(encrypt.title, keyId)
          const to = Redacted.make("never the passphrase")
          const from = redacted(made)
          const attempts = [
            identity.changePassphrase({ from, to }, agreeToChange(decrypt)),
            identity.changePassphrase({ from, to: undefined }, agreeToChange(encrypt)),
            identity.changePassphrase({ from, to }, { ...agreeToChange(encrypt), kind: "sign" }),
            identity.changePassphrase({ from, to }, { ...agreeToChange(encrypt), digest: "" }),
            change(made, ""),
            change(made, "        "),
            change(made, "seven77"),
            change(made, "aaaaaaaaaaaa"),
            change(made, "tab\there, and \u001b[D"),
            ...(made === undefined
              ? []
              : [change(undefined, "longenough"), change(`${made}.`, "longenough"), change("", undefined)])
          ]
          const tags = yield* Effect.forEach(
            attempts,
            (attempt) => Effect.map(Effect.flip(attempt), ({ _tag }) => _tag)
          )
          assert.deepStrictEqual(tags, [
            ...Array.from({ length: 4 }, () => "HumanRequired"),
            ...Array.from({ length: 5 }, () => "PassphraseRefused"),
            ...(made === undefined ? [] : ["KeyLocked", "KeyLocked", "KeyLocked"])
          ])
          assert.isUndefined(yield* identity.locked)
          assert.strictEqual((yield* identity.sign(["m"], signing)).length, 1)
        }),
      120_000
    )
  })
