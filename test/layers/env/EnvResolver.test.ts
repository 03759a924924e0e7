import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { EnvResolver } from "../../../src/services/env/EnvResolver.ts"
import {
  chainOf,
  originsOf,
  resolve,
  resolverLayer,
  subprocess,
  valuesOf,
  withRuntime,
  type World
} from "./environments.ts"

const base = {
  PATH: "/usr/bin",
  HOME: "/home/u",
  PYTHONNOUSERSITE: "1",
  PYTHONDONTWRITEBYTECODE: "1",
  KIWI_PROJECT: "/srv/project"
}

const child = (chain: ReturnType<typeof chainOf>, world?: World) =>
  Effect.map(resolve(chain, world), (env) => valuesOf(env.child))

const requiring = (...environment: ReadonlyArray<string>) => withRuntime(undefined, { requires: { environment } })

describe("what a child gets", () => {
  it.effect("PATH, HOME, locale, TMPDIR and Kiwi's own, and nothing else of the process (the original's child inherited every secret)", () =>
    Effect.gen(function*() {
      const variables = {
        PATH: "/usr/bin",
        LANG: "en_GB.UTF-8",
        LC_ALL: "C",
        TMPDIR: "/tmp/x",
        HOME: "/elsewhere",
        AWS_SECRET_ACCESS_KEY: "s3cret",
        OPENAI_API_KEY: "s3cret",
        TERM: "xterm",
        SSH_AUTH_SOCK: "/x",
        NODE_OPTIONS: "--require /x",
        KIWI_PASSPHRASE: "s3cret"
      }
      assert.deepStrictEqual(yield* child(withRuntime(undefined), { variables }), {
        ...base,
        LANG: "en_GB.UTF-8",
        LC_ALL: "C",
        TMPDIR: "/tmp/x"
      })
      assert.notProperty(yield* child(withRuntime(undefined), { project: undefined }), "KIWI_PROJECT")
    }))

  it.effect("a value is not printed by accident", () =>
    Effect.gen(function*() {
      const env = yield* resolve(requiring("TOKEN"), { variables: { TOKEN: "s3cret-value" } })
      assert.notInclude(JSON.stringify([...env.child]), "s3cret-value")
    }))

  it.effect("what is required, and what ENV_CONFIG sets, in order, each seeing the ones before", () =>
    Effect.gen(function*() {
      const chain = withRuntime({
        interpreter: { type: "venv_python", var: "KIWI_PYTHON", search: ["system"] },
        env: {
          PYTHONUNBUFFERED: "1",
          PROJECT_VENV_PYTHON: "${KIWI_PYTHON}",
          CACHE: "${HOME}/.cache",
          DEEPER: "${CACHE}/deeper",
          PORT: "${PORT:-8080}",
          TEXT: "{not} $${LITERAL}"
        }
      }, { requires: { environment: ["TOKEN"] } })
      const env = yield* resolve(chain, { variables: { PATH: "/usr/bin", TOKEN: "t" } })
      assert.deepStrictEqual(valuesOf(env.child), {
        ...base,
        KIWI_PYTHON: "/usr/bin/python3",
        PYTHONUNBUFFERED: "1",
        PROJECT_VENV_PYTHON: "/usr/bin/python3",
        CACHE: "/home/u/.cache",
        DEEPER: "/home/u/.cache/deeper",
        PORT: "8080",
        TEXT: "{not} ${LITERAL}",
        TOKEN: "t"
      })
      assert.deepStrictEqual(env.interpreter, {
        variable: "KIWI_PYTHON",
        path: "/usr/bin/python3",
        kind: "system",
        version: undefined,
        program: "outside the project"
      })
      assert.include(originsOf(env.child), {
        PATH: "process",
        KIWI_PYTHON: "interpreter",
        PORT: "declared",
        TOKEN: "process",
        KIWI_PROJECT: "default"
      })
    }))

  it.effect("a variable that the config names is there for the config and not for the child", () =>
    Effect.gen(function*() {
      const chain = withRuntime(undefined, {
        config: { url: "${API_BASE:-https://x.example}/${API_KEY}", x: "${HOME}" }
      })
      const env = yield* resolve(chain, { variables: { API_KEY: "k", OTHER: "o" } })
      assert.notProperty(valuesOf(env.child), "API_KEY")
      assert.include(valuesOf(env.declared), { API_KEY: "k", HOME: "/home/u" })
      assert.notProperty(valuesOf(env.declared), "OTHER")
      assert.notProperty(valuesOf(env.declared), "API_BASE")
    }))

  it.effect("${PORT:-8080} in a tool's CONFIG sees the environment (the original always took the default)", () =>
    Effect.gen(function*() {
      const chain = withRuntime(undefined, { config: { args: ["${PORT:-8080}"] } })
      const set = yield* resolve(chain, { variables: { PORT: "9000" } })
      assert.strictEqual(valuesOf(set.declared)["PORT"], "9000")
    }))

  it.effect("a literal ${X} in the config does not overwrite the real X of the child (the original clobbered it)", () =>
    Effect.gen(function*() {
      const chain = withRuntime(undefined, {
        requires: { environment: ["TOKEN"] },
        config: { env: { TOKEN: "${TOKEN}" } }
      })
      const env = yield* resolve(chain, { variables: { PATH: "/usr/bin", TOKEN: "real" } })
      assert.strictEqual(valuesOf(env.child)["TOKEN"], "real")
      assert.strictEqual(valuesOf(env.declared)["TOKEN"], "real")
    }))

  it.effect("the verified copy's variable is the kernel's to set", () =>
    resolve(withRuntime(undefined, { config: { args: ["${TOOL_FILE}"] } })))
})

describe("precedence", () => {
  const control = { ".env.local": "A=local\nE=1", ".env": "A=env\nB=env", ".ai/.env": "A=ai\nB=ai\nC=ai" }
  const files = { "/home/u/.ai/.env": "A=user\nB=user\nC=user\nD=user" }

  it.effect("override, process, .env.local, .env, .ai/.env, the user's .env (the original's order was reversed and written nowhere)", () =>
    Effect.gen(function*() {
      const env = yield* resolve(requiring("O", "P", "A", "B", "C", "D"), {
        control: { ...control, ".env.local": "O=x\nP=x\nA=local" },
        files,
        variables: { O: "process", P: "process" },
        overrides: { O: "override" }
      })
      assert.include(valuesOf(env.child), { O: "override", P: "process", A: "local", B: "env", C: "ai", D: "user" })
      assert.include(originsOf(env.child), {
        O: "override",
        P: "process",
        A: "project:.env.local",
        B: "project:.env",
        C: "project:.ai/.env",
        D: "user:.env"
      })
    }))

  it.effect("an override wins over ENV_CONFIG, and brings no variable that nobody declared", () =>
    Effect.gen(function*() {
      const env = yield* child(withRuntime({ env: { NODE_ENV: "production" } }), {
        overrides: { NODE_ENV: "test", EXTRA: "x", PATH: "/usr/bin", HOME: "/h", KIWI_PROJECT: "/evil" }
      })
      assert.deepStrictEqual(env, { ...base, HOME: "/h", NODE_ENV: "test" })
    }))

  it.effect("ENV_CONFIG wins over the process", () =>
    Effect.gen(function*() {
      const env = yield* child(withRuntime({ env: { NODE_ENV: "production" } }), { variables: { NODE_ENV: "x" } })
      assert.strictEqual(env["NODE_ENV"], "production")
    }))

  it.effect("an empty value is no value", () =>
    Effect.gen(function*() {
      const world = { variables: { A: "" }, control: { ".env": "A=\nB=" } }
      const error = yield* Effect.flip(resolve(requiring("A", "B"), world))
      assert.deepStrictEqual(error._tag === "RequirementsMissing" && error.variables, ["A", "B"])
    }))

  it.effect("the .env files are not even asked for when nothing is looked for in them", () => {
    const asked: Array<string> = []
    return EnvResolver.use((r) =>
      Effect.gen(function*() {
        yield* r.resolve(requiring("A"))
        assert.deepStrictEqual(asked, [])
        yield* r.resolve(withRuntime({ env: { X: "${B:-1}" } }))
        assert.deepStrictEqual(asked, [".env.local", ".env", ".ai/.env"])
      })
    ).pipe(Effect.provide(resolverLayer({ variables: { A: "a" } }, asked)))
  })

  it.effect("a malformed line is a warning with file and line (the original was silent)", () =>
    Effect.gen(function*() {
      const env = yield* resolve(requiring("A", "D"), {
        control: { ".env": "# fine\nthis is not\nA=1" },
        files: { "/home/u/.ai/.env": "D=user\nQ='open" }
      })
      assert.deepStrictEqual(env.warnings, [
        { file: "project:.env", line: 2, issue: "expected NAME=value" },
        { file: "user:.env", line: 2, issue: "the quote ' is never closed" }
      ])
    }))

  it.effect("values are not expanded, in .env or from the process", () =>
    Effect.gen(function*() {
      const env = yield* child(withRuntime({ env: { COPY: "${A}" } }, { requires: { environment: ["A", "B"] } }), {
        control: { ".env": "A=${HOME} $(id) `id`" },
        variables: { B: "${A}" }
      })
      assert.include(env, { A: "${HOME} $(id) `id`", B: "${A}", COPY: "${HOME} $(id) `id`" })
    }))
})

describe("attacks", () => {
  it.effect("a .env supplies none of the variables that decide what runs, even to a tool that asks for them", () =>
    Effect.gen(function*() {
      const names = ["LD_PRELOAD", "NODE_OPTIONS", "BASH_ENV", "PYTHONPATH", "https_proxy", "KIWI_HOME"]
      const text = names.map((n) => `${n}=/evil`).join("\n")
      const error = yield* Effect.flip(resolve(requiring(...names), {
        control: { ".env": text },
        files: { "/home/u/.ai/.env": text }
      }))
      assert.deepStrictEqual(error._tag === "RequirementsMissing" && error.variables, names)
      const env = yield* resolve(withRuntime({ env: { X: "${LD_PRELOAD:-none}" } }), { control: { ".env": text } })
      assert.strictEqual(valuesOf(env.child)["X"], "none")
      assert.deepStrictEqual(env.warnings, [
        { file: "project:.env", line: 1, issue: "LD_PRELOAD is never taken from a .env file" }
      ])
    }))

  it.effect("PATH and HOME of a .env change nothing", () =>
    Effect.gen(function*() {
      const env = yield* child(requiring("PATH", "HOME"), { control: { ".env": "PATH=/evil\nHOME=/evil" } })
      assert.deepStrictEqual(env, base)
    }))

  it.effect("Kiwi's passphrase and tokens reach no tool and no config", () =>
    Effect.gen(function*() {
      const variables = { KIWI_PASSPHRASE: "s3cret", KIWI_HTTP_TOKEN: "s3cret" }
      for (
        const chain of [
          requiring("KIWI_PASSPHRASE"),
          withRuntime({ env: { X: "${KIWI_PASSPHRASE}" } }),
          withRuntime(undefined, { config: { args: ["${KIWI_HTTP_TOKEN}"] } })
        ]
      ) {
        for (const world of [{ variables }, { overrides: variables }]) {
          assert.strictEqual((yield* Effect.flip(resolve(chain, world)))._tag, "RequirementsMissing")
        }
      }
    }))

  it.effect("only system items set such variables", () =>
    Effect.gen(function*() {
      const chain = chainOf(
        { id: "leaf", envConfig: { env: { LD_PRELOAD: "/evil.so", PATH: "/evil", OK: "1" } } },
        subprocess
      )
      const error = yield* Effect.flip(resolve(chain))
      assert.strictEqual(error._tag, "EnvConfigInvalid")
      assert.include(error.message, "env.LD_PRELOAD: only system items set LD_PRELOAD; env.PATH")
      assert.notInclude(error.message, "OK")
      const byName = chainOf(
        {
          id: "leaf",
          tier: "user",
          envConfig: { interpreter: { type: "system_binary", var: "BASH_ENV", binary: "x" } }
        },
        subprocess
      )
      assert.strictEqual((yield* Effect.flip(resolve(byName)))._tag, "EnvConfigInvalid")
    }))

  it.effect("nothing of a restricted project is read", () =>
    Effect.gen(function*() {
      const world: World = {
        trust: "Restricted",
        control: { ".env": "A=project" },
        files: { "/home/u/.ai/.env": "A=user", "/srv/project/.nvmrc": "v9.9.9" },
        programs: ["/srv/project/.venv/bin/python", "/usr/bin/python3"]
      }
      const chain = withRuntime(
        { interpreter: { type: "venv_python", var: "KIWI_PYTHON", search: ["project", "system"] } },
        { requires: { environment: ["A"] } }
      )
      assert.include(yield* child(chain, world), { A: "user", KIWI_PYTHON: "/usr/bin/python3" })
    }))

  it.effect("relative entries of PATH and entries in the project are skipped, through links too", () =>
    Effect.gen(function*() {
      const world: World = {
        variables: {
          PATH: ":.:bin:/srv/project/node_modules/.bin:/srv/project:/home/u/link:/srv/project2/bin:/usr/bin:/usr/bin"
        },
        programs: [
          "/srv/project/node_modules/.bin/git",
          "/srv/project/evil/git",
          "/srv/project2/bin/other",
          "/usr/bin/git",
          "bin/git"
        ],
        links: { "/home/u/link": "/srv/project/evil" }
      }
      const chain = withRuntime({ interpreter: { type: "system_binary", var: "KIWI_GIT", binary: "git" } })
      assert.include(yield* child(chain, world), { KIWI_GIT: "/usr/bin/git", PATH: "/srv/project2/bin:/usr/bin" })
      const nothingLeft = { variables: { PATH: ":.:/srv/project/bin" } }
      assert.include(
        yield* child(withRuntime(undefined), nothingLeft),
        { PATH: "/usr/local/bin:/usr/bin:/bin" },
        "an empty PATH is the working directory"
      )
    }))

  it.effect("a program on PATH that is a link into the project is skipped", () =>
    Effect.gen(function*() {
      const world: World = {
        variables: { PATH: "/opt/bin:/usr/bin" },
        programs: ["/srv/project/evil/git", "/usr/bin/git"],
        links: { "/opt/bin/git": "/srv/project/evil/git" }
      }
      const chain = withRuntime({ interpreter: { type: "system_binary", var: "KIWI_GIT", binary: "git" } })
      assert.include(yield* child(chain, world), { KIWI_GIT: "/usr/bin/git" })
    }))

  it.effect("names are own keys", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(resolve(requiring("constructor", "toString")))
      assert.deepStrictEqual(error._tag === "RequirementsMissing" && error.variables, ["constructor", "toString"])
    }))
})

describe("failures", () => {
  it.effect("everything that is missing is reported at once", () =>
    Effect.gen(function*() {
      const chain = withRuntime({
        interpreter: { type: "version_manager", var: "KIWI_RUBY", manager: "rbenv" },
        env: { ALIAS: "${KIWI_RUBY}", X: "${GONE}" }
      }, {
        requires: { commands: ["git", "jq", "../evil"], environment: ["TOKEN"] },
        config: { args: ["${ALSO_GONE}", "${FINE:-x}"] }
      })
      const error = yield* Effect.flip(resolve(chain, { programs: ["/usr/bin/git"], variables: { PATH: "/usr/bin" } }))
      assert.strictEqual(
        error.message,
        "leaf cannot run here: no interpreter for KIWI_RUBY (version_manager): looked for .ruby-version in the project, rbenv's global version, ruby on PATH; " +
          "commands not found on PATH: jq, ../evil; variables not set: GONE, TOKEN, ALSO_GONE"
      )
      assert.include(error.remediation, "install jq")
      assert.include(error.remediation, "set TOKEN")
    }))

  it.effect("a .env that is there and that nobody has accepted is named, with the command that accepts it", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(resolve(requiring("TOKEN"), { changed: [".ai/config/kiwi.yaml", ".env"] }))
      assert.strictEqual(
        error.message,
        "leaf cannot run here: variables not set: TOKEN; not read, since nobody has accepted it as it is: .env"
      )
      assert.strictEqual(error.remediation, "kiwi trust project, if .env should count")
    }))

  it.effect("a wrong ENV_CONFIG says where and what", () =>
    Effect.gen(function*() {
      const message = (envConfig: Parameters<typeof withRuntime>[0]) =>
        Effect.map(Effect.flip(resolve(withRuntime(envConfig))), (e) => e.message)
      assert.include(
        yield* message({ interpreter: { type: "conda_env", var: "X" } }),
        "interpreter.type: expected one of venv_python, node_modules, system_binary, version_manager, got \"conda_env\""
      )
      assert.include(yield* message({ interpreter: { type: "system_binary", var: "X" } }), "interpreter.binary")
      assert.include(yield* message({ interpreter: { type: "venv_python", var: "1X" } }), "interpreter.var")
      assert.include(yield* message({ interpreter: { type: "venv_python", var: "X", serach: [] } }), "serach")
      assert.include(yield* message({ env: { A: 1 } }), "env.A")
      assert.include(yield* message({ env: { A: "${B:-${C}}" } }), "env.A")
      assert.include(yield* message({ interpreter: 5 }), "interpreter.type")
      assert.include(yield* message({ environment: {} }), "environment")
    }))

  it.effect("no absolute path outside the project is said", () =>
    Effect.gen(function*() {
      const chain = withRuntime({
        interpreter: { type: "venv_python", var: "KIWI_PYTHON", search: ["project", "kiwi", "user", "system"] }
      })
      const error = yield* Effect.flip(resolve(chain, { programs: [], variables: { PATH: "/home/u/bin" } }))
      assert.notInclude(error.message, "/home/u")
      assert.include(error.message, ".venv/bin/python in the user space")
    }))
})
