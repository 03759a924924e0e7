import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as SignerTrustFile from "../../../src/layers/trust/SignerTrustFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { asOther, contract, newSigner } from "../../services/trust/SignerTrust.contract.ts"
import { temporary } from "../../support/temporary.ts"
import { agree, trustProject, world } from "../../support/trustWorld.ts"

contract(
  "SignerTrustFile",
  SignerTrustFile.layer.pipe(
    Layer.provide(Layer.mergeAll(SafeFilesNode.layer, ProcessLockMemory.layer)),
    Layer.provide(Layer.unwrap(Effect.map(temporary, (home) => KiwiHomeNode.layerWith({ home: join(home, "kiwi") }))))
  )
)

const ada = newSigner("Ada")

describe("SignerTrustFile", () => {
  it.effect("says for which project a person trusts somebody, and whether trust.yaml is as it was accepted", () =>
    Effect.gen(function*() {
      const w = yield* world
      const proposal = (name: string) => `signers:\n  - name: ${name}\n    public_key: ${ada.publicKey}\n`
      w.put(".ai/config/trust.yaml", proposal("Ada"))
      yield* Effect.gen(function*() {
        const trust = yield* SignerTrust
        assert.isFalse(yield* trust.outdated, "a restricted project proposes nobody anyhow")
        yield* trustProject
        assert.isFalse(yield* trust.outdated)
        for (const project of [w.root, undefined]) {
          const grant = { signer: ada, as: "me", project } as const
          yield* trust.add(grant, agree(trust.proposeAdd(grant)))
          const [standing] = yield* trust.list
          if (standing?._tag !== "Trusted") return assert.fail("nobody is trusted")
          assert.deepStrictEqual([standing.asMe, standing.project], [true, w.root])
        }
        yield* trust.remove(ada.keyId, agree(trust.proposeRemove(ada.keyId)))
        w.put(".ai/config/trust.yaml", proposal("Eve"))
        assert.isTrue(yield* trust.outdated)
        w.put(".ai/config/trust.yaml", proposal("Ada"))
        assert.isFalse(yield* trust.outdated)
        fs.rmSync(join(w.root, ".ai/config/trust.yaml"))
        assert.isTrue(yield* trust.outdated)
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("keeps whole public keys, privately, for the next kernel", () =>
    Effect.gen(function*() {
      const w = yield* world
      const file = join(w.home, "signers.json")
      yield* Effect.gen(function*() {
        const trust = yield* SignerTrust
        yield* trust.add(asOther(ada), agree(trust.proposeAdd(asOther(ada))))
      }).pipe(Effect.provide(w.layer))
      assert.include(fs.readFileSync(file, "utf8"), ada.publicKey)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      yield* Effect.gen(function*() {
        const trust = yield* SignerTrust
        assert.lengthOf(yield* trust.candidates(ada.keyId, "user"), 1)
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("trusts nobody from a file that is torn or that others could write, and does not write over it", () =>
    Effect.gen(function*() {
      const w = yield* world
      const file = join(w.home, "signers.json")
      yield* Effect.gen(function*() {
        const trust = yield* SignerTrust
        const act = agree(trust.proposeAdd(asOther(ada)))
        yield* trust.add(asOther(ada), act)
        const good = fs.readFileSync(file, "utf8")
        assert.isUndefined(yield* trust.problem)
        const weak = JSON.stringify({
          version: 1,
          signers: [{ publicKey: `${"A".repeat(42)}E`, name: "zero", as: "other", project: null }]
        })
        const twice = good.replace("\"as\"", "\"as\":\"me\",\"as\"")
        const unknown = good.replace("\"project\"", "\"projects\"")
        for (const bad of [good.slice(0, -5), "", "[]", weak, twice, unknown]) {
          fs.writeFileSync(file, bad)
          assert.deepStrictEqual(yield* trust.list, [], bad)
          const error = yield* Effect.flip(trust.add(asOther(ada), act))
          assert.strictEqual(error._tag, "WriteRefused")
          const problem = toErrorObject((yield* trust.problem)!)
          assert.strictEqual(problem.code, "SIGNERS_UNBELIEVED")
          assert.strictEqual(toErrorObject(error).cause?.message, problem.message)
          assert.strictEqual(toErrorObject(error).remediation, problem.remediation)
          assert.strictEqual(fs.readFileSync(file, "utf8"), bad)
        }
        assert.match(
          (yield* trust.problem)?.detail ?? "",
          /^it is not what Kiwi writes: line 1, column \d+: signers\[0\]\.projects is not known here; did you mean "project"\?$/
        )
        fs.writeFileSync(file, good)
        assert.lengthOf(yield* trust.list, 1)
        assert.isUndefined(yield* trust.problem)
        fs.chmodSync(file, 0o602)
        assert.deepStrictEqual(yield* trust.list, [])
        assert.isDefined(yield* trust.problem)
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("counts a project's proposal only at the accepted bytes, and well-formed entries only", () =>
    Effect.gen(function*() {
      const w = yield* world
      const path = ".ai/config/trust.yaml"
      const entry = (key: string) => `  - name: Ada\n    public_key: ${key}\n`
      yield* Effect.gen(function*() {
        const trust = yield* SignerTrust
        const count = Effect.map(trust.candidates(ada.keyId, "project"), (found) => found.length)
        w.put(path, `signers:\n${entry(ada.publicKey)}`)
        assert.strictEqual(yield* count, 0)
        yield* trustProject
        assert.strictEqual(yield* count, 1)
        w.put(path, `signers:\n${entry(newSigner("Eve").publicKey)}${entry(ada.publicKey)}`)
        assert.strictEqual(yield* count, 0)
        assert.deepStrictEqual(yield* trust.list, [])
        const useless = [
          `signers: {a: {public_key: ${ada.publicKey}}}\n`,
          `signers:\n  - &a\n    public_key: ${ada.publicKey}\n  - *a\n`,
          `signers:\n  - public_key: ${ada.publicKey}\n    kind: you\n`,
          `signers:\n  - public_key: !!binary ${ada.publicKey}\n`,
          `signers:\n${entry(ada.publicKey)}more: true\n`,
          `signers:\n${entry(ada.publicKey)}`.repeat(2),
          `signers:\n${entry(ada.publicKey).repeat(101)}`,
          `${"[".repeat(5_000)}\n`,
          "\u0000\u0001",
          ""
        ]
        for (const text of useless) {
          w.put(path, text)
          yield* trustProject
          assert.strictEqual(yield* count, 0, text.slice(0, 60))
        }
      }).pipe(Effect.provide(w.layer))
    }))
})
