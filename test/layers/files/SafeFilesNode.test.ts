import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { getuid } from "node:process"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import { SafeFiles } from "../../../src/services/files/SafeFiles.ts"
import { contract } from "../../services/files/SafeFiles.contract.ts"
import { spoiled } from "../../support/spoiledFiles.ts"
import { temporary } from "../../support/temporary.ts"

const base = fs.realpathSync.native(fs.mkdtempSync(join(tmpdir(), "kiwi-files-")))
afterAll(() => fs.rmSync(base, { recursive: true, force: true }))

let next = 0
const freshRoot = Effect.sync(() => join(base, `r${next++}`))
const home = join(base, "home")
const limit = { maxBytes: 1_048_576 }
const mode = (path: string) => fs.statSync(path).mode & 0o777
const isRoot = getuid?.() === 0

for (const naming of ["descriptor", "path"] as const) {
  const layer = SafeFilesNode.layerWith({ naming }).pipe(Layer.provide(KiwiHomeNode.layerWith({ home })))
  contract(`SafeFilesNode (${naming})`, layer, freshRoot)

  describe(`SafeFilesNode (${naming})`, () => {
    it.effect("follows no link: not as root, on the way, or at the end", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const dir = yield* temporary
        const [root, outside] = [join(dir, "root"), join(dir, "outside")]
        fs.mkdirSync(join(root, "a"), { recursive: true })
        fs.mkdirSync(outside)
        fs.writeFileSync(join(outside, "victim"), "untouched")
        fs.symlinkSync(outside, join(root, "dir"))
        fs.symlinkSync(join(outside, "victim"), join(root, "a/file"))
        fs.symlinkSync(join(outside, "made"), join(root, "a/dangling"))
        fs.symlinkSync("loop", join(root, "loop"))
        fs.symlinkSync(root, join(dir, "alias"))
        for (const path of ["dir/victim", "dir/new", "dir/new/deep", "a/file", "a/dangling", "loop", "loop/x"]) {
          assert.strictEqual((yield* Effect.flip(files.write(root, path, "owned"))).issue, "symlink", path)
          assert.strictEqual((yield* Effect.flip(files.makeDirectory(root, path))).issue, "symlink", path)
          assert.strictEqual((yield* Effect.flip(files.read(root, path, limit))).issue, "symlink", path)
        }
        assert.strictEqual((yield* Effect.flip(files.remove(root, "dir/victim"))).issue, "symlink")
        assert.strictEqual((yield* Effect.flip(files.write(join(dir, "alias"), "x", "y"))).issue, "symlink")
        yield* files.remove(root, "dir")
        yield* files.remove(root, "a")
        assert.deepStrictEqual(fs.readdirSync(outside), ["victim"])
        assert.strictEqual(fs.readFileSync(join(outside, "victim"), "utf8"), "untouched")
      }).pipe(Effect.provide(layer)))

    it.effect("sets private modes below the home, keeps an existing file's own elsewhere", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        yield* files.write(home, "projects/x/trust.json", "{}")
        assert.strictEqual(mode(home), 0o700)
        assert.strictEqual(mode(join(home, "projects/x")), 0o700)
        assert.strictEqual(mode(join(home, "projects/x/trust.json")), 0o600)
        yield* files.write(home, "open", "", { mode: 0o666 })
        assert.strictEqual(mode(join(home, "open")), 0o600)
        fs.writeFileSync(join(root, "run.sh"), "", { mode: 0o750 })
        yield* files.write(root, "run.sh", "changed")
        assert.strictEqual(mode(join(root, "run.sh")), 0o750)
        yield* files.write(root, "run.sh", "changed", { mode: 0o644 })
        assert.strictEqual(mode(join(root, "run.sh")), 0o754)
        fs.writeFileSync(join(root, "secret"), "", { mode: 0o600 })
        yield* files.write(root, "secret", "changed")
        assert.strictEqual(mode(join(root, "secret")), 0o600)
        yield* files.write(root, "fixed", "", { mode: 0o444 })
        assert.strictEqual(mode(join(root, "fixed")), 0o444)
      }).pipe(Effect.provide(layer)))

    it.live("leaves nothing behind when it fails, and clears what a crash left", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        const stale = `.kiwi-${"0".repeat(24)}.tmp`
        const young = `.kiwi-${"1".repeat(24)}.tmp`
        fs.mkdirSync(join(root, "d"))
        fs.writeFileSync(join(root, "d", stale), "")
        fs.writeFileSync(join(root, "d", young), "")
        fs.utimesSync(join(root, "d", stale), 1_000_000, 1_000_000)
        yield* Effect.flip(files.write(root, `d/${"n".repeat(300)}`, "x"))
        yield* files.write(root, "d/ok", "x")
        assert.deepStrictEqual(fs.readdirSync(join(root, "d")).toSorted(), [young, "ok"])
      }).pipe(Effect.provide(layer)))

    it.live("clears after a minute what a process left that is gone, and of a living one after an hour", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        const gone = spawnSync("true").pid
        const named = (pid: number, letter: string) =>
          `.kiwi-${pid.toString(16).padStart(8, "0")}${letter.repeat(16)}.tmp`
        const cases = [
          [named(gone, "a"), 30, true],
          [named(gone, "b"), 90, false],
          [named(process.pid, "c"), 90, true],
          [named(process.pid, "d"), 3_700, false],
          [named(1, "e"), 90, true],
          [named(0xffffffff, "f"), 90, false],
          ["kiwi-notes.tmp", 90_000, true]
        ] as const
        const now = Date.now() / 1000
        for (const [name, age] of cases) {
          fs.writeFileSync(join(root, name), "")
          fs.utimesSync(join(root, name), now - age, now - age)
        }
        yield* files.write(root, "ok", "x")
        const left = fs.readdirSync(root)
        for (const [name, age, stays] of cases) assert.strictEqual(left.includes(name), stays, `${name} ${age}`)
      }).pipe(Effect.provide(layer)))

    it.effect("clears what was too young when it looked, and what came since", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        const gone = spawnSync("true").pid.toString(16).padStart(8, "0")
        const start = Date.now()
        const leave = (letter: string, seconds: number) => {
          const name = `.kiwi-${gone}${letter.repeat(16)}.tmp`
          fs.writeFileSync(join(root, name), "")
          fs.utimesSync(join(root, name), start / 1000 + seconds, start / 1000 + seconds)
        }
        const left = Effect.fnUntraced(function*(seconds: number) {
          yield* TestClock.setTime(start + seconds * 1000)
          yield* files.write(root, "ok", `${seconds}`)
          return fs.readdirSync(root).filter((name) => name.endsWith(".tmp")).map((name) => name[14])
        })
        leave("a", -1)
        assert.deepStrictEqual(yield* left(0), ["a"])
        assert.deepStrictEqual(yield* left(30), ["a"])
        assert.deepStrictEqual(yield* left(61), [])
        leave("b", 62)
        assert.deepStrictEqual(yield* left(63), ["b"])
        assert.deepStrictEqual(yield* left(3_600), ["b"])
        assert.deepStrictEqual(yield* left(3_662), [])
        leave("c", 3_600)
        assert.deepStrictEqual(yield* left(3_663), ["c"])
        // A clock that was set back does not keep it from looking.
        leave("d", -4_000)
        assert.deepStrictEqual(yield* left(-3_700), ["c"])
      }).pipe(Effect.provide(layer)))

    it.effect("does not wait on a pipe and reads no device", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        assert.strictEqual(spawnSync("mkfifo", [join(root, "pipe")]).status, 0)
        assert.strictEqual((yield* Effect.flip(files.read(root, "pipe", limit))).issue, "not-a-file")
      }).pipe(Effect.provide(layer)))

    it.effect("refuses a decision that everyone can write, or that another user wrote", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        fs.writeFileSync(join(root, "open"), "{}")
        fs.chmodSync(join(root, "open"), 0o666)
        assert.strictEqual((yield* Effect.flip(files.read(root, "open", { ...limit, own: true }))).issue, "foreign")
        if (!isRoot) return
        fs.writeFileSync(join(root, "theirs"), "{}", { mode: 0o600 })
        fs.chownSync(join(root, "theirs"), 4242, 4242)
        assert.strictEqual((yield* Effect.flip(files.read(root, "theirs", { ...limit, own: true }))).issue, "foreign")
        yield* files.write(root, "theirs", "new")
        assert.strictEqual(fs.statSync(join(root, "theirs")).uid, 4242)
      }).pipe(Effect.provide(layer)))

    for (const [what, spoil] of spoiled) {
      it.effect(`does not believe ${what}`, () =>
        Effect.gen(function*() {
          const files = yield* SafeFiles
          const root = yield* temporary
          yield* files.write(root, "folder/file", "text")
          spoil(join(root, "folder/file"))
          const refused = yield* Effect.flip(files.read(root, "folder/file", { maxBytes: 1024, own: true }))
          const issues = what.includes("link")
            ? ["symlink"]
            : what === "a pipe" || what === "a folder"
            ? ["not-a-file"]
            : ["too-large", "foreign", "permission"]
          assert.include(issues, refused.issue)
        }).pipe(Effect.provide(layer)))
    }

    it.effect("says read-only and no-space for what they are", (context) =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const root = yield* temporary
        const mount = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", root])
        if (mount.status !== 0) return context.skip("a small file system cannot be mounted here")
        yield* Effect.addFinalizer(() => Effect.sync(() => spawnSync("umount", [root])))
        yield* files.write(root, "kept", "before")
        assert.strictEqual((yield* Effect.flip(files.write(root, "kept", new Uint8Array(100_000)))).issue, "no-space")
        assert.strictEqual(fs.readFileSync(join(root, "kept"), "utf8"), "before")
        assert.deepStrictEqual(fs.readdirSync(root), ["kept"])
        assert.strictEqual(spawnSync("mount", ["-o", "remount,ro", root]).status, 0)
        assert.strictEqual((yield* Effect.flip(files.write(root, "kept", "x"))).issue, "read-only")
        assert.strictEqual((yield* Effect.flip(files.makeDirectory(root, "d"))).issue, "read-only")
        assert.strictEqual((yield* Effect.flip(files.remove(root, "kept"))).issue, "read-only")
      }).pipe(Effect.provide(layer)))
  })
}

const descriptor = SafeFilesNode.layerWith({ naming: "descriptor" }).pipe(
  Layer.provide(KiwiHomeNode.layerWith({ home }))
)

/** Swaps the two names for each other as fast as it can (renameat2, RENAME_EXCHANGE). */
const swapper = `
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
while os.getppid() == int(sys.argv[2]):
  for _ in range(1000): libc.renameat2(-100, b"d", -100, b"link", 2)
`

it.live("a folder that is swapped for a link while it writes never leads it out", (context) =>
  Effect.gen(function*() {
    if (!fs.existsSync("/proc/self/fd")) return context.skip("there is no /proc here")
    const files = yield* SafeFiles
    const dir = yield* temporary
    const [root, outside] = [join(dir, "root"), join(dir, "outside")]
    fs.mkdirSync(join(root, "d"), { recursive: true })
    fs.mkdirSync(outside)
    fs.symlinkSync(outside, join(root, "link"))
    yield* Effect.acquireRelease(
      Effect.sync(() => spawn("python3", ["-c", swapper, root, `${process.pid}`], { stdio: "ignore" })),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    let [written, refused] = [0, 0]
    for (let n = 0; n < 20_000 && (written < 300 || refused < 300); n++) {
      const result = yield* Effect.result(files.makeDirectory(root, `d/${n}`))
      if (result._tag === "Success") written++
      else refused++
    }
    assert.isAtLeast(written, 300)
    assert.isAtLeast(refused, 300)
    assert.deepStrictEqual(fs.readdirSync(outside), [])
  }).pipe(Effect.provide(descriptor)), 30_000)
