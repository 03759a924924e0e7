import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import { makeFindProgram } from "../../../src/layers/process/programFile.ts"

const world = Effect.acquireRelease(
  Effect.sync(() => {
    const root = Fs.realpathSync(Fs.mkdtempSync(Path.join(Os.tmpdir(), "kiwi-program-")))
    const put = (path: string, mode = 0o755) => {
      const file = Path.join(root, path)
      Fs.mkdirSync(Path.dirname(file), { recursive: true })
      Fs.writeFileSync(file, "#!/bin/sh\necho mine\n", { mode })
      return file
    }
    const project = Path.join(root, "project")
    Fs.mkdirSync(project)
    return { root, put, project }
  }),
  ({ root }) => Effect.sync(() => Fs.rmSync(root, { recursive: true }))
)

describe("a command", () => {
  it.effect("by its name is a program of PATH, and none of the project", () =>
    Effect.gen(function*() {
      const { project, put, root } = yield* world
      const find = makeFindProgram()
      put("project/bin/jq")
      const real = put("usr/bin/jq")
      put("usr/bin/plain", 0o644)
      Fs.mkdirSync(Path.join(root, "linked"))
      Fs.symlinkSync(Path.join(project, "bin/jq"), Path.join(root, "linked/jq"))
      const look = (command: string, ...folders: ReadonlyArray<string>) =>
        find({ command, folder: project, project, searchPath: folders.join(":") })
      const found = (...folders: ReadonlyArray<string>) => Result.getOrUndefined(look("jq", ...folders))
      const usr = Path.join(root, "usr/bin")
      assert.strictEqual(found(`${project}/bin`, usr), real)
      assert.strictEqual(found(Path.join(root, "linked"), usr), real)
      assert.strictEqual(found("bin", "", ".", usr), real)
      assert.isUndefined(found(`${project}/bin`))
      assert.isUndefined(Result.getOrUndefined(look("plain", usr)))
      assert.include(JSON.stringify(look("jq", `${project}/bin`)), "inside the project do not count")
    }))

  it.effect("with a slash is taken from the folder that it is started in", () =>
    Effect.gen(function*() {
      const { project, put } = yield* world
      const find = makeFindProgram()
      const script = put("project/scripts/run")
      const look = (command: string) => find({ command, folder: project, project, searchPath: "/nowhere" })
      assert.strictEqual(Result.getOrUndefined(look("./scripts/run")), script)
      assert.strictEqual(Result.getOrUndefined(look(script)), script)
      assert.deepStrictEqual(look("./scripts/none"), Result.fail("ENOENT"))
      assert.deepStrictEqual(look("./scripts"), Result.fail("EACCES"))
    }))

  it.effect("that becomes another file is found anew", () =>
    Effect.gen(function*() {
      const { project, put, root } = yield* world
      const find = makeFindProgram()
      const query = { command: "x", folder: project, project, searchPath: [`${root}/a`, `${root}/b`].join(":") }
      const second = put("b/x")
      assert.strictEqual(Result.getOrUndefined(find(query)), second)
      const first = put("a/x")
      assert.strictEqual(Result.getOrUndefined(find(query)), first)
      Fs.rmSync(first)
      assert.strictEqual(Result.getOrUndefined(find(query)), second)
    }))
})
