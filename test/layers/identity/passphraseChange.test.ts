// A change of the passphrase that is cut off anywhere leaves a key that opens by the old or the new one, and the next
// act removes what was left over.
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer, Logger, Redacted } from "effect"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as IdentityKeyring from "../../../src/layers/identity/IdentityKeyring.ts"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { SafeFiles, WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import { Keychain, KeychainUnavailable } from "../../../src/services/identity/Keychain.ts"
import { change, openers, signing } from "../../services/identity/Identity.contract.ts"
import { temporary } from "../../support/temporary.ts"

const cheap = { cost: 16, blockSize: 8, parallelization: 1 }
const [old, next] = ["the old passphrase", "the new passphrase"]

/** How the process fares at its n-th change of a file or the keychain. */
type Fate = "killed before it" | "killed after it" | "it fails" | "what it writes is not kept"
const fates: ReadonlyArray<Fate> = ["killed before it", "killed after it", "it fails", "what it writes is not kept"]

/** A machine: what is on it outlives each process. */
const machine = Effect.fnUntraced(function*(where: "keychain" | "file") {
  const home = join(yield* temporary, "kiwi")
  const kept = new Map<string, Redacted.Redacted>()

  const process = (at: number, fate: Fate) => {
    let steps = 0
    let dead = false
    const step = <A, E, F>(
      effect: Effect.Effect<A, E>,
      failure: F,
      lost: Effect.Effect<A, E>
    ): Effect.Effect<A, E | F> =>
      Effect.suspend((): Effect.Effect<A, E | F> => {
        if (dead) return Effect.die("killed")
        if (++steps !== at) return effect
        if (fate === "it fails") return Effect.fail(failure)
        if (fate === "what it writes is not kept") return lost
        dead = true
        return fate === "killed before it" ? Effect.die("killed") : Effect.andThen(effect, Effect.die("killed"))
      })
    const gone = new KeychainUnavailable({ detail: "it fails" })
    const full = new WriteRefused({ path: "x", issue: "no-space", detail: "the disk is full" })
    const memory = Keychain.of({
      get: (account) => Effect.sync(() => kept.get(account)),
      set: (account, secret) => step(Effect.sync(() => void kept.set(account, secret)), gone, Effect.void),
      remove: (account) => {
        const removing = Effect.sync(() => kept.delete(account))
        return step(removing, gone, removing)
      }
    })
    const homeLayer = KiwiHomeNode.layerWith({ home })
    const files = Layer.effect(
      SafeFiles,
      Effect.map(SafeFiles, (real) =>
        SafeFiles.of({
          ...real,
          write: (...args) => step(real.write(...args), full, Effect.void),
          remove: (...args) => step(real.remove(...args), full, real.remove(...args))
        }))
    ).pipe(Layer.provide(SafeFilesNode.layer), Layer.provide(homeLayer))
    const layer = IdentityKeyring.layerWith({ kdf: cheap }).pipe(
      Layer.provide([
        homeLayer,
        files,
        where === "keychain" ? Layer.succeed(Keychain, memory) : KeychainMemory.layerUnavailable,
        ProcessLockMemory.layer,
        ConfigProvider.layer(ConfigProvider.fromUnknown({}))
      ])
    )
    return { layer, steps: () => steps }
  }

  const copies = () => [
    ...[...kept].map(([name, text]) => [name, Redacted.value(text)] as const),
    ...(existsSync(join(home, "keys"))
      ? readdirSync(join(home, "keys")).map((name) => [name, readFileSync(join(home, "keys", name), "utf8")] as const)
      : [])
  ]
  const run = <A, E>(use: Effect.Effect<A, E, Identity>) => Effect.provide(use, process(0, "it fails").layer)
  return { home, process, run, copies }
})

const changes = [
  ["encrypting", undefined, next],
  ["changing", old, next],
  ["decrypting", old, undefined]
] as const

const quiet = Logger.layer([])

describe("a passphrase whose change is cut off", () => {
  for (const where of ["keychain", "file"] as const) {
    for (const [what, from, to] of changes) {
      for (const fate of fates) {
        it.effect(`${what} a key in a ${where}, at every step: ${fate}`, () =>
          Effect.gen(function*() {
            let at = 1
            for (let done = false; !done; at++) {
              const world = yield* machine(where)
              const signer = yield* world.run(Effect.flatMap(Identity, (identity) => identity.ensure()))
              if (from !== undefined) yield* world.run(change(undefined, from))
              const cut = world.process(at, fate)
              yield* Effect.exit(Effect.provide(change(from, to), cut.layer))
              done = cut.steps() < at

              const label = `step ${at}`
              // Either form opens, never none and never both; signing removes the rest.
              const opens = yield* world.run(openers([from ?? "", to ?? ""]))
              // A plain key opens whatever is typed.
              const plain = opens.length === 2
              assert.isTrue(plain ? from === undefined || to === undefined : opens.length === 1, label)
              const known = plain ? "" : opens[0]!
              const copies = world.copies()
              assert.strictEqual(copies.length, 1, `${label}: ${copies.map(([name]) => name).join(", ")}`)
              const sealed = copies[0]![1].includes("scrypt")
              assert.strictEqual(sealed, !plain && known !== "", label)
              assert.deepStrictEqual(yield* world.run(Effect.flatMap(Identity, ({ current }) => current)), signer)

              // And the same change can be made again.
              yield* world.run(change(known === "" ? undefined : known, "another passphrase"))
              assert.deepStrictEqual(
                yield* world.run(openers(["", old, next, "another passphrase"])),
                ["another passphrase"],
                label
              )
              assert.strictEqual(world.copies().length, 1, label)
            }
            assert.isAbove(at, 5)
          }).pipe(Effect.provide(quiet)), 120_000)
      }
    }
  }

  it.effect("leaves no plain key behind, says so where the old copy cannot be removed yet, and removes it later", () =>
    Effect.gen(function*() {
      const world = yield* machine("keychain")
      yield* world.run(Effect.flatMap(Identity, (identity) => identity.ensure()))
      const warnings: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void warnings.push(String(message)))])
      // 1 begins, 2 writes the new copy, 3 makes it count, 4 removes the old one.
      yield* Effect.provide(change(undefined, next), Layer.merge(world.process(4, "it fails").layer, logger))
      assert.strictEqual(world.copies().length, 2)
      assert.include(warnings.join("\n"), "the next signature removes it")
      yield* world.run(
        Effect.flatMap(Identity, (identity) => identity.sign(["m"], { ...signing, passphrase: Redacted.make(next) }))
      )
      assert.deepStrictEqual(world.copies().map(([, text]) => text.includes("scrypt")), [true])
    }))

  it.effect("never removes the copy that counts, whatever identity.json says is left over", () =>
    Effect.gen(function*() {
      const world = yield* machine("file")
      yield* world.run(Effect.flatMap(Identity, (identity) => identity.ensure()))
      const file = join(world.home, "identity.json")
      const identity = JSON.parse(readFileSync(file, "utf8"))
      writeFileSync(file, JSON.stringify({ ...identity, leftover: { storedIn: identity.storedIn } }))
      yield* Effect.flip(world.run(Effect.flatMap(Identity, (service) => service.sign(["m"], signing))))
      assert.strictEqual(world.copies().length, 1)
    }))

  it.effect("counts for no plain key, although identity.json was edited to say that it is encrypted", () =>
    Effect.gen(function*() {
      for (const where of ["keychain", "file"] as const) {
        const world = yield* machine(where)
        yield* world.run(Effect.flatMap(Identity, (identity) => identity.ensure()))
        const file = join(world.home, "identity.json")
        const storedIn = where === "keychain" ? "keychain (encrypted)" : "key file (encrypted)"
        writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), storedIn }))
        for (const typed of ["", next, "anything at all"]) {
          const opens = yield* world.run(Effect.flatMap(Identity, (service) => service.opensWith(Redacted.make(typed))))
          assert.isUndefined(opens, `${where} ${typed}`)
        }
      }
    }))
})
