import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, FileSystem, Layer, Redacted } from "effect"
import { spawnSync } from "node:child_process"
import { chmodSync, lstatSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import * as EnvResolverNode from "../../../src/layers/env/EnvResolverNode.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { EnvResolver, type ResolvedEnv } from "../../../src/services/env/EnvResolver.ts"
import { changeUnseen, coarseFolder } from "../../support/spoiledFiles.ts"
import { trustLayer, valuesOf, withRuntime } from "./environments.ts"

const write = (file: string, text: string, mode = 0o644) => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}

interface World {
  readonly root: string
  readonly project: string
  readonly bin: string
  readonly resolve: EnvResolver["Service"]["resolve"]
}

const inWorld = <A, E>(
  use: (world: World) => Effect.Effect<A, E>,
  options: { readonly before?: (root: string) => void; readonly variables?: Record<string, string> } = {}
) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const root = yield* fs.realPath(yield* fs.makeTempDirectoryScoped())
    const project = join(root, "project")
    const bin = join(root, "bin")
    mkdirSync(project)
    mkdirSync(bin)
    options.before?.(root)
    const provider = ConfigProvider.fromEnvRecord({ PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`, ...options.variables })
    return yield* EnvResolver.use(({ resolve }) => use({ root, project, bin, resolve })).pipe(
      Effect.provide(
        EnvResolverNode.layer.pipe(
          Layer.provide(WorkspaceMemory.layerWith(project)),
          Layer.provide(KiwiHomeMemory.layerWith({ userHome: root, userSpace: join(root, ".ai") })),
          Layer.provide(trustLayer({})),
          Layer.provide(ConfigProvider.layer(provider))
        )
      )
    )
  }).pipe(Effect.provide(NodeServices.layer))

const interpreter = (env: ResolvedEnv) => env.interpreter?.path

const binary = (name: string) => withRuntime({ interpreter: { type: "system_binary", var: "X", binary: name } })

describe("EnvResolverNode", () => {
  it.live("a candidate is a regular file that may be executed (the original took whatever existed)", () =>
    inWorld(({ bin, resolve, root }) =>
      Effect.gen(function*() {
        const second = join(root, "second")
        mkdirSync(join(bin, "a-folder"))
        write(join(bin, "not-executable"), "#!/bin/sh\n")
        symlinkSync(join(root, "nowhere"), join(bin, "dangling"))
        symlinkSync(join(bin, "loop"), join(bin, "loop"))
        for (const name of ["a-folder", "not-executable", "dangling", "loop"]) {
          assert.strictEqual((yield* Effect.flip(resolve(binary(name))))._tag, "RequirementsMissing", name)
        }
        write(join(second, "tool"), "#!/bin/sh\n", 0o755)
        symlinkSync(join(second, "tool"), join(bin, "linked"))
        assert.strictEqual(interpreter(yield* resolve(binary("linked"))), join(bin, "linked"))
      })
    ))

  it.live("what appears, vanishes or changes between two calls is seen", () =>
    inWorld(({ bin, project, resolve, root }) =>
      Effect.gen(function*() {
        const chain = withRuntime({ interpreter: { type: "version_manager", var: "X", manager: "pyenv" } })
        for (const v of ["3.11.1", "3.12.1"]) {
          write(join(root, `.pyenv/versions/${v}/bin/python`), "#!/bin/sh\n", 0o755)
        }
        const file = join(project, ".python-version")
        write(file, "3.11.1\n")
        assert.include(interpreter(yield* resolve(chain)), "3.11.1")
        write(file, "3.12.1\n")
        utimesSync(file, 1, 1)
        assert.include(interpreter(yield* resolve(chain)), "3.12.1")
        assert.strictEqual((yield* Effect.flip(resolve(binary("late"))))._tag, "RequirementsMissing")
        write(join(bin, "late"), "#!/bin/sh\n", 0o755)
        assert.strictEqual(interpreter(yield* resolve(binary("late"))), join(bin, "late"))
      })
    ))

  it.live("only looks: nothing on disk is different afterwards", () =>
    inWorld(({ resolve, root }) =>
      Effect.gen(function*() {
        const listing = () =>
          readdirSync(root, { recursive: true, withFileTypes: true })
            .map((e) => join(e.parentPath, e.name))
            .map((path) => `${path} ${lstatSync(path).mtimeMs} ${lstatSync(path).mode}`)
            .toSorted()
        write(join(root, ".ai/.env"), "A=1")
        const before = listing()
        yield* resolve(withRuntime(
          { interpreter: { type: "venv_python", var: "KIWI_PYTHON", search: ["project", "kiwi", "user", "system"] } },
          { requires: { environment: ["A"] } }
        ))
        yield* Effect.flip(
          resolve(withRuntime({ interpreter: { type: "version_manager", var: "X", manager: "nvm", version: "9" } }))
        )
        assert.deepStrictEqual(listing(), before)
      })
    ))

  it.live("a large, missing or unreadable .env of the user is none", () =>
    inWorld(({ resolve, root }) =>
      Effect.gen(function*() {
        const chain = withRuntime({ env: { A: "${A:-none}" } })
        assert.strictEqual(valuesOf((yield* resolve(chain)).child)["A"], "none")
        write(join(root, ".ai/.env"), `A=1\n${"#".repeat(400_000)}`)
        assert.strictEqual(valuesOf((yield* resolve(chain)).child)["A"], "none")
        write(join(root, ".ai/.env"), "A=1")
        assert.strictEqual(valuesOf((yield* resolve(chain)).child)["A"], "1")
      })
    ))

  for (
    const [what, path, mode] of [
      ["it", ".ai/.env", 0o666],
      ["it, but not read it", ".ai/.env", 0o602],
      ["the user space", ".ai", 0o777],
      ["the user space, like /tmp", ".ai", 0o1777]
    ] as const
  ) {
    it.live(`a .env of the user is none if others can write ${what}`, () =>
      inWorld(({ resolve, root }) =>
        Effect.gen(function*() {
          write(join(root, ".ai/.env"), "A=1")
          chmodSync(join(root, path), mode)
          const { child, warnings } = yield* resolve(withRuntime({ env: { A: "${A:-none}" } }))
          assert.strictEqual(valuesOf(child)["A"], "none")
          assert.match(warnings[0]?.issue ?? "", /other users can change .* chmod go-w/)
        })
      ))
  }

  it.live("a change of the user's .env that its times do not show is seen", (context) =>
    Effect.gen(function*() {
      const folder = yield* coarseFolder
      if (folder === undefined) return context.skip("no file system with coarse times can be mounted here")
      yield* inWorld(({ resolve, root }) =>
        Effect.gen(function*() {
          symlinkSync(folder, join(root, ".ai"))
          const value = Effect.map(
            resolve(withRuntime({ env: { A: "${A:-none}" } })),
            (env) => valuesOf(env.child)["A"]
          )
          assert.isTrue(yield* changeUnseen(join(folder, ".env"), { before: "A=one", after: "A=two" }, value))
          assert.strictEqual(yield* value, "two")
        })
      )
    }))

  it.live("a real process sees exactly what was resolved", () =>
    inWorld(({ resolve }) =>
      Effect.gen(function*() {
        const chain = withRuntime(
          { interpreter: { type: "venv_python", var: "KIWI_PYTHON", search: ["system"] } },
          { requires: { environment: ["TOKEN"] } }
        )
        const env = yield* resolve(chain)
        const run = spawnSync(
          interpreter(env) ?? "",
          ["-c", "import json, os, sys; print(json.dumps([dict(os.environ), sys.flags.no_user_site]))"],
          { env: valuesOf(env.child), encoding: "utf8" }
        )
        const [seen, noUserSite] = JSON.parse(run.stdout)
        delete seen["LC_CTYPE"]
        assert.deepStrictEqual(seen, valuesOf(env.child))
        assert.strictEqual(noUserSite, 1)
        assert.strictEqual(seen.TOKEN, "t")
        assert.strictEqual(Redacted.value(env.child.get("TOKEN")!.value), "t")
      }), { variables: { TOKEN: "t", OTHER: "o" } }))
})
