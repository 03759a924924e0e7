// What every identity does.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Layer } from "effect"
import { createHash, createPublicKey, verify } from "node:crypto"
import { Identity } from "../../../src/services/identity/Identity.ts"
import type { HumanAct } from "../../../src/services/trust/HumanAct.ts"

export const signing: HumanAct = { kind: "sign", digest: "", by: "terminal" }

/** By the raw public key alone, as anybody who was given it would. */
export const isSignedBy = (publicKey: string, message: string, signature: string): boolean =>
  verify(
    null,
    Buffer.from(message),
    createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" }),
    Buffer.from(signature, "base64url")
  )

export const contract = <E>(name: string, implementation: Layer.Layer<Identity, E>) =>
  layer(implementation)(`${name} satisfies Identity`, (it) => {
    it.effect("is nobody before the first signature, and the same ever after", () =>
      Effect.gen(function*() {
        const identity = yield* Identity
        assert.isUndefined(yield* identity.current)
        assert.isUndefined(yield* identity.storedIn)
        assert.strictEqual((yield* Effect.flip(identity.sign(["x"], signing)))._tag, "KeyUnavailable")
        const signer = yield* identity.ensure
        assert.deepStrictEqual(yield* identity.ensure, signer)
        assert.deepStrictEqual(yield* identity.current, signer)
        assert.match(signer.publicKey, /^[A-Za-z0-9_-]{43}$/)
        const digest = createHash("sha256").update(Buffer.from(signer.publicKey, "base64url")).digest("hex")
        assert.strictEqual(signer.keyId, digest.slice(0, 16))
        assert.isString(yield* identity.storedIn)
      }))

    it.effect("signs every message by the key that it shows, only where a person agreed to sign", () =>
      Effect.gen(function*() {
        const identity = yield* Identity
        const { publicKey } = yield* identity.ensure
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
  })
