import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { spawn } from "node:child_process"
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as IdentityKeyring from "../../../src/layers/identity/IdentityKeyring.ts"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as KeychainOs from "../../../src/layers/identity/KeychainOs.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import type { Keychain } from "../../../src/services/identity/Keychain.ts"
import { contract, isSignedBy, signing } from "../../services/identity/Identity.contract.ts"
import { describeWith } from "../../support/realParts.ts"
import { secretService } from "../../support/secretService.ts"
import { changeUnseen, coarseFolder, spoiled } from "../../support/spoiledFiles.ts"
import { temporary } from "../../support/temporary.ts"

const passphrase = "correct horse battery staple"
/** What real keys cost is a second on a busy machine. */
const cheap = { cost: 16, blockSize: 8, parallelization: 1 }

/** An identity as a new process would see it. */
const open = <E>(home: string, keychain: Layer.Layer<Keychain, E>, config: Record<string, string> = {}) => {
  const homeLayer = KiwiHomeNode.layerWith({ home })
  return IdentityKeyring.layerWith({ kdf: cheap }).pipe(
    Layer.provide([homeLayer, keychain, ProcessLockMemory.layer]),
    Layer.provide(Layer.provide(SafeFilesNode.layer, homeLayer)),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(config)))
  )
}

const fresh = <E>(keychain: Layer.Layer<Keychain, E>, config: Record<string, string> = {}) =>
  Layer.unwrap(Effect.map(temporary, (home) => open(join(home, "kiwi"), keychain, config)))

/** One act of one process. */
const within = <A, E, E2, E3>(
  layer: Layer.Layer<Identity, E2>,
  use: (identity: Identity["Service"]) => Effect.Effect<A, E | E3>
) => Effect.provide(Effect.flatMap(Identity, use), layer)

const keyFile = (home: string) => join(home, "keys", readdirSync(join(home, "keys"))[0]!)

contract("IdentityKeyring in a keychain", fresh(KeychainMemory.layer))
contract(
  "IdentityKeyring encrypted in a keychain",
  fresh(KeychainMemory.layer, { KIWI_PASSPHRASE: passphrase }),
  passphrase
)
contract("IdentityKeyring in a private file", fresh(KeychainMemory.layerUnavailable))
contract(
  "IdentityKeyring in an encrypted file",
  fresh(KeychainMemory.layerUnavailable, { KIWI_PASSPHRASE: passphrase }),
  passphrase
)

describe("IdentityKeyring", () => {
  it.effect("falls back to a file with one warning, and stays there when a keychain turns up", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const warnings: Array<string> = []
      const logger = Logger.layer([Logger.make(({ logLevel, message }) => {
        warnings.push(`${logLevel} ${String(message)}`)
      })])
      const signer = yield* Effect.provide(
        within(open(home, KeychainMemory.layerUnavailable), (i) => Effect.andThen(i.ensure(), i.ensure())),
        logger
      )
      assert.strictEqual(warnings.length, 1)
      assert.include(warnings[0], "kiwi identity encrypt")
      assert.strictEqual(statSync(keyFile(home)).mode & 0o777, 0o600)
      assert.strictEqual(statSync(join(home, "keys")).mode & 0o777, 0o700)
      yield* within(open(home, KeychainMemory.layer), (identity) =>
        Effect.gen(function*() {
          assert.deepStrictEqual(yield* identity.ensure(), signer)
          assert.strictEqual(yield* identity.storedIn, "key file (0600)")
          const [signature] = yield* identity.sign(["m"], signing)
          assert.isTrue(isSignedBy(signer.publicKey, "m", signature!))
        }))
    }))

  for (const [what, spoil] of spoiled) {
    it.effect(`makes no second identity where identity.json is ${what}`, () =>
      Effect.gen(function*() {
        const home = join(yield* temporary, "kiwi")
        const layer = open(home, KeychainMemory.layer)
        yield* within(layer, (i) => i.ensure())
        spoil(join(home, "identity.json"))
        yield* within(layer, (identity) =>
          Effect.gen(function*() {
            assert.isUndefined(yield* identity.current)
            const error = yield* Effect.flip(identity.ensure())
            assert.strictEqual(error._tag, "KeyUnavailable")
            assert.include(error.message, "identity.json")
            assert.notInclude(error.message, home)
          }))
      }))
  }

  it.live("sees a change that the times of identity.json do not show", (context) =>
    Effect.gen(function*() {
      const home = yield* coarseFolder
      if (home === undefined) return context.skip("no file system with coarse times can be mounted here")
      yield* within(open(home, KeychainMemory.layer), (identity) =>
        Effect.gen(function*() {
          const { name } = yield* identity.ensure()
          const file = join(home, "identity.json")
          const before = readFileSync(file, "utf8")
          const other = "x".repeat(name.length)
          const after = before.replace(JSON.stringify(name), JSON.stringify(other))
          assert.isTrue(yield* changeUnseen(file, { before, after }, identity.current))
          assert.strictEqual((yield* identity.current)?.name, other)
        }))
    }))

  it.effect("makes no second identity when its keychain is gone or has forgotten the key", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const signer = yield* within(open(home, KeychainMemory.layer), (i) => i.ensure())
      assert.isFalse(existsSync(join(home, "keys")))
      for (const keychain of [KeychainMemory.layerUnavailable, KeychainMemory.layer]) {
        yield* within(open(home, keychain), (identity) =>
          Effect.gen(function*() {
            assert.deepStrictEqual(yield* identity.ensure(), signer)
            assert.deepStrictEqual(yield* identity.current, signer)
            const error = yield* Effect.flip(identity.sign(["m"], signing))
            assert.include(error.message, "in the keychain")
            assert.notStrictEqual(error.remediation, "")
          }))
      }
      assert.isFalse(existsSync(join(home, "keys")))
    }))

  it.effect("opens an encrypted key by its passphrase alone", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const encrypted = open(home, KeychainMemory.layerUnavailable, { KIWI_PASSPHRASE: passphrase })
      const signer = yield* within(encrypted, (i) => i.ensure())
      const [signature] = yield* within(encrypted, (i) => i.sign(["m"], signing))
      assert.isTrue(isSignedBy(signer.publicKey, "m", signature!))
      for (
        const [config, words] of [
          [{ KIWI_PASSPHRASE: `${passphrase}.` }, "The passphrase in KIWI_PASSPHRASE"],
          [{ KIWI_PASSPHRASE: "" }, "its passphrase was not given"],
          [{}, "its passphrase was not given"]
        ] as const
      ) {
        const error = yield* within(
          open(home, KeychainMemory.layerUnavailable, config),
          (i) => Effect.flip(i.sign(["m"], signing))
        )
        assert.strictEqual(error._tag, "KeyLocked")
        assert.include(error.message, words)
        assert.notInclude(error.message + JSON.stringify(error), passphrase)
      }
      assert.notInclude(readFileSync(keyFile(home), "utf8"), passphrase)

      const text = readFileSync(keyFile(home), "utf8")
      writeFileSync(keyFile(home), JSON.stringify({ ...JSON.parse(text), cost: 3 }))
      const error = yield* within(encrypted, (i) => Effect.flip(i.sign(["m"], signing)))
      assert.include(error.message, "is damaged")
    }))

  it.effect("tells whether a passphrase opens the key, whatever the environment has, and that other keys have none", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const opens = (identity: Identity["Service"]) =>
        Effect.forEach([passphrase, `${passphrase}.`, ""], (typed) => identity.opensWith(Redacted.make(typed)))
      const encrypted = open(home, KeychainMemory.layerUnavailable, { KIWI_PASSPHRASE: passphrase })
      assert.deepStrictEqual(yield* within(encrypted, opens), [undefined, undefined, undefined])
      yield* within(encrypted, (i) => i.ensure())
      for (const config of [{}, { KIWI_PASSPHRASE: "another" }]) {
        const later = open(home, KeychainMemory.layerUnavailable, config)
        assert.deepStrictEqual(yield* within(later, opens), [true, false, false])
      }
      for (const keychain of [KeychainMemory.layerUnavailable, KeychainMemory.layer]) {
        const plain = open(yield* temporary, keychain)
        assert.deepStrictEqual(yield* within(plain, (i) => Effect.andThen(i.ensure(), opens(i))), [
          undefined,
          undefined,
          undefined
        ])
      }
    }))

  it.effect("refuses a key that is not its own, is damaged, gone, or open to others", () =>
    Effect.gen(function*() {
      const [home, other] = [yield* temporary, yield* temporary]
      for (const folder of [home, other]) {
        yield* within(open(folder, KeychainMemory.layerUnavailable), (i) => i.ensure())
      }
      const identity = open(home, KeychainMemory.layerUnavailable)
      const refused = within(identity, (i) => Effect.flip(i.sign(["m"], signing)))
      const file = keyFile(home)
      const own = readFileSync(file)

      chmodSync(file, 0o640)
      assert.include((yield* refused).message, "readable for others")
      chmodSync(file, 0o600)

      writeFileSync(file, readFileSync(keyFile(other)))
      assert.include((yield* refused).message, "not the key of your identity")
      writeFileSync(file, own.subarray(0, 40))
      assert.include((yield* refused).message, "is damaged")
      renameSync(file, `${file}.away`)
      assert.include((yield* refused).message, "is missing")
      renameSync(`${file}.away`, file)

      writeFileSync(join(home, "identity.json"), "{}")
      assert.include((yield* refused).message, "identity.json")
      const error = yield* within(identity, (i) => Effect.flip(i.ensure()))
      assert.strictEqual(error._tag, "KeyUnavailable")
      assert.isUndefined(yield* within(identity, (i) => i.current))
      rmSync(join(home, "identity.json"))
      const foreign = JSON.parse(readFileSync(join(other, "identity.json"), "utf8"))
      writeFileSync(join(home, "identity.json"), JSON.stringify({ ...foreign, keyId: "0123456789abcdef" }))
      assert.include((yield* refused).message, "contradicts itself")
    }))

  it.effect("keeps the private key out of its public file, its errors and its logs", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.map(Logger.formatJson, (line) => void lines.push(line))])
      const identity = open(home, KeychainMemory.layerUnavailable)
      yield* Effect.provide(within(identity, (i) => Effect.andThen(i.ensure(), i.sign(["m"], signing))), logger)
      const { privateKey } = JSON.parse(readFileSync(keyFile(home), "utf8"))
      assert.isAbove(privateKey.length, 40)
      assert.notInclude(readFileSync(join(home, "identity.json"), "utf8"), privateKey)
      assert.notInclude(lines.join("\n"), privateKey)
      chmodSync(keyFile(home), 0o644)
      const error = yield* within(identity, (i) => Effect.flip(i.sign(["m"], signing)))
      assert.notInclude(`${error.message} ${JSON.stringify(error)} ${error.stack ?? ""}`, privateKey)
    }))

  it.live("is one when several processes make it at once", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const child = fileURLToPath(new URL("identityChild.ts", import.meta.url))
      const run = Effect.callback<string>((resume) => {
        const started = spawn(process.execPath, [child, join(home, "kiwi")], { stdio: ["ignore", "pipe", "ignore"] })
        let output = ""
        started.stdout.on("data", (data) => output += data)
        started.on("close", () => resume(Effect.succeed(output)))
      })
      const keys = yield* Effect.all([run, run, run, run], { concurrency: "unbounded" })
      assert.match(keys[0], /^[A-Za-z0-9_-]{43}$/)
      assert.deepStrictEqual(new Set(keys).size, 1)
      assert.strictEqual(readdirSync(join(home, "kiwi", "keys")).length, 1)
    }), 30_000)
})

const realKeychain = (environment: Record<string, string>) =>
  KeychainOs.layerWith({ environment }).pipe(
    Layer.provide(ChildProcessesNode.layer),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
  )

describeWith(["secretService"], "IdentityKeyring on a real Secret Service", () => {
  for (const made of [undefined, passphrase]) {
    const config: Record<string, string> = made === undefined ? {} : { KIWI_PASSPHRASE: made }
    contract(
      `IdentityKeyring ${made === undefined ? "" : "encrypted "}in a real keychain`,
      Layer.unwrap(Effect.map(secretService, (environment) => fresh(realKeychain(environment), config))),
      made
    )
  }

  it.live("keeps its key there, and says so when it is gone", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const signer = yield* Effect.scoped(Effect.gen(function*() {
        const identity = open(home, realKeychain(yield* secretService))
        const made = yield* within(identity, (i) => i.ensure())
        const [signature] = yield* within(identity, (i) => i.sign(["m"], signing))
        assert.isTrue(isSignedBy(made.publicKey, "m", signature!))
        assert.strictEqual(yield* within(identity, (i) => i.storedIn), "keychain")
        assert.isFalse(existsSync(join(home, "keys")))
        return made
      }))
      const later = open(home, realKeychain({ DBUS_SESSION_BUS_ADDRESS: `unix:path=${home}/none` }))
      assert.deepStrictEqual(yield* within(later, (i) => i.ensure()), signer)
      assert.include((yield* within(later, (i) => Effect.flip(i.sign(["m"], signing)))).message, "in the keychain")
    }), 30_000)
})
