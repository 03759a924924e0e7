import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as AuditKeys from "../../../src/layers/audit/auditKeys.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as Ed25519 from "../../../src/layers/identity/ed25519.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { Keychain } from "../../../src/services/identity/Keychain.ts"
import { temporary } from "../../support/temporary.ts"

/** Keys in a home whose keychain works, and must not be asked. */
const open = (home: string) => {
  const asked = Effect.die("the keychain was asked")
  const keychain = Keychain.of({ get: () => asked, set: () => asked, remove: () => asked })
  const services = Layer.mergeAll(SafeFilesNode.layer, ProcessLockMemory.layer, Layer.succeed(Keychain, keychain)).pipe(
    Layer.provideMerge(KiwiHomeNode.layerWith({ home, userHome: join(home, "..") }))
  )
  return Effect.provide(AuditKeys.make, services)
}

const homeIn = (folder: string) => join(folder, "home")

describe("the audit's keys", () => {
  it.effect("are made once, in a private file, and asked of no keychain", () =>
    Effect.gen(function*() {
      const home = homeIn(yield* temporary)
      assert.deepStrictEqual(yield* (yield* open(home)).own, new Set())
      assert.isFalse(fs.existsSync(join(home, "audit-keys")))
      const made = yield* (yield* open(home)).current
      const again = yield* (yield* open(home)).current
      assert.strictEqual(again?.publicKey, made?.publicKey)
      assert.deepStrictEqual(yield* (yield* open(home)).own, new Set([made!.publicKey]))
      assert.isTrue(Ed25519.verifier(made!.publicKey)!("text", again!.sign("text")))
      assert.strictEqual(fs.statSync(join(home, "audit-keys")).mode & 0o777, 0o700)
      for (const file of fs.globSync(join(home, "audit-keys/*"))) {
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      }
    }))

  it.effect("are not in the list of keys in a form that signs", () =>
    Effect.gen(function*() {
      const home = homeIn(yield* temporary)
      yield* (yield* open(home)).current
      const list = JSON.parse(fs.readFileSync(join(home, "audit-keys.json"), "utf8"))
      assert.deepStrictEqual(Object.keys(list.secrets[0]), ["name", "storedIn"])
      assert.strictEqual(list.secrets[0].storedIn, "file (0600)")
    }))

  it.effect("do not count if the private key is another one than the list says", () =>
    Effect.gen(function*() {
      const home = homeIn(yield* temporary)
      const made = yield* (yield* open(home)).current
      const list = join(home, "audit-keys.json")
      const other = Ed25519.generate().publicKey
      fs.writeFileSync(list, fs.readFileSync(list, "utf8").replace(made!.publicKey, other))
      const next = yield* (yield* open(home)).current
      assert.notStrictEqual(next?.publicKey, other)
      assert.deepStrictEqual(yield* (yield* open(home)).own, new Set([next!.publicKey, other].toSorted()))
    }))
})
