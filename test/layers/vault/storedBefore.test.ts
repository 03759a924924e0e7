// Homes as Kiwi wrote them before there was a vault (`storedBefore.json`): keys and secrets in a keychain and in files,
// with a passphrase and without, and with one that was set later. All of it opens, and can be changed.
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as IdentityKeyring from "../../../src/layers/identity/IdentityKeyring.ts"
import * as SecretStoreKeychain from "../../../src/layers/identity/SecretStoreKeychain.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import { Keychain, KeychainUnavailable } from "../../../src/services/identity/Keychain.ts"
import { SecretStore } from "../../../src/services/identity/SecretStore.ts"
import { change, isSignedBy, openers } from "../../services/identity/Identity.contract.ts"
import { agree, setSecret } from "../../services/identity/SecretStore.contract.ts"
import { temporary } from "../../support/temporary.ts"

const passphrase = "correct horse battery staple"
const secret = "first\nline \u00e9"

interface Stored {
  readonly keychain: Readonly<Record<string, string>>
  readonly files: Readonly<Record<string, string>>
}

const homes: Readonly<Record<string, Stored>> = JSON.parse(
  fs.readFileSync(new URL("storedBefore.json", import.meta.url), "utf8")
)

describe("what Kiwi stored before", () => {
  for (const [name, stored] of Object.entries(homes)) {
    it.effect(`opens and changes: ${name}`, () =>
      Effect.gen(function*() {
        const home = join(yield* temporary, "kiwi")
        for (const [path, text] of Object.entries(stored.files)) {
          fs.mkdirSync(join(home, dirname(path)), { recursive: true, mode: 0o700 })
          fs.writeFileSync(join(home, path), text, { mode: 0o600 })
        }
        const entries = new Map(Object.entries(stored.keychain))
        const gone = Effect.fail(new KeychainUnavailable({ detail: "there is none" }))
        const has = name.startsWith("keychain")
        const keychain = Keychain.of({
          get: (account) =>
            has
              ? Effect.sync(() => entries.has(account) ? Redacted.make(entries.get(account)!) : undefined)
              : gone,
          set: (account, value) => has ? Effect.sync(() => void entries.set(account, Redacted.value(value))) : gone,
          remove: (account) => has ? Effect.sync(() => entries.delete(account)) : gone
        })
        const homeLayer = KiwiHomeNode.layerWith({ home })
        const open = Layer.mergeAll(
          IdentityKeyring.layerWith({ kdf: { cost: 16, blockSize: 8, parallelization: 1 } }),
          SecretStoreKeychain.layer
        ).pipe(
          Layer.provide([homeLayer, Layer.succeed(Keychain, keychain), ProcessLockMemory.layer]),
          Layer.provide(Layer.provide(SafeFilesNode.layer, homeLayer)),
          Layer.provide(ConfigProvider.layer(
            ConfigProvider.fromUnknown(name.includes("encrypted") ? { KIWI_PASSPHRASE: passphrase } : {})
          ))
        )
        yield* Effect.gen(function*() {
          const [identity, secrets] = [yield* Identity, yield* SecretStore]
          const { publicKey } = JSON.parse(stored.files["identity.json"]!)
          const sealed = name.includes("encrypted") || name.includes("changed")
          assert.strictEqual(
            yield* identity.storedIn,
            `${has ? "keychain" : "key file"}${sealed ? " (encrypted)" : has ? "" : " (0600)"}`
          )
          const [signature] = yield* identity.sign(["m"], {
            kind: "sign",
            digest: "",
            by: "terminal",
            passphrase: Redacted.make(passphrase)
          })
          assert.isTrue(isSignedBy(publicKey, "m", signature!))
          yield* change(sealed ? passphrase : undefined, "another passphrase")
          assert.deepStrictEqual(yield* openers([passphrase, "another passphrase"]), ["another passphrase"])
          assert.strictEqual((yield* identity.current)?.publicKey, publicKey)

          assert.strictEqual(Redacted.value((yield* secrets.get("github"))!), secret)
          yield* setSecret("github", "newer")
          assert.strictEqual(Redacted.value((yield* secrets.get("github"))!), "newer")
          assert.isTrue(yield* secrets.remove("github", agree(yield* secrets.proposeRemove("github"))))
          assert.lengthOf([...entries.keys()], has ? 1 : 0)
          assert.deepStrictEqual(has ? [] : fs.readdirSync(join(home, "secrets")), [])
        }).pipe(Effect.provide(open))
      }).pipe(Effect.provide(Logger.layer([]))))
  }
})
