import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as VerifiedCopiesFile from "../../../src/layers/integrity/VerifiedCopiesFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import { VerifiedCopies } from "../../../src/services/integrity/VerifiedCopies.ts"
import type { Verified } from "../../../src/services/integrity/Verifier.ts"
import type { ItemSnapshot } from "../../../src/services/item/Item.ts"
import { describeWith } from "../../support/realParts.ts"
import * as Snapshots from "../../support/snapshots.ts"
import { temporary } from "../../support/temporary.ts"

const open = (home: string) => {
  const homeLayer = KiwiHomeNode.layerWith({ home })
  return Effect.provide(
    VerifiedCopies,
    VerifiedCopiesFile.layer.pipe(Layer.provide([homeLayer, Layer.provide(SafeFilesNode.layer, homeLayer)]))
  )
}

const verified = (snapshot: ItemSnapshot): Verified => ({ snapshot, by: { _tag: "System" } })
const file = (path: string, text: string) => Snapshots.fileSnapshot(Snapshots.locationOf(path), text)!

const add = file("tools/math/add.py", "print(1)\n")
const web = Snapshots.folderSnapshot(Snapshots.locationOf("tools/web", { kind: "folder" }), [
  Snapshots.folderFile("tool.yaml", "version: 1.0.0\n"),
  Snapshots.folderFile("lib/deep/a.py", "a = 1\n"),
  Snapshots.folderFile("run.sh", "#!/bin/sh\nexit 0\n", true)
])

const mode = (path: string) => fs.statSync(path).mode & 0o777

/** Owner, root included, changes a read-only copy. */
const alter = (path: string, change: (path: string) => void) => {
  fs.chmodSync(join(path, ".."), 0o700)
  if (fs.existsSync(path)) fs.chmodSync(path, 0o700)
  change(path)
}

/** Far enough from every ctime of this run that a copy counts as settled. */
const later = Effect.gen(function*() {
  yield* TestClock.setTime(yield* Effect.sync(() => Date.now() + 60_000))
})

describe("VerifiedCopiesFile", () => {
  it.effect("holds the canonical bytes of a file, alone, under its own name, for reading only", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const copies = yield* open(home)
      const copy = yield* copies.materialize(verified(add), "add.py")
      assert.strictEqual(copy.folder, join(home, "verified", add.digest))
      assert.strictEqual(copy.file, join(copy.folder, "add.py"))
      assert.strictEqual(fs.readFileSync(copy.file!, "utf8"), "print(1)\n")
      assert.deepStrictEqual(fs.readdirSync(copy.folder), ["add.py"])
      assert.strictEqual(mode(copy.file!), 0o400)
      assert.strictEqual(mode(copy.folder), 0o500)
      assert.strictEqual(mode(join(home, "verified")), 0o700)
      assert.deepStrictEqual(fs.readdirSync(join(home, "verified")), [add.digest])
    }))

  it.effect("holds every file of a folder with its executable bit", () =>
    Effect.gen(function*() {
      const copies = yield* open(join(yield* temporary, "home"))
      const { file: entry, folder } = yield* copies.materialize(verified(web), "run.sh")
      assert.strictEqual(entry, join(folder, "run.sh"))
      assert.strictEqual(mode(entry!), 0o500)
      assert.strictEqual(mode(join(folder, "lib/deep/a.py")), 0o400)
      assert.strictEqual(mode(join(folder, "lib")), 0o500)
      assert.strictEqual(fs.readFileSync(join(folder, "lib/deep/a.py"), "utf8"), "a = 1\n")
      const error = yield* Effect.flip(copies.materialize(verified(web), "other.sh"))
      assert.include(error.message, "not one of the item's files")
    }))

  it.effect("gives two names of one content a folder each", () =>
    Effect.gen(function*() {
      const copies = yield* open(join(yield* temporary, "home"))
      const first = yield* copies.materialize(verified(add), "add.py")
      const second = yield* copies.materialize(verified(file("tools/json.py", "print(1)\n")), "json.py")
      assert.deepStrictEqual(fs.readdirSync(first.folder), ["add.py"])
      assert.deepStrictEqual(fs.readdirSync(second.folder), ["json.py"])
      assert.deepStrictEqual(yield* copies.materialize(verified(add), "add.py"), first)
      assert.isDefined(yield* copies.recall(add.digest, "json.py"))
    }))

  const alterations: ReadonlyArray<readonly [what: string, change: (folder: string) => void]> = [
    ["changed", (f) => alter(join(f, "add.py"), (path) => fs.writeFileSync(path, "print(2)\n"))],
    ["changed to the same length and times", (f) =>
      alter(join(f, "add.py"), (path) => {
        const { atime, mtime } = fs.statSync(path)
        fs.writeFileSync(path, "print(9)\n")
        fs.utimesSync(path, atime, mtime)
      })],
    ["replaced", (f) =>
      alter(join(f, "add.py"), (path) => {
        fs.writeFileSync(`${path}.new`, "print(2)\n")
        fs.renameSync(`${path}.new`, path)
      })],
    ["removed", (f) => alter(join(f, "add.py"), (path) => fs.rmSync(path))],
    ["made executable", (f) => fs.chmodSync(join(f, "add.py"), 0o500)],
    ["given a neighbour", (f) => alter(join(f, "json.py"), (path) => fs.writeFileSync(path, "import os\n"))],
    ["given a folder beside it", (f) =>
      alter(join(f, "json"), (path) => {
        fs.mkdirSync(path)
        fs.writeFileSync(join(path, "__init__.py"), "")
      })]
  ]
  it.effect("makes a copy where a file lies in its place", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      fs.mkdirSync(join(home, "verified"), { recursive: true })
      fs.writeFileSync(join(home, "verified", add.digest), "print(1)\n")
      const copies = yield* open(home)
      const copy = yield* copies.materialize(verified(add), "add.py")
      assert.strictEqual(fs.readFileSync(copy.file!, "utf8"), "print(1)\n")
    }))

  for (const [what, change] of alterations) {
    for (const settled of [true, false]) {
      it.effect(`makes a copy anew that was ${what}${settled ? "" : ", within the two seconds of its making"}`, () =>
        Effect.gen(function*() {
          if (settled) yield* later
          else yield* TestClock.setTime(yield* Effect.sync(() => Date.now()))
          const copies = yield* open(join(yield* temporary, "home"))
          const { folder } = yield* copies.materialize(verified(add), "add.py")
          change(folder)
          const again = yield* copies.materialize(verified(add), "add.py")
          assert.strictEqual(again.folder, folder)
          assert.deepStrictEqual(fs.readdirSync(folder), ["add.py"])
          assert.strictEqual(fs.readFileSync(again.file!, "utf8"), "print(1)\n")
          assert.strictEqual(mode(again.file!), 0o400)
          assert.deepStrictEqual(fs.readdirSync(join(folder, "..")), [add.digest])
        }))
    }
  }

  it.effect("refuses a link in the place of a copy, of its file, or of the whole folder", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const outside = join(folder, "outside")
      fs.mkdirSync(outside)
      fs.writeFileSync(join(outside, "add.py"), "print(1)\n")
      const refused = (home: string) =>
        Effect.gen(function*() {
          const copies = yield* open(home)
          const error = yield* Effect.flip(copies.materialize(verified(add), "add.py"))
          assert.strictEqual(error.issue, "symlink")
        })

      const [a, b, c] = [join(folder, "a"), join(folder, "b"), join(folder, "c")]
      fs.mkdirSync(join(a, "verified"), { recursive: true })
      fs.symlinkSync(outside, join(a, "verified", add.digest))
      yield* refused(a)

      fs.mkdirSync(join(b, "verified", add.digest), { recursive: true })
      fs.symlinkSync(join(outside, "add.py"), join(b, "verified", add.digest, "add.py"))
      yield* refused(b)

      fs.mkdirSync(c)
      fs.symlinkSync(outside, join(c, "verified"))
      yield* refused(c)
      assert.deepStrictEqual(fs.readdirSync(outside), ["add.py"])
    }))

  it.effect("refuses a folder whose paths leave it", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const copies = yield* open(home)
      for (const path of ["../out.py", "a/../../out.py", "/out.py", "a//b", "a\\b"]) {
        const files = [...web.files, Snapshots.folderFile(path, "x")]
        const error = yield* Effect.flip(copies.materialize(verified({ ...web, files }), undefined))
        assert.strictEqual(error.issue, "outside", path)
      }
      assert.isFalse(fs.existsSync(join(home, "verified")))
    }))

  it.live("is made whole when several processes make it at once, and mend it at once", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const child = fileURLToPath(new URL("copiesChild.ts", import.meta.url))
      const run = Effect.callback<string>((resume) => {
        const started = spawn(process.execPath, [child, home], { stdio: ["ignore", "pipe", "inherit"] })
        let output = ""
        started.stdout.on("data", (data) => output += data)
        started.on("close", () => resume(Effect.succeed(output)))
      })
      const folders = yield* Effect.all([run, run, run], { concurrency: "unbounded" })
      assert.strictEqual(new Set(folders).size, 1)
      assert.strictEqual(fs.readdirSync(join(home, "verified")).length, 1)
      for (const name of ["a.py", "tool.yaml"]) assert.isTrue(fs.existsSync(join(folders[0], name)), name)
    }), 30_000)

  it.effect("recalls what was kept, and nothing that is not what it was", () =>
    Effect.gen(function*() {
      const copies = yield* open(join(yield* temporary, "home"))
      assert.isUndefined(yield* copies.recall(add.digest, "add.py"))
      assert.isUndefined(yield* copies.recallFolder(web.digest))
      const { folder } = yield* copies.materialize(verified(add), undefined)
      const kept = yield* copies.materialize(verified(web), undefined)
      assert.deepStrictEqual(Buffer.from((yield* copies.recall(add.digest, "add.py"))!), Buffer.from(add.bytes))
      assert.isUndefined(yield* copies.recall(add.digest, "sub.py"))
      const files = yield* copies.recallFolder(web.digest)
      assert.deepStrictEqual(files?.map(({ executable, path }) => [path, executable]), [
        ["lib/deep/a.py", false],
        ["run.sh", true],
        ["tool.yaml", false]
      ])
      alter(join(folder, "add.py"), (path) => fs.writeFileSync(path, "print(2)\n"))
      assert.isUndefined(yield* copies.recall(add.digest, "add.py"))
      alter(join(kept.folder, "more"), (path) => fs.writeFileSync(path, ""))
      assert.isUndefined(yield* copies.recallFolder(web.digest))
    }))

  it.effect("sweeps away what killed writers left, and nothing younger", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const copies = yield* open(home)
      const left = join(home, "verified", ".new-left")
      fs.mkdirSync(left, { recursive: true })
      yield* later
      yield* copies.materialize(verified(add), undefined)
      assert.isTrue(fs.existsSync(left))
      yield* TestClock.adjust("2 hours")
      yield* copies.materialize(verified(web), undefined)
      assert.isFalse(fs.existsSync(left))
    }))
})

describeWith(["tinyDisk"], "VerifiedCopiesFile on a full disk", () => {
  it.effect("sweeps away what nobody has used for 90 days, never what is in use, and nothing else that lies there", () =>
    Effect.gen(function*() {
      const home = join(yield* temporary, "home")
      const folder = join(home, "verified")
      const day = 86_400_000
      const start = Date.now() + 60_000
      const at = (days: number) => TestClock.setTime(start + days * day)
      const copy = (name: string) => file(`tools/${name}.py`, `print("${name}")\n`)
      yield* at(0)
      const [old, used, other] = [copy("old"), copy("used"), copy("other")]
      const first = yield* open(home)
      yield* first.materialize(verified(old), "old.py")
      const second = yield* open(home)
      yield* second.materialize(verified(used), "used.py")
      fs.mkdirSync(join(folder, "kept-by-hand"))
      fs.utimesSync(join(folder, "kept-by-hand"), 1, 1)
      yield* at(80)
      yield* second.materialize(verified(used), "used.py")
      yield* at(89)
      const third = yield* open(home)
      yield* third.materialize(verified(other), "other.py")
      assert.isTrue(fs.existsSync(join(folder, old.digest)), "after 89 days")
      yield* at(95)
      yield* third.materialize(verified(copy("new")), "new.py")
      assert.deepStrictEqual(
        fs.readdirSync(folder).toSorted(),
        ["kept-by-hand", copy("new").digest, other.digest, used.digest].toSorted()
      )
      // What one process has in hand stays, however long it lies there.
      yield* at(95 + 100)
      yield* third.materialize(verified(copy("newer")), "newer.py")
      assert.isTrue(fs.existsSync(join(folder, other.digest)))
      assert.isFalse(fs.existsSync(join(folder, used.digest)))
      const again = yield* first.materialize(verified(old), "old.py")
      assert.strictEqual(fs.readFileSync(again.file!, "utf8"), "print(\"old\")\n")
    }))

  it.effect("says that the disk is full and leaves no half copy", () =>
    Effect.gen(function*() {
      const disk = yield* Effect.acquireRelease(
        Effect.map(temporary, (folder) => {
          spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder])
          return folder
        }),
        (folder) => Effect.sync(() => spawnSync("umount", [folder]))
      )
      const copies = yield* open(join(disk, "home"))
      const large = file("tools/large.py", "#".repeat(200_000))
      const error = yield* Effect.flip(copies.materialize(verified(large), undefined))
      assert.strictEqual(error.issue, "no-space")
      assert.deepStrictEqual(fs.readdirSync(join(disk, "home/verified")), [])
    }))
})
