import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as OutputsFile from "../../../src/layers/primitive/OutputsFile.ts"
import * as OutputsMemory from "../../../src/layers/primitive/OutputsMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import { contract } from "../../services/primitive/Outputs.contract.ts"

const layerAt = (root: string) =>
  OutputsFile.layer({ keep: "7 days" }).pipe(
    Layer.provide(Layer.merge(SafeFilesNode.layer, WorkspaceMemory.layerWith(root))),
    Layer.provide(KiwiHomeMemory.layer)
  )

const folder = Effect.acquireRelease(
  Effect.sync(() => Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-outputs-")))),
  (path) => Effect.sync(() => Fs.rmSync(path, { recursive: true, force: true }))
)

contract("OutputsMemory", OutputsMemory.layer)
contract("OutputsFile", Layer.unwrap(Effect.map(folder, layerAt)))

describe("OutputsFile", () => {
  it.live("keeps files below .ai/outputs that nobody else can read", () =>
    Effect.gen(function*() {
      const root = yield* folder
      yield* Outputs.use((outputs) => outputs.create).pipe(Effect.provide(layerAt(root)))
      const outputs = Path.join(root, ".ai/outputs")
      const names = Fs.readdirSync(outputs)
      assert.strictEqual(names.length, 1)
      assert.strictEqual(Fs.statSync(outputs).mode & 0o777, 0o700)
      assert.strictEqual(Fs.statSync(Path.join(outputs, names[0]!)).mode & 0o777, 0o600)
    }))

  it.live("neither writes nor reads through a link", () =>
    Effect.gen(function*() {
      const [root, elsewhere] = [yield* folder, yield* folder]
      const id = "0".repeat(32)
      Fs.writeFileSync(Path.join(elsewhere, id), "secret")
      Fs.mkdirSync(Path.join(root, ".ai"))
      Fs.symlinkSync(elsewhere, Path.join(root, ".ai/outputs"))
      yield* Outputs.use((outputs) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* Effect.flip(outputs.create))._tag, "WriteRefused")
          assert.strictEqual((yield* Effect.flip(outputs.read(id, { offset: 0, length: 9 })))._tag, "OutputNotFound")
        })
      ).pipe(Effect.provide(layerAt(root)))
      assert.deepStrictEqual(Fs.readdirSync(elsewhere), [id])
    }))

  it.live("does not read a link in its folder, or anything but a file", () =>
    Effect.gen(function*() {
      const root = yield* folder
      const outputs = Path.join(root, ".ai/outputs")
      Fs.mkdirSync(Path.join(outputs, "1".repeat(32)), { recursive: true })
      Fs.symlinkSync("/etc/passwd", Path.join(outputs, "0".repeat(32)))
      // Opening it would wait for a writer, and every other call with it.
      execFileSync("mkfifo", [Path.join(outputs, "2".repeat(32))])
      yield* Outputs.use((service) =>
        Effect.gen(function*() {
          for (const id of ["0".repeat(32), "1".repeat(32), "2".repeat(32)]) {
            assert.strictEqual((yield* Effect.flip(service.read(id, { offset: 0, length: 9 })))._tag, "OutputNotFound")
          }
        })
      ).pipe(Effect.provide(layerAt(root)))
    }))

  it.live("removes at start what is older than it is to be kept, and nothing else", () =>
    Effect.gen(function*() {
      const root = yield* folder
      const outputs = Path.join(root, ".ai/outputs")
      Fs.mkdirSync(outputs, { recursive: true })
      const days = (n: number) => new Date(Date.now() - n * 86_400_000)
      for (const [name, age] of [["a".repeat(32), 8], ["b".repeat(32), 6], ["notes.txt", 30]] as const) {
        Fs.writeFileSync(Path.join(outputs, name), "x")
        Fs.utimesSync(Path.join(outputs, name), days(age), days(age))
      }
      yield* Effect.sleep(100).pipe(Effect.provide(layerAt(root)))
      assert.deepStrictEqual(Fs.readdirSync(outputs).toSorted(), ["b".repeat(32), "notes.txt"])
    }))

  it.live("a disk that refuses is an error with a remedy", () =>
    Effect.gen(function*() {
      const root = yield* folder
      Fs.writeFileSync(Path.join(root, ".ai"), "a file where the folder should be")
      const error = yield* Outputs.use((outputs) => Effect.flip(outputs.create)).pipe(Effect.provide(layerAt(root)))
      assert.strictEqual(error._tag, "WriteRefused")
      assert.notInclude(error.message, root)
    }))
})
