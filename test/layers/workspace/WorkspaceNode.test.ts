import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { execPath } from "node:process"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as WorkspaceNode from "../../../src/layers/workspace/WorkspaceNode.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { temporary } from "../../support/temporary.ts"

const open = (home: string, dir: string | undefined) =>
  Effect.provide(
    Workspace,
    WorkspaceNode.layer(dir).pipe(
      Layer.provide(SafeFilesNode.layer),
      Layer.provide(KiwiHomeNode.layerWith({ home, userHome: `${home}-person` }))
    )
  )

const opened = (home: string, dir: string) =>
  Effect.map(open(home, dir), (workspace) => Option.getOrThrow(workspace.project))

describe("WorkspaceNode", () => {
  it.effect("keeps one random id per real path, whatever way it is named", () =>
    Effect.gen(function*() {
      const dir = yield* temporary
      const [home, project, other] = [join(dir, "home"), join(dir, "project"), join(dir, "other")]
      fs.mkdirSync(project)
      fs.mkdirSync(other)
      fs.symlinkSync(project, join(dir, "alias"))
      const first = yield* opened(home, project)
      assert.match(first.id, /^[0-9a-f]{32}$/)
      assert.strictEqual(first.root, project)
      assert.strictEqual(first.ai, join(project, ".ai"))
      assert.strictEqual(first.state, join(home, "projects", first.id))
      assert.strictEqual(fs.statSync(first.state).mode & 0o777, 0o700)
      assert.deepStrictEqual(yield* opened(home, join(dir, "alias")), first)
      assert.deepStrictEqual(yield* opened(home, `${project}/../project/`), first)
      assert.notStrictEqual((yield* opened(home, other)).id, first.id)
      assert.deepStrictEqual(fs.readdirSync(project), [])
    }))

  it.effect("ignores an index entry that is torn or made for another folder", () =>
    Effect.gen(function*() {
      const dir = yield* temporary
      const [home, project] = [join(dir, "home"), join(dir, "project")]
      fs.mkdirSync(project)
      const first = yield* opened(home, project)
      const entry = join(home, "projects/index", fs.readdirSync(join(home, "projects/index"))[0]!)
      for (
        const bad of [
          "{",
          "",
          JSON.stringify({ version: 1, id: "../../etc", root: project }),
          JSON.stringify({ version: 1, id: first.id, root: "/elsewhere" })
        ]
      ) {
        fs.writeFileSync(entry, bad)
        const next = yield* opened(home, project)
        assert.notStrictEqual(next.id, first.id)
        assert.match(next.id, /^[0-9a-f]{32}$/)
        assert.deepStrictEqual(yield* opened(home, project), next)
      }
    }))

  it.effect("opens without a project, and with a home that cannot be made", () =>
    Effect.gen(function*() {
      const dir = yield* temporary
      const none = yield* open(join(dir, "home"), undefined)
      assert.isTrue(Option.isNone(none.project))
      assert.strictEqual(none.state, join(dir, "home/user"))
      assert.isTrue(fs.statSync(none.cwd).isDirectory())
      fs.writeFileSync(join(dir, "blocked"), "a file, not a folder")
      fs.mkdirSync(join(dir, "project"))
      const project = yield* opened(join(dir, "blocked/home"), join(dir, "project"))
      assert.strictEqual(project.root, join(dir, "project"))
    }))

  it.effect("names what is wrong with a folder that is none", () =>
    Effect.gen(function*() {
      const dir = yield* temporary
      fs.writeFileSync(join(dir, "file"), "")
      fs.symlinkSync("loop", join(dir, "loop"))
      for (const name of ["absent", "file", "loop"]) {
        const error = yield* Effect.flip(open(join(dir, "home"), join(dir, name)))
        assert(error._tag === "ProjectNotFound")
        assert.strictEqual(error.dir, join(dir, name))
      }
    }))

  it.live("gives processes that open it at once the same id", () =>
    Effect.gen(function*() {
      const dir = yield* temporary
      fs.mkdirSync(join(dir, "project"))
      const program = `
        import { Effect, Layer, Option } from "effect"
        import * as H from "${new URL("../../../src/layers/workspace/KiwiHomeNode.ts", import.meta.url)}"
        import * as F from "${new URL("../../../src/layers/files/SafeFilesNode.ts", import.meta.url)}"
        import * as W from "${new URL("../../../src/layers/workspace/WorkspaceNode.ts", import.meta.url)}"
        import { Workspace } from "${new URL("../../../src/services/workspace/Workspace.ts", import.meta.url)}"
        const layer = W.layer(process.argv[2]).pipe(
          Layer.provide(F.layer), Layer.provide(H.layerWith({ home: process.argv[1] })))
        process.stdin.once("data", () => Effect.runPromise(Effect.provide(Workspace, layer)).then((w) => {
          process.stdout.write(Option.getOrThrow(w.project).id)
          process.exit(0)
        }))
        process.stdout.write("ready ")`
      const children = [0, 1, 2].map(() =>
        spawn(execPath, ["--input-type=module-typescript", "-e", program, join(dir, "home"), join(dir, "project")], {
          cwd: new URL("../../..", import.meta.url)
        })
      )
      const outputs = yield* Effect.promise(() => {
        let ready = 0
        return Promise.all(children.map((child) =>
          new Promise<string>((resolve) => {
            let text = ""
            child.stdout.on("data", (chunk) => {
              if (text === "" && ++ready === children.length) { for (const c of children) c.stdin.write("go\n") }
              text += chunk
            })
            child.stderr.on("data", (chunk) => text += chunk)
            child.on("close", () => resolve(text))
          })
        ))
      })
      assert.match(outputs[0]!, /^ready [0-9a-f]{32}$/)
      assert.strictEqual(new Set(outputs).size, 1)
    }), 30_000)
})

describe("findProject", () => {
  const search = (start: string, home: string) =>
    WorkspaceNode.findProject(start, { userHome: home, userSpace: join(home, ".ai") })

  it.effect("finds the nearest folder with .ai and stops at the home folder", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      fs.mkdirSync(join(home, ".ai"))
      fs.mkdirSync(join(home, "a/.ai"), { recursive: true })
      fs.mkdirSync(join(home, "a/b/c"), { recursive: true })
      fs.mkdirSync(join(home, "x/y"), { recursive: true })
      assert.strictEqual(yield* search(join(home, "a/b/c"), home), join(home, "a"))
      assert.strictEqual(yield* search(join(home, "a/.ai"), home), join(home, "a"))
      assert.isUndefined(yield* search(join(home, "x/y"), home))
      assert.isUndefined(yield* search(home, home))
    }))

  it.effect("never takes the folder that holds the user space for a project", () =>
    Effect.gen(function*() {
      const dir = yield* temporary
      fs.mkdirSync(join(dir, "work/.ai"), { recursive: true })
      fs.mkdirSync(join(dir, "work/deep"))
      const home = { userHome: join(dir, "home"), userSpace: join(dir, "work/.ai") }
      assert.isUndefined(yield* WorkspaceNode.findProject(join(dir, "work/deep"), home))
    }))
})
