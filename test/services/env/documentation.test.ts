// docs/environment.md says what the code does: its examples are read, resolved and typed here.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { parseEnv } from "node:util"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { cutDotenv } from "../../../src/services/env/dotenvText.ts"
import { EnvResolver } from "../../../src/services/env/EnvResolver.ts"
import { isDeniedVariable } from "../../../src/services/env/variableNames.ts"
import { call, kernel, tool } from "../../layers/proxy/calls.ts"
import { commandPaths } from "../../programs/cli/runCli.ts"

const text = readFileSync(new URL("../../../docs/environment.md", import.meta.url), "utf8")

/** The blocks of one language, in order. */
const blocks = (language: string) =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))].map((match) => match[1] ?? "")

describe("docs/environment.md", () => {
  it("its example of a .env file is read as its own values say", () => {
    const example = blocks("sh").find((one) => one.startsWith("# a comment")) ?? ""
    const { entries, problems } = cutDotenv(example)
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(Object.fromEntries(entries.map((e) => [e.name, parseEnv(e.text)[e.name]])), {
      TOKEN: "plain text up to the end of the line",
      NAME: "in single quotes: $nothing and \\n stay as they are",
      TEXT: "in double quotes \n is a line end,\nand the text may go on",
      EITHER: "in backquotes, for 'both' \"others\""
    })
  })

  it("the variables that it names as never supplied are refused", () => {
    const list = /whom it trusts: `([^`]+)`/.exec(text)?.[1]?.split(/\s+/) ?? []
    assert.isAbove(list.length, 20)
    for (const name of list) assert.isTrue(isDeniedVariable(name.replace("*", "X")), name)
  })

  it("the commands that it shows are there", () => {
    const typed = [...text.matchAll(/kiwi ((?:env|trust) [a-z ]+)/g)].map((match) => match[1] ?? "")
    assert.isAbove(typed.length, 5)
    const known = commandPaths.map((path) => path.join(" "))
    for (const command of typed) assert.isTrue(known.some((one) => one !== "" && command.startsWith(one)), command)
  })

  it.effect("the example with requires starts only when the variable is there", () =>
    Effect.gen(function*() {
      const [example = ""] = blocks("yaml")
      const leaf =
        `version: "1.0.0"\ntool_type: script\nexecutor_id: subprocess\nconfig: { command: read, output: json }\n${example}`
      const programs = {
        read: ({ env }: { readonly env: Readonly<Record<string, string>> }) =>
          Effect.succeed({ stdout: JSON.stringify(env["GITHUB_TOKEN"] !== undefined) })
      }
      const world = (variables: Record<string, string>) =>
        kernel({
          project: { "tools/leaf.yaml": leaf },
          programs,
          host: { variables: { PATH: "/usr/bin", ...variables } }
        })
      assert.strictEqual((yield* Effect.provide(call("leaf"), world({ GITHUB_TOKEN: "t" }))).data, true)
      const error = yield* Effect.flip(Effect.provide(call("leaf"), world({})))
      assert.include(error.message, "variables not set: GITHUB_TOKEN")
    }))

  it.effect("the reference to a secret is followed", () =>
    Effect.gen(function*() {
      const reference = blocks("sh").find((one) => one.includes("keychain:")) ?? ""
      const leaf = tool({ config: { command: "read", output: "json" }, requires: { environment: ["GITHUB_TOKEN"] } })
      const { data } = yield* Effect.provide(
        call("leaf"),
        kernel({
          project: { "tools/leaf.yaml": leaf },
          controlFiles: { ".env": reference },
          secrets: { github: "stored" },
          programs: { read: ({ env }) => Effect.succeed({ stdout: JSON.stringify(env["GITHUB_TOKEN"]) }) }
        })
      )
      assert.strictEqual(data, "stored")
    }))

  it.effect("the runtime of your own finds the Ruby that rbenv has", () =>
    Effect.gen(function*() {
      const { chain } = yield* (yield* ChainResolver).resolve({ id: "leaf" })
      const { interpreter } = yield* (yield* EnvResolver).resolve(chain)
      assert.deepStrictEqual(interpreter, {
        variable: "MY_RUBY",
        path: "/home/u/.rbenv/versions/3.3.0/bin/ruby",
        kind: "rbenv",
        version: "3.3.0",
        program: "outside the project"
      })
    }).pipe(Effect.provide(kernel({
      project: {
        "tools/ruby_runtime.yaml": blocks("yaml").find((one) => one.startsWith("tool_id: ruby_runtime")) ?? "",
        "tools/leaf.yaml": "version: \"1.0.0\"\ntool_type: script\nexecutor_id: ruby_runtime\n"
      },
      host: {
        variables: { PATH: "/usr/bin", RBENV_ROOT: "/home/u/.rbenv", RBENV_VERSION: "3.3.0" },
        programs: ["/home/u/.rbenv/versions/3.3.0/bin/ruby"]
      }
    }))))

  it.effect("the ENV_CONFIG of Python is that of Kiwi's own runtime", () =>
    Effect.gen(function*() {
      const [example = ""] = blocks("python")
      const shown = JSON.parse(example.replace("ENV_CONFIG = ", "").replace(/,(\s*\})/g, "$1")) as object
      const { chain } = yield* (yield* ChainResolver).resolve({ id: "leaf" })
      assert.deepStrictEqual(chain.envConfig, shown)
    }).pipe(Effect.provide(kernel({
      project: {
        "tools/leaf.py":
          "\"\"\"x\"\"\"\n__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"python_runtime\"\n"
      }
    }))))
})
