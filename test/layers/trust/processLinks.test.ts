// An interpreter by a link that leads each process elsewhere: what Kiwi would show is not what a child would run.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { processPath } from "../../../src/layers/files/processPath.ts"
import type { EnvConfig } from "../../../src/services/env/EnvConfig.ts"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { temporary } from "../../support/temporary.ts"
import { agree, trustProject, worldIn } from "../../support/trustWorld.ts"
import { resolve, withRuntime, type World } from "../env/environments.ts"

const python = ".venv/bin/python"

type Links = Readonly<Record<string, string>>

/** Links of a project, to what they say; `expected` is what they lead through. */
const links: ReadonlyArray<readonly [what: string, place: string, links: Links, expected: string]> = [
  ["the program", python, { [python]: "/proc/self/cwd/usr/bin/python3" }, "/proc"],
  ["another root", python, { [python]: "/proc/self/root/usr/bin/python3" }, "/proc"],
  ["a thread's folder", python, { [python]: "/proc/thread-self/cwd/usr/bin/python3" }, "/proc"],
  ["by climbing", python, { [python]: `${"../".repeat(40)}proc/self/cwd/evil` }, "/proc"],
  ["a way round", python, { [python]: "/usr/../proc/./self//cwd/evil" }, "/proc"],
  ["and out again", python, { [python]: "/proc/../proc/self/cwd/evil" }, "/proc"],
  ["a descriptor", python, { [python]: "/dev/fd/3" }, "/dev/fd"],
  ["standard input", python, { [python]: "/dev/stdin" }, "/dev/stdin"],
  ["/sys", python, { [python]: "/sys/kernel/evil" }, "/sys"],
  ["its folder", python, { ".venv/bin": "/proc/self/cwd/usr/bin" }, "/proc"],
  ["the environment", python, { ".venv": "/proc/self/cwd/x" }, "/proc"],
  ["a second link", python, { [python]: "../../tools/python", "tools/python": "/proc/self/cwd/evil" }, "/proc"],
  ["a folder behind a link", python, { [python]: "../../tools/python", tools: "/proc/self/cwd/evil" }, "/proc"],
  ["Node", "node_modules/.bin/node", { "node_modules/.bin/node": "/proc/self/cwd/evil" }, "/proc"],
  ["node_modules", "node_modules/.bin/node", { node_modules: "/proc/self/cwd/x" }, "/proc"],
  [".ai/scripts", ".ai/scripts/.venv/bin/python", { ".ai/scripts/.venv": "/proc/self/cwd/x" }, "/proc"],
  ["a version file", ".nvmrc", { ".nvmrc": "/proc/self/cwd/x" }, "/proc"],
  ["pyvenv.cfg", python, { [python]: "/usr/bin/env", ".venv/pyvenv.cfg": "/proc/self/cwd/x" }, "/proc"]
]

const inProject = Effect.fnUntraced(function*(made: Links) {
  const folder = yield* temporary
  const root = join(folder, "app")
  for (const name of ["app/.ai", "home"]) fs.mkdirSync(join(folder, name), { recursive: true })
  for (const [path, to] of Object.entries(made)) {
    fs.mkdirSync(dirname(join(root, path)), { recursive: true })
    fs.symlinkSync(to, join(root, path))
  }
  return { root, layer: worldIn({ home: join(folder, "home"), root }).layer }
})

const isRefused = Effect.fnUntraced(function*(place: string, expected: string) {
  const issue = `leads through ${expected}, where each process finds something else, and is never used`
  const trust = yield* ProjectTrust
  const { effects, request } = yield* trust.propose
  assert.include(effects.join("\n"), issue)
  yield* trust.accept(yield* trust.propose, agree(request))
  assert.deepStrictEqual(yield* trust.interpreter(place), { _tag: "Refused", issue })
  assert.include(yield* trust.unseen, place)
})

describe("a place that is another one for each process is shown as that, and never accepted", () => {
  for (const [what, place, made, expected] of links.filter(([, name]) => name !== ".nvmrc")) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const { layer } = yield* inProject(made)
        yield* isRefused(place, expected).pipe(Effect.provide(layer))
      }))
  }

  for (const home of ["/proc/self/cwd/evil", "/usr/../proc/self/cwd", "../link"]) {
    it.effect(`home of pyvenv.cfg: ${home}`, () =>
      Effect.gen(function*() {
        const { layer, root } = yield* inProject({ [python]: "/usr/bin/env", link: "/proc/self/cwd/evil" })
        fs.writeFileSync(join(root, ".venv/pyvenv.cfg"), `home = ${home}\n`)
        yield* isRefused(python, "/proc").pipe(Effect.provide(layer))
      }))
  }

  it.effect("a version file", () =>
    Effect.gen(function*() {
      const { layer } = yield* inProject({ ".nvmrc": "/proc/self/cwd/x" })
      yield* trustProject.pipe(
        Effect.andThen(ProjectTrust.use(({ interpreter }) => interpreter(".nvmrc"))),
        Effect.map(({ _tag }) => assert.strictEqual(_tag, "Refused")),
        Effect.provide(layer)
      )
    }))
})

const config = (interpreter: NonNullable<EnvConfig["interpreter"]>): EnvConfig => ({ interpreter })
const system = config({ type: "system_binary", binary: "python3", var: "X" })
const venv = config({ type: "venv_python", search: ["project", "user"], var: "X" })

const found: ReadonlyArray<readonly [what: string, declared: EnvConfig, world: World]> = [
  ["a link on PATH", system, {
    programs: ["/proc/self/cwd/evil"],
    links: { "/usr/bin/python3": "/proc/self/cwd/evil" }
  }],
  ["an entry of PATH", system, {
    variables: { PATH: "/proc/self/cwd/bin" },
    programs: ["/proc/self/cwd/bin/python3"]
  }],
  ["an entry of PATH by a link", system, {
    variables: { PATH: "/home/u/bin" },
    programs: ["/proc/self/cwd/bin/python3"],
    links: { "/home/u/bin": "/proc/self/cwd/bin" }
  }],
  ["the fallback", config({ type: "system_binary", binary: "none", var: "X", fallback: "/dev/fd/3" }), {
    programs: ["/dev/fd/3"]
  }],
  ["a version manager's", config({ type: "version_manager", manager: "nvm", version: "20.1.0", var: "X" }), {
    programs: ["/proc/self/cwd/v20.1.0/bin/node"],
    links: { "/home/u/.nvm/versions/node": "/proc/self/cwd" },
    files: { "/home/u/.nvm/versions/node/v20.1.0/x": "" }
  }],
  ["a version manager's folder", config({ type: "version_manager", manager: "nvm", version: "20.1.0", var: "X" }), {
    programs: ["/proc/self/cwd/versions/node/v20.1.0/bin/node"],
    links: { "/home/u/.nvm": "/proc/self/cwd" }
  }],
  ["the version that shims lead to", system, {
    variables: { PATH: "/home/u/.pyenv/shims" },
    files: { "/home/u/.pyenv/version": "3.12.4\n", "/home/u/.pyenv/versions/3.12.4/x": "" },
    programs: ["/proc/self/cwd/bin/python3"],
    links: { "/home/u/.pyenv/versions/3.12.4": "/proc/self/cwd" }
  }],
  ["the user's environment", venv, {
    programs: ["/proc/self/cwd/evil"],
    links: { "/home/u/.ai/.venv/bin/python": "/proc/self/cwd/evil" }
  }],
  ["the project's environment", venv, {
    programs: ["/usr/bin/python3"],
    links: { "/srv/project/.venv/bin/python": "/proc/self/cwd/usr/bin/python3" }
  }],
  ["uv's environment", venv, {
    variables: { PATH: "/usr/bin", UV_PROJECT_ENVIRONMENT: "/opt/env" },
    files: { "/srv/project/pyproject.toml": "[project]\nname = \"a\"\n" },
    programs: ["/proc/self/cwd/env/bin/python"],
    links: { "/opt/env": "/proc/self/cwd/env" }
  }]
]

describe("an interpreter that another process finds elsewhere is none", () => {
  for (const [what, declared, world] of found) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(resolve(withRuntime(declared), world))
        assert.strictEqual(error._tag, "RequirementsMissing")
        assert.notInclude(String(error), "accepts it")
      }))
  }

  it.effect("nor does another one take its place", () =>
    Effect.gen(function*() {
      const declared = config({ type: "venv_python", search: ["project", "system"], fallback: "python3", var: "X" })
      const error = yield* Effect.flip(resolve(withRuntime(declared), {
        links: { "/srv/project/.venv": "/proc/self/cwd/nothing" }
      }))
      assert.include(String(error), ".venv/bin/python leads through /proc")
    }))
})

describe("processPath", () => {
  const of = (file: string, made: Links = {}) => processPath(file, (path) => made[path])
  it("leaves other paths alone", () => {
    for (
      const file of ["/usr/bin/python3", "/home/u/proc/x", "/dev/shm/app/x", "/process/x", "/development", "C:\\dev\\x"]
    ) {
      assert.isUndefined(of(file))
    }
    assert.isUndefined(of("/a/b", { "/a": "/c", "/c": "../d/./e" }))
  })
  it("ends where links lead in a ring", () => {
    assert.isUndefined(of("/a", { "/a": "b", "/b": "a" }))
  })
  it("sees the last link that Linux follows", () => {
    const chain = Object.fromEntries(Array.from({ length: 39 }, (_, i) => [`/l${i}`, `l${i + 1}`]))
    assert.strictEqual(of("/l0", { ...chain, "/l39": "/proc/self/cwd" }), "/proc")
  })
})
