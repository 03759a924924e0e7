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
