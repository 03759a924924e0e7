// Where each version manager looks for the version that it is asked for, and its forms on Windows and macOS.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Interpreter } from "../../../src/services/env/EnvConfig.ts"
import { resolve, withRuntime, type World } from "./environments.ts"

type Managed = Omit<Extract<Interpreter, { readonly type: "version_manager" }>, "type" | "var">

const managed = (declared: Managed, world: World, tier?: "user") =>
  resolve(
    withRuntime(
      { interpreter: { type: "version_manager", var: "X", ...declared } },
      tier === undefined ? {} : { tier }
    ),
    { variables: { PATH: "/usr/bin" }, ...world }
  ).pipe(
    Effect.map(({ interpreter }) => `${interpreter?.kind} ${interpreter?.version}`),
    Effect.catchTag("RequirementsMissing", (e) => Effect.succeed(`${e.interpreter} -> ${e.remediation}`))
  )

const ruby = (v: string) => `/home/u/.rbenv/versions/${v}/bin/ruby`
const python = (v: string) => `/home/u/.pyenv/versions/${v}/bin/python`
const node = (v: string) => `/home/u/.nvm/versions/node/${v}/bin/node`

describe("rbenv", () => {
  const programs = [ruby("3.1.0"), ruby("3.2.2"), ruby("3.3.0"), ruby("jruby-9.4.0.0"), "/usr/bin/ruby"]
  const world = (files: Record<string, string>, variables: Record<string, string> = {}): World => ({
    programs,
    files,
    variables: { PATH: "/usr/bin", ...variables }
  })
  const rbenv = { manager: "rbenv" } as const

  it.effect("ENV_CONFIG, then RBENV_VERSION, then .ruby-version, then the global version, then the system's", () =>
    Effect.gen(function*() {
      const files = { "/srv/project/.ruby-version": "3.2.2\n", "/home/u/.rbenv/version": "3.1.0\n" }
      const variables = { RBENV_VERSION: "3.3.0" }
      assert.strictEqual(yield* managed({ ...rbenv, version: "3.1.0" }, world(files, variables)), "rbenv 3.1.0")
      assert.strictEqual(yield* managed(rbenv, world(files, variables)), "rbenv 3.3.0")
      assert.strictEqual(yield* managed(rbenv, world(files)), "rbenv 3.2.2")
      assert.strictEqual(yield* managed(rbenv, world({ "/home/u/.rbenv/version": "3.1.0" })), "rbenv 3.1.0")
      assert.strictEqual(yield* managed(rbenv, world({})), "system undefined")
    }))

  it.effect("takes the first word of the file alone, as rbenv does, and other Rubies by their names", () =>
    Effect.gen(function*() {
      assert.include(
        yield* managed(rbenv, world({ "/srv/project/.ruby-version": "9.9.9\n3.3.0\n" })),
        "not installed 9.9.9 -> rbenv install 9.9.9"
      )
      assert.strictEqual(
        yield* managed(rbenv, world({ "/srv/project/.ruby-version": "jruby-9.4.0.0" })),
        "rbenv jruby-9.4.0.0"
      )
      assert.strictEqual(
        yield* managed(rbenv, world({ "/srv/project/.ruby-version": "\uFEFFruby-3.2.2\r\n" })),
        "rbenv 3.2.2"
      )
    }))

  it.effect("looks in the folders above the project that are your own, and in no others", () =>
    Effect.gen(function*() {
      const above = (project: string, files: Record<string, string>) => managed(rbenv, { ...world(files), project })
      assert.strictEqual(yield* above("/home/u/work/site", { "/home/u/work/.ruby-version": "3.2.2" }), "rbenv 3.2.2")
      assert.strictEqual(yield* above("/home/u/work/site", { "/home/u/.ruby-version": "3.2.2" }), "rbenv 3.2.2")
      assert.strictEqual(yield* above("/tmp/site", { "/tmp/.ruby-version": "3.2.2" }), "system undefined")
      assert.strictEqual(yield* above("/home/u/site", { "/home/.ruby-version": "3.2.2" }), "system undefined")
    }))

  it.effect("a version file that nobody was shown is not followed, and not passed over either", () =>
    Effect.gen(function*() {
      const files = { "/srv/project/.ruby-version": "3.2.2" }
      assert.include(
        yield* managed(rbenv, { ...world(files), seen: [] }),
        ".ruby-version is there, but nobody has been shown it since the project was trusted"
      )
      assert.strictEqual(yield* managed(rbenv, { ...world(files), seen: [".ruby-version"] }), "rbenv 3.2.2")
      assert.strictEqual(yield* managed(rbenv, { ...world(files), seen: [] }, "user"), "system undefined")
    }))
})

describe("pyenv", () => {
  const programs = [python("3.10.1"), python("3.11.9"), python("3.12.1"), python("3.12.7"), "/usr/bin/python3"]
  const pyenv = { manager: "pyenv" } as const
  const pinned = (text: string, variables: Record<string, string> = {}): World => ({
    programs,
    files: { "/srv/project/.python-version": text },
    variables: { PATH: "/usr/bin", ...variables }
  })

  it.effect("the first installed one of several lines, or of PYENV_VERSION", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* managed(pyenv, pinned("# ours\n3.9.0\n3.11.9 3.10.1\n")), "pyenv 3.11.9")
      assert.strictEqual(yield* managed(pyenv, pinned("3.11.9", { PYENV_VERSION: "4.0:3.10.1" })), "pyenv 3.10.1")
      assert.strictEqual(yield* managed(pyenv, pinned("3.12")), "pyenv 3.12.7")
      assert.strictEqual(yield* managed(pyenv, pinned("system\n3.12")), "system undefined")
      assert.strictEqual(yield* managed(pyenv, pinned("9.9\nsystem")), "system undefined")
      assert.include(yield* managed(pyenv, pinned("9.9\n8.8")), "not installed 9.9 or 8.8 -> pyenv install 9.9")
    }))

  it.effect("a virtual environment of its own, by its name or its path", () =>
    Effect.gen(function*() {
      const world = (text: string): World => ({
        ...pinned(text),
        programs: [...programs, "/home/u/.pyenv/versions/3.11.9/envs/site/bin/python"],
        links: { "/home/u/.pyenv/versions/site": "/home/u/.pyenv/versions/3.11.9/envs/site" },
        files: {
          "/srv/project/.python-version": text,
          "/home/u/.pyenv/versions/3.11.9/envs/site/pyvenv.cfg": "version = 3.11.9\n"
        }
      })
      assert.strictEqual(yield* managed(pyenv, world("site")), "pyenv 3.11.9")
      assert.include(yield* managed(pyenv, world("3.11.9/envs/site")), "pyenv 3.11.9")
    }))
})

describe("nvm", () => {
  const nvm = { manager: "nvm" } as const
  const world = (files: Record<string, string>): World => ({
    programs: [node("v18.20.4"), node("v20.9.0"), node("v22.1.0"), "/usr/bin/node"],
    files: Object.fromEntries(Object.entries(files).map(([name, text]) => [`/home/u/.nvm/alias/${name}`, text]))
  })

  it.effect("chains of aliases, in a ring too", () =>
    Effect.gen(function*() {
      const chain = world({ default: "work\n", work: "team\n", team: "lts/iron", "lts/iron": "v20.9.0" })
      assert.strictEqual(yield* managed(nvm, chain), "nvm 20.9.0")
      const ring = world({ default: "a", a: "b", b: "a" })
      assert.include(yield* managed(nvm, ring), "nvm has not installed a -> nvm install a")
      assert.strictEqual(yield* managed(nvm, world({ default: "work", work: "system" })), "system undefined")
    }))

  it.effect("the lines of long-term support, and the one before the newest", () =>
    Effect.gen(function*() {
      const lts = world({
        "lts/*": "lts/jod",
        "lts/hydrogen": "v18.20.4",
        "lts/iron": "v20.9.0",
        "lts/jod": "v22.1.0"
      })
      assert.strictEqual(yield* managed({ ...nvm, version: "lts/*" }, lts), "nvm 22.1.0")
      assert.strictEqual(yield* managed({ ...nvm, version: "lts/-1" }, lts), "nvm 20.9.0")
      assert.strictEqual(yield* managed({ ...nvm, version: "lts/-2" }, lts), "nvm 18.20.4")
      assert.include(yield* managed({ ...nvm, version: "lts/-9" }, lts), "not installed lts/-9")
    }))
})

describe("asdf", () => {
  const asdf = { manager: "asdf", plugin: "nodejs" } as const
  const world = (files: Record<string, string>, variables: Record<string, string> = {}): World => ({
    project: "/home/u/work/site",
    programs: [
      ...["18.0.0", "20.9.0", "22.1.0"].map((v) => `/home/u/.asdf/installs/nodejs/${v}/bin/node`),
      "/usr/bin/node"
    ],
    files,
    variables: { PATH: "/usr/bin", ...variables }
  })

  it.effect("ASDF_<PLUGIN>_VERSION, the project, the folders above it, the home folder: the first that names the plugin", () =>
    Effect.gen(function*() {
      const files = {
        "/home/u/work/site/.tool-versions": "python 3.12.1\n",
        "/home/u/work/.tool-versions": "nodejs 99.0.0 20.9.0 # fallback\n",
        "/home/u/.tool-versions": "nodejs 18.0.0\n"
      }
      assert.strictEqual(yield* managed(asdf, world(files)), "asdf 20.9.0")
      assert.strictEqual(yield* managed(asdf, world(files, { ASDF_NODEJS_VERSION: "22.1.0" })), "asdf 22.1.0")
      assert.strictEqual(yield* managed(asdf, { ...world(files), project: "/srv/site" }), "asdf 18.0.0")
      assert.strictEqual(yield* managed(asdf, world({})), "system undefined")
      assert.strictEqual(yield* managed(asdf, world({ "/home/u/.tool-versions": "nodejs system" })), "system undefined")
      assert.include(
        yield* managed(asdf, world({ "/home/u/.tool-versions": "nodejs 1.0.0" })),
        "-> asdf install nodejs 1.0.0"
      )
    }))

  it.effect("ASDF_DATA_DIR and ASDF_DEFAULT_TOOL_VERSIONS_FILENAME", () =>
    Effect.gen(function*() {
      const moved: World = {
        variables: { PATH: "/usr/bin", ASDF_DATA_DIR: "/opt/asdf", ASDF_DEFAULT_TOOL_VERSIONS_FILENAME: "/etc/mine" },
        programs: ["/opt/asdf/installs/golang/1.22.0/go/bin/go"],
        files: { "/etc/mine": "golang 1.22.0" }
      }
      assert.strictEqual(yield* managed({ manager: "asdf", plugin: "golang" }, moved), "asdf 1.22.0")
      const named = (name: string) =>
        world({ [`/home/u/${name}`]: "nodejs 18.0.0" }, { ASDF_DEFAULT_TOOL_VERSIONS_FILENAME: name })
      assert.strictEqual(yield* managed(asdf, named(".versions")), "asdf 18.0.0")
      assert.strictEqual(yield* managed(asdf, named("config/versions")), "asdf 18.0.0")
      const inProject = { ASDF_DEFAULT_TOOL_VERSIONS_FILENAME: "/home/u/work/site/versions" }
      assert.strictEqual(
        yield* managed(asdf, world({ "/home/u/work/site/versions": "nodejs 18.0.0" }, inProject)),
        "system undefined"
      )
    }))
})

describe("on Windows", () => {
  const world = (
    variables: Record<string, string>,
    programs: ReadonlyArray<string>,
    files: Record<string, string> = {}
  ): World => ({
    platform: "windows",
    project: "C:\\work",
    variables: { PATH: "C:\\Windows", ...variables },
    programs,
    files
  })

  it.effect("nvm-windows keeps node.exe in the version's folder, below NVM_HOME or the roaming profile", () =>
    Effect.gen(function*() {
      const files = { "C:\\work\\.nvmrc": "20\r\n" }
      const at = (root: string) => [`${root}\\v18.0.0\\node.exe`, `${root}\\v20.9.0\\node.exe`]
      assert.strictEqual(
        yield* managed({ manager: "nvm" }, world({ NVM_HOME: "C:\\nvm" }, at("C:\\nvm"), files)),
        "nvm 20.9.0"
      )
      assert.strictEqual(
        yield* managed({ manager: "nvm" }, world({ APPDATA: "C:\\Roaming" }, at("C:\\Roaming\\nvm"), files)),
        "nvm 20.9.0"
      )
      assert.strictEqual(
        yield* managed({ manager: "nvm", version: "node" }, world({ NVM_HOME: "C:\\nvm" }, at("C:\\nvm"))),
        "nvm 20.9.0"
      )
    }))

  it.effect("pyenv-win keeps python.exe in the version's folder, below PYENV or the home folder", () =>
    Effect.gen(function*() {
      const files = { "C:\\work\\.python-version": "3.12.1\r\n" }
      assert.strictEqual(
        yield* managed(
          { manager: "pyenv" },
          world({ PYENV: "C:\\py\\pyenv-win" }, ["C:\\py\\pyenv-win\\versions\\3.12.1\\python.exe"], files)
        ),
        "pyenv 3.12.1"
      )
      const root = "C:\\py\\pyenv-win"
      assert.strictEqual(
        yield* managed(
          { manager: "pyenv" },
          world({ PYENV_ROOT: root }, [`${root}\\versions\\3.11.0\\python.exe`], { [`${root}\\version`]: "3.11.0\r\n" })
        ),
        "pyenv 3.11.0"
      )
    }))

  it.effect("rbenv and asdf, where somebody has them, with the endings of Windows", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* managed(
          { manager: "rbenv", version: "3.3.0" },
          world({ RBENV_ROOT: "C:\\rb" }, ["C:\\rb\\versions\\3.3.0\\bin\\ruby.exe"])
        ),
        "rbenv 3.3.0"
      )
      assert.strictEqual(
        yield* managed(
          { manager: "asdf", plugin: "nodejs", version: "20.9.0" },
          world({ ASDF_DATA_DIR: "C:\\asdf" }, ["C:\\asdf\\installs\\nodejs\\20.9.0\\bin\\node.exe"])
        ),
        "asdf 20.9.0"
      )
    }))
})
