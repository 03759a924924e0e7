import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { findControlFiles } from "../../../src/layers/trust/projectFolder.ts"
import { safeText } from "../../../src/services/error/safeText.ts"
import { SafeFiles } from "../../../src/services/files/SafeFiles.ts"
import { defaults } from "../../../src/services/settings/definitions.ts"
import { Settings } from "../../../src/services/settings/Settings.ts"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { SignerTrust } from "../../../src/services/trust/SignerTrust.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { type HostileClone, hostileClone } from "../../support/hostileClone.ts"
import { trustProject, worldIn } from "../../support/trustWorld.ts"

const cloned = Effect.map(hostileClone, (clone) => ({
  clone,
  w: worldIn({ home: join(clone.root, "../home"), root: clone.root })
}))

const nothingHappened = (clone: HostileClone) => {
  assert.deepStrictEqual(clone.ran(), [])
  assert.deepStrictEqual(clone.escaped(), [])
}

describe("a hostile clone", () => {
  it.effect("is not believed in anything before a person trusts it", () =>
    Effect.gen(function*() {
      const { clone, w } = yield* cloned
      yield* Effect.gen(function*() {
        const [trust, signers, settings, files] = [
          yield* ProjectTrust,
          yield* SignerTrust,
          yield* Settings,
          yield* SafeFiles
        ]
        assert.strictEqual((yield* trust.state)._tag, "Restricted")
        assert.strictEqual((yield* Effect.flip(trust.require))._tag, "ProjectRestricted")
        const control = yield* findControlFiles(files, clone.root)
        assert.isAtLeast(control.length, 8)
        for (const { path } of control) assert.isUndefined(yield* trust.readControl(path), path)
        assert.deepStrictEqual(yield* signers.list, [])
        assert.deepStrictEqual(yield* signers.candidates(clone.attacker.keyId, "project"), [])
        assert.deepStrictEqual(yield* settings.current, defaults)
        const held = (yield* settings.problems).filter(({ hint }) => hint === "kiwi trust project")
        assert.isAtLeast(held.length, 5)
      }).pipe(Effect.provide(w.layer))
      nothingHappened(clone)
    }))

  it.effect("shows what it wants, without a forged line and without a value or a text from outside", () =>
    Effect.gen(function*() {
      const { clone, w } = yield* cloned
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const { effects, request } = yield* trust.propose
        const all = effects.join("\n")
        for (
          const expected of [
            `key ${clone.attacker.keyId}`,
            "NODE_OPTIONS",
            "BASH_ENV",
            ".venv",
            "node_modules",
            ".nvmrc",
            ".tool-versions",
            "extractors/tools.yaml",
            "mcp.yaml",
            "permissions.yaml",
            "subprocess.timeout: 7d"
          ]
        ) assert.include(all, expected)
        assert.isTrue(effects.every((effect) => !effect.includes("\n")))
        assert.include(request.details, "+    command: /bin/sh")
        assert.notInclude(request.details, "attacker-token-value")
        assert.notInclude(request.details, clone.secret)
        assert.include(request.details, "refused")
        assert.notMatch(safeText(request.details).replaceAll(/[\n\t]/g, ""), /\p{Cc}/u)
      }).pipe(Effect.provide(w.layer))
      nothingHappened(clone)
    }))

  it.effect("brings no decision with it: not its trust.json, not its own home, not an index entry", () =>
    Effect.gen(function*() {
      const { clone, w } = yield* cloned
      fs.mkdirSync(w.home, { recursive: true, mode: 0o700 })
      yield* Effect.gen(function*() {
        const workspace = yield* Workspace
        const trust = yield* ProjectTrust
        const { state } = Option.getOrThrow(workspace.project)
        fs.copyFileSync(join(clone.root, ".ai/trust.json"), join(state, "trust.json"))
        const found = yield* trust.state
        assert.isTrue(found._tag === "Restricted" && found.reason.includes("replaced"))
      }).pipe(Effect.provide(w.layer))
      nothingHappened(clone)
    }))

  it.effect("leads no write out of it", () =>
    Effect.gen(function*() {
      const { clone, w } = yield* cloned
      yield* Effect.gen(function*() {
        const files = yield* SafeFiles
        for (const path of ["logs/audit/x.jsonl", "outputs/x", "tools/leak.py", "knowledge/leak.md"]) {
          const result = yield* Effect.result(files.write(join(clone.root, ".ai"), path, "x"))
          assert.isTrue(Result.isFailure(result) && result.failure.issue === "symlink", path)
        }
      }).pipe(Effect.provide(w.layer))
      nothingHappened(clone)
    }))

  it.effect("even when trusted gets no file through a link, and loses it all with a changed byte", () =>
    Effect.gen(function*() {
      const { clone, w } = yield* cloned
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const signers = yield* SignerTrust
        yield* trustProject
        assert.lengthOf(yield* signers.candidates(clone.attacker.keyId, "project"), 1)
        assert.deepStrictEqual(yield* signers.candidates(clone.attacker.keyId, "user"), [])
        assert.isUndefined(yield* trust.readControl(".ai/config/linked.yaml"))
        assert.isUndefined(yield* trust.readControl(".env.link"))
        fs.appendFileSync(join(clone.root, ".ai/config/trust.yaml"), "# more\n")
        assert.deepStrictEqual(yield* signers.list, [])
      }).pipe(Effect.provide(w.layer))
      nothingHappened(clone)
    }))
})
