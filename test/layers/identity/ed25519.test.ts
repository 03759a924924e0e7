import { assert, describe, it } from "@effect/vitest"
import { generate, keyIdOf } from "../../../src/layers/identity/ed25519.ts"

describe("a new key pair", () => {
  it("has a public key that a command takes for no flag", () => {
    for (let made = 0; made < 500; made++) assert.match(generate().publicKey, /^[A-Za-z0-9_][A-Za-z0-9_-]{42}$/)
  })

  it("has an id of sixteen hexadecimal digits", () => {
    assert.match(keyIdOf(generate().publicKey), /^[0-9a-f]{16}$/)
  })
})
