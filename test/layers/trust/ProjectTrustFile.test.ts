import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { getuid } from "node:process"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { systemProgram } from "../../support/systemProgram.ts"
import { agree, decisionFile, trustProject, world, worldIn } from "../../support/trustWorld.ts"

const text = (bytes: Uint8Array | undefined) => bytes === undefined ? undefined : new TextDecoder().decode(bytes)
const texts = (all: ReadonlyArray<Uint8Array>) => all.map(text)
const rules = ".ai/config/permissions.yaml"
const isRoot = getuid?.() === 0

const states = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  return Object.fromEntries((yield* trust.controlFiles).map((file) => [file.path, file.state]))
})

const stateTag = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  return (yield* trust.state)._tag
})

const interpreters = [".venv", ".ai/scripts/.venv"].map((folder) => `${folder}/bin/python`)
  .concat(["node_modules", ".ai/scripts/node_modules"].map((folder) => `${folder}/.bin/node`))

describe("ProjectTrustFile", () => {
  it.effect("restricts a project until a person accepts it, for every kernel from then on", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(rules, "deny: all\n")
      w.put(".env", "TOKEN=sesame\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        assert.deepStrictEqual(yield* trust.state, {
          _tag: "Restricted",
          reason: "nobody has trusted it yet",
          unsafe: false
        })
        assert.strictEqual((yield* Effect.flip(trust.require)).remediation, "kiwi trust project")
        assert.isUndefined(yield* trust.readControl(rules))
        assert.isUndefined(yield* trust.readControl(".env"))
        assert.deepStrictEqual(texts(yield* trust.readNarrowing(rules)), ["deny: all\n"])
        assert.deepStrictEqual(yield* trust.readNarrowing(".env"), [])
        assert.deepStrictEqual(yield* states, { [rules]: "new", ".env": "new" })
        yield* trustProject
        assert.strictEqual(yield* stateTag, "Trusted")
      }).pipe(Effect.provide(w.layer))
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trust.require
        assert.strictEqual(text(yield* trust.readControl(rules)), "deny: all\n")
        assert.strictEqual(text(yield* trust.readControl(".env")), "TOKEN=sesame\n")
        assert.deepStrictEqual(yield* trust.readNarrowing(rules), [])
        assert.isUndefined(yield* trust.readControl("package.json"))
        assert.isUndefined(yield* trust.readControl(".ai/config/../../.env"))
        assert.deepStrictEqual(yield* states, { [rules]: "accepted", ".env": "accepted" })
        yield* trust.revoke
        assert.strictEqual(yield* stateTag, "Restricted")
        assert.isUndefined(yield* trust.readControl(rules))
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("does not use what was changed, added or removed, and keeps what it restricted", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(rules, "deny: shell\n")
      w.put(".ai/config/other.yaml", "kept: true\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trustProject
        w.put(rules, "allow: everything\n")
        w.put(".ai/config/new.yaml", "allow: more\n")
        w.put(".env.local", "X=1\n")
        assert.strictEqual(yield* stateTag, "Trusted")
        assert.isUndefined(yield* trust.readControl(rules))
        assert.isUndefined(yield* trust.readControl(".ai/config/new.yaml"))
        assert.isUndefined(yield* trust.readControl(".env.local"))
        assert.strictEqual(text(yield* trust.readControl(".ai/config/other.yaml")), "kept: true\n")
        assert.deepStrictEqual(texts(yield* trust.readNarrowing(rules)), ["deny: shell\n", "allow: everything\n"])
        assert.deepStrictEqual(yield* states, {
          [rules]: "changed",
          ".ai/config/new.yaml": "new",
          ".ai/config/other.yaml": "accepted",
          ".env.local": "new"
        })
        fs.rmSync(join(w.root, ".ai/config"), { recursive: true })
        assert.isUndefined(yield* trust.readControl(rules))
        assert.deepStrictEqual(texts(yield* trust.readNarrowing(rules)), ["deny: shell\n"])
        assert.deepInclude(yield* states, { [rules]: "removed", ".ai/config/other.yaml": "removed" })
        const shown = yield* trustProject
        assert.include(shown.request.details, "-deny: shell")
        assert.include(shown.effects.join("\n"), "what it restricted no longer holds")
        assert.deepStrictEqual(yield* trust.readNarrowing(rules), [])
        assert.deepStrictEqual(yield* states, { ".env.local": "accepted" })
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("stops when its own copy of a changed file is gone, since what that restricted is unknown", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(rules, "deny: shell\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trustProject
        const copies = join(decisionFile(w.home), "../control")
        for (const name of fs.readdirSync(copies)) fs.writeFileSync(join(copies, name), "deny: nothing\n")
        assert.deepStrictEqual(yield* trust.readNarrowing(rules), [])
        w.put(rules, "changed\n")
        assert.strictEqual((yield* Effect.flip(trust.readNarrowing(rules)))._tag, "ProjectRestricted")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("accepts exactly what was shown", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(rules, "one\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const shown = yield* trust.propose
        assert.deepStrictEqual(yield* trust.propose, shown)
        const act = agree(shown.request)
        yield* Effect.flip(trust.accept(shown, { ...act, kind: "sign" }))
        yield* Effect.flip(trust.accept(shown, { ...act, digest: "0".repeat(64) }))
        w.put(rules, "two\n")
        yield* Effect.flip(trust.accept(shown, act))
        yield* Effect.flip(trust.accept(yield* trust.propose, act))
        w.put(rules, "one\n")
        w.put(".ai/extractors/new.yaml", "x: 1\n")
        yield* Effect.flip(trust.accept(shown, act))
        fs.rmSync(join(w.root, ".ai/extractors"), { recursive: true })
        w.put(".venv/bin/python", systemProgram)
        yield* Effect.flip(trust.accept(shown, act))
        fs.rmSync(join(w.root, ".venv"), { recursive: true })
        assert.strictEqual(yield* stateTag, "Restricted")
        yield* trust.accept(shown, act)
        assert.strictEqual(yield* stateTag, "Trusted")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("believes no decision that is torn, planted, of another project or by another user", () =>
    Effect.gen(function*() {
      const w = yield* world
      yield* Effect.gen(function*() {
        yield* trustProject
        const file = decisionFile(w.home)
        const good = fs.readFileSync(file, "utf8")
        const bad = [
          good.slice(0, -10),
          "",
          "null",
          good.replace(`"root":"${w.root}"`, "\"root\":\"/elsewhere\""),
          good.replace("\"version\":1", "\"version\":2"),
          good.replace(/"folder":"[^"]*","mark":"[^"]*"/, "\"folder\":\"1:1\"")
        ]
        for (const content of bad) {
          assert.notStrictEqual(content, good)
          fs.writeFileSync(file, content)
          assert.strictEqual(yield* stateTag, "Restricted", content)
        }
        fs.writeFileSync(file, good)
        assert.strictEqual(yield* stateTag, "Trusted")
        fs.chmodSync(file, 0o666)
        assert.strictEqual(yield* stateTag, "Restricted")
        fs.chmodSync(file, 0o600)
        assert.strictEqual(yield* stateTag, "Trusted")
        fs.renameSync(file, `${file}.real`)
        fs.symlinkSync(`${file}.real`, file)
        assert.strictEqual(yield* stateTag, "Restricted")
        fs.rmSync(file)
        fs.renameSync(`${file}.real`, file)
        if (!isRoot) return
        fs.chownSync(file, 4242, 4242)
        assert.strictEqual(yield* stateTag, "Restricted")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("notices that the folder was replaced by another of the same name and content", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(rules, "same\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trustProject
        fs.renameSync(w.root, `${w.root}-moved`)
        assert.strictEqual(
          (yield* Effect.flip(trust.require)).remediation,
          "Start Kiwi again in the folder that you mean"
        )
        // As a clone has it: without what Kiwi left in the folder.
        fs.cpSync(`${w.root}-moved`, w.root, { recursive: true, filter: (path) => !path.includes("cache") })
        const error = yield* Effect.flip(trust.require)
        assert.include(error.reason, "replaced")
        assert.isUndefined(yield* trust.readControl(rules))
        fs.rmSync(w.root, { recursive: true })
        fs.renameSync(`${w.root}-moved`, w.root)
        assert.strictEqual(yield* stateTag, "Trusted")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("refuses folders that others own or can write until a person accepted just that", () =>
    Effect.gen(function*() {
      const w = yield* world
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trustProject
        const unsafe: ReadonlyArray<readonly [string, () => void, () => void]> = [
          ["the project's folder can be", () => fs.chmodSync(w.root, 0o777), () => fs.chmodSync(w.root, 0o755)],
          [
            "its .ai can be",
            () => fs.chmodSync(join(w.root, ".ai"), 0o757),
            () => fs.chmodSync(join(w.root, ".ai"), 0o755)
          ],
          ["$KIWI_HOME can be", () => fs.chmodSync(w.home, 0o777), () => fs.chmodSync(w.home, 0o700)],
          ...(isRoot
            ? [
              ["the project's folder belongs", () => fs.chownSync(w.root, 4242, 0), () => fs.chownSync(w.root, 0, 0)],
              ["$KIWI_HOME belongs", () => fs.chownSync(w.home, 4242, 0), () => fs.chownSync(w.home, 0, 0)]
            ] as const
            : [])
        ]
        for (const [reason, spoil, mend] of unsafe) {
          spoil()
          const state = yield* trust.state
          assert.isTrue(state._tag === "Restricted" && state.unsafe && state.reason.startsWith(reason), reason)
          const shown = yield* trustProject
          assert.include(shown.effects[0], "Careful")
          assert.strictEqual(yield* stateTag, "Trusted", reason)
          mend()
          assert.strictEqual(yield* stateTag, "Trusted", reason)
          yield* trustProject
          spoil()
          assert.strictEqual(yield* stateTag, "Restricted", "an accepted concern is forgotten once it was mended")
          mend()
        }
        fs.chmodSync(w.root, 0o1777)
        assert.strictEqual(yield* stateTag, "Trusted", "the sticky bit makes a shared folder safe enough")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("accepts no .ai that is a link, and no home that is no folder", () =>
    Effect.gen(function*() {
      const w = yield* world
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trustProject
        fs.renameSync(join(w.root, ".ai"), join(w.root, "elsewhere"))
        fs.symlinkSync("elsewhere", join(w.root, ".ai"))
        assert.strictEqual((yield* Effect.flip(trust.require)).remediation, "Replace .ai with the folder itself")
        assert.strictEqual((yield* Effect.flip(trustProject))._tag, "ProjectRestricted")
      }).pipe(Effect.provide(w.layer))
      const looped = worldIn({ home: join(w.root, "loop"), root: w.root })
      fs.symlinkSync("loop", looped.home)
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        assert.include((yield* Effect.flip(trust.require)).message, "is a link or not a folder")
        fs.rmSync(join(w.root, ".ai"))
        assert.include((yield* Effect.flip(trust.require)).message, "$KIWI_HOME is a broken link")
        assert.strictEqual((yield* Effect.flip(trustProject))._tag, "ProjectRestricted")
      }).pipe(Effect.provide(looped.layer))
    }))

  it.effect("never uses a control file that is a link, a pipe or too large, and trusts the rest", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put("../secret", "TOKEN=outside\n")
      w.put(".ai/config/good.yaml", "a: 1\n")
      w.put(".ai/config/deep/er/x.yaml", "b: 1\n")
      w.put(".ai/config/big.yaml", "x".repeat(1_048_577))
      fs.symlinkSync("../secret", join(w.root, ".env"))
      fs.symlinkSync("../..", join(w.root, ".ai/config/up"))
      fs.symlinkSync("config", join(w.root, ".ai/extractors"))
      assert.strictEqual(spawnSync("mkfifo", [join(w.root, ".ai/config/pipe")]).status, 0)
      fs.mkdirSync(join(w.root, ".env.d"))
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const shown = yield* trustProject
        assert.notInclude(shown.request.details, "outside")
        assert.deepStrictEqual(yield* states, {
          ".ai/config/big.yaml": "refused",
          ".ai/config/deep/er/x.yaml": "accepted",
          ".ai/config/good.yaml": "accepted",
          ".ai/config/pipe": "refused",
          ".ai/config/up": "refused",
          ".ai/extractors": "refused",
          ".env": "refused"
        })
        for (
          const path of [".env", ".ai/config/up", ".ai/config/pipe", ".ai/config/big.yaml", ".ai/extractors/good.yaml"]
        ) {
          assert.isUndefined(yield* trust.readControl(path), path)
        }
        fs.renameSync(join(w.root, ".ai/config/good.yaml"), join(w.root, "good.yaml"))
        fs.symlinkSync("../../good.yaml", join(w.root, ".ai/config/good.yaml"))
        assert.isUndefined(yield* trust.readControl(".ai/config/good.yaml"))
        assert.deepStrictEqual(texts(yield* trust.readNarrowing(".ai/config/good.yaml")), ["a: 1\n"])
      }).pipe(Effect.provide(w.layer))
    }))

  it.live("sees a change at once, however quickly it follows the last", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(rules, "0\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trustProject
        for (let n = 0; n < 200; n++) {
          w.put(rules, n % 2 === 0 ? "1\n" : "0\n")
          assert.strictEqual(text(yield* trust.readControl(rules)), n % 2 === 0 ? undefined : "0\n")
        }
        yield* Effect.sleep("2100 millis")
        assert.strictEqual(text(yield* trust.readControl(rules)), "0\n")
        assert.strictEqual(text(yield* trust.readControl(rules)), "0\n")
        const { atime, mtime } = fs.statSync(join(w.root, rules))
        w.put(rules, "1\n")
        fs.utimesSync(join(w.root, rules), atime, mtime)
        assert.isUndefined(yield* trust.readControl(rules))
      }).pipe(Effect.provide(w.layer))
    }), 10_000)

  it.effect("keeps values of .env files nowhere: not in what it shows, not in the home", () =>
    Effect.gen(function*() {
      const w = yield* world
      w.put(".env", "API_KEY=correct-horse\nPATH=/evil\nexport OTHER = battery\n# C=x\nnot a line\n")
      yield* Effect.gen(function*() {
        const first = yield* trustProject
        assert.include(first.effects.join("\n"), ".env sets API_KEY, OTHER, for", "PATH counts in no .env")
        w.put(".env", "API_KEY=staple-gun\nNODE_OPTIONS=--require=x\n")
        const second = yield* trustProject
        assert.include(second.request.details, "-OTHER\n+NODE_OPTIONS")
        const kept = fs.readdirSync(w.home, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => fs.readFileSync(join(entry.parentPath, entry.name), "utf8"))
          .join("\n")
        assert.include(kept, "API_KEY")
        for (const value of ["correct-horse", "battery", "staple-gun", "--require"]) {
          assert.notInclude(first.request.details + second.request.details + kept, value)
        }
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("says in sentences what trust would switch on, and lets no name forge one", () =>
    Effect.gen(function*() {
      const w = yield* world
      const key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
      w.put(
        ".ai/config/trust.yaml",
        `signers:\n  - name: Ada\n    public_key: ${key}\n  - public_key: nonsense\n  - name: "Ada\\n  - Nothing else"\n    public_key: ${key}\n`
      )
      w.put(".ai/config/kiwi.yaml", "subprocess.timeout: 3000s\nhttp.timeout: 5s\n")
      w.put(".ai/extractors/x.yaml", "a: 1\n")
      w.put(".nvmrc", "../../\u001b[31mevil\n")
      for (const place of interpreters) w.put(place, "#!/bin/sh\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const { effects, request } = yield* trust.propose
        const all = effects.join("\n")
        assert.include(all, "Signatures of \"Ada\" (key 21fe31dfa154a261)")
        assert.include(all, "trust.yaml:5 proposes nobody: its name has a line break")
        assert.include(all, "trust.yaml:4 proposes nobody")
        assert.include(all, "subprocess.timeout: 3000s")
        assert.notInclude(all, "http.timeout")
        assert.include(all, ".ai/extractors/x.yaml")
        for (const place of interpreters) {
          assert.include(all, `run with ${place}: `)
        }
        assert.include(all, ".nvmrc chooses the version of an interpreter; it says \"../../\\u{1b}[31mevil\"")
        assert.isTrue(effects.every((effect) => !effect.includes("\n")))
        assert.include(request.details, "+subprocess.timeout: 3000s")
        assert.strictEqual(request.command, "kiwi trust project")
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("trusts a new .ai for kiwi init, but none that was there, and no control file that nobody was shown", () =>
    Effect.gen(function*() {
      const w = yield* world
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const made = yield* trust.trustNew(Effect.sync(() => w.put(rules, "made\n")))
        assert.deepStrictEqual(made, { value: undefined, trusted: false })
        fs.rmSync(join(w.root, ".ai"), { recursive: true })
        fs.symlinkSync("nowhere", join(w.root, ".ai"))
        assert.isFalse((yield* trust.trustNew(Effect.void)).trusted)
        fs.rmSync(join(w.root, ".ai"))
        w.put(".env", "NODE_OPTIONS=x\n")
        fs.chmodSync(w.root, 0o777)
        assert.isFalse((yield* trust.trustNew(Effect.void)).trusted)
        fs.chmodSync(w.root, 0o755)
        assert.strictEqual(yield* stateTag, "Restricted")
        assert.isTrue((yield* trust.trustNew(Effect.sync(() => w.put(rules, "made\n")))).trusted)
        assert.strictEqual(yield* stateTag, "Trusted")
        assert.deepStrictEqual(yield* states, { [rules]: "new", ".env": "new" })
        for (const path of [rules, ".env"]) assert.isUndefined(yield* trust.readControl(path))
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("uses no interpreter that was there before kiwi init or came later, until a person has been shown it", () =>
    Effect.gen(function*() {
      const w = yield* world
      fs.rmSync(join(w.root, ".ai"), { recursive: true })
      fs.symlinkSync("elsewhere", join(w.root, "node_modules"))
      w.put(".nvmrc", "20\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        yield* trust.trustNew(Effect.sync(() => fs.mkdirSync(join(w.root, ".ai"))))
        assert.deepStrictEqual(yield* trust.state, { _tag: "Trusted", seen: [] })
        assert.deepStrictEqual(yield* trust.unseen, [".nvmrc"])
        const bytes = (value: string) => new TextEncoder().encode(value)
        w.put(rules, "made\n")
        assert.isTrue(yield* trust.renew(rules, { before: undefined, after: bytes("made\n") }))
        assert.deepStrictEqual(yield* trust.state, { _tag: "Trusted", seen: [] })
        yield* trustProject
        assert.deepStrictEqual(yield* trust.state, { _tag: "Trusted", seen: [".nvmrc"] })
        assert.deepStrictEqual(yield* trust.unseen, [])
        w.put(".venv/bin/python", systemProgram)
        assert.deepStrictEqual(yield* trust.unseen, [".venv/bin/python"])
        assert.deepStrictEqual(yield* trust.state, { _tag: "Trusted", seen: [".nvmrc"] })
        assert.include((yield* trustProject).effects.join("\n"), ".venv/bin/python in the project, sha256")
        assert.deepStrictEqual(yield* trust.unseen, [])
      }).pipe(Effect.provide(w.layer))
    }))

  it.effect("renews an edit of its own, but carries no stranger's change along", () =>
    Effect.gen(function*() {
      const w = yield* world
      const bytes = (value: string) => new TextEncoder().encode(value)
      w.put(rules, "one\n")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        assert.isFalse(yield* trust.renew(rules, { before: bytes("one\n"), after: bytes("two\n") }))
        yield* trustProject
        w.put(rules, "two\n")
        assert.isTrue(yield* trust.renew(rules, { before: bytes("one\n"), after: bytes("two\n") }))
        assert.strictEqual(text(yield* trust.readControl(rules)), "two\n")
        w.put(rules, "stranger's\n")
        assert.isFalse(yield* trust.renew(rules, { before: bytes("stranger's\n"), after: bytes("three\n") }))
        assert.isFalse(yield* trust.renew(".env", { before: bytes("A=1"), after: bytes("A=2") }))
        assert.isTrue(yield* trust.renew(".ai/config/new.yaml", { before: undefined, after: bytes("n\n") }))
        assert.isTrue(yield* trust.renew(".ai/config/new.yaml", { before: bytes("n\n"), after: undefined }))
        assert.isFalse(yield* trust.renew("package.json", { before: undefined, after: bytes("{}") }))
        assert.deepStrictEqual(yield* states, { [rules]: "changed" })
        assert.deepStrictEqual(texts(yield* trust.readNarrowing(rules)), ["two\n", "stranger's\n"])
      }).pipe(Effect.provide(w.layer))
    }))
})
