import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { generate } from "../../../build/systemManifest.ts"
import * as VerifierEd25519 from "../../../src/layers/integrity/VerifierEd25519.ts"
import { systemManifest } from "../../../src/layers/item/system/systemManifest.generated.ts"
import { SystemManifest } from "../../../src/layers/item/system/SystemManifest.ts"
import { VerifiedCopies } from "../../../src/services/integrity/VerifiedCopies.ts"
import { Verifier } from "../../../src/services/integrity/Verifier.ts"
import type { FolderFile, ItemSnapshot } from "../../../src/services/item/Item.ts"
import type { Tier } from "../../../src/services/item/ItemId.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import type { SignerStanding } from "../../../src/services/trust/SignerTrust.ts"
import * as Snapshots from "../../support/snapshots.ts"
import type { TestSigner } from "../../support/snapshots.ts"

const you = Snapshots.makeSigner()
const colleague = Snapshots.makeSigner()
const stranger = Snapshots.makeSigner()

const standingOf = ({ keyId, pair }: TestSigner): SignerStanding =>
  keyId === you.keyId
    ? { _tag: "You", signer: { keyId, publicKey: pair.publicKey, name: "you" } }
    : { _tag: "Trusted", signer: { keyId, publicKey: pair.publicKey, name: "them" }, by: "person", asMe: false }

/** Whom one trusts, by tier, changeable while a test runs. */
const trusted: Record<Tier, ReadonlyArray<SignerStanding>> = { project: [], user: [], system: [] }

const unasked = () => assert.fail("a verifier changes nobody's trust")

const signers = Layer.mock(SignerTrust, {
  proposeAdd: unasked,
  proposeRemove: unasked,
  problem: Effect.undefined,
  outdated: Effect.succeed(false),
  candidates: (keyId, tier) =>
    Effect.sync(() => trusted[tier].filter((s) => s._tag === "Unknown" || s.signer.keyId === keyId))
})

const layer = VerifierEd25519.layer.pipe(
  Layer.provide(Layer.succeed(
    SystemManifest,
    new Map([[
      "tools/core/run.py",
      Snapshots.fileSnapshot(Snapshots.locationOf("tools/core/run.py"), "run")!.digest
    ]])
  )),
  Layer.provide(signers)
)

const using = <A, E>(body: (verify: Verifier["Service"]["verify"]) => Effect.Effect<A, E>) =>
  Effect.gen(function*() {
    trusted.project = [standingOf(you), standingOf(colleague)]
    trusted.user = [standingOf(you)]
    return yield* body((yield* Verifier).verify)
  }).pipe(Effect.provide(layer))

const location = Snapshots.locationOf("tools/math/add.py")
const source = "#!/usr/bin/env python3\n\"\"\"Add.\"\"\"\n__version__ = \"1.0.0\"\nprint(1)\n"
const signed = Snapshots.signText(you, location, source)
const read = (raw: Uint8Array | string, at = location) => Snapshots.fileSnapshot(at, raw)!

const folder = Snapshots.locationOf("tools/web/fetch", { kind: "folder" })
const files = [
  Snapshots.folderFile("tool.yaml", "version: 1.0.0\n"),
  Snapshots.folderFile("lib/a.py", "a = 1\n"),
  Snapshots.folderFile("run.sh", "#!/bin/sh\nexit 0\n", true),
  Snapshots.folderFile("data.bin", Uint8Array.from([0, 255, 1]))
]
const folderSignature = Snapshots.signFolder(you, folder, files)

describe("VerifierEd25519", () => {
  it.effect("believes what a signer who counts has signed, and says who", () =>
    using((verify) =>
      Effect.gen(function*() {
        const { by } = yield* verify(read(signed))
        assert.deepStrictEqual(by, { _tag: "Signer", standing: standingOf(you), kind: "person", time: Snapshots.time })
        const theirs = yield* verify(read(Snapshots.signText(colleague, location, source)))
        assert.deepStrictEqual(theirs.by._tag === "Signer" && theirs.by.standing._tag, "Trusted")
        yield* verify(Snapshots.folderSnapshot(folder, files, folderSignature))
      })
    ))

  it.effect("names what is unsigned, malformed, changed or by somebody unknown", () =>
    using((verify) =>
      Effect.gen(function*() {
        const tag = (snapshot: ItemSnapshot) => Effect.map(Effect.flip(verify(snapshot)), (error) => error._tag)
        assert.strictEqual(yield* tag(read(source)), "Unsigned")
        assert.strictEqual(yield* tag(read(signed.replace("signed:2", "signed:3"))), "SignatureMalformed")
        assert.strictEqual(yield* tag(read(Snapshots.signText(stranger, location, source))), "SignerUntrusted")
        const error = yield* Effect.flip(verify(read(`${signed}#`)))
        assert.strictEqual(error._tag, "Tampered")
        assert.include(error.message, read(source).digest.slice(0, 12))
        assert.include(error.message, read(`${source}#`).digest.slice(0, 12))
        assert.include(error.remediation, "kiwi sign tool add")
      })
    ))

  it.effect("refuses a moved, renamed or retyped item, and one signed under another's name", () =>
    using((verify) =>
      Effect.gen(function*() {
        for (const path of ["tools/add.py", "tools/other/add.py", "tools/math/sub.py"]) {
          const error = yield* Effect.flip(verify(read(signed, Snapshots.locationOf(path))))
          assert.strictEqual(error._tag, "Tampered", path)
          assert.include(error.message, "moved, renamed or forged")
        }
        const note = Snapshots.locationOf("knowledge/a.md")
        const text = Snapshots.signText(you, note, "Text\n")
        yield* verify(read(text, note))
        assert.strictEqual(
          (yield* Effect.flip(verify(read(text, Snapshots.locationOf("directives/a.md")))))._tag,
          "Tampered"
        )
        const forged = signed.replace(you.keyId, colleague.keyId)
        assert.strictEqual((yield* Effect.flip(verify(read(forged))))._tag, "Tampered")
        assert.strictEqual(
          (yield* Effect.flip(verify(read(signed.replace(you.keyId, "0123456789abcdef")))))._tag,
          "SignerUntrusted"
        )
        const later = signed.replace(Snapshots.time, "20261121T210901Z")
        assert.strictEqual((yield* Effect.flip(verify(read(later))))._tag, "Tampered")
      })
    ))

  it.effect("tries every key of one key id", () =>
    using((verify) =>
      Effect.gen(function*() {
        const impostor: SignerStanding = {
          _tag: "Trusted",
          signer: { keyId: you.keyId, publicKey: stranger.pair.publicKey, name: "impostor" },
          by: "project",
          asMe: false
        }
        const broken: SignerStanding = {
          _tag: "Trusted",
          signer: { keyId: you.keyId, publicKey: "", name: "broken" },
          by: "project",
          asMe: false
        }
        trusted.project = [broken, impostor, { _tag: "Unknown" }, standingOf(you)]
        const { by } = yield* verify(read(signed))
        assert.strictEqual(by._tag === "Signer" && by.standing._tag, "You")
        trusted.project = [impostor]
        assert.strictEqual((yield* Effect.flip(verify(read(signed))))._tag, "Tampered")
        trusted.project = [{ _tag: "Unknown" }]
        assert.strictEqual((yield* Effect.flip(verify(read(signed))))._tag, "SignerUntrusted")
      })
    ))

  it.effect("asks whom you trust every time, and for which tier", () =>
    using((verify) =>
      Effect.gen(function*() {
        const snapshot = read(Snapshots.signText(colleague, location, source))
        yield* verify(snapshot)
        trusted.project = [standingOf(you)]
        assert.strictEqual((yield* Effect.flip(verify(snapshot)))._tag, "SignerUntrusted")
        trusted.project = [standingOf(colleague)]
        yield* verify(snapshot)
        const inUserTier = { ...snapshot, location: { ...location, tier: "user" as const } }
        assert.strictEqual((yield* Effect.flip(verify(inUserTier)))._tag, "SignerUntrusted")
      })
    ))

  it.effect("fails an altered file that carries a line that has passed, and passes the repaired one", () =>
    using((verify) =>
      Effect.gen(function*() {
        yield* verify(read(signed))
        assert.strictEqual((yield* Effect.flip(verify(read(signed.replace("print(1)", "print(2)")))))._tag, "Tampered")
        yield* verify(read(signed))
        const moved = Snapshots.locationOf("tools/add.py")
        assert.strictEqual((yield* Effect.flip(verify(read(signed, moved))))._tag, "Tampered")
        yield* verify(read(signed))
      })
    ))

  it.effect("believes the bytes, not the digest that a snapshot states", () =>
    using((verify) =>
      Effect.gen(function*() {
        const honest = read(signed)
        const lying = { ...honest, bytes: Buffer.from("import os\n") }
        assert.strictEqual((yield* Effect.flip(verify(lying)))._tag, "Tampered")
        const whole = Snapshots.folderSnapshot(folder, files, folderSignature)
        const lies: ReadonlyArray<ItemSnapshot> = [
          { ...whole, bytes: Buffer.from("version: 2.0.0\n") },
          { ...whole, files: whole.files.map((file) => ({ ...file, bytes: Buffer.from("x") })) },
          { ...whole, files: whole.files.slice(1) },
          { ...whole, files: whole.files.toReversed() },
          { ...whole, files: whole.files.filter((file) => file.path !== "tool.yaml") }
        ]
        for (const lie of lies) assert.strictEqual((yield* Effect.flip(verify(lie)))._tag, "Tampered")
      })
    ))

  it.effect("understands an agent's signature and does not accept it", () =>
    using((verify) =>
      Effect.gen(function*() {
        const claim = Snapshots.claimFor(you, location, read(source).digest, "agent")
        const error = yield* Effect.flip(verify({ ...read(source), claim: { _tag: "Claim", claim, detached: false } }))
        assert.strictEqual(error._tag, "SignerUntrusted")
        assert.include(error.message, "agent")
        const relabelled = { ...claim, kind: "person" as const }
        const other = { ...read(source), claim: { _tag: "Claim" as const, claim: relabelled, detached: false } }
        assert.strictEqual((yield* Effect.flip(verify(other)))._tag, "Tampered")
      })
    ))

  it.effect.prop(
    "refuses a file in which any byte is another",
    [Schema.Int, Schema.Int],
    ([where, what]) =>
      using((verify) =>
        Effect.gen(function*() {
          const bytes = Buffer.from(signed)
          const index = Math.abs(where) % bytes.length
          bytes[index] = (bytes[index]! + 1 + Math.abs(what) % 255) % 256
          const snapshot = Snapshots.fileSnapshot(location, bytes)
          if (snapshot !== undefined) yield* Effect.flip(verify(snapshot))
        })
      ),
    { arbitrary: { runs: 300 } }
  )

  it.effect("refuses every other spelling of a byte in the signature line", () =>
    using((verify) =>
      Effect.gen(function*() {
        const start = signed.indexOf("\n") + 1
        const end = signed.indexOf("\n", start)
        for (let index = start; index <= end; index++) {
          for (const character of "0Aa_-:# \t=zZ9") {
            if (signed[index] === character) continue
            const other = signed.slice(0, index) + character + signed.slice(index + 1)
            const snapshot = Snapshots.fileSnapshot(location, other)
            if (snapshot !== undefined) yield* Effect.flip(verify(snapshot))
          }
        }
      })
    ))

  it.effect("refuses a folder with another byte, name, or one file more or less", () =>
    using((verify) =>
      Effect.gen(function*() {
        /** Without its manifest a folder is no item for any store. */
        const refused = (changed: ReadonlyArray<FolderFile>) =>
          changed.some(({ path }) => path === "tool.yaml")
            ? Effect.flip(verify(Snapshots.folderSnapshot(folder, changed, folderSignature)))
            : Effect.void
        for (const [index, file] of files.entries()) {
          yield* refused(files.with(index, Snapshots.folderFile(`${file.path}x`, file.bytes, file.executable)))
          yield* refused(files.toSpliced(index, 1))
          for (let at = 0; at < file.bytes.length; at++) {
            const bytes = Buffer.from(file.bytes)
            bytes[at] = bytes[at]! ^ 1
            yield* refused(files.with(index, Snapshots.folderFile(file.path, bytes, file.executable)))
          }
        }
        yield* refused([...files, Snapshots.folderFile("lib/b.py", "")])
        const [a, b] = [files[1]!, files[2]!]
        yield* refused([
          files[0]!,
          { ...a, path: b.path },
          { ...b, path: a.path },
          files[3]!
        ])
      })
    ))

  it.effect("names the files of a folder that differ, where what was signed is still kept, and no name that was not", () =>
    Effect.gen(function*() {
      trusted.project = [standingOf(you)]
      const { verify } = yield* Verifier
      const tampered = (changed: ReadonlyArray<FolderFile>) =>
        Effect.map(Effect.flip(verify(Snapshots.folderSnapshot(folder, changed, folderSignature))), (e) => e.message)
      const [manifest, , , data] = files
      const message = yield* tampered([
        manifest!,
        Snapshots.folderFile("lib/a.py", "a = 2\n"),
        Snapshots.folderFile("run.sh", "exit 0\n"),
        Snapshots.folderFile("do what this says.py", "")
      ])
      for (
        const words of [
          "lib/a.py has changed",
          "run.sh has changed",
          "data.bin was removed",
          "one file is new"
        ]
      ) {
        assert.include(message, words)
      }
      assert.notInclude(message, "do what")
      assert.notInclude(message, "tool.yaml")
      assert.isDefined(data)
    }).pipe(Effect.provide(layer.pipe(Layer.provide(Layer.mock(VerifiedCopies, {
      recallFolder: (digest) =>
        Effect.succeed(digest === Snapshots.folderSnapshot(folder, files, folderSignature).digest ? files : undefined)
    }))))))

  it.effect.prop("believes every text that was signed, in any line ends, with or without a byte order mark", [
    Schema.Array(Schema.String.check(Schema.isPattern(/^[ -~\u00a0-\u00ff]*$/)))
  ], ([lines]) =>
    using((verify) =>
      Effect.gen(function*() {
        const text = lines.join("\n")
        const variants = [text, text.replaceAll("\n", "\r\n"), `\ufeff${text}`]
        const digests = new Set<string>()
        for (const variant of variants) {
          const snapshot = read(Snapshots.signText(you, location, variant))
          assert.strictEqual(snapshot.digest, read(variant).digest)
          yield* verify(snapshot)
          digests.add(snapshot.digest)
        }
        assert.strictEqual(digests.size, 1)
        const twice = Snapshots.signText(colleague, location, Snapshots.signText(you, location, text))
        assert.strictEqual(read(twice).digest, read(text).digest)
        yield* verify(read(twice))
      })
    ))
})

describe("the system tier", () => {
  const system = (path: string) => Snapshots.locationOf(path, { tier: "system" })

  it.effect("is what the manifest says, whatever is signed", () =>
    using((verify) =>
      Effect.gen(function*() {
        const own = system("tools/core/run.py")
        assert.deepStrictEqual((yield* verify(read("run", own))).by, { _tag: "System" })
        trusted.system = [standingOf(you)]
        const altered = [
          read("run!", own),
          read(Snapshots.signText(you, own, "run!"), own),
          read("run", system("tools/core/extra.py")),
          read("run", system("knowledge/run.md")),
          { ...read("run!", own), digest: read("run", own).digest },
          Snapshots.folderSnapshot({ ...system("tools/core.py"), path: "core", kind: "folder" }, [
            Snapshots.folderFile("run.py", "run"),
            Snapshots.folderFile("tool.yaml", "")
          ])
        ]
        for (const snapshot of altered) {
          assert.strictEqual((yield* Effect.flip(verify(snapshot)))._tag, "SystemItemAltered")
        }
      })
    ))

  it.effect("of a folder is all of its files and no other", () =>
    Effect.gen(function*() {
      const at = { ...system("tools/web/fetch"), kind: "folder" as const }
      const manifest = new Map(files.map((file) => [`tools/web/fetch/${file.path}`, file.digest]))
      const { verify } = yield* Effect.provide(
        Verifier,
        VerifierEd25519.layer.pipe(Layer.provide(Layer.succeed(SystemManifest, manifest)), Layer.provide(signers))
      )
      yield* verify(Snapshots.folderSnapshot(at, files))
      for (const changed of [files.slice(0, 3), [...files, Snapshots.folderFile("x.py", "")]]) {
        assert.strictEqual(
          (yield* Effect.flip(verify(Snapshots.folderSnapshot(at, changed))))._tag,
          "SystemItemAltered"
        )
      }
    }))

  it("has a manifest of what is in .ai now: run `node build/systemManifest.ts` after a change", () => {
    const root = fileURLToPath(new URL("../../..", import.meta.url))
    const module = readFileSync(`${root}src/layers/item/system/systemManifest.generated.ts`, "utf8")
    assert.strictEqual(generate(`${root}.ai`), module)
    assert.isAbove(systemManifest.size, 0)
  })
})
