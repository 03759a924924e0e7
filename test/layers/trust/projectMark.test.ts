import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { isUnique } from "../../../src/layers/trust/projectFolder.ts"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { describeWith } from "../../support/realParts.ts"
import { temporary } from "../../support/temporary.ts"
import { decisionFile, trustProject, world, worldIn } from "../../support/trustWorld.ts"

const rules = ".ai/config/kiwi.yaml"

const state = Effect.flatMap(ProjectTrust, (trust) => trust.state)

/** A new process, as it were: nothing is remembered. */
const stateIn = (w: ReturnType<typeof worldIn>) =>
  Effect.map(Effect.provide(state, w.layer), (found) => found._tag === "Restricted" ? found.reason : found._tag)

const marksOf = (root: string): string => join(root, ".ai/cache/trust")

const markOf = (root: string): string =>
  join(marksOf(root), fs.readdirSync(marksOf(root)).find((name) => name !== ".gitignore")!)

const copy = (from: string, to: string) => assert.strictEqual(spawnSync("cp", ["-a", from, to]).status, 0)

/** Puts another folder in the project's place, with an inode and a time of birth of its own. */
const replace = (root: string, change: (fresh: string) => void) => {
  copy(root, `${root}-fresh`)
  change(`${root}-fresh`)
  fs.renameSync(root, `${root}-old`)
  fs.renameSync(`${root}-fresh`, root)
}

const trusted = Effect.gen(function*() {
  const w = yield* world
  w.put(rules, "same\n")
  w.put(".ai/tools/add.py", "")
  yield* Effect.provide(trustProject, w.layer)
  return w
})

describe("a trusted folder", () => {
  it.effect("is the same after it was restored from a backup, or moved to another disk", () =>
    Effect.gen(function*() {
      const w = yield* trusted
      replace(w.root, () => {})
      assert.strictEqual(yield* stateIn(w), "Trusted")
      fs.appendFileSync(join(w.root, rules), "more")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        assert.isUndefined(yield* trust.readControl(rules), "what was changed is still not used")
      }).pipe(Effect.provide(w.layer))
    }))

  const swaps: ReadonlyArray<readonly [string, (fresh: string) => void]> = [
    ["holds no mark", (fresh) => fs.rmSync(marksOf(fresh), { recursive: true })],
    ["lacks the mark alone", (fresh) => fs.rmSync(markOf(fresh))],
    ["brings a mark of its own", (fresh) => fs.writeFileSync(markOf(fresh), "0".repeat(64))],
    ["brings an empty mark", (fresh) => fs.writeFileSync(markOf(fresh), "")],
    ["brings the mark and a byte more", (fresh) => fs.appendFileSync(markOf(fresh), "\n")],
    ["brings a mark that is too long", (fresh) => fs.appendFileSync(markOf(fresh), "x".repeat(2_000))],
    [
      "brings the mark under another name",
      (fresh) => fs.renameSync(markOf(fresh), join(marksOf(fresh), "0".repeat(16)))
    ],
    ["brings a folder for it", (fresh) => {
      const mark = markOf(fresh)
      fs.rmSync(mark)
      fs.mkdirSync(mark)
    }],
    ["brings a link to the old folder's", (fresh) => {
      const mark = markOf(fresh)
      fs.rmSync(mark)
      fs.symlinkSync(mark.replace("-fresh", "-old"), mark)
    }],
    ["brings a link to the old folder's marks", (fresh) => {
      fs.rmSync(marksOf(fresh), { recursive: true })
      fs.symlinkSync(marksOf(fresh).replace("-fresh", "-old"), marksOf(fresh))
    }],
    [
      "is a clone: nothing of what Kiwi wrote is in it",
      (fresh) => fs.rmSync(join(fresh, ".ai/cache"), { recursive: true })
    ]
  ]

  it.effect.each(swaps)("is another where one stands in its place that %s", ([, change]) =>
    Effect.gen(function*() {
      const w = yield* trusted
      replace(w.root, change)
      assert.include(yield* stateIn(w), "replaced")
    }))

  it.effect("is not known by a mark that lay there before it was trusted", () =>
    Effect.gen(function*() {
      const w = yield* trusted
      const brought = fs.readFileSync(markOf(w.root), "utf8")
      yield* Effect.provide(Effect.flatMap(ProjectTrust, (trust) => trust.revoke), w.layer)
      assert.deepStrictEqual(fs.readdirSync(marksOf(w.root)), [".gitignore"])
      yield* Effect.provide(trustProject, w.layer)
      const mark = markOf(w.root)
      assert.notStrictEqual(fs.readFileSync(mark, "utf8"), brought)
      fs.writeFileSync(mark, brought)
      yield* Effect.provide(trustProject, w.layer)
      assert.notStrictEqual(fs.readFileSync(mark, "utf8"), brought)
      assert.notInclude(fs.readFileSync(decisionFile(w.home), "utf8"), fs.readFileSync(mark, "utf8"))
    }))

  it.effect("without an .ai, or that cannot be written, is known by its inode", () =>
    Effect.gen(function*() {
      const w = yield* world
      fs.rmdirSync(join(w.root, ".ai"))
      yield* Effect.provide(trustProject, w.layer)
      assert.deepStrictEqual(fs.readdirSync(w.root), [])
      assert.strictEqual(yield* stateIn(w), "Trusted")
      w.put(".ai/cache", "a file")
      yield* Effect.provide(trustProject, w.layer)
      assert.strictEqual(yield* stateIn(w), "Trusted")
    }))
})

/** A call of a tool in a new process. */
const callIn = (w: ReturnType<typeof worldIn>) =>
  Effect.provide(Effect.exit(Effect.flatMap(ProjectTrust, (trust) => trust.require)), w.layer)

describe("of the two proofs of a folder", () => {
  const losses: ReadonlyArray<readonly [string, (root: string) => void]> = [
    ["git clean", (root) => {
      const git = (...args: ReadonlyArray<string>) =>
        assert.strictEqual(spawnSync("git", args, { cwd: root }).status, 0)
      git("init", "-q")
      git("add", ".ai/config", ".ai/tools")
      git("clean", "-fdxq")
    }],
    ["rm of .ai/cache", (root) => fs.rmSync(join(root, ".ai/cache"), { recursive: true })],
    ["rm of the marks", (root) => fs.rmSync(marksOf(root), { recursive: true })],
    ["rm of the mark", (root) => fs.rmSync(markOf(root))],
    ["an editor that empties it", (root) => fs.writeFileSync(markOf(root), "")],
    ["an editor that adds a line end", (root) => fs.appendFileSync(markOf(root), "\n")],
    ["a repository that brings another", (root) => fs.writeFileSync(markOf(root), "0".repeat(64))],
    ["a mark that is too long", (root) => fs.appendFileSync(markOf(root), "x".repeat(2_000))]
  ]

  it.effect.each(losses)("the mark is made anew after %s", ([, lose]) =>
    Effect.gen(function*() {
      const w = yield* trusted
      lose(w.root)
      const files = fs.readdirSync(join(w.root, ".ai"))
      assert.strictEqual(yield* stateIn(w), "Trusted")
      assert.deepStrictEqual(fs.readdirSync(join(w.root, ".ai")), files, "who only looks writes nothing")
      assert.strictEqual((yield* callIn(w))._tag, "Success")
      assert.match(fs.readFileSync(markOf(w.root), "utf8"), /^[0-9a-f]{64}$/)
      replace(w.root, () => {})
      assert.strictEqual(yield* stateIn(w), "Trusted")
    }))

  it.effect("the identity is taken anew by the mark, so that the mark may go next", () =>
    Effect.gen(function*() {
      const w = yield* trusted
      replace(w.root, () => {})
      assert.strictEqual((yield* callIn(w))._tag, "Success")
      fs.rmSync(join(w.root, ".ai/cache"), { recursive: true })
      assert.strictEqual(yield* stateIn(w), "Trusted")
      assert.strictEqual((yield* callIn(w))._tag, "Success")
      fs.rmSync(`${w.root}-old`, { recursive: true })
      replace(w.root, () => {})
      assert.strictEqual(yield* stateIn(w), "Trusted")
    }))

  it.effect("both have to be there once: without either it is another folder, and gets no mark", () =>
    Effect.gen(function*() {
      for (const call of [false, true]) {
        const w = yield* trusted
        if (call) yield* callIn(w)
        const before = fs.readFileSync(decisionFile(w.home), "utf8")
        replace(w.root, (fresh) => fs.rmSync(join(fresh, ".ai/cache"), { recursive: true }))
        assert.strictEqual((yield* callIn(w))._tag, "Failure")
        assert.include(yield* stateIn(w), "replaced")
        assert.isFalse(fs.existsSync(marksOf(w.root)))
        assert.strictEqual(fs.readFileSync(decisionFile(w.home), "utf8"), before)
      }
    }))

  it.effect("nothing is written while both are there, and nothing where trust was taken back", () =>
    Effect.gen(function*() {
      const w = yield* trusted
      const before = fs.statSync(decisionFile(w.home)).ino
      yield* callIn(w)
      assert.strictEqual(fs.statSync(decisionFile(w.home)).ino, before)
      yield* Effect.provide(Effect.flatMap(ProjectTrust, (trust) => trust.revoke), w.layer)
      assert.strictEqual((yield* callIn(w))._tag, "Failure")
      assert.deepStrictEqual(fs.readdirSync(marksOf(w.root)), [".gitignore"])
    }))

  const inTheWay: ReadonlyArray<readonly [string, (mark: string, root: string) => void]> = [
    ["a folder", (mark) => fs.mkdirSync(mark)],
    ["a link", (mark, root) => fs.symlinkSync(join(root, rules), mark)],
    ["a link to nothing", (mark, root) => fs.symlinkSync(join(root, "made"), mark)]
  ]

  it.effect.each(inTheWay)(
    "the mark stays away where %s is in its place, and nothing else changes",
    ([, put]) =>
      Effect.gen(function*() {
        const w = yield* trusted
        const mark = markOf(w.root)
        fs.rmSync(mark)
        put(mark, w.root)
        assert.strictEqual((yield* callIn(w))._tag, "Success")
        assert.strictEqual(fs.readFileSync(join(w.root, rules), "utf8"), "same\n")
        assert.isFalse(fs.existsSync(join(w.root, "made")))
        replace(w.root, () => {})
        assert.include(yield* stateIn(w), "replaced")
      })
  )

  it("only a time of birth tells folders apart: an inode on a device is given again", () => {
    assert.deepStrictEqual(["12:1700000000", "12@66"].map(isUnique), [true, false])
  })
})

describeWith(["overlay"], "project trust on an overlayfs", () => {
  const run = (command: string, ...args: ReadonlyArray<string>) => {
    const { status, stderr } = spawnSync(command, args, { encoding: "utf8" })
    assert.strictEqual(status, 0, stderr)
  }

  /** A container: layers of an image below, one of its own on top, mounted at one place. */
  const machine = Effect.gen(function*() {
    const folder = fs.realpathSync.native(yield* temporary)
    const disk = join(folder, "disk")
    const at = join(folder, "at")
    fs.mkdirSync(disk)
    fs.mkdirSync(at)
    run("mount", "-t", "tmpfs", "tmpfs", disk)
    yield* Effect.addFinalizer(() => Effect.sync(() => void spawnSync("umount", [disk])))
    for (const name of ["image", "built", "one", "two", "work"]) fs.mkdirSync(join(disk, name))
    const started = (layers: ReadonlyArray<string>, own: string) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          fs.rmSync(join(disk, "work"), { recursive: true })
          fs.mkdirSync(join(disk, "work"))
          const lower = layers.map((name) => join(disk, name)).join(":")
          const options = `lowerdir=${lower},upperdir=${join(disk, own)},workdir=${join(disk, "work")}`
          run("mount", "-t", "overlay", "overlay", "-o", options, at)
          return worldIn({ home: join(at, "home"), root: join(at, "project") })
        }),
        () => Effect.sync(() => void spawnSync("umount", [at]))
      )
    const image = join(disk, "image/project/.ai")
    fs.mkdirSync(join(image, "config"), { recursive: true })
    fs.mkdirSync(join(image, "logs"))
    fs.writeFileSync(join(image, "config/kiwi.yaml"), "same\n")
    fs.mkdirSync(join(disk, "image/home"), { mode: 0o700 })
    return { started, disk }
  })

  it.effect("holds for a folder of the image, whatever is copied up between question and answer", () =>
    Effect.gen(function*() {
      const { started } = yield* machine
      const w = yield* started(["image"], "one")
      yield* Effect.gen(function*() {
        const trust = yield* ProjectTrust
        const proposal = yield* trust.propose
        const before = fs.lstatSync(w.root, { bigint: true }).birthtimeNs
        w.put(".ai/logs/audit.jsonl", "")
        assert.notStrictEqual(fs.lstatSync(w.root, { bigint: true }).birthtimeNs, before, "it was copied up")
        yield* trust.accept(proposal, { kind: "trust-project", digest: proposal.request.digest, by: "terminal" })
        assert.strictEqual((yield* trust.state)._tag, "Trusted")
        w.put(rules.replace("kiwi", "other"), "")
        assert.strictEqual((yield* trust.state)._tag, "Trusted")
      }).pipe(Effect.provide(w.layer))
    }).pipe(Effect.scoped))

  it.effect("made while an image is built, holds in each container", () =>
    Effect.gen(function*() {
      const { disk, started } = yield* machine
      yield* Effect.scoped(Effect.gen(function*() {
        const w = yield* started(["image"], "built")
        yield* Effect.provide(trustProject, w.layer)
      }))
      for (const own of ["one", "two"]) {
        yield* Effect.scoped(Effect.gen(function*() {
          const w = yield* started(["built", "image"], own)
          assert.strictEqual(yield* stateIn(w), "Trusted")
          w.put(".ai/logs/audit.jsonl", "")
          assert.strictEqual(yield* stateIn(w), "Trusted", "after it was copied up")
        }))
      }
      // A first call in the container, and then a clean checkout in it.
      fs.mkdirSync(join(disk, "cleaned"))
      yield* Effect.scoped(Effect.gen(function*() {
        const w = yield* started(["built", "image"], "cleaned")
        w.put(".ai/logs/audit.jsonl", "")
        yield* callIn(w)
        fs.rmSync(join(w.root, ".ai/cache"), { recursive: true })
        assert.strictEqual(yield* stateIn(w), "Trusted")
        yield* callIn(w)
        assert.strictEqual(fs.readFileSync(markOf(w.root), "utf8").length, 64)
      }))
      // As an image is unpacked on another machine: with other inodes and times of birth.
      copy(join(disk, "built"), join(disk, "pulled"))
      fs.mkdirSync(join(disk, "three"))
      yield* Effect.scoped(Effect.gen(function*() {
        const w = yield* started(["pulled", "image"], "three")
        assert.strictEqual(yield* stateIn(w), "Trusted")
        fs.rmSync(w.root, { recursive: true })
        fs.mkdirSync(join(w.root, ".ai/config"), { recursive: true })
        w.put(rules, "same\n")
        assert.include(yield* stateIn(w), "replaced")
      }))
    }).pipe(Effect.scoped))
})
