import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Interpreter } from "../../../src/services/env/EnvConfig.ts"
import { resolve, valuesOf, withRuntime, type World } from "./environments.ts"

type Managed = Omit<Extract<Interpreter, { readonly type: "version_manager" }>, "type" | "var">
type Place = "project" | "kiwi" | "user" | "system"

const found = (interpreter: Record<string, string | ReadonlyArray<Place>>, world: World, tier?: "user" | "system") =>
  resolve(
    withRuntime({ interpreter: { var: "X", ...interpreter } }, tier === undefined ? {} : { tier }),
    { variables: { PATH: "/usr/bin" }, ...world }
  ).pipe(
    Effect.map((env) => valuesOf(env.child)["X"]),
    Effect.catchTag("RequirementsMissing", (e) => Effect.succeed(`missing: ${e.interpreter}`))
  )

describe("venv_python and node_modules", () => {
  const all = ["project", "kiwi", "user", "system"] as const
  const places = {
    project: "/srv/project/.venv/bin/python",
    kiwi: "/srv/project/.ai/scripts/.venv/bin/python",
    user: "/home/u/.ai/.venv/bin/python",
    system: "/usr/bin/python3"
  }

  it.effect("the first place that has it, in the order of the search", () =>
    Effect.gen(function*() {
      for (const [index, place] of all.entries()) {
        const programs = all.slice(index).map((p) => places[p])
        assert.strictEqual(yield* found({ type: "venv_python", search: all }, { programs }), places[place])
      }
      const every = Object.values(places)
      assert.strictEqual(
        yield* found({ type: "venv_python", search: ["system", "user"] }, { programs: every }),
        places.system
      )
      assert.strictEqual(yield* found({ type: "venv_python" }, { programs: every }), places.kiwi)
      assert.strictEqual(yield* found({ type: "venv_python" }, { programs: ["/usr/bin/python"] }), "/usr/bin/python")
    }))

  it.effect("the project's serve its own tools alone, once it is trusted", () =>
    Effect.gen(function*() {
      const programs = Object.values(places)
      const search = ["project", "kiwi", "system"] as const
      assert.strictEqual(yield* found({ type: "venv_python", search }, { programs }), places.project)
      for (const tier of ["user", "system"] as const) {
        assert.strictEqual(yield* found({ type: "venv_python", search }, { programs }, tier), places.system)
      }
      for (const trust of ["Restricted", "NoProject"] as const) {
        assert.strictEqual(yield* found({ type: "venv_python", search }, { programs, trust }), places.system)
      }
    }))

  it.effect("what nobody was shown stops the search, and names the command: no other is taken without a word", () =>
    Effect.gen(function*() {
      const programs = Object.values(places)
      const python = { type: "venv_python", search: all, fallback: "python3" }
      const stopped = (place: string) =>
        `${place} is there, but nobody has been shown it since the project was trusted: kiwi trust project accepts it`
      assert.include(yield* found(python, { programs, seen: [] }), stopped(".venv/bin/python"))
      assert.include(
        yield* found({ ...python, search: ["kiwi", "system"] }, { programs, seen: [".venv/bin/python"] }),
        stopped(".ai/scripts/.venv/bin/python")
      )
      assert.strictEqual(yield* found(python, { programs, seen: [".venv/bin/python"] }), places.project)
      // A place without an interpreter in it is none.
      assert.strictEqual(yield* found(python, { programs: [places.user], seen: [] }), places.user)
      const node = { type: "node_modules", search: ["project"], fallback: "node" } as const
      const installed = ["/srv/project/node_modules/.bin/node", "/usr/bin/node"]
      assert.include(yield* found(node, { programs: installed, seen: [] }), stopped("node_modules/.bin/node"))
      const failed = yield* Effect.flip(
        resolve(withRuntime({ interpreter: { var: "X", ...node } }), { programs: installed, seen: [] })
      )
      assert.strictEqual(failed.remediation, "kiwi trust project")
    }))

  it.effect("what a person was shown and is gone stops the tool, and no other is taken without a word", () =>
    Effect.gen(function*() {
      const kiwi = ".ai/scripts/.venv/bin/python"
      const node = "node_modules/.bin/node"
      const gone = (...of: ReadonlyArray<string>): World => ({ seen: of, replaced: of })
      const system = ["/usr/bin/python3", "/usr/bin/node", "/home/u/.ai/.venv/bin/python"]
      const python = { type: "venv_python", search: all, fallback: "python3" }
      const stops: ReadonlyArray<readonly [Record<string, string | ReadonlyArray<Place>>, World, string]> = [
        [python, gone(".venv/bin/python"), ".venv/bin/python"],
        [{ ...python, search: ["kiwi", "system"] }, gone(kiwi), kiwi],
        [python, { ...gone(kiwi), seen: [".venv/bin/python", kiwi] }, kiwi],
        [{ ...python, search: ["project"] }, gone(".venv/bin/python"), ".venv/bin/python"],
        [{ ...python, search: ["project"], fallback: "none" }, gone(".venv/bin/python"), ".venv/bin/python"],
        [{ type: "node_modules", fallback: "node", search: all }, gone(node), node],
        // It is there, and nobody may start it.
        [python, { ...gone(".venv/bin/python"), files: { [places.project]: "" } }, ".venv/bin/python"]
      ]
      for (const [declared, world, place] of stops) {
        const failed = yield* Effect.flip(
          resolve(withRuntime({ interpreter: { var: "X", ...declared } as Interpreter }), {
            programs: system,
            ...world
          })
        )
        assert.include(failed.message, `${place} is not what a person was shown`)
        assert.strictEqual(failed.remediation, "kiwi trust project")
      }
      const runs: ReadonlyArray<readonly [Record<string, string | ReadonlyArray<Place>>, World, "user"?]> = [
        [{ ...python, search: ["system", "project"] }, gone(".venv/bin/python")],
        [{ type: "system_binary", binary: "python3" }, gone(".venv/bin/python")],
        [{ ...python, search: ["project", "system"] }, gone(".venv/bin/python"), "user"],
        // Where nobody was shown anything, nothing can be gone.
        [{ ...python, search: ["project", "system"] }, { replaced: [".venv/bin/python"] }]
      ]
      for (const [declared, world, tier] of runs) {
        assert.strictEqual(yield* found(declared, { programs: system, ...world }, tier), "/usr/bin/python3")
      }
    }))

  it.effect("node_modules, and the fallback", () =>
    Effect.gen(function*() {
      const node = "/srv/project/node_modules/.bin/node"
      assert.strictEqual(yield* found({ type: "node_modules", search: all }, { programs: [node] }), node)
      assert.strictEqual(
        yield* found({ type: "node_modules", search: ["project"], fallback: "node" }, { programs: ["/usr/bin/node"] }),
        "/usr/bin/node"
      )
      assert.strictEqual(
        yield* found({ type: "system_binary", binary: "deno", fallback: "/opt/deno" }, { programs: ["/opt/deno"] }),
        "/opt/deno"
      )
      assert.include(
        yield* found({ type: "system_binary", binary: "deno", fallback: "./deno" }, { programs: ["./deno"] }),
        "looked for deno on PATH, and the fallback ./deno"
      )
    }))

  it.effect("on Windows", () =>
    Effect.gen(function*() {
      const world: World = {
        platform: "windows",
        project: "C:\\work",
        variables: { Path: "C:\\work\\bin;relative;C:\\Python", SystemRoot: "C:\\Windows" }
      }
      assert.strictEqual(
        yield* found({ type: "venv_python", search: all }, {
          ...world,
          programs: ["C:\\work\\.venv\\Scripts\\python.exe"]
        }),
        "C:\\work\\.venv\\Scripts\\python.exe"
      )
      assert.strictEqual(
        yield* found({ type: "venv_python", search: all }, {
          ...world,
          programs: ["C:\\work\\bin\\python3.exe", "C:\\Python\\python3.exe", "C:\\Python\\python3.cmd"]
        }),
        "C:\\Python\\python3.exe"
      )
      const env = yield* resolve(withRuntime(undefined), { ...world, programs: [] })
      assert.include(valuesOf(env.child), { SYSTEMROOT: "C:\\Windows", PATH: "C:\\Python" })
    }))
})

describe("version_manager", () => {
  const managed = (declared: Managed, world: World, tier?: "user") =>
    found({ type: "version_manager", ...declared }, world, tier)
  const node = (v: string) => `/home/u/.nvm/versions/node/${v}/bin/node`
  const nvm: World = {
    programs: ["v18.20.4", "v20.9.0", "v20.10.0", "v22.1.0", "v9.9.9"].map(node),
    files: {
      "/home/u/.nvm/alias/default": "lts/*\n",
      "/home/u/.nvm/alias/lts/*": "lts/iron\n",
      "/home/u/.nvm/alias/lts/iron": "v20.9.0\n",
      "/home/u/.nvm/alias/work": "18\n",
      "/home/u/.nvm/alias/loop": "loop\n"
    }
  }
  const nvmrc = (text: string): World => ({ ...nvm, files: { ...nvm.files, "/srv/project/.nvmrc": text } })

  it.effect("a version file that a person was shown and that is gone, or says nothing now, stops the tool", () =>
    Effect.gen(function*() {
      const shown = (file: string, text?: string): World => ({
        ...nvm,
        programs: [...nvm.programs ?? [], "/usr/bin/node"],
        files: { ...nvm.files, ...(text === undefined ? {} : { [`/srv/project/${file}`]: text }) },
        seen: [file],
        replaced: [file]
      })
      const cases: ReadonlyArray<readonly [Managed, World]> = [
        [{ manager: "nvm" }, shown(".nvmrc")],
        [{ manager: "nvm" }, shown(".nvmrc", "# nothing\n")],
        [{ manager: "pyenv" }, shown(".python-version", "\n")],
        [{ manager: "rbenv" }, shown(".ruby-version")],
        [{ manager: "asdf", plugin: "nodejs" }, shown(".tool-versions", "python 3.12.1\n")]
      ]
      for (const [declared, world] of cases) {
        assert.include(yield* managed(declared, world), "is not what a person was shown")
        assert.notInclude(yield* managed(declared, world, "user"), "is not what a person was shown")
      }
      assert.strictEqual(yield* managed({ manager: "nvm", version: "20" }, shown(".nvmrc")), node("v20.10.0"))
    }))

  it.effect("nvm: exact, partial, aliases, the default", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["v20.9.0", "v20.9.0"],
        ["20.9.0", "v20.9.0"],
        ["20", "v20.10.0"],
        ["v18", "v18.20.4"],
        ["node", "v22.1.0"],
        ["lts/iron", "v20.9.0"],
        ["lts/*", "v20.9.0"],
        ["work", "v18.20.4"]
      ]
      for (const [version, expected] of cases) {
        assert.strictEqual(yield* managed({ manager: "nvm", version }, nvm), node(expected), version)
      }
      assert.strictEqual(yield* managed({ manager: "nvm" }, nvm), node("v20.9.0"))
      assert.strictEqual(
        yield* managed({ manager: "nvm", version: "20" }, {
          programs: ["/opt/nvm/versions/node/v20.1.0/bin/node"],
          variables: { NVM_DIR: "/opt/nvm" }
        }),
        "/opt/nvm/versions/node/v20.1.0/bin/node"
      )
    }))

  it.effect("nvm: .nvmrc of a trusted project, for its own tools", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* managed({ manager: "nvm" }, nvmrc("# ours\n18 # old\n")), node("v18.20.4"))
      assert.strictEqual(yield* managed({ manager: "nvm", version: "22" }, nvmrc("18")), node("v22.1.0"))
      assert.strictEqual(yield* managed({ manager: "nvm" }, nvmrc("18"), "user"), node("v20.9.0"))
      assert.strictEqual(yield* managed({ manager: "nvm" }, { ...nvmrc("18"), trust: "Restricted" }), node("v20.9.0"))
    }))

  it.effect("a version that is not installed is missing, never another one", () =>
    Effect.gen(function*() {
      const programs = [...nvm.programs ?? [], "/usr/bin/node"]
      assert.include(yield* managed({ manager: "nvm", version: "21" }, { ...nvm, programs }), "not installed 21")
      assert.include(yield* managed({ manager: "nvm", version: "loop" }, { ...nvm, programs }), "not installed")
      assert.strictEqual(yield* managed({ manager: "nvm" }, { programs: ["/usr/bin/node"] }), "/usr/bin/node")
    }))

  it.effect("a version that climbs out of the manager's folder is refused", () =>
    Effect.gen(function*() {
      const evil = "/home/u/evil/bin/node"
      const world = (text: string): World => ({ ...nvmrc(text), programs: [...nvm.programs ?? [], evil] })
      for (const text of ["../../../evil", "v20.9.0/../../../../evil", "..", "a b", "$(id)", "v1\0", "x".repeat(100)]) {
        assert.match(
          (yield* managed({ manager: "nvm" }, world(text))) ?? "",
          /^missing: .*(is not valid|not installed)/,
          text
        )
      }
      const outside = { ...nvmrc("../evil"), files: { ...nvmrc("../evil").files, "/home/u/.nvm/evil": "18" } }
      assert.include(yield* managed({ manager: "nvm" }, outside), "is not valid")
      const linked = yield* managed({ manager: "nvm", version: "v20.0.0" }, {
        programs: [evil],
        links: { "/home/u/.nvm/versions/node/v20.0.0": "/home/u/evil" }
      })
      assert.include(linked, "leads out of its folder")
      const alias = { ...nvm, files: { "/home/u/.nvm/alias/default": "../../../evil" } }
      assert.match((yield* managed({ manager: "nvm" }, alias)) ?? "", /^missing/)
    }))

  it.effect("a .nvmrc that is a link out of the project is not read", () =>
    Effect.gen(function*() {
      const world: World = {
        ...nvm,
        files: { ...nvm.files, "/etc/version": "18" },
        links: { "/srv/project/.nvmrc": "/etc/version" }
      }
      assert.strictEqual(yield* managed({ manager: "nvm" }, world), node("v20.9.0"))
    }))

  it.effect("a manager's folder in the project, or by a relative path, is refused", () =>
    Effect.gen(function*() {
      for (const NVM_DIR of ["/srv/project/.nvm", "nvm"]) {
        const world = {
          variables: { NVM_DIR, PATH: "/usr/bin" },
          programs: [`${NVM_DIR}/versions/node/v20.0.0/bin/node`]
        }
        assert.match((yield* managed({ manager: "nvm", version: "20" }, world)) ?? "", /^missing/)
      }
    }))

  it.effect("pyenv and rbenv", () =>
    Effect.gen(function*() {
      const world: World = {
        programs: [
          "/home/u/.pyenv/versions/3.11.9/bin/python",
          "/home/u/.pyenv/versions/3.12.1/bin/python",
          "/home/u/.rbenv/versions/3.3.0/bin/ruby",
          "/usr/bin/python3"
        ],
        files: { "/home/u/.pyenv/version": "3.11.9\n", "/home/u/.rbenv/version": "3.3.0" }
      }
      const pinned = (text: string) => ({ ...world, files: { ...world.files, "/srv/project/.python-version": text } })
      assert.strictEqual(yield* managed({ manager: "pyenv" }, world), world.programs?.[0])
      assert.strictEqual(yield* managed({ manager: "pyenv" }, pinned("3.9.0\n3.12\n")), world.programs?.[1])
      assert.strictEqual(yield* managed({ manager: "pyenv" }, pinned("system")), "/usr/bin/python3")
      assert.strictEqual(yield* managed({ manager: "pyenv" }, pinned("3.12"), "user"), world.programs?.[0])
      assert.include(yield* managed({ manager: "pyenv" }, pinned("2.7")), "not installed 2.7")
      assert.strictEqual(yield* managed({ manager: "rbenv" }, world), world.programs?.[2])
      const ruby = { ...world, files: { "/srv/project/.ruby-version": "ruby-3.3.0\n" } }
      assert.strictEqual(yield* managed({ manager: "rbenv" }, ruby), world.programs?.[2])
    }))

  it.effect("asdf: .tool-versions of the project, then of the home folder", () =>
    Effect.gen(function*() {
      const world: World = {
        programs: ["/home/u/.asdf/installs/nodejs/20.9.0/bin/node", "/home/u/.asdf/installs/erlang/26/bin/erlang"],
        files: { "/home/u/.tool-versions": "# all\nerlang 27 26\nnodejs 20.9.0\n" }
      }
      const pinned = { ...world, files: { ...world.files, "/srv/project/.tool-versions": "nodejs 18.0.0\n" } }
      assert.strictEqual(yield* managed({ manager: "asdf", plugin: "nodejs" }, world), world.programs?.[0])
      assert.strictEqual(yield* managed({ manager: "asdf", plugin: "erlang" }, world), world.programs?.[1])
      assert.include(yield* managed({ manager: "asdf", plugin: "nodejs" }, pinned), "not installed 18.0.0")
      assert.include(yield* managed({ manager: "asdf" }, world), "needs the name of a plugin")
      assert.include(yield* managed({ manager: "asdf", plugin: "../x" }, world), "needs the name of a plugin")
    }))
})
