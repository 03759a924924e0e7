// What every vault does, wherever it keeps its values.
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import type { Scope } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as Vault from "../../../src/layers/vault/Vault.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import type { Keychain } from "../../../src/services/identity/Keychain.ts"
import type { VaultPlace } from "../../../src/services/vault/VaultPlace.ts"
import { temporary } from "../../support/temporary.ts"

export type OpenedVault = Effect.Success<ReturnType<typeof Vault.make>>

/** A vault as a new process would see it. */
export const openVault = <E>(home: string, keychain: Layer.Layer<Keychain, E>, passphrase?: string) => {
  const homeLayer = KiwiHomeNode.layerWith({ home })
  return Effect.provide(
    Vault.make({
      kind: "token",
      title: "The token",
      passphrase: passphrase === undefined ? undefined : Redacted.make(passphrase),
      kdf: { cost: 16, blockSize: 8, parallelization: 1 }
    }),
    Layer.mergeAll(keychain, ProcessLockMemory.layer, SafeFilesNode.layer).pipe(
      Layer.provideMerge(homeLayer),
      Layer.provide(NodeServices.layer),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
    )
  )
}

/** Every byte below a folder, names included. */
export const everything = (folder: string): string =>
  fs.readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) =>
    entry.name + (entry.isFile() ? fs.readFileSync(join(entry.parentPath, entry.name), "utf8") : "")
  ).join("\n")

const text = (value: Redacted.Redacted | undefined) => value && Redacted.value(value)

/** Values that a store may spoil. */
const values: Readonly<Record<string, string>> = {
  short: "a",
  lines: "first\nline \u00e9\r\n\t ${HOME} \"quoted\" \\ ",
  json: "{\"version\":1,\"protection\":\"none\",\"privateKey\":\"abc\"}",
  emoji: "\u{1F511}".repeat(40),
  base64url: "MC4CAQAwBQYDK2VwBCIEIKqB3sIPFcVx",
  fits: "x".repeat(1_280),
  longer: "x".repeat(1_281),
  "16 KiB": "ghp_0123456789ab".repeat(1_024),
  "16 KiB in three bytes each": "\u20ac".repeat(5_461),
  longest: "y".repeat(48_000)
}

/**
 * `places`: where a short value lies, and a long one. `hidden`: whether no file says what a value is.
 */
export const contract = <E, E2>(
  name: string,
  keychains: Effect.Effect<Layer.Layer<Keychain, E>, E2, Scope.Scope>,
  expected: { readonly places: readonly [VaultPlace, VaultPlace]; readonly hidden: boolean },
  passphrase?: string
) => {
  const inHome = <A, E3>(
    use: (open: Effect.Effect<OpenedVault, unknown>, home: string) => Effect.Effect<A, E3, Scope.Scope>
  ) =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "kiwi")
      return yield* use(openVault(home, yield* keychains, passphrase), home)
    }).pipe(Effect.provide(Logger.layer([])))

  it.live(
    `${name} gives back what was put, to the next process too`,
    () =>
      inHome((open, home) =>
        Effect.gen(function*() {
          for (const [key, value] of Object.entries(values)) {
            const vault = yield* open
            const storedIn = yield* vault.put("one", Redacted.make(value))
            assert.strictEqual(storedIn, expected.places[value.length > 1_280 ? 1 : 0], key)
            assert.strictEqual(yield* vault.where("one"), storedIn)
            assert.strictEqual(text(yield* vault.get("one")), value, key)
            assert.strictEqual(text(yield* (yield* open).get("one")), value, key)
            const all = everything(home)
            const written = Buffer.from(value).toString("base64url").slice(0, 60)
            if (value.length > 8) {
              assert.strictEqual(!all.includes(value) && !all.includes(written), expected.hidden, key)
            }
          }
        })
      ),
    120_000
  )

  it.live(
    `${name} replaces, lists and forgets by exact names, and leaves nothing behind`,
    () =>
      inHome((open, home) =>
        Effect.gen(function*() {
          const vault = yield* open
          assert.isUndefined(yield* vault.get("one"))
          assert.isUndefined(yield* vault.where("one"))
          assert.isFalse(yield* vault.remove("one"))
          yield* vault.put("one", Redacted.make("first"))
          yield* vault.put("One", Redacted.make("another name"))
          yield* vault.put("one", Redacted.make("second".repeat(500)))
          yield* vault.put("one", Redacted.make("third"))
          assert.strictEqual(text(yield* vault.get("one")), "third")
          assert.strictEqual(text(yield* vault.get("One")), "another name")
          assert.deepStrictEqual((yield* vault.list).map((one) => one.name), ["One", "one"])
          assert.isUndefined(yield* vault.get("constructor"))
          for (const each of ["one", "One"]) {
            assert.isTrue(yield* vault.remove(each))
            assert.isUndefined(yield* (yield* open).get(each))
          }
          assert.deepStrictEqual(yield* vault.list, [])
          assert.deepStrictEqual(fs.existsSync(join(home, "tokens")) ? fs.readdirSync(join(home, "tokens")) : [], [])
        })
      ),
    60_000
  )

  it.live(
    `${name} shows no value when it is printed, and keeps its files from others`,
    () =>
      inHome((open, home) =>
        Effect.gen(function*() {
          const vault = yield* open
          for (const value of ["hidden-word", "hidden-word".repeat(200)]) {
            yield* vault.put("one", Redacted.make(value))
            const opened = yield* vault.get("one")
            assert.notInclude(`${String(opened)} ${JSON.stringify({ opened })}`, "hidden-word")
            for (const entry of fs.readdirSync(home, { recursive: true, withFileTypes: true })) {
              if (!/^tokens(?:\.json)?$|tokens$/.test(entry.name) && !entry.parentPath.endsWith("tokens")) continue
              const mode = fs.statSync(join(entry.parentPath, entry.name)).mode & 0o777
              assert.strictEqual(mode, entry.isDirectory() ? 0o700 : 0o600, entry.name)
            }
          }
        })
      ),
    60_000
  )
}
