// A project that is a part of a larger checkout: what lies around it there is no more the machine's than the project is.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Interpreter } from "../../../src/services/env/EnvConfig.ts"
import { resolve, withRuntime, type World } from "./environments.ts"

type Declared = Interpreter extends infer One ? One extends Interpreter ? Omit<One, "var"> : never : never

const project = "/srv/mono/packages/a"
const mono: World = { project, checkout: "/srv/mono", variables: { PATH: "/usr/bin" } }

const found = (declared: Declared, world: World, tier?: "user") =>
  resolve(
    withRuntime({ interpreter: { var: "X", ...declared } as Interpreter }, tier === undefined ? {} : { tier }),
    { ...mono, ...world }
  ).pipe(
    Effect.map(({ interpreter }) => interpreter?.path),
    Effect.catchTag("RequirementsMissing", (e) => Effect.succeed(`missing: ${e.interpreter}; ${e.remediation}`))
  )

const python: Declared = { type: "venv_python", search: ["project", "user", "system"] }
const leads = "what was found leads into the checkout that the project lies in"

type Case = readonly [what: string, declared: Declared, world: World, expected: string]

const evil = "/srv/mono/tools/python"
const nvm: World = {
  programs: ["/home/u/.nvm/versions/node/v20.1.0/bin/node", "/home/u/.nvm/versions/node/v22.1.0/bin/node"],
  files: { "/home/u/.nvm/alias/default": "22\n", "/srv/mono/.nvmrc": "20\n" }
}
const managed: Declared = { type: "version_manager", manager: "nvm" }
const uv: World = {
  variables: { PATH: "/usr/bin", UV_PROJECT_ENVIRONMENT: "../../.venv" },
  files: { [`${project}/pyproject.toml`]: "[project]\nname = \"a\"\n" },
  programs: ["/srv/mono/.venv/bin/python", "/usr/bin/python3"]
}

const stopped: ReadonlyArray<Case> = [
  ["a folder of PATH", python, { variables: { PATH: "/srv/mono/tools" }, programs: [`${evil}3`] }, leads],
  ["a folder of PATH by a link", python, {
    variables: { PATH: "/opt/tools" },
    programs: [`${evil}3`],
    links: { "/opt/tools": "/srv/mono/tools" }
  }, leads],
  ["a link on PATH", python, { programs: [evil], links: { "/usr/bin/python3": evil } }, leads],
  ["the fallback", { type: "system_binary", binary: "x", fallback: evil }, { programs: [evil] }, leads],
  ["node on PATH", { type: "node_modules" }, {
    variables: { PATH: "/srv/mono/node_modules/.bin" },
    programs: ["/srv/mono/node_modules/.bin/node"]
  }, leads],
  ["the user's environment by a link", python, {
    programs: ["/usr/bin/python3.12"],
    links: {
      "/home/u/.ai/.venv": "/srv/mono/.venv",
      "/srv/mono/.venv/bin/python": "/usr/bin/python3.12"
    }
  }, leads],
  ["a link in the project's environment to a shim", python, {
    programs: ["/home/u/.pyenv/shims/python"],
    links: { [`${project}/.venv/bin/python`]: "/home/u/.pyenv/shims/python" }
  }, ".venv/bin/python leads to a shim"],
  ["a link in the project's environment to mise", python, {
    programs: ["/usr/bin/mise"],
    links: { [`${project}/.venv/bin/python`]: "/usr/bin/mise" }
  }, ".venv/bin/python leads to a shim"],
  [
    "uv's environment that nobody was shown",
    python,
    { ...uv, seen: [] },
    "../../.venv/bin/python is there, but nobody"
  ],
  [
    "uv's environment that changed",
    python,
    { ...uv, replaced: ["../../.venv/bin/python"] },
    "../../.venv/bin/python is not what"
  ],
  ["the checkout's .nvmrc that nobody was shown", managed, { ...nvm, seen: [] }, "../../.nvmrc is there, but nobody"],
  ["the checkout's .nvmrc that changed", managed, { ...nvm, replaced: ["../../.nvmrc"] }, "../../.nvmrc is not what"],
  ["a manager's folder in the checkout", managed, {
    variables: { PATH: "/usr/bin", NVM_DIR: "/srv/mono/nvm" },
    programs: ["/srv/mono/nvm/versions/node/v20.1.0/bin/node"],
    files: { "/srv/mono/nvm/alias/default": "20\n" }
  }, "the folder of nvm is inside the project's checkout"]
]

describe("an interpreter in the checkout around a project", () => {
  for (const [what, declared, world, expected] of stopped) {
    it.effect(`is not the machine's: ${what}`, () =>
      Effect.gen(function*() {
        assert.include(yield* found(declared, world), `: ${expected}`)
        // Without the checkout it is.
        assert.notInclude(yield* found(declared, { ...world, checkout: project }), leads)
      }))
  }

  it.effect("is no tool's of the user either", () =>
    Effect.gen(function*() {
      assert.include(
        yield* found(python, { programs: [evil], links: { "/usr/bin/python3": evil } }, "user"),
        leads
      )
      assert.strictEqual(yield* found(managed, nvm, "user"), "/home/u/.nvm/versions/node/v22.1.0/bin/node")
    }))

  it.effect("serves once it was shown, by its place from the project", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* found(python, { ...uv, seen: ["../../.venv/bin/python"] }),
        "/srv/mono/.venv/bin/python"
      )
      assert.strictEqual(
        yield* found(managed, { ...nvm, seen: ["../../.nvmrc"] }),
        "/home/u/.nvm/versions/node/v20.1.0/bin/node"
      )
    }))

  it.effect("of poetry is none", () =>
    Effect.gen(function*() {
      const folder = "/srv/mono/envs/a-jOSrsY2U-py3.12"
      const world: World = {
        variables: { PATH: "/usr/bin", POETRY_VIRTUALENVS_PATH: "/srv/mono/envs" },
        files: { [`${project}/pyproject.toml`]: "[project]\nname = \"a\"\n" },
        programs: [`${folder}/bin/python`, "/usr/bin/python3"]
      }
      assert.strictEqual(yield* found(python, world), "/usr/bin/python3")
    }))
})
