import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { EnvResolver, type ExplainedEnv } from "../../../src/services/env/EnvResolver.ts"
import { fillSecrets } from "../../../src/services/env/fillSecrets.ts"
import { resolverLayer, withRuntime, type World } from "./environments.ts"

const explain = (chain: ReturnType<typeof withRuntime>, world: World = {}) =>
  EnvResolver.use((r) => r.explain(chain, new Map(Object.entries(world.overrides ?? {})))).pipe(
    Effect.provide(resolverLayer(world))
  )

const variableIn = (found: ExplainedEnv, name: string) => {
  const one = found.variables.find(({ variable }) => variable.name === name)
  return one === undefined ? undefined : {
    value: Redacted.value(one.variable.value),
    origin: one.variable.origin,
    secret: one.isSecret,
    reaches: one.reaches,
    beat: one.beat.map((b) =>
      `${b.origin}${b.line === undefined ? "" : `:${b.line}`}=${Redacted.value(b.value)}${
        b.refused === undefined ? "" : " refused"
      }`
    )
  }
}

const python = { type: "venv_python", var: "KIWI_PYTHON", search: ["project", "kiwi", "user", "system"] }

describe("EnvResolver.explain", () => {
  it.effect("every source of a variable, in the order of precedence", () =>
    Effect.gen(function*() {
      const chain = withRuntime(undefined, { requires: { environment: ["TOKEN"] } })
      const world: World = {
        variables: { PATH: "/usr/bin", TOKEN: "from-process" },
        overrides: { TOKEN: "from-override" },
        control: {
          ".env.local": "TOKEN=local\n",
          ".env": "# one\nTOKEN=first\nTOKEN=last\n",
          ".ai/.env": "TOKEN=\n"
        },
        files: { "/home/u/.ai/.env": "TOKEN=user" }
      }
      assert.deepStrictEqual(variableIn(yield* explain(chain, world), "TOKEN"), {
        value: "from-override",
        origin: "override",
        secret: true,
        reaches: "child",
        beat: [
          "process=from-process",
          "project:.env.local:1=local",
          "project:.env:3=last",
          "project:.env:2=first",
          "user:.env:1=user"
        ]
      })
      const { overrides: _, ...rest } = world
      assert.strictEqual(variableIn(yield* explain(chain, rest), "TOKEN")?.origin, "process")
    }))

  it.effect("what is masked: secrets, whatever was made of one, and what only this process has", () =>
    Effect.gen(function*() {
      const chain = withRuntime({
        env: { PLAIN: "1", URL: "https://${API_TOKEN}@host", DEEPER: "${URL}/x", HOMELY: "${HOME}/y" }
      }, { requires: { environment: ["REGION", "DATABASE_LINE"] }, config: { url: "${CONFIG_ONLY}" } })
      const found = yield* explain(chain, {
        variables: { PATH: "/usr/bin", API_TOKEN: "t0ken", REGION: "eu", CONFIG_ONLY: "c", LANG: "C" },
        control: { ".env": "DATABASE_LINE=x\n" }
      })
      const secret = found.variables.filter((one) => one.isSecret).map(({ variable }) => variable.name).toSorted()
      assert.deepStrictEqual(secret, ["API_TOKEN", "CONFIG_ONLY", "DATABASE_LINE", "DEEPER", "REGION", "URL"])
      assert.strictEqual(variableIn(found, "CONFIG_ONLY")?.reaches, "config")
      assert.strictEqual(variableIn(found, "REGION")?.reaches, "child")
      assert.isFalse(variableIn(found, "HOMELY")?.secret)
    }))

  it.effect("what a declaration beat is masked as well, unless every child gets it anyway", () =>
    Effect.gen(function*() {
      const chain = withRuntime({ env: { DATABASE_URL: "sqlite:here", LANG: "C" } })
      const found = yield* explain(chain, {
        variables: { PATH: "/usr/bin", DATABASE_URL: "postgres://me:pass@db", LANG: "en" },
        control: { ".env": "DATABASE_URL=postgres://other\n" }
      })
      const beat = (name: string) =>
        found.variables.find(({ variable }) => variable.name === name)?.beat.map((one) => [one.origin, one.isSecret])
      assert.deepStrictEqual(beat("DATABASE_URL"), [["process", true], ["project:.env", true]])
      assert.deepStrictEqual(beat("LANG"), [["process", false]])
    }))

  it.effect("what is declared and not set, and what a .env file may not say", () =>
    Effect.gen(function*() {
      const chain = withRuntime(undefined, {
        requires: { environment: ["GONE", "NODE_OPTIONS"], commands: ["jq"] },
        config: { url: "${BASE:-https://x.example}" }
      })
      const found = yield* explain(chain, { programs: [], control: { ".env": "NODE_OPTIONS=--evil\nnonsense\n" } })
      assert.deepStrictEqual(
        found.unset.map(({ name, refused, required }) => [name, required, refused.map((r) => r.refused)]),
        [
          ["BASE", false, []],
          ["GONE", true, []],
          ["NODE_OPTIONS", true, ["NODE_OPTIONS is never taken from a .env file"]]
        ]
      )
      assert.deepStrictEqual(found.problem?.variables, ["GONE", "NODE_OPTIONS"])
      assert.deepStrictEqual(found.problem?.commands, ["jq"])
      assert.deepStrictEqual(found.warnings.map(({ file, line }) => `${file}:${line}`), [
        "project:.env:2",
        "project:.env:1"
      ])
    }))

  it.effect("the interpreter, and every place that was looked at before it", () =>
    Effect.gen(function*() {
      const chain = withRuntime({ interpreter: python, env: { PROJECT_VENV_PYTHON: "${KIWI_PYTHON}" } })
      const found = yield* explain(chain, {
        programs: ["/home/u/.ai/.venv/bin/python", "/usr/bin/python3"],
        variables: { PATH: "bin:/srv/project/bin:/usr/bin" }
      })
      assert.deepStrictEqual(found.interpreter, {
        variable: "KIWI_PYTHON",
        path: "/home/u/.ai/.venv/bin/python",
        kind: "user-venv",
        version: undefined,
        program: "outside the project"
      })
      assert.deepStrictEqual(found.looked.map(({ outcome, path }) => [path, outcome]), [
        ["/srv/project/.venv/bin/python", "nothing there that runs"],
        ["/srv/project/.ai/scripts/.venv/bin/python", "nothing there that runs"]
      ])
      assert.deepStrictEqual(found.skippedPath, ["bin", "/srv/project/bin"])
      assert.strictEqual(variableIn(found, "PROJECT_VENV_PYTHON")?.value, "/home/u/.ai/.venv/bin/python")
    }))

  it.effect("says the same as resolve does", () =>
    Effect.gen(function*() {
      const chain = withRuntime({ interpreter: python, env: { A: "${TOKEN:-none}", TOKEN2: "x" } }, {
        requires: { environment: ["TOKEN"] }
      })
      for (const TOKEN of ["t", "keychain:github"]) {
        const world: World = { variables: { PATH: "/usr/bin", TOKEN }, programs: ["/usr/bin/python3"] }
        const resolved = yield* EnvResolver.use((r) => r.resolve(chain)).pipe(Effect.provide(resolverLayer(world)))
        const found = yield* explain(chain, world)
        assert.deepStrictEqual(found.interpreter, resolved.interpreter)
        assert.deepStrictEqual(
          found.variables.filter(({ reaches }) => reaches === "child").map((
            { variable: v }
          ) => [v.name, Redacted.value(v.value), v.origin]).toSorted(),
          [...resolved.child.values()].map((v) => [v.name, Redacted.value(v.value), v.origin]).toSorted()
        )
      }
    }))
})

describe("references to secrets", () => {
  const chain = withRuntime({ env: { FROM_CONFIG: "keychain:one", MIXED: "Bearer ${TOKEN}" } }, {
    requires: { environment: ["TOKEN"] },
    config: { header: "${TOKEN}" }
  })
  const world: World = { control: { ".env": "TOKEN=keychain:two\n" } }
  const resolve = (secrets?: ReadonlyMap<string, Redacted.Redacted>) =>
    EnvResolver.use((r) => r.resolve(chain)).pipe(
      Effect.map((env) => secrets === undefined ? env : fillSecrets(env, secrets)),
      Effect.provide(resolverLayer(world))
    )

  it.effect("are named while nobody has looked them up, and filled in everywhere once somebody has", () =>
    Effect.gen(function*() {
      const before = yield* resolve()
      assert.deepStrictEqual([...before.references ?? []].toSorted(), ["one", "two"])
      const after = yield* resolve(new Map([["one", Redacted.make("1")], ["two", Redacted.make("${HOME}")]]))
      assert.isUndefined(after.references)
      const values = Object.fromEntries([...after.child].map(([name, v]) => [name, Redacted.value(v.value)]))
      assert.include(values, { FROM_CONFIG: "1", TOKEN: "${HOME}", MIXED: "Bearer ${HOME}" })
      assert.strictEqual(after.child.get("TOKEN")?.secret, "two")
      assert.strictEqual(after.child.get("TOKEN")?.origin, "project:.env")
    }))

  it.effect("cost nothing where there is none: no names, no second look", () =>
    Effect.gen(function*() {
      const env = yield* EnvResolver.use((r) => r.resolve(withRuntime(undefined))).pipe(
        Effect.provide(resolverLayer({}))
      )
      assert.notProperty(env, "references")
    }))

  it.effect("that name no secret are refused: in ENV_CONFIG as a mistake, in a .env file with a warning", () =>
    Effect.gen(function*() {
      for (const value of ["keychain:", "keychain:../x", "keychain:a b", "keychain:${TOKEN}"]) {
        const wrong = withRuntime({ env: { X: value } })
        const error = yield* Effect.flip(
          EnvResolver.use((r) => r.resolve(wrong)).pipe(Effect.provide(resolverLayer({})))
        )
        assert.strictEqual(error._tag, "EnvConfigInvalid", value)
      }
      const needs = withRuntime(undefined, { requires: { environment: ["TOKEN"] } })
      const found = yield* explain(needs, { control: { ".env": "\nTOKEN=keychain:a/b\n" } })
      assert.deepStrictEqual(found.problem?.variables, ["TOKEN"])
      assert.deepStrictEqual(found.warnings.map(({ file, line }) => `${file}:${line}`), ["project:.env:2"])
    }))
})
