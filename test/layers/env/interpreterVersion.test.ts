import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Interpreter } from "../../../src/services/env/EnvConfig.ts"
import { resolve, withRuntime, type World } from "./environments.ts"

type Declared<A = Interpreter> = A extends Interpreter ? Omit<A, "var"> : never

const identity = (interpreter: Declared, world: World) =>
  Effect.map(
    resolve(withRuntime({ interpreter: { var: "X", ...interpreter } }), world),
    (env) => `${env.interpreter?.kind} ${env.interpreter?.version}`
  )

const header = "#ifndef X\n#define NODE_MAJOR_VERSION 22\n#define NODE_MINOR_VERSION 11\n#define NODE_PATCH_VERSION 0\n"

describe("the kind and the version of an interpreter, told from files alone", () => {
  it.effect("a virtual environment says it in pyvenv.cfg, as venv or as virtualenv and uv write it", () =>
    Effect.gen(function*() {
      const cases = [
        ["project", "/srv/project", "home = /usr/bin\nversion = 3.11.2\n", "project-venv 3.11.2"],
        ["kiwi", "/srv/project/.ai/scripts", "version_info = 3.12.1.final.0\r\nuv = 0.5.1\r\n", "kiwi-venv 3.12.1"],
        ["user", "/home/u/.ai", "version=3.9\n", "user-venv 3.9"],
        ["user", "/home/u/.ai", "nothing = 1\n", "user-venv undefined"]
      ] as const
      for (const [place, folder, settings, expected] of cases) {
        assert.strictEqual(
          yield* identity({ type: "venv_python", search: [place] }, {
            programs: [`${folder}/.venv/bin/python`],
            files: { [`${folder}/.venv/pyvenv.cfg`]: settings }
          }),
          expected
        )
      }
    }))

  it.effect("a program on PATH, by its real name or the headers beside it", () =>
    Effect.gen(function*() {
      const python = { type: "venv_python", search: ["system"] } as const
      const linked = { programs: ["/usr/bin/python3.11"], links: { "/usr/bin/python3": "/usr/bin/python3.11" } }
      assert.strictEqual(yield* identity(python, linked), "system 3.11")
      assert.strictEqual(yield* identity(python, { programs: ["/usr/bin/python3"] }), "system undefined")
      const node = { type: "node_modules", search: ["system"] } as const
      const programs = ["/usr/bin/node"]
      assert.strictEqual(
        yield* identity(node, { programs, files: { "/usr/include/node/node_version.h": header } }),
        "system 22.11.0"
      )
      assert.strictEqual(
        yield* identity(node, {
          programs,
          files: { "/usr/include/node/node_version.h": "#define NODE_MAJOR_VERSION x" }
        }),
        "system undefined"
      )
      assert.strictEqual(
        yield* identity({ type: "system_binary", binary: "deno", fallback: "node" }, {
          programs,
          files: { "/usr/include/node/node_version.h": header }
        }),
        "fallback 22.11.0"
      )
    }))

  it.effect("npm's package of Node, by its manifest", () =>
    Effect.gen(function*() {
      const node = { type: "node_modules", search: ["project"] } as const
      const world = (manifest: string): World => ({
        programs: ["/srv/project/node_modules/node/bin/node"],
        links: { "/srv/project/node_modules/.bin/node": "/srv/project/node_modules/node/bin/node" },
        files: { "/srv/project/node_modules/node/package.json": manifest }
      })
      assert.strictEqual(yield* identity(node, world(`{"name":"node","version":"24.1.0"}`)), "project-node 24.1.0")
      for (const foreign of [`{"name":"other","version":"1.0.0"}`, "{", `{"name":"node","version":"latest"}`]) {
        assert.strictEqual(yield* identity(node, world(foreign)), "project-node undefined")
      }
    }))

  it.effect("a version manager says it in the folder's name", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* identity({ type: "version_manager", manager: "nvm", version: "20" }, {
          programs: ["/home/u/.nvm/versions/node/v20.9.0/bin/node"]
        }),
        "nvm 20.9.0"
      )
      assert.strictEqual(
        yield* identity({ type: "version_manager", manager: "rbenv", version: "3.3.0" }, {
          programs: ["/home/u/.rbenv/versions/3.3.0/bin/ruby"]
        }),
        "rbenv 3.3.0"
      )
    }))
})
