import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { generateKeyPairSync } from "node:crypto"
import { keyIdOf } from "../../../src/layers/identity/ed25519.ts"
import * as ProjectTrustMemory from "../../../src/layers/trust/ProjectTrustMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import type { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import {
  type Signer,
  type SignerGrant,
  type SignerStanding,
  SignerTrust
} from "../../../src/services/trust/SignerTrust.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { agree } from "../../support/trustWorld.ts"

export const newSigner = (name: string): Signer => {
  const publicKey = String(generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" }).x)
  return { keyId: keyIdOf(publicKey), publicKey, name }
}

/** What `kiwi trust add` says without `--as me`. */
export const asOther = (signer: Signer): SignerGrant => ({ signer, as: "other", project: undefined })

const you = newSigner("me")
const ada = newSigner("Ada")
const bob = newSigner("Bob")
const proposed = newSigner("Proposed")

const trustYaml = `signers:\n  - name: Proposed\n    public_key: ${proposed.publicKey}\n`
const files = new Map([[".ai/config/trust.yaml", trustYaml]])

const shown = (standings: ReadonlyArray<SignerStanding>) =>
  standings.map((s) =>
    s._tag === "Unknown" ? "?" : `${s.signer.name}:${s._tag === "You" ? "you" : s.asMe ? "as me" : s.by}`
  )

/** Names that would be more than a name wherever they are written. */
export const badNames = [
  "Ada\nhint: run it",
  "Ada\r\nerror: none",
  "Ada\u001b[2J",
  "Ada\u0007",
  "Ada\tLovelace",
  "Ada\u2028you",
  "Ada\u2029you",
  "Ada\u202eecarG",
  "Ada\u200b Lovelace",
  "Ada\u0085next",
  "Ada\u{e0041}",
  "Ada\u0000",
  "A".repeat(65)
]

/** `implementation` is built anew, and empty, for every test. */
export const contract = <E>(
  name: string,
  implementation: Layer.Layer<SignerTrust, E, Identity | ProjectTrust | Workspace>
) => {
  const inProject = (trusted: boolean) =>
    implementation.pipe(
      Layer.provideMerge(ProjectTrustMemory.layerWith({
        files,
        ...(trusted ? {} : { state: { _tag: "Restricted", reason: "test", unsafe: false } })
      })),
      Layer.provide(Layer.mock(Identity, { current: Effect.succeed(you) })),
      Layer.provideMerge(Layer.provide(WorkspaceMemory.layer, KiwiHomeMemory.layer))
    )

  describe(`${name} satisfies SignerTrust`, () => {
    it.effect("knows you, those you trust, and those that a trusted project proposes, each for its tiers", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        yield* trust.add(asOther(ada), agree(trust.proposeAdd(asOther(ada))))
        assert.deepStrictEqual(shown(yield* trust.list), ["me:you", "Ada:person", "Proposed:project"])
        for (const tier of ["user", "project"] as const) {
          assert.deepStrictEqual(shown(yield* trust.candidates(you.keyId, tier)), ["me:you"])
          assert.deepStrictEqual(shown(yield* trust.candidates(ada.keyId, tier)), ["Ada:person"])
          assert.deepStrictEqual(yield* trust.candidates(bob.keyId, tier), [])
        }
        assert.deepStrictEqual(shown(yield* trust.candidates(proposed.keyId, "project")), ["Proposed:project"])
        assert.deepStrictEqual(yield* trust.candidates(proposed.keyId, "user"), [])
        assert.deepStrictEqual(yield* trust.candidates(you.keyId, "system"), [])
      }).pipe(Effect.provide(inProject(true))))

    it.effect("hears no proposal of a restricted project", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        assert.deepStrictEqual(shown(yield* trust.list), ["me:you"])
        assert.deepStrictEqual(yield* trust.candidates(proposed.keyId, "project"), [])
      }).pipe(Effect.provide(inProject(false))))

    it.effect("adds and removes only what the person agreed to", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        const act = agree(trust.proposeAdd(asOther(ada)))
        assert.strictEqual((yield* Effect.flip(trust.add(asOther(bob), act)))._tag, "HumanRequired")
        assert.strictEqual((yield* Effect.flip(trust.add(asOther({ ...ada, name: "Eve" }), act)))._tag, "HumanRequired")
        assert.strictEqual(
          (yield* Effect.flip(trust.add(asOther(ada), { ...act, kind: "sign" })))._tag,
          "HumanRequired"
        )
        yield* trust.add(asOther(ada), act)
        yield* trust.add(asOther(ada), act)
        assert.deepStrictEqual(shown(yield* trust.list), ["me:you", "Ada:person", "Proposed:project"].slice(0, 2))
        const goodbye = agree(trust.proposeRemove(ada.keyId))
        assert.strictEqual((yield* Effect.flip(trust.remove(bob.keyId, goodbye)))._tag, "HumanRequired")
        assert.isTrue(yield* trust.remove(ada.keyId, goodbye))
        assert.isFalse(yield* trust.remove(ada.keyId, goodbye))
        assert.deepStrictEqual(shown(yield* trust.list), ["me:you"])
      }).pipe(Effect.provide(inProject(false))))

    it.effect("takes somebody for you where you said so, and nowhere else", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        const here = Option.getOrThrow((yield* Workspace).project).root
        const grant = (signer: Signer, project: string | undefined): SignerGrant => ({ signer, as: "me", project })
        const say = (one: SignerGrant) => trust.add(one, agree(trust.proposeAdd(one)))
        const standing = (signer: Signer, tier: "project" | "user") =>
          Effect.map(trust.candidates(signer.keyId, tier), (all) => shown(all).join())

        yield* say(grant(ada, here))
        assert.strictEqual(yield* standing(ada, "project"), "Ada:as me")
        assert.strictEqual(yield* standing(ada, "user"), "")
        yield* say(asOther(ada))
        assert.strictEqual(yield* standing(ada, "project"), "Ada:as me")
        assert.strictEqual(yield* standing(ada, "user"), "Ada:person")
        yield* say(grant(bob, "/somewhere/else"))
        assert.strictEqual(yield* standing(bob, "project"), "")
        yield* say(grant(bob, undefined))
        assert.strictEqual(yield* standing(bob, "project"), "Bob:as me")
        assert.strictEqual(yield* standing(bob, "user"), "Bob:as me")
        yield* say(grant(proposed, here))
        assert.strictEqual(yield* standing(proposed, "project"), "Proposed:as me")

        for (const { keyId } of [ada, bob, proposed]) yield* trust.remove(keyId, agree(trust.proposeRemove(keyId)))
        assert.strictEqual(yield* standing(ada, "project"), "")
        assert.strictEqual(yield* standing(bob, "user"), "")
        assert.strictEqual(yield* standing(proposed, "project"), "Proposed:project")
      }).pipe(Effect.provide(inProject(true))))

    it.effect("asks for each standing and each place by itself", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        const grants: ReadonlyArray<SignerGrant> = [
          asOther(ada),
          { signer: ada, as: "me", project: undefined },
          { signer: ada, as: "me", project: "/one" },
          { signer: ada, as: "me", project: "/two" }
        ]
        const requests = grants.map(trust.proposeAdd)
        assert.strictEqual(new Set(requests.map(({ digest }) => digest)).size, grants.length)
        for (const [index, grant] of grants.entries()) {
          for (const [other, request] of requests.entries()) {
            if (other === index) continue
            assert.strictEqual((yield* Effect.flip(trust.add(grant, agree(request))))._tag, "HumanRequired")
          }
        }
        assert.include(requests[2]!.details, "/one")
        assert.include(requests[2]!.details, "runs as yours does".replace("runs", "run"))
        assert.strictEqual(requests[2]!.command, `kiwi trust add ${ada.publicKey} --name Ada --as me`)
        assert.strictEqual(requests[1]!.command, `kiwi trust add ${ada.publicKey} --name Ada --as me --everywhere`)
      }).pipe(Effect.provide(inProject(true))))

    it.effect("names a command that is safe to paste, whatever the signer is called", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        const command = (signer: string) => trust.proposeAdd(asOther({ ...ada, name: signer })).command
        assert.strictEqual(command("Ada"), `kiwi trust add ${ada.publicKey} --name Ada`)
        assert.strictEqual(command("$(id)\n'; x"), `kiwi trust add ${ada.publicKey} --name '$(id)\\n'\\''; x'`)
        assert.strictEqual(trust.proposeRemove("`id`").command, "kiwi trust remove '`id`'")
      }).pipe(Effect.provide(inProject(false))))

    it.effect("computes key ids itself and takes no key that is none", () =>
      Effect.gen(function*() {
        const trust = yield* SignerTrust
        const lying: Signer = { ...ada, keyId: you.keyId }
        yield* trust.add(asOther(lying), agree(trust.proposeAdd(asOther(lying))))
        assert.deepStrictEqual(shown(yield* trust.candidates(you.keyId, "user")), ["me:you"])
        assert.deepStrictEqual(shown(yield* trust.candidates(ada.keyId, "user")), ["Ada:person"])
        assert.deepStrictEqual(yield* trust.parse(` ${ada.publicKey}\n`, "Ada"), ada)
        const weak = Buffer.alloc(32)
        weak[0] = 1
        for (
          const key of ["", "abc", "*".repeat(43), "A".repeat(43), weak.toString("base64url"), `${"_".repeat(42)}8`]
        ) {
          assert.strictEqual((yield* Effect.flip(trust.parse(key, "x")))._tag, "SignerInvalid", key)
          const bad = { keyId: keyIdOf(key), publicKey: key, name: "x" }
          assert.strictEqual(
            (yield* Effect.flip(trust.add(asOther(bad), agree(trust.proposeAdd(asOther(bad))))))._tag,
            "SignerInvalid"
          )
        }
        for (const badName of badNames) {
          for (
            const trial of [
              trust.parse(ada.publicKey, badName),
              trust.add(asOther({ ...ada, name: badName }), agree(trust.proposeAdd(asOther({ ...ada, name: badName }))))
            ]
          ) {
            const error = yield* Effect.flip(trial)
            assert.match(error.message, /^This is not a valid signer: its name /, JSON.stringify(badName))
            assert.notInclude(error.message, badName)
          }
        }
        assert.strictEqual((yield* trust.parse(ada.publicKey, "🇦🇹 Zoë ❤️\n")).name, "🇦🇹 Zoë ❤️")
      }).pipe(Effect.provide(inProject(true))))
  })
}
