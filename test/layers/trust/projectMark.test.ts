import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
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
