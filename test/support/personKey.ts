// A signing key for the person of a test, encrypted by their passphrase as `kiwi init` does it but for the cost: what
// takes a fifth of a second at each signature of a person takes none here.
import { Effect, Redacted } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import { userInfo } from "node:os"
import { join } from "node:path"
import * as Ed25519 from "../../src/layers/identity/ed25519.ts"
import * as SealedText from "../../src/layers/vault/sealedText.ts"
import { passphrase } from "./person.ts"

const cheap = { cost: 2 ** 6, blockSize: 8, parallelization: 1 }

const makeKey = async () => {
  const pair = Ed25519.generate()
  return {
    publicKey: pair.publicKey,
    text: await Effect.runPromise(SealedText.print(pair.privateKey, pair.publicKey, Redacted.make(passphrase), cheap))
  }
}

/** Made ahead, so that whoever makes a machine need not wait; each that is given away is made up for. */
const keys = await Promise.all(Array.from({ length: 32 }, makeKey))

const makeUp = async () => keys.push(await makeKey())

/** Puts a key that nobody else has into a new `$KIWI_HOME`. */
export const giveKey = (home: string): void => {
  const key = keys.pop()
  if (key === undefined) throw new Error("more people were made at once than personKey.ts has keys")
  void makeUp()
  const keyId = Ed25519.keyIdOf(key.publicKey)
  mkdirSync(join(home, "keys"), { recursive: true, mode: 0o700 })
  writeFileSync(
    join(home, "identity.json"),
    `${
      JSON.stringify(
        {
          version: 1,
          keyId,
          publicKey: key.publicKey,
          name: userInfo().username,
          storedIn: "key file (encrypted)"
        },
        null,
        2
      )
    }\n`,
    { mode: 0o600 }
  )
  writeFileSync(join(home, "keys", `item-${keyId}.json`), key.text, { mode: 0o600 })
}
