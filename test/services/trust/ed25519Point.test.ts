import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { createPrivateKey, createPublicKey } from "node:crypto"
import { ed25519Issue } from "../../../src/services/trust/ed25519Point.ts"

const header = Buffer.from("302e020100300506032b657004220420", "hex")
const little = (value: bigint): Uint8Array => Buffer.from(value.toString(16).padStart(64, "0"), "hex").toReversed()
const p = 2n ** 255n - 19n

it.prop("takes every real key", [Schema.Uint8Array], ([seed]) => {
  const bytes = Buffer.alloc(32)
  bytes.set(seed.subarray(0, 32))
  const key = createPrivateKey({ key: Buffer.concat([header, bytes]), format: "der", type: "pkcs8" })
  const x = String(createPublicKey(key).export({ format: "jwk" }).x)
  assert.isUndefined(ed25519Issue(Buffer.from(x, "base64url")))
})

it("refuses the points of small order, with either sign", () => {
  const order8 = 55188659117513257062467267217118295137698188065244968500265048394206261417927n
  for (const y of [0n, 1n, p - 1n, order8, p - order8]) {
    assert.strictEqual(ed25519Issue(little(y)), "anybody could sign for it")
    assert.strictEqual(ed25519Issue(little(y | 1n << 255n)), "anybody could sign for it")
  }
})

it("refuses what is no point, not in its shortest form, or of another length", () => {
  assert.strictEqual(ed25519Issue(little(2n)), "it is not a point of the curve")
  assert.strictEqual(ed25519Issue(little(p + 1n)), "it is not in canonical form")
  assert.strictEqual(ed25519Issue(new Uint8Array(31)), "it is not 32 bytes long")
})
