import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Exit, Layer, Logger, Redacted, Result } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as KeychainOs from "../../../src/layers/identity/KeychainOs.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { Keychain, KeychainUnavailable } from "../../../src/services/identity/Keychain.ts"
import { contract, openVault } from "../../services/vault/Vault.contract.ts"
import { describeWith } from "../../support/realParts.ts"
import { secretService } from "../../support/secretService.ts"
import { smallKeychain } from "../../support/smallKeychain.ts"
import { temporary } from "../../support/temporary.ts"

/** One keychain for all processes of a test. */
const kept = <E>(layer: Layer.Layer<Keychain, E>) =>
  Effect.map(Effect.provide(Keychain, layer), (keychain) => Layer.succeed(Keychain, keychain))

/** Takes anything, and keeps the first 1,280 characters. */
const cutting = Layer.effect(
  Keychain,
  Effect.map(KeychainMemory.make, (inner) =>
    Keychain.of({
      ...inner,
      set: (account, secret) => inner.set(account, Redacted.make(Redacted.value(secret).slice(0, 1_280)))
    }))
)

contract("a vault in memory", kept(KeychainMemory.layer), { places: ["keychain", "keychain"], hidden: true })
contract("a vault in private files", kept(KeychainMemory.layerUnavailable), {
  places: ["file (0600)", "file (0600)"],
  hidden: false
})
contract("a vault in encrypted files", kept(KeychainMemory.layerUnavailable), {
  places: ["file (encrypted)", "file (encrypted)"],
  hidden: true
}, "correct horse battery staple")
contract("a vault in a keychain as small as Windows'", kept(smallKeychain), {
  places: ["keychain", "file (key in the keychain)"],
  hidden: true
})
contract("a vault in a keychain that cuts what is too long", kept(cutting), {
  places: ["keychain", "file (key in the keychain)"],
  hidden: true
})
contract("a vault in a small keychain, with a passphrase", kept(smallKeychain), {
  places: ["keychain", "file (key in the keychain)"],
  hidden: true
}, "correct horse battery staple")

describeWith(["secretService"], "on a real Secret Service", () => {
  contract(
    "a vault in the system's keychain",
    Effect.map(secretService, (environment) =>
      KeychainOs.layerWith({ environment }).pipe(
        Layer.provide(ChildProcessesNode.layer),
        Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
      )),
    { places: ["keychain", "keychain"], hidden: true }
  )
})

const long = "z".repeat(3_000)
const older = "a value from before"

/** A keychain and a home on which processes die. */
const machine = Effect.gen(function*() {
  const home = join(yield* temporary, "kiwi")
  const entries = new Map<string, string>()
  /** The process dies before its n-th change of the keychain, or as it makes the n-th. */
  const process = (limit: { readonly at: number; readonly after: boolean; readonly longest: number }) => {
    let changes = 0
    const change = (act: Effect.Effect<void>) =>
      Effect.suspend(() => {
        if (++changes !== limit.at) return act
        return limit.after ? Effect.andThen(act, Effect.die("killed")) : Effect.die("killed")
      })
    return Layer.succeed(
      Keychain,
      Keychain.of({
        get: (account) => Effect.sync(() => entries.has(account) ? Redacted.make(entries.get(account)!) : undefined),
        set: (account, secret) =>
          Redacted.value(secret).length > limit.longest
            ? Effect.fail(new KeychainUnavailable({ detail: "it is full" }))
            : change(Effect.sync(() => void entries.set(account, Redacted.value(secret)))),
        remove: (account) => Effect.as(change(Effect.sync(() => void entries.delete(account))), true)
      })
    )
  }
  const well = (longest: number) => process({ at: 0, after: false, longest })
  return { home, entries, process, well }
})

describe("a vault", () => {
  /** Where a value lies before and after, by what the keychain takes then: a short one, a long one, nothing. */
  const places = [
    ["keychain", 1_280, older],
    ["key in the keychain", 1_280, `${older} ${long}`],
    ["file", 0, older]
  ] as const
  for (const [from, takes, first] of places) {
    for (const [to, takesThen, then] of places) {
      it.live(
        `whose process is killed while a value goes from ${from} to ${to} has the old or the new one`,
        () =>
          Effect.gen(function*() {
            for (const after of [false, true]) {
              for (let at = 1; at < 6; at++) {
                const { entries, home, process, well } = yield* machine
                yield* (yield* openVault(home, well(takes))).put("one", Redacted.make(first))
                const next = `${then} anew`
                const cut = yield* openVault(home, process({ at, after, longest: takesThen }))
                const exit = yield* Effect.exit(cut.put("one", Redacted.make(next)))
                const later = yield* openVault(home, well(takes))
                const found = yield* Effect.result(later.get("one"))
                const value = Result.isSuccess(found) && found.success !== undefined
                  ? Redacted.value(found.success)
                  : found
                assert.include(Exit.isSuccess(exit) ? [next] : [first, next], value, `${at} ${String(after)}`)
                // Whatever was left over, the next change and the last removal clear it.
                yield* later.put("one", Redacted.make("last"))
                assert.strictEqual(Redacted.value((yield* later.get("one"))!), "last")
                yield* later.remove("one")
                const keys = [...entries.keys()].filter((account) => !account.endsWith(":key"))
                assert.deepStrictEqual(keys, [], `${at} ${String(after)}`)
                assert.deepStrictEqual(
                  fs.existsSync(join(home, "tokens")) ? fs.readdirSync(join(home, "tokens")) : [],
                  []
                )
              }
            }
          }).pipe(Effect.provide(Logger.layer([]))),
        60_000
      )
    }
  }

  it.effect("leaves no part of a long value in a keychain that cuts it, nor an older one", () =>
    Effect.gen(function*() {
      for (const first of [undefined, "short", long]) {
        const home = join(yield* temporary, "kiwi")
        const keychain = yield* Effect.provide(Keychain, cutting)
        const vault = yield* openVault(home, Layer.succeed(Keychain, keychain))
        if (first !== undefined) yield* vault.put("one", Redacted.make(first))
        yield* vault.put("one", Redacted.make(`${long}!`))
        assert.isUndefined(yield* keychain.get("token:one"))
        assert.deepStrictEqual(yield* vault.list, [{ name: "one", storedIn: "file (key in the keychain)" }])
      }
    }))

  it.effect("asks a keychain that did not take a value for nothing more", () =>
    Effect.gen(function*() {
      const { home, well } = yield* machine
      yield* (yield* openVault(home, well(1_280))).put("one", Redacted.make("first"))
      let asked = 0
      const gone = Effect.suspend(() => (asked++, Effect.fail(new KeychainUnavailable({ detail: "it is locked" }))))
      const locked = Layer.succeed(Keychain, Keychain.of({ get: () => gone, set: () => gone, remove: () => gone }))
      yield* (yield* openVault(home, locked)).put("one", Redacted.make("second"))
      assert.strictEqual(asked, 1)
    }).pipe(Effect.provide(Logger.layer([]))))

  it.effect("gives no value where the key of its file is gone, is another one, or is no key", () =>
    Effect.gen(function*() {
      const { entries, home, well } = yield* machine
      yield* (yield* openVault(home, well(1_280))).put("one", Redacted.make(long))
      assert.deepStrictEqual([...entries.keys()], ["token:one:key"])
      for (const wrong of [undefined, "A".repeat(43), "", "{}", "short"]) {
        if (wrong === undefined) entries.delete("token:one:key")
        else entries.set("token:one:key", wrong)
        const error = yield* Effect.flip((yield* openVault(home, well(1_280))).get("one"))
        assert.strictEqual(error._tag, "ValueUnavailable")
      }
    }))

  it.effect("gives no value from a file that is a link, others can read or write, or that is no file", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "kiwi")
      const vault = openVault(home, KeychainMemory.layerUnavailable)
      yield* (yield* vault).put("one", Redacted.make("value"))
      const file = join(home, "tokens", fs.readdirSync(join(home, "tokens"))[0]!)
      const text = fs.readFileSync(file)
      const refused = Effect.gen(function*() {
        const error = yield* Effect.flip((yield* vault).get("one"))
        return error._tag === "ValueUnavailable" ? error.detail : error._tag
      })
      for (const mode of [0o640, 0o604, 0o620, 0o602, 0o666]) {
        fs.chmodSync(file, mode)
        assert.match(yield* refused, /readable for others|others can write/, mode.toString(8))
      }
      fs.chmodSync(file, 0o600)
      assert.strictEqual(Redacted.value((yield* (yield* vault).get("one"))!), "value")
      for (const damaged of ["", "{}", "null", text.subarray(0, 30), "x".repeat(1_048_577), Buffer.from([0xff])]) {
        fs.writeFileSync(file, damaged)
        assert.strictEqual(yield* refused, "is damaged")
      }
      fs.rmSync(file)
      assert.strictEqual(yield* refused, "is missing")
      fs.writeFileSync(join(home, "elsewhere"), text, { mode: 0o600 })
      fs.symlinkSync(join(home, "elsewhere"), file)
      assert.strictEqual(yield* refused, "is not a regular file")
      fs.rmSync(file)
      fs.mkdirSync(file)
      assert.strictEqual(yield* refused, "is not a regular file")
    }).pipe(Effect.provide(Logger.layer([]))))
})
