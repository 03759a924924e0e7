import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import * as TestClock from "effect/testing/TestClock"
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as KeychainOs from "../../../src/layers/identity/KeychainOs.ts"
import * as SecretStoreKeychain from "../../../src/layers/identity/SecretStoreKeychain.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { Keychain, KeychainUnavailable } from "../../../src/services/identity/Keychain.ts"
import { SecretStore } from "../../../src/services/identity/SecretStore.ts"
import { agree, contract, setSecret } from "../../services/identity/SecretStore.contract.ts"
import { describeWith } from "../../support/realParts.ts"
import { lockSecretService, secretService } from "../../support/secretService.ts"
import { smallKeychain } from "../../support/smallKeychain.ts"
import { temporary } from "../../support/temporary.ts"

const passphrase = "correct horse battery staple"
const value = "ghp_0123456789abcdef"

/** The store as a new process would see it. */
const open = <E>(home: string, keychain: Layer.Layer<Keychain, E>, config: Record<string, string> = {}) => {
  const homeLayer = KiwiHomeNode.layerWith({ home })
  return SecretStoreKeychain.layer.pipe(
    Layer.provide([homeLayer, keychain, ProcessLockSqlite.layer]),
    Layer.provide(Layer.provide(SafeFilesNode.layer, homeLayer)),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(config))),
    Layer.provide(Logger.layer([]))
  )
}
const fresh = <E>(keychain: Layer.Layer<Keychain, E>, config: Record<string, string> = {}) =>
  Layer.unwrap(Effect.map(temporary, (home) => open(join(home, "kiwi"), keychain, config)))

contract("SecretStoreKeychain in a keychain", fresh(KeychainMemory.layer))
contract("SecretStoreKeychain in private files", fresh(KeychainMemory.layerUnavailable))
contract(
  "SecretStoreKeychain in encrypted files",
  fresh(KeychainMemory.layerUnavailable, { KIWI_PASSPHRASE: passphrase })
)

const opened = (name: string) =>
  SecretStore.use((store) => Effect.map(store.get(name), (one) => one && Redacted.value(one)))

/** Every byte below a folder, names included. */
const everything = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.name + (entry.isFile() ? readFileSync(join(entry.parentPath, entry.name), "utf8") : "")
  ).join("\n")

describe("SecretStoreKeychain", () => {
  it.effect("keeps a secret in a keychain out of every file", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const stored = yield* Effect.provide(setSecret("github", value), open(home, KeychainMemory.layer))
      assert.deepStrictEqual(stored, { name: "github", storedIn: "keychain" })
      assert.notInclude(everything(home), value)
      assert.notInclude(everything(home), Buffer.from(value).toString("base64url"))
    }))

  it.effect("where no keychain answers, a file of yours alone; encrypted where there is a passphrase", () =>
    Effect.gen(function*() {
      for (const config of [{}, { KIWI_PASSPHRASE: passphrase }]) {
        const home = yield* temporary
        const store = open(home, KeychainMemory.layerUnavailable, config)
        const { storedIn } = yield* Effect.provide(setSecret("github", value), store)
        const isSealed = "KIWI_PASSPHRASE" in config
        assert.strictEqual(storedIn, isSealed ? "file (encrypted)" : "file (0600)")
        const folder = join(home, "secrets")
        const [name = ""] = readdirSync(folder)
        assert.strictEqual(statSync(folder).mode & 0o777, 0o700)
        assert.strictEqual(statSync(join(folder, name)).mode & 0o777, 0o600)
        assert.strictEqual(statSync(join(home, "secrets.json")).mode & 0o777, 0o600)
        assert.strictEqual(
          everything(home).includes(Buffer.from(value).toString("base64url")),
          !isSealed
        )
        // Another process, and one without the passphrase.
        assert.strictEqual(yield* Effect.provide(opened("github"), open(home, KeychainMemory.layer, config)), value)
        if (!isSealed) continue
        const refused = yield* Effect.flip(Effect.provide(opened("github"), open(home, KeychainMemory.layer)))
        assert.strictEqual(refused._tag, "SecretUnavailable")
        assert.include(refused.remediation, "KIWI_PASSPHRASE")
      }
    }))

  it.effect("a file that was moved to another secret's place does not open as that one", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const store = open(home, KeychainMemory.layerUnavailable, { KIWI_PASSPHRASE: passphrase })
      yield* Effect.provide(setSecret("one", "the first secret"), store)
      const [first = ""] = readdirSync(join(home, "secrets"))
      yield* Effect.provide(setSecret("two", "the second secret"), store)
      const second = readdirSync(join(home, "secrets")).find((name) => name !== first) ?? ""
      writeFileSync(join(home, "secrets", first), readFileSync(join(home, "secrets", second)))
      assert.strictEqual((yield* Effect.flip(Effect.provide(opened("one"), store)))._tag, "SecretUnavailable")
      assert.strictEqual(yield* Effect.provide(opened("two"), store), "the second secret")
    }))

  it.effect("a locked keychain, a lost entry and a damaged list are errors with something to do", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      yield* Effect.provide(setSecret("github", value), open(home, KeychainMemory.layer))
      const locked = Layer.succeed(Keychain, {
        get: () => Effect.fail(new KeychainUnavailable({ detail: "it is locked" })),
        set: () => Effect.fail(new KeychainUnavailable({ detail: "it is locked" })),
        remove: () => Effect.fail(new KeychainUnavailable({ detail: "it is locked" }))
      })
      const failure = (keychain: Layer.Layer<Keychain>) =>
        Effect.flip(Effect.provide(opened("github"), open(home, keychain)))
      const isLocked = yield* failure(locked)
      assert.include(isLocked.message, "it is locked")
      assert.include(isLocked.remediation, "Unlock the keychain")
      const isGone = yield* failure(KeychainMemory.layer)
      assert.include(isGone.message, "no longer in the keychain")
      assert.strictEqual(isGone.remediation, "kiwi env secret set github")
      writeFileSync(join(home, "secrets.json"), "{}")
      assert.include((yield* failure(KeychainMemory.layer)).message, "secrets.json")
    }))

  it.effect("asks the keychain once for some minutes, and again when the secret was set anew by another process", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const inner = yield* Effect.provide(Keychain, KeychainMemory.layer)
      let asked = 0
      const counted = Layer.succeed(Keychain, {
        ...inner,
        get: (account) => Effect.suspend(() => (asked++, inner.get(account)))
      })
      const [here, there] = [
        yield* Effect.provide(SecretStore, open(home, counted)),
        open(home, Layer.succeed(Keychain, inner))
      ]
      yield* Effect.provide(setSecret("github", value), there)
      for (let i = 0; i < 3; i++) assert.strictEqual(Redacted.value((yield* here.get("github"))!), value)
      assert.strictEqual(asked, 1)
      yield* Effect.provide(setSecret("github", "another"), there)
      assert.strictEqual(Redacted.value((yield* here.get("github"))!), "another")
      assert.strictEqual(asked, 2)
      yield* TestClock.adjust("6 minutes")
      yield* here.get("github")
      assert.strictEqual(asked, 3)
      yield* here.remove("github", agree(yield* here.proposeRemove("github")))
      assert.isUndefined(yield* here.get("github"))
    }))

  it.effect("what is too long for a keychain lies in a file that is worth nothing without the keychain", () =>
    Effect.gen(function*() {
      for (const length of [1_281, 2_000, 16_384, 48_000]) {
        const home = yield* temporary
        const long = "ghp_".repeat(length).slice(0, length)
        const keychain = Layer.succeed(Keychain, yield* Effect.provide(Keychain, smallKeychain))
        const { storedIn } = yield* Effect.provide(setSecret("github", long), open(home, keychain))
        assert.strictEqual(storedIn, "file (key in the keychain)")
        assert.notInclude(everything(home), Buffer.from(long).toString("base64url").slice(0, 40))
        assert.strictEqual(yield* Effect.provide(opened("github"), open(home, keychain)), long)
        const elsewhere = yield* Effect.flip(Effect.provide(opened("github"), open(home, KeychainMemory.layer)))
        assert.strictEqual(elsewhere._tag, "SecretUnavailable")
      }
    }))

  it.effect("removes the older value from the keychain, also where it could not be reached for a while", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const inner = yield* Effect.provide(Keychain, KeychainMemory.layer)
      const here = open(home, Layer.succeed(Keychain, inner))
      const remove = SecretStore.use((store) =>
        Effect.flatMap(store.proposeRemove("github"), (request) => store.remove("github", agree(request)))
      )
      yield* Effect.provide(setSecret("github", value), here)
      yield* Effect.provide(setSecret("github", "newer"), open(home, KeychainMemory.layerUnavailable))
      assert.strictEqual(yield* Effect.provide(opened("github"), here), "newer")
      assert.isTrue(yield* Effect.provide(remove, here))
      assert.isUndefined(yield* inner.get("secret:github"))
    }))

  it.effect("an empty secret and an endless one are refused", () =>
    Effect.gen(function*() {
      for (const wrong of ["", "x".repeat(48_001)]) {
        const error = yield* Effect.flip(setSecret("a", wrong))
        assert.strictEqual(error._tag, "SecretUnavailable")
        assert.include(error.message, "could not be stored")
      }
      yield* setSecret("a", "x".repeat(48_000))
      assert.lengthOf((yield* opened("a")) ?? "", 48_000)
    }).pipe(Effect.provide(fresh(KeychainMemory.layerUnavailable, { KIWI_PASSPHRASE: passphrase }))))
})

describeWith(["secretService"], "SecretStoreKeychain on a real Secret Service", () => {
  it.live("keeps a secret from one process to the next, and says when it is locked", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const environment = yield* secretService
      const store = open(home, Layer.provide(KeychainOs.layerWith({ environment }), ChildProcessesNode.layer))
      const { storedIn } = yield* Effect.provide(setSecret("github", value), store)
      assert.strictEqual(storedIn, "keychain")
      assert.strictEqual(yield* Effect.provide(opened("github"), store), value)
      assert.notInclude(everything(home), value)
      yield* lockSecretService(environment)
      assert.strictEqual((yield* Effect.flip(Effect.provide(opened("github"), store)))._tag, "SecretUnavailable")
    }))
})
