import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { redactError } from "../../../src/layers/call/secrets.ts"
import type { EnvOrigin, EnvVariable, ResolvedEnv } from "../../../src/services/env/EnvResolver.ts"
import { namesSecret, secretsOf } from "../../../src/services/env/secretVariables.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { WriteRefused } from "../../../src/services/files/SafeFiles.ts"
import { ToolFailed } from "../../../src/services/primitive/PrimitiveErrors.ts"
import { ConfigInvalid, ToolChainError } from "../../../src/services/proxy/ToolProxy.ts"
import { call, entries, kernel, object, reasonOf, tool } from "../proxy/calls.ts"

const token = "tok-0123456789/abc+def"
const password = "p@ss w0rd \"quoted\""

const internal = "db.internal.example"

const host = { variables: { PATH: "/usr/bin", SERVICE_TOKEN: token, PLAIN_NAME: "nothing-to-hide" } }
const controlFiles = { ".env": `DATABASE_LINE='${password}'\n` }

const environment = { environment: ["SERVICE_TOKEN", "DATABASE_LINE", "PLAIN_NAME"] }

/** Everything that somebody sees of a call, as one text. */
const leaks = (...seen: ReadonlyArray<unknown>) => {
  const all = JSON.stringify(seen)
  const forms = [token, password, internal].flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    // Enough of it to be worth something.
    secret.slice(0, 7),
    secret.slice(-7),
    Buffer.from(secret).toString("base64").slice(0, -4)
  ])
  return forms.filter((form) => all.includes(form) || all.includes(JSON.stringify(form).slice(1, -1)))
}

describe("no secret that Kiwi put into a call comes out of it", () => {
  const talk = (fields = {}) => tool({ config: { command: "talk", output: "json" }, requires: environment, ...fields })

  it.effect("in data, keys included, or in stderr; in whatever form a program writes it", () =>
    Effect.gen(function*() {
      const { data, metadata } = yield* call("tool")
      assert.deepStrictEqual(leaks(data, metadata, yield* entries), [])
      assert.deepInclude(data, { plain: "nothing-to-hide", "‹redacted›": 1 })
      assert.strictEqual(metadata.stderr, "using ‹redacted›\n")
    }).pipe(Effect.provide(kernel({
      project: { "tools/tool.yaml": talk() },
      host,
      controlFiles,
      programs: {
        talk: ({ env }) =>
          Effect.succeed({
            stdout: JSON.stringify({
              plain: env["PLAIN_NAME"],
              basic: `Basic ${Buffer.from(`user:${env["SERVICE_TOKEN"]}`).toString("base64")}`,
              url: `https://host/?token=${encodeURIComponent(env["SERVICE_TOKEN"] ?? "")}`,
              list: [{ deep: env["DATABASE_LINE"] }],
              [env["DATABASE_LINE"] ?? ""]: 1
            }),
            stderr: `using ${env["SERVICE_TOKEN"]}\n`
          })
      }
    }))))

  const failing: ReadonlyArray<readonly [string, Parameters<typeof kernel>[0], string]> = [
    ["what a failing tool said", {
      project: { "tools/tool.yaml": talk() },
      programs: {
        talk: ({ env }) => Effect.succeed({ code: 1, stderr: `bad ${env["SERVICE_TOKEN"]} ${env["DATABASE_LINE"]}` })
      }
    }, "ToolFailed"],
    ["what is no JSON", {
      project: { "tools/tool.yaml": talk() },
      programs: { talk: ({ env }) => Effect.succeed({ stdout: `oops ${env["DATABASE_LINE"]}` }) }
    }, "ToolOutputInvalid"],
    ["what is no JSON, and begins with the secret", {
      project: { "tools/tool.yaml": talk() },
      programs: { talk: ({ env }) => Effect.succeed({ stdout: `${env["SERVICE_TOKEN"]}` }) }
    }, "ToolOutputInvalid"],
    ["JSON that ends within the secret", {
      project: { "tools/tool.yaml": talk() },
      programs: { talk: ({ env }) => Effect.succeed({ stdout: `{"a": "x" "${env["SERVICE_TOKEN"]}"}` }) }
    }, "ToolOutputInvalid"],
    ["a program's path", {
      project: { "tools/tool.yaml": tool({ config: { command: "/opt/${SERVICE_TOKEN}" }, requires: environment }) }
    }, "ToolUnstartable"],
    ["a program's name", {
      project: { "tools/tool.yaml": tool({ config: { command: "run-${SERVICE_TOKEN}" }, requires: environment }) }
    }, "ToolUnstartable"],
    ["a value that the config's schema refuses", {
      project: {
        "tools/tool.yaml": tool({ config: { command: "talk", output: "${SERVICE_TOKEN}" }, requires: environment })
      }
    }, "ConfigInvalid"],
    ["a value that the primitive refuses", {
      project: {
        "tools/tool.yaml": tool({
          executor_id: "http_client",
          config: { url: "https://example.com/", headers: { "${SERVICE_TOKEN}": "x", a: "${DATABASE_LINE}" } },
          requires: environment
        })
      }
    }, "PrimitiveConfigInvalid"],
    ["an address that cannot be reached", {
      project: {
        "tools/tool.yaml": tool({
          executor_id: "http_client",
          config: { url: "https://${DATABASE_HOST}/", headers: { authorization: "Bearer ${SERVICE_TOKEN}" } }
        })
      },
      controlFiles: { ".env": `DATABASE_HOST=${internal}\n` }
    }, "RequestRefused"]
  ]
  for (const [what, options, tag] of failing) {
    it.effect(`in an error about ${what}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(call("tool"))
        assert.strictEqual(reasonOf(error)._tag, tag, error.message)
        assert.deepStrictEqual(leaks(error, error.message, toErrorObject(error), yield* entries), [])
      }).pipe(Effect.provide(kernel({ host, controlFiles, ...options }))))
  }

  it.effect("in what ENV_CONFIG makes of it, under a name that says nothing", () =>
    Effect.gen(function*() {
      const { data } = yield* call("tool")
      assert.strictEqual(data, "https://me:‹redacted›@host")
    }).pipe(Effect.provide(kernel({
      project: {
        "tools/tool.yaml": tool({
          config: { command: "talk" },
          env_config: { env: { ENDPOINT: "https://me:${SERVICE_TOKEN}@host" } }
        })
      },
      host,
      programs: { talk: ({ env }) => Effect.succeed({ stdout: env["ENDPOINT"] ?? "" }) }
    }))))

  it.effect("in an audit entry", () =>
    Effect.gen(function*() {
      yield* Effect.flip(call("tool", { note: "n" }))
      const found = yield* entries
      assert.lengthOf(found, 2)
      assert.deepStrictEqual(leaks(found), [])
      assert.include(JSON.stringify(found[1]), "‹redacted›")
    }).pipe(Effect.provide(kernel({
      project: { "tools/tool.yaml": talk({ input_schema: object({ note: { type: "string" } }) }) },
      host,
      controlFiles,
      programs: { talk: ({ env }) => Effect.succeed({ code: 3, stderr: `${env["SERVICE_TOKEN"]}` }) }
    }))))
})

const variable = (name: string, value: string, origin: EnvOrigin): [string, EnvVariable] => [
  name,
  { name, value: Redacted.make(value), origin }
]
const envOf = (...variables: ReadonlyArray<[string, EnvVariable]>): ResolvedEnv => ({
  child: new Map(variables),
  declared: new Map(variables),
  interpreter: undefined,
  warnings: []
})

describe("secrets", () => {
  it("are what a .env file says, and what has the name of one", () => {
    const env = envOf(
      variable("ANYTHING", "one", "project:.env.local"),
      variable("OTHER", "two", "user:.env"),
      variable("GITHUB_PAT", "three", "process"),
      variable("STRIPE_KEY", "four", "process"),
      variable("apiKey", "five", "override"),
      variable("KEYBOARD", "six", "process"),
      variable("PATH", "/usr/bin", "process"),
      variable("COMPASS", "seven", "declared")
    )
    assert.deepStrictEqual(secretsOf(env).map(Redacted.value), ["one", "two", "three", "four", "five"])
    assert.isTrue(namesSecret(env, "ANYTHING"))
    assert.isFalse(namesSecret(env, "PATH"))
    assert.isFalse(namesSecret(undefined, "PATH"))
  })
})

describe("an error without secrets", () => {
  const secret = Redacted.make("a-long-secret")
  const wrap = (reason: ToolFailed | ConfigInvalid) =>
    new ToolChainError({ chain: ["t"], failedAt: { toolId: "t", configPath: "p", validationErrors: [] }, reason })

  it("is of the same class, with the same behaviour", () => {
    const error = redactError(
      wrap(new ToolFailed({ tool: "t", how: "exit code 1", output: "x a-long-secret y" })),
      [secret]
    )
    assert.instanceOf(error, ToolChainError)
    if (!(error instanceof ToolChainError)) return
    assert.instanceOf(error.reason, ToolFailed)
    assert.strictEqual(error.message, "t failed with exit code 1:\nx ‹redacted› y")
    assert.isNotEmpty(error.remediation)
  })

  it("has none in what is under it, however deep", () => {
    const under = new ToolFailed({ tool: "t", how: "x", output: "a-long-secret" })
    const middle = new WriteRefused({ path: "p", issue: "io", detail: "a-long-secret", cause: under })
    const error = redactError(
      new ToolChainError({
        chain: ["t"],
        failedAt: { toolId: "t", configPath: "p", validationErrors: [] },
        reason: new WriteRefused({ path: "p", issue: "io", detail: "d", cause: middle })
      }),
      [secret]
    )
    const shown = toErrorObject(error)
    assert.deepStrictEqual(shown.cause, {
      code: "WRITE_REFUSED",
      message: "Could not write p: ‹redacted›",
      cause: { code: "TOOL_FAILED", message: "t failed with x:\n‹redacted›" }
    })
  })

  it.prop("has none, wherever it stood", [Schema.String, Schema.String], ([before, after]) => {
    const text = `${before}a-long-secret${after}`
    const issues = [{ field: text, error: text, value: { [text]: [text] } }]
    const error = redactError(wrap(new ConfigInvalid({ link: text, issues })), [secret])
    return !JSON.stringify([error, error.message, toErrorObject(error)]).includes("a-long-secret")
  })
})
