// `lockfile verify --frozen` over a clone that somebody prepared: what must be refused is, with nothing of the machine's
// own to go by – no key, no decision, an empty home.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import * as Checkout from "../../src/layers/Checkout.ts"
import * as GitTreeProcess from "../../src/layers/git/GitTreeProcess.ts"
import { sha256 } from "../../src/layers/identity/sha256.ts"
import * as Kernel from "../../src/layers/Kernel.ts"
import { verifyFrozen } from "../../src/programs/verifyFrozen.ts"
import type { VerifiedFrozen, VerifyFrozenInput } from "../../src/programs/verifyFrozen.ts"
import { ChainResolver } from "../../src/services/chain/ChainResolver.ts"
import { Identity } from "../../src/services/identity/Identity.ts"
import { Signatures } from "../../src/services/integrity/Signatures.ts"
import { qualifiedId } from "../../src/services/item/ItemPath.ts"
import { ItemStore } from "../../src/services/item/ItemStore.ts"
import { freeze } from "../../src/services/lockfile/Lockfile.ts"
import { LockfileStore } from "../../src/services/lockfile/LockfileStore.ts"
import type { Signer } from "../../src/services/trust/SignerTrust.ts"
import { temporary } from "../support/temporary.ts"
import { agree } from "../support/trustWorld.ts"

const python = (version: string, body = "print(1)") =>
  `"""A tool."""\n__version__ = "${version}"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n${body}\n`

const items: Readonly<Record<string, string>> = {
  ".ai/tools/math/add.py": python("1.0.0"),
  ".ai/tools/top.py": python("2.0.0"),
  ".ai/tools/web/parts/tool.yaml":
    "tool_id: parts\nversion: \"1.0.0\"\ntool_type: python\nexecutor_id: python_runtime\ndescription: Two files\nentrypoint: main.py\n",
  ".ai/tools/web/parts/main.py": "import part\n",
  ".ai/tools/web/parts/part.py": "text = 1\n",
  ".ai/tools/runtimes/own_runtime.yaml":
    "tool_id: own_runtime\nversion: \"1.0.0\"\ntool_type: runtime\nexecutor_id: subprocess\ndescription: Echo\nconfig: {command: echo}\n",
  ".ai/tools/said.yaml":
    "tool_id: said\nversion: \"1.0.0\"\ntool_type: bash\nexecutor_id: own_runtime\ndescription: Says it\n",
  ".ai/knowledge/house.md": "---\nid: house\ntitle: House\nversion: \"1.0.0\"\nentry_type: reference\n---\nText.\n",
  ".ai/directives/go.md":
    "# Go\n\n```xml\n<directive name=\"go\" version=\"1.0.0\"><metadata><description>Goes</description><author>a</author><model tier=\"fast\"/><permissions><read resource=\"filesystem\" path=\"**\"/></permissions></metadata><process><step name=\"one\"><action>Go</action></step></process></directive>\n```\n"
}

interface Machine {
  readonly home: string
  readonly userSpace: string
}

const processOf = ({ home, userSpace }: Machine) => Kernel.layerProcess({ home, userSpace })

/** Signs everything and locks every tool, as somebody who works here. */
const signAndLock = (machine: Machine, root: string) =>
  Effect.gen(function*() {
    yield* Effect.gen(function*() {
      const signatures = yield* Signatures
      const plan = yield* signatures.plan({ id: "**", tier: "project" })
      assert.deepStrictEqual(plan.refused.map(({ error }) => error.message), [])
      yield* signatures.sign(plan, agree(plan.request))
    }).pipe(Effect.provide(Kernel.layerProject(root)))
    yield* Effect.gen(function*() {
      const store = yield* ItemStore
      const chains = yield* ChainResolver
      const locks = yield* LockfileStore
      for (const location of yield* store.list({ type: "tool", tier: "project" })) {
        const { chain } = yield* chains.resolve({ id: qualifiedId(location), tier: "project" })
        yield* locks.save(freeze(chain, sha256), { scope: "project" })
      }
    }).pipe(Effect.provide(Checkout.layer({ root, signers: undefined })))
    return yield* Effect.flatMap(Identity, (identity) => identity.current)
  }).pipe(Effect.provide(processOf(machine)))

const trustText = (...signers: ReadonlyArray<{ readonly name: string; readonly publicKey: string }>) =>
  `signers:\n${signers.map(({ name, publicKey }) => `  - name: ${name}\n    public_key: ${publicKey}\n`).join("")}`

const machineIn = (folder: string, name: string): Machine => ({
  home: join(folder, name, "kiwi"),
  userSpace: join(folder, name, "user")
})

/** Made once: signatures and locks know nothing of the folder that they lie in. */
const template = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "kiwi-test-")))
let mia: Signer
beforeAll(async () => {
  const root = join(template, "clone")
  for (const [path, text] of Object.entries(items)) {
    fs.mkdirSync(dirname(join(root, path)), { recursive: true })
    fs.writeFileSync(join(root, path), text)
  }
  mia = (await Effect.runPromise(signAndLock(machineIn(template, "mia"), root)))!
})
afterAll(() => fs.rmSync(template, { recursive: true, force: true }))

/** A clone with everything signed and locked by Mia, and a machine that has never heard of it. */
const clone = Effect.gen(function*() {
  const folder = yield* temporary
  fs.cpSync(template, folder, { recursive: true })
  const root = join(folder, "clone")
  const write = (path: string, text: string | Uint8Array, below = root) => {
    fs.mkdirSync(dirname(join(below, path)), { recursive: true })
    fs.writeFileSync(join(below, path), text)
    return join(below, path)
  }
  const machine = (name: string) => machineIn(folder, name)
  write(".ai/config/trust.yaml", trustText(mia))
  const trust = write("trust.yaml", trustText(mia), join(folder, "ci"))
  const ci = machine("ci")
  const check = (input: Partial<VerifyFrozenInput> = {}, on: Machine = ci) =>
    Effect.provide(
      verifyFrozen({ project: root, ...input }),
      GitTreeProcess.layer.pipe(Layer.provideMerge(processOf(on)))
    )
  return { folder, root, write, machine, trust, ci, check }
})

const found = ({ problems }: VerifiedFrozen) => problems.map(({ item, problem }) => `${problem}: ${item}`)

describe("a clone as it was signed and locked", () => {
  it.live("passes with nothing on the machine, which stays as it was", () =>
    Effect.gen(function*() {
      const { check, ci, trust } = yield* clone
      const answer = yield* check({ trust })
      assert.deepStrictEqual(found(answer), [])
      assert.deepStrictEqual(answer.warnings, [])
      assert.isTrue(answer.ok)
      assert.deepStrictEqual(answer.checked, { directive: 1, tool: 5, knowledge: 1, lock: 5 })
      assert.deepStrictEqual(answer.trust, {
        from: "file",
        file: trust,
        signers: [{ key_id: mia.keyId, name: mia.name, by: "file" }]
      })
      assert.isFalse(fs.existsSync(ci.home), "nothing is written")
      assert.isFalse(fs.existsSync(ci.userSpace))
    }))

  it.live("passes by its own word without --trust, and says whose word that is", () =>
    Effect.gen(function*() {
      const { check } = yield* clone
      const answer = yield* check()
      assert.deepStrictEqual([answer.ok, answer.trust.from], [true, "checkout"])
      assert.deepStrictEqual(answer.trust.signers.map(({ key_id }) => key_id), [mia.keyId])
    }))

  it.live("passes for whoever signed it without anybody being named", () =>
    Effect.gen(function*() {
      const { check, machine, root } = yield* clone
      fs.rmSync(join(root, ".ai/config"), { recursive: true })
      assert.isTrue((yield* check({}, machine("mia"))).ok)
      assert.isFalse((yield* check()).ok)
    }))
})

describe("a clone that somebody changed", () => {
  const changed = (
    name: string,
    change: (world: Effect.Success<typeof clone>) => void,
    expected: ReadonlyArray<string>,
    warnings: ReadonlyArray<string> = []
  ) =>
    it.live(name, () =>
      Effect.gen(function*() {
        const world = yield* clone
        change(world)
        for (const trust of [world.trust, undefined]) {
          const answer = yield* world.check({ trust })
          assert.deepStrictEqual(found(answer), expected)
          assert.strictEqual(answer.ok, expected.length === 0)
          assert.deepStrictEqual(answer.warnings.map(({ item }) => item), warnings)
          for (const { message, remediation } of answer.problems) {
            assert.isAbove(message.length, 0)
            assert.isAbove(remediation.length, 0)
          }
        }
      }))

  changed("has an item that nobody signed", ({ write }) => write(".ai/tools/extra.py", python("1.0.0")), [
    "unsigned: project:tools/extra.py",
    "not locked: project:tools/extra.py"
  ])
  changed("has knowledge that nobody signed", ({ write }) =>
    write(
      ".ai/knowledge/more.md",
      "---\nid: more\ntitle: M\nversion: \"1.0.0\"\nentry_type: reference\n---\nText.\n"
    ), ["unsigned: project:knowledge/more.md"])
  changed("has a byte more in a tool", ({ root }) => fs.appendFileSync(join(root, ".ai/tools/math/add.py"), "#"), [
    "tampered: project:tools/math/add.py",
    "not as locked: project:tools/math/add.py"
  ])
  changed("has a byte more in a directive", ({ root }) => fs.appendFileSync(join(root, ".ai/directives/go.md"), "x"), [
    "tampered: project:directives/go.md"
  ])
  changed(
    "has a changed runtime",
    ({ root }) => fs.appendFileSync(join(root, ".ai/tools/runtimes/own_runtime.yaml"), "# x\n"),
    [
      "tampered: project:tools/runtimes/own_runtime.yaml",
      "not as locked: project:tools/runtimes/own_runtime.yaml",
      "not as locked: project:tools/said.yaml"
    ]
  )
  changed("has a file more in a folder tool", ({ write }) => write(".ai/tools/web/parts/evil.py", "x = 1\n"), [
    "tampered: project:tools/web/parts",
    "not as locked: project:tools/web/parts"
  ])
  changed("has a file less in a folder tool", ({ root }) => fs.rmSync(join(root, ".ai/tools/web/parts/part.py")), [
    "tampered: project:tools/web/parts",
    "not as locked: project:tools/web/parts"
  ])
  changed(
    "has a tool moved to another folder",
    ({ root }) => {
      fs.mkdirSync(join(root, ".ai/tools/other"))
      fs.renameSync(join(root, ".ai/tools/math/add.py"), join(root, ".ai/tools/other/add.py"))
    },
    ["tampered: project:tools/other/add.py", "not locked: project:tools/other/add.py"],
    [
      "project:lockfiles/math/add@1.0.0.lock.json"
    ]
  )
  changed("has lost a lock", ({ root }) => fs.rmSync(join(root, ".ai/lockfiles/math/add@1.0.0.lock.json")), [
    "not locked: project:tools/math/add.py"
  ])
  changed("has one lock in the place of another", ({ root }) =>
    fs.copyFileSync(
      join(root, ".ai/lockfiles/tools/top@2.0.0.lock.json"),
      join(root, ".ai/lockfiles/math/add@1.0.0.lock.json")
    ), ["lock invalid: project:lockfiles/math/add@1.0.0.lock.json"])
  changed("has two locks swapped", ({ root }) => {
    const [a, b] = [
      join(root, ".ai/lockfiles/tools/top@2.0.0.lock.json"),
      join(root, ".ai/lockfiles/math/add@1.0.0.lock.json")
    ]
    fs.renameSync(a, `${a}.x`)
    fs.renameSync(b, a)
    fs.renameSync(`${a}.x`, b)
  }, [
    "lock invalid: project:lockfiles/math/add@1.0.0.lock.json",
    "lock invalid: project:lockfiles/tools/top@2.0.0.lock.json"
  ])
  changed("has a lock with the digest of something else", ({ root }) => {
    const file = join(root, ".ai/lockfiles/math/add@1.0.0.lock.json")
    const lock = JSON.parse(fs.readFileSync(file, "utf8"))
    lock.resolved_chain[0].integrity = lock.root.integrity = "a".repeat(64)
    lock.chain_hash = sha256(
      lock.resolved_chain.map((l: Record<string, string>) => `${l["tool_id"]}@${l["version"]}:${l["integrity"]}`).join(
        "|"
      )
    ).slice(0, 12)
    fs.writeFileSync(file, JSON.stringify(lock))
  }, ["not as locked: project:tools/math/add.py"])
  changed("has an id twice", ({ root }) => {
    fs.mkdirSync(join(root, ".ai/tools/other"))
    fs.copyFileSync(join(root, ".ai/tools/math/add.py"), join(root, ".ai/tools/other/add.py"))
  }, [
    "ambiguous: project:tools/math/add.py, project:tools/other/add.py",
    "tampered: project:tools/other/add.py",
    "not locked: project:tools/other/add.py"
  ])
  changed(
    "has a link where a tool was",
    ({ folder, root }) => {
      const file = join(root, ".ai/tools/math/add.py")
      fs.renameSync(file, join(folder, "add.py"))
      fs.symlinkSync(join(folder, "add.py"), file)
    },
    ["unreadable: project:tools/math/add.py"],
    ["project:lockfiles/math/add@1.0.0.lock.json"]
  )
  changed("has a tool that is none", ({ write }) => write(".ai/tools/Not An Id.py", "x = 1\n"), [
    "invalid: project:tools/Not An Id.py"
  ])
  changed(
    "has a lock that is a folder, one that is a pipe, one that is a link, one that is no text",
    ({ root, write }) => {
      const at = (name: string) => join(root, ".ai/lockfiles/math", name)
      fs.mkdirSync(at("a@1.0.0.lock.json"))
      execFileSync("mkfifo", [at("b@1.0.0.lock.json")])
      fs.symlinkSync(at("add@1.0.0.lock.json"), at("c@1.0.0.lock.json"))
      write(".ai/lockfiles/math/d@1.0.0.lock.json", Uint8Array.from([0xff, 0xfe, 0x00]))
    },
    ["a", "b", "c", "d"].map((name) => `lock invalid: project:lockfiles/math/${name}@1.0.0.lock.json`)
  )
  changed("keeps the lock of a version that is gone", ({ root }) =>
    fs.copyFileSync(
      join(root, ".ai/lockfiles/math/add@1.0.0.lock.json"),
      join(root, ".ai/lockfiles/math/add@0.9.0.lock.json")
    ), ["lock invalid: project:lockfiles/math/add@0.9.0.lock.json"])
  changed("has lost a tool", ({ root }) => fs.rmSync(join(root, ".ai/tools/math/add.py")), [], [
    "project:lockfiles/math/add@1.0.0.lock.json"
  ])

  changed(
    "has what nobody can sign beside its items, told and no reason to refuse",
    ({ write }) => {
      write(".ai/scripts/build.sh", "#!/bin/sh\n")
      write(".ai/tools/math/lib.so", "x")
      write(".ai/tools/.hidden/add.py", python("1.0.0"))
      write(".ai/logs/today", "x")
    },
    [],
    ["project:scripts/build.sh", "project:tools/.hidden", "project:tools/math/lib.so"]
  )

  changed(
    "brings what its tools would be run by",
    ({ write }) => {
      write(".ai/scripts/.venv/bin/python", "#!/bin/sh\n")
      write(".ai/scripts/node_modules/.bin/node", "#!/bin/sh\n")
    },
    ["interpreter: project:scripts/.venv", "interpreter: project:scripts/node_modules"]
  )

  const brings = (what: string, path: string, make: (root: string, file: string) => void, counts: boolean) =>
    it.live(`brings ${what}`, () =>
      Effect.gen(function*() {
        const { check, root, trust } = yield* clone
        const file = join(root, path)
        fs.mkdirSync(dirname(file), { recursive: true })
        make(root, file)
        const { ok, problems, warnings } = yield* check({ trust })
        const named = (all: ReadonlyArray<{ readonly item: string }>) => all.filter(({ item }) => item === path).length
        assert.deepStrictEqual([ok, named(problems), named(warnings)], counts ? [false, 1, 0] : [true, 0, 1])
      }))
  const script = (_: string, file: string) => fs.writeFileSync(file, "#!/bin/sh\n", { mode: 0o755 })
  brings("a Python in .venv", ".venv/bin/python", script, true)
  brings("a link out of it in .venv", ".venv/bin/python", (_, file) => fs.symlinkSync("/usr/bin/env", file), true)
  brings("a Node in node_modules", "node_modules/.bin/node", script, true)
  brings("a .venv that is a link", ".venv/bin/python", (root, file) => {
    fs.rmSync(join(root, ".venv"), { recursive: true })
    fs.mkdirSync(join(root, "env/bin"), { recursive: true })
    script(root, join(root, "env/bin/python"))
    fs.symlinkSync("env", join(root, ".venv"))
    assert.isTrue(fs.existsSync(file))
  }, true)
  brings("a virtual environment that leads into it", "deep/er/env/pyvenv.cfg", (root, file) => {
    fs.writeFileSync(file, `home = ${root}/vendor\n`)
  }, true)
  brings("a virtual environment that leads into it by a relative path", "env/pyvenv.cfg", (_, file) => {
    fs.writeFileSync(file, "home=../vendor\n")
  }, true)
  brings("a virtual environment", "env/pyvenv.cfg", (_, file) => fs.writeFileSync(file, "home = /usr/bin\n"), false)
  brings("a vendored Python", "third_party/python/bin/python3.12", script, false)
  brings(
    "a vendored Python for Windows",
    "third_party/Scripts/python.exe",
    (_, file) => fs.writeFileSync(file, "MZ"),
    false
  )
  brings("a shim", "tools/shims/ruby", script, false)
  brings("a launcher", "packages/a/node_modules/.bin/npx", script, false)
  brings("a wrapper", "gradlew", script, false)
  brings("a link called as a shell", "x/bash", (_, file) => fs.symlinkSync("../y", file), false)
  brings("a folder of programs by a link", "x/bin", (_, file) => fs.symlinkSync("/usr/bin", file), false)
  brings("the search path of a Python", "x/python._pth", (_, file) => fs.writeFileSync(file, "lib\n"), false)

  it.live("is a part of a larger checkout, which brings them", () =>
    Effect.gen(function*() {
      const { check, folder, root, trust } = yield* clone
      const put = (path: string, text = "#!/bin/sh\n") => {
        fs.mkdirSync(dirname(join(folder, path)), { recursive: true })
        fs.writeFileSync(join(folder, path), text, { mode: 0o755 })
      }
      put(".venv/bin/python")
      put(".git/hooks/node")
      put("other/.venv/bin/python3")
      put("other/pyvenv.cfg", "home = ../clone/vendor\n")
      put("clone/env/pyvenv.cfg", "home = ../../vendor\n")
      put("long/pyvenv.cfg", `${"#".repeat(2_000_000)}\nhome = ../vendor\n`)
      fs.symlinkSync("../.venv", join(root, ".venv"))
      const elsewhere = join(yield* temporary, "trust.yaml")
      fs.copyFileSync(trust, elsewhere)
      const { ok, problems, warnings } = yield* check({ trust: elsewhere })
      const named = (all: typeof problems) => all.map(({ item, message }) => `${item}: ${message.split(",", 1)[0]}`)
      assert.isFalse(ok)
      assert.deepStrictEqual(named(problems), [
        "../long/pyvenv.cfg: It is a virtual environment's",
        "../other/pyvenv.cfg: It is a virtual environment's",
        ".venv/bin/python: It is a link to ../.venv/bin/python",
        "env/pyvenv.cfg: It is a virtual environment's"
      ])
      assert.include(problems.map(({ remediation }) => remediation).join("\n"), "git rm -r --cached ../other)")
      assert.deepStrictEqual(named(warnings), [
        "../.venv/bin/python: It is a file of the checkout",
        "../other/.venv/bin/python3: It is a file of the checkout",
        ".venv: It is a link to ../.venv"
      ])
    }))

  it.live("brings nothing by that name that is no program", () =>
    Effect.gen(function*() {
      const { check, root, trust } = yield* clone
      fs.mkdirSync(join(root, "docs/python"), { recursive: true })
      fs.writeFileSync(join(root, "docs/python/node"), "a text\n")
      const { ok, warnings } = yield* check({ trust })
      assert.deepStrictEqual([ok, warnings], [true, []])
    }))

  it.live("is signed by a key that only it proposes", () =>
    Effect.gen(function*() {
      const { check, machine, root, trust, write } = yield* clone
      fs.rmSync(join(root, ".ai/lockfiles"), { recursive: true })
      write(".ai/tools/math/add.py", python("1.0.1", "print('evil')"))
      const eve = (yield* signAndLock(machine("eve"), root))!
      write(".ai/config/trust.yaml", trustText(mia, eve))
      assert.isTrue((yield* check()).ok, "by its own word it is consistent")
      const answer = yield* check({ trust })
      assert.isFalse(answer.ok)
      assert.include(found(answer), "untrusted: project:tools/math/add.py")
      assert.include(answer.problems[0]?.remediation, "the trust file")
      // Not even the machine's own key counts where the signers are named.
      assert.isFalse((yield* check({ trust }, machine("eve"))).ok)
    }))
})

describe("a trust file", () => {
  it.live("counts only outside of the clone, whatever leads to it", () =>
    Effect.gen(function*() {
      const { check, folder, root, trust, write } = yield* clone
      const refused = (file: string) => Effect.map(Effect.flip(check({ trust: file })), (error) => error.message)
      const inside = write("ci/trust.yaml", trustText(mia))
      const leadsIn = join(folder, "leads-in.yaml")
      fs.symlinkSync(inside, leadsIn)
      const leadsOut = join(root, "leads-out")
      fs.symlinkSync(dirname(trust), leadsOut)
      // Out of the clone, into it, and out again.
      const through = join(folder, "through.yaml")
      fs.symlinkSync(trust, join(root, "back.yaml"))
      fs.symlinkSync(join(root, "back.yaml"), through)
      const alias = join(folder, "alias")
      fs.symlinkSync(root, alias)
      for (
        const file of [
          join(root, ".ai/config/trust.yaml"),
          inside,
          leadsIn,
          through,
          join(leadsOut, "trust.yaml"),
          join(alias, "leads-out/trust.yaml"),
          `${folder}/ci/../clone/ci/trust.yaml`
        ]
      ) {
        assert.include(yield* refused(file), "it lies in the checkout", file)
      }
      fs.mkdirSync(join(folder, ".git"))
      assert.include(yield* refused(trust), "it lies in the checkout", "the clone is larger than the project")
    }))

  it.live("has to be there, whole, and name somebody", () =>
    Effect.gen(function*() {
      const { check, folder, write } = yield* clone
      const refused = (text: string) =>
        Effect.map(
          Effect.flip(check({ trust: write("bad.yaml", text, join(folder, "ci")) })),
          (error) => error.message
        )
      assert.include((yield* Effect.flip(check({ trust: join(folder, "none.yaml") }))).message, "no such file")
      assert.include((yield* Effect.flip(check({ trust: join(folder, "ci") }))).message, "not a regular file")
      assert.include(yield* refused("signers: []\n"), "it names no signer")
      assert.include(yield* refused(""), "signers")
      assert.include(yield* refused(`${trustText(mia)}  - name: x\n    public_key: short\n`), "line 4")
      assert.include(yield* refused("a: &a [*a]\n"), "line 1")
    }))
})

describe("--base", () => {
  it.live("lists the control files and locks that are not as they were", () =>
    Effect.gen(function*() {
      const { check, folder, root, trust, write } = yield* clone
      const git = (...args: ReadonlyArray<string>) =>
        execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
          cwd: root,
          env: { PATH: process.env["PATH"] ?? "", HOME: folder }
        })
      write(".ai/config/kiwi.yaml", "calls.concurrency: 2\n")
      write(".env", "A=1\n")
      git("init", "-q", "-b", "main")
      git("add", "-A", "-f")
      git("commit", "-q", "-m", "first")
      const same = yield* check({ trust, base: "main" })
      assert.deepStrictEqual([same.ok, same.base?.changed], [true, []])
      write(".ai/config/kiwi.yaml", "calls.concurrency: 3\n")
      write(".ai/extractors/tool/rb.yaml", "extensions: ['.rb']\n")
      write(".ai/tools/note.txt", "no control file\n")
      fs.rmSync(join(root, ".env"))
      fs.rmSync(join(root, ".ai/lockfiles/math/add@1.0.0.lock.json"))
      fs.rmSync(join(root, ".ai/config/trust.yaml"))
      fs.symlinkSync("/etc/passwd", join(root, ".ai/config/trust.yaml"))
      const { base } = yield* check({ trust, base: "main" })
      assert.deepStrictEqual(base?.changed, [
        { path: ".ai/config/kiwi.yaml", kind: "control", change: "changed" },
        { path: ".ai/config/trust.yaml", kind: "control", change: "changed" },
        { path: ".ai/extractors/tool/rb.yaml", kind: "control", change: "added" },
        { path: ".ai/lockfiles/math/add@1.0.0.lock.json", kind: "lockfile", change: "removed" },
        { path: ".env", kind: "control", change: "removed" }
      ])
      const refused = yield* Effect.flip(check({ trust, base: "--upload-pack=touch x" }))
      assert.strictEqual(refused._tag, "GitRefUnreadable")
    }))
})
