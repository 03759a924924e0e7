// The digests are poetry's own: urlsafe_b64encode(sha256(path)).decode()[:8].
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { resolve, withRuntime, type World } from "./environments.ts"

const found = (world: World, search: ReadonlyArray<string> = ["project", "system"], tier?: "user") =>
  resolve(
    withRuntime({ interpreter: { type: "venv_python", var: "X", search } }, tier === undefined ? {} : { tier }),
    { variables: { PATH: "/usr/bin" }, ...world }
  ).pipe(
    Effect.map(({ interpreter }) => `${interpreter?.path} ${interpreter?.kind} ${interpreter?.version}`),
    Effect.catchTag("RequirementsMissing", (e) => Effect.succeed(`missing: ${e.interpreter}; ${e.remediation}`))
  )

const system = "/usr/bin/python3"
const pyproject = { "/srv/project/pyproject.toml": "[project]\nname = \"My_Project\" # ours\nversion = \"1\"\n" }
const poetry = "my-project-Tz-R9rC0"

describe("uv's virtual environment", () => {
  it.effect("is the project's .venv, with the version that uv wrote into it", () =>
    Effect.gen(function*() {
      const python = "/srv/project/.venv/bin/python"
      assert.strictEqual(
        yield* found({
          programs: [python, system],
          files: {
            ...pyproject,
            "/srv/project/.venv/pyvenv.cfg": "implementation = CPython\nuv = 0.9.2\nversion_info = 3.13.1\n"
          }
        }),
        `${python} project-venv 3.13.1`
      )
    }))

  it.effect("is where UV_PROJECT_ENVIRONMENT says, in the project or outside of it", () =>
    Effect.gen(function*() {
      const place = (UV_PROJECT_ENVIRONMENT: string, python: string, more: World = {}): World => ({
        variables: { PATH: "/usr/bin", UV_PROJECT_ENVIRONMENT },
        programs: [python, "/srv/project/.venv/bin/python", system],
        files: pyproject,
        ...more
      })
      const outside = "/opt/venv/bin/python"
      assert.strictEqual(yield* found(place("/opt/venv", outside)), `${outside} uv undefined`)
      const inside = "/srv/project/build/venv/bin/python"
      assert.strictEqual(yield* found(place("build/venv", inside)), `${inside} uv undefined`)
      assert.match(
        yield* found(place("build/venv", inside, { seen: [".venv/bin/python"] })),
        /^missing: .*build\/venv\/bin\/python is there, but nobody has been shown it.*kiwi trust project$/
      )
      assert.strictEqual(
        yield* found(place("build/venv", inside, { seen: ["build/venv/bin/python"] })),
        `${inside} uv undefined`
      )
      // Without a pyproject.toml this is no project of uv's.
      assert.include(yield* found(place("/opt/venv", outside, { files: {} })), "project-venv")
      for (const world of [place("/opt/venv", outside, { trust: "Restricted" }), place("", outside)]) {
        assert.notInclude(yield* found(world), " uv ")
      }
      assert.include(yield* found(place("/opt/venv", outside), undefined, "user"), " system ")
    }))
})

describe("a virtual environment that is called venv or env", () => {
  const project = "/srv/project"
  const places: ReadonlyArray<readonly [folder: string, search: string, kind: string]> = [
    [project, "project", "project-venv"],
    [`${project}/.ai/scripts`, "kiwi", "kiwi-venv"],
    ["/home/u/.ai", "user", "user-venv"]
  ]
  const python = (folder: string, name: string) => `${folder}/${name}/bin/python`
  const settings = (folder: string, ...names: ReadonlyArray<string>) =>
    Object.fromEntries(names.map((name) => [`${folder}/${name}/pyvenv.cfg`, "version = 3.12.4\n"]))

  for (const [folder, search, kind] of places) {
    it.effect(`counts in every place of search, with its version, in the order .venv, venv, env: ${search}`, () =>
      Effect.gen(function*() {
        const all = [".venv", "venv", "env"]
        for (let from = 0; from < all.length; from++) {
          const there = all.slice(from)
          const programs = [...there.map((name) => python(folder, name)), system]
          const first = python(folder, there[0]!)
          assert.strictEqual(
            yield* found({ programs, files: settings(folder, ...there) }, [search, "system"]),
            `${first} ${kind} 3.12.4`
          )
        }
      }))

    it.effect(`is no other folder of that name: ${search}`, () =>
      Effect.gen(function*() {
        const programs = ["venv", "env"].map((name) => python(folder, name)).concat(system)
        assert.include(yield* found({ programs }, [search, "system"]), `${system} system`)
        const one = yield* found({ programs, files: settings(folder, "env") }, [search, "system"])
        assert.include(one, python(folder, "env"))
        // The .venv needs none: uv and others are believed as before.
        const old = yield* found({ programs: [python(folder, ".venv"), system] }, [search, "system"])
        assert.include(old, python(folder, ".venv"))
      }))
  }

  for (const [folder, search] of places.slice(0, 2)) {
    const place = python(folder, "venv").slice(project.length + 1)
    const world: World = { programs: [python(folder, "venv"), system], files: settings(folder, "venv") }
    it.effect(`is used only as a person was shown it: ${place}`, () =>
      Effect.gen(function*() {
        const from = [search, "system"]
        assert.match(
          yield* found({ ...world, seen: [] }, from),
          /^missing: .*venv\/bin\/python is there, but nobody has been shown it.*kiwi trust project$/
        )
        assert.include(yield* found({ ...world, seen: [place] }, from), python(folder, "venv"))
        assert.match(
          yield* found({ ...world, seen: [place], replaced: [place] }, from),
          /^missing: .*is not what a person/
        )
        // It stops too where what told it is gone: the system's Python does not take its place.
        const bare = { ...world, files: {}, seen: [place], replaced: [place] }
        assert.match(yield* found(bare, from), /^missing: .*is not what a person/)
      }))

    it.effect(`stops where a .venv comes to it later: ${place}`, () =>
      Effect.gen(function*() {
        const programs = [...world.programs!, python(folder, ".venv")]
        assert.match(
          yield* found({ ...world, programs, seen: [place] }, [search, "system"]),
          /^missing: .*\.venv\/bin\/python is there, but nobody/
        )
      }))

    it.effect(`serves no tool of the user's, and none of a project that nobody trusts: ${place}`, () =>
      Effect.gen(function*() {
        assert.include(yield* found(world, [search, "system"], "user"), `${system} system`)
        assert.include(yield* found({ ...world, trust: "Restricted" }, [search, "system"]), `${system} system`)
      }))
  }

  it.effect("is Scripts\\python.exe on Windows", () =>
    Effect.gen(function*() {
      const file = "C:\\p\\venv\\Scripts\\python.exe"
      const { interpreter } = yield* resolve(
        withRuntime({ interpreter: { type: "venv_python", var: "X", search: ["project"] } }),
        {
          platform: "windows",
          project: "C:\\p",
          variables: { PATH: "C:\\bin" },
          programs: [file],
          files: { "C:\\p\\venv\\pyvenv.cfg": "version = 3.12.4" }
        }
      )
      assert.strictEqual(interpreter?.path, file)
    }))
})

describe("poetry's virtual environment", () => {
  const installed = (folder: string, ...versions: ReadonlyArray<string>) =>
    versions.map((version) => `${folder}/${poetry}-py${version}/bin/python`)
  const cache = "/home/u/.cache/pypoetry/virtualenvs"
  const world = (programs: ReadonlyArray<string>, more: World = {}): World => ({
    programs: [...programs, system],
    files: pyproject,
    ...more
  })

  it.effect("is named by the project's name and a digest of its path; the newest counts", () =>
    Effect.gen(function*() {
      const programs = installed(cache, "3.9", "3.12", "3.11")
      const cfg = { [`${cache}/${poetry}-py3.12/pyvenv.cfg`]: "version_info = 3.12.4.final.0\n" }
      assert.strictEqual(
        yield* found(world(programs, { files: { ...pyproject, ...cfg } })),
        `${programs[1]} poetry 3.12.4`
      )
      const named = { "/srv/project/pyproject.toml": "[tool.poetry]\nname = 'my.project'\n" }
      assert.include(yield* found(world(programs, { files: named })), `${programs[1]} poetry`)
    }))

  it.effect("is the one that poetry env use has chosen", () =>
    Effect.gen(function*() {
      const programs = installed(cache, "3.9", "3.12")
      const chosen = {
        [`${cache}/envs.toml`]: `[other-AAAAAAAA]\nminor = "3.12"\n\n[${poetry}]\nminor = "3.9"\npatch = "3.9.1"\n`
      }
      assert.include(
        yield* found(world(programs, { files: { ...pyproject, ...chosen } })),
        `${programs[0]} poetry`
      )
    }))

  it.effect("comes after the project's .venv", () =>
    Effect.gen(function*() {
      const venv = "/srv/project/.venv/bin/python"
      assert.include(yield* found(world([venv, ...installed(cache, "3.12")])), `${venv} project-venv`)
    }))

  it.effect("of another project, of another name, or of nothing is not taken", () =>
    Effect.gen(function*() {
      const others = [
        `${cache}/my-project-AAAAAAAA-py3.12/bin/python`,
        `${cache}/other-Tz-R9rC0-py3.12/bin/python`,
        `${cache}/${poetry}-py3.12.bak/bin/python`,
        `${cache}/${poetry}-pypy/bin/python`
      ]
      assert.include(yield* found(world(others)), `${system} system`)
      assert.include(yield* found(world(installed(cache, "3.12"), { files: {} })), `${system} system`)
      assert.include(
        yield* found(
          world(installed(cache, "3.12"), {
            files: { "/srv/project/pyproject.toml": "[tool.other]\nname = \"my-project\"\n" }
          })
        ),
        `${system} system`
      )
    }))

  it.effect("serves only the tools of a trusted project, and not where poetry was told to use the project's own folder", () =>
    Effect.gen(function*() {
      const programs = installed(cache, "3.12")
      assert.include(yield* found(world(programs), undefined, "user"), `${system} system`)
      assert.include(yield* found(world(programs, { trust: "Restricted" })), `${system} system`)
      assert.include(
        yield* found(world(programs, { variables: { PATH: "/usr/bin", POETRY_VIRTUALENVS_IN_PROJECT: "true" } })),
        `${system} system`
      )
    }))

  it.effect("lies where each platform keeps caches, or where poetry's variables say", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, World]> = [
        ["/home/u/Library/Caches/pypoetry/virtualenvs", { platform: "macos" }],
        ["/x/pypoetry/virtualenvs", { variables: { PATH: "/usr/bin", XDG_CACHE_HOME: "/x" } }],
        ["/c/virtualenvs", { variables: { PATH: "/usr/bin", POETRY_CACHE_DIR: "/c", XDG_CACHE_HOME: "/x" } }],
        ["/v", { variables: { PATH: "/usr/bin", POETRY_VIRTUALENVS_PATH: "/v", POETRY_CACHE_DIR: "/c" } }]
      ]
      for (const [folder, more] of cases) {
        const programs = installed(folder, "3.12")
        assert.include(yield* found(world(programs, more)), `${programs[0]} poetry`, folder)
      }
      // A folder that the project brings along is none of poetry's, and a relative one leads who knows where.
      for (const POETRY_VIRTUALENVS_PATH of ["/srv/project/envs", "envs"]) {
        const programs = installed("/srv/project/envs", "3.12")
        const variables = { PATH: "/usr/bin", POETRY_VIRTUALENVS_PATH }
        assert.include(yield* found(world(programs, { variables })), `${system} system`)
      }
    }))

  it.effect("on Windows, where the digest is of the path in lower case", () =>
    Effect.gen(function*() {
      const folder = "C:\\Local\\pypoetry\\Cache\\virtualenvs"
      const python = `${folder}\\my-project-GUwnu2WK-py3.12\\Scripts\\python.exe`
      assert.include(
        yield* found({
          platform: "windows",
          project: "C:\\Work",
          variables: { PATH: "C:\\Windows", LOCALAPPDATA: "C:\\Local" },
          programs: [python],
          files: { "C:\\Work\\pyproject.toml": "[project]\nname = \"my-project\"\n" }
        }),
        `${python} poetry`
      )
    }))
})
