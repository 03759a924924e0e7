import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import type { PrimitiveInput } from "../../../src/services/primitive/Primitive.ts"
import { planSubprocess } from "../../../src/services/primitive/SubprocessConfig.ts"

const planned = (config: Schema.JsonObject, more: Partial<PrimitiveInput> = {}) =>
  planSubprocess({ tool: "t", parameters: {}, toolFile: undefined, ...more, config: { command: "x", ...config } })

const plan = (config: Schema.JsonObject, more: Partial<PrimitiveInput> = {}) => Effect.fromResult(planned(config, more))

const issues = (result: ReturnType<typeof planned>) =>
  Result.isFailure(result) ? result.failure.issues.map((i) => i.field) : "planned"

describe("planSubprocess", () => {
  it.effect("puts runtime arguments before the tool's file, then the tool's own, then parameters", () =>
    Effect.gen(function*() {
      const { argv } = yield* plan(
        { command: "bash", runtime_args: ["-e", "-o", "pipefail", "/v/t.sh"], args: ["--fast", 3] },
        { toolFile: "/v/t.sh", parameters: { a: 1 } }
      )
      assert.deepStrictEqual(argv, ["bash", "-e", "-o", "pipefail", "/v/t.sh", "--fast", "3", "--a=1"])
    }))

  it.effect("adds no file to the argv of a tool that is pure data", () =>
    Effect.gen(function*() {
      const { argv } = yield* plan({ command: "npx", args: ["-y", "thing"] })
      assert.deepStrictEqual(argv, ["npx", "-y", "thing"])
    }))

  it("refuses a chain in which nothing names the tool's file", () => {
    assert.deepStrictEqual(issues(planned({ command: "python3" }, { toolFile: "/v/t.py" })), ["runtime_args"])
  })

  it.effect("says how a value that begins with - is passed, where it can be", () =>
    Effect.gen(function*() {
      const remedy = (option: string, value: Schema.Json) => {
        const result = planned({ options: { v: { option, as: "words" } } }, { parameters: { v: value } })
        const error = Result.isFailure(result) ? result.failure : undefined
        assert.deepStrictEqual(error?.validationIssues, [{
          field: "v",
          error: `has a value that begins with "-", and ${option} reads it as another option`
        }])
        return error?.remediation
      }
      assert.include(remedy("-n", "-x"), "options: {v: {option: -n}} into the tool's config, without as: words")
      assert.include(remedy("-n", "-x"), "as -nVALUE")
      assert.include(remedy("--tag", "--x"), "as --tag=VALUE, where the program reads that")
      for (const values of [["-x", "a"], [["a"], ["-x"]]]) {
        assert.include(remedy("--tag", values), "Leave out of v what begins with \"-\"")
      }
      const passed = (option: string) => plan({ options: { v: { option } } }, { parameters: { v: "-x" } })
      assert.deepStrictEqual((yield* passed("-n")).argv, ["x", "-n-x"])
      assert.deepStrictEqual((yield* passed("--tag")).argv, ["x", "--tag=-x"])
      const other = planned({}, { parameters: { "a b": 1 } })
      assert.include(Result.isFailure(other) ? other.failure.remediation : "", "Rename or shorten")
    }))

  it.effect("hands over each parameter as one argument", () =>
    Effect.gen(function*() {
      const { argv } = yield* plan({}, {
        parameters: {
          text: "--path=/etc/passwd",
          empty: "",
          dash_name: "-rf",
          on: true,
          off: false,
          none: null,
          n: -1.5,
          list: [1, "a b"],
          map: { k: "v" }
        }
      })
      assert.deepStrictEqual(argv.slice(1), [
        "--text=--path=/etc/passwd",
        "--empty=",
        "--dash_name=-rf",
        "--on",
        "--n=-1.5",
        "--list=1",
        "--list=a b",
        "--map={\"k\":\"v\"}"
      ])
    }))

  it.effect("keeps parameters that are named like environment variables", () =>
    Effect.gen(function*() {
      const { argv } = yield* plan({}, { parameters: { HOME: "a", PATH: "b", LANG: "c" } })
      assert.deepStrictEqual(argv.slice(1), ["--HOME=a", "--PATH=b", "--LANG=c"])
    }))

  it.effect("does not hand over again what the config placed", () =>
    Effect.gen(function*() {
      const { argv } = yield* plan({ args: ["-n", "3"] }, { parameters: { n: 3, b: 2 }, placed: new Set(["n"]) })
      assert.deepStrictEqual(argv, ["x", "-n", "3", "--b=2"])
    }))

  it("refuses names that are no options, doubles and NUL, all at once", () => {
    assert.deepStrictEqual(
      issues(
        planned({}, { parameters: { "a b": 1, "-x": 1, "": 1, "a=b": 1, a_b: 1, "a-b": 2, z: "\0", y: "\ud800" } })
      ),
      ["a b", "-x", "", "a=b", "a-b", "z", "y"]
    )
  })

  it.effect("hands over parameters as variables", () =>
    Effect.gen(function*() {
      const { argv, env } = yield* plan({ input: "env" }, {
        parameters: { name: "$(id)", "dash-ed": true, off: false, none: null, o: { a: 1 } },
        placed: new Set(["name"])
      })
      assert.deepStrictEqual(argv, ["x"])
      assert.deepStrictEqual([...env], [
        ["KIWI_PARAM_NAME", "$(id)"],
        ["KIWI_PARAM_DASH_ED", "true"],
        ["KIWI_PARAM_OFF", "false"],
        ["KIWI_PARAM_O", "{\"a\":1}"]
      ])
    }))

  it("refuses two parameters for one variable", () => {
    for (const parameters of [{ a_b: 1, "a-b": 2 }, { Name: 1, name: 2 }]) {
      assert.strictEqual(issues(planned({ input: "env" }, { parameters })).length, 1)
    }
  })

  it.effect("writes one JSON object and a line end to stdin", () =>
    Effect.gen(function*() {
      const { argv, stdin } = yield* plan({ input: "stdin" }, { parameters: { "any name": "line\nbreak\0" } })
      assert.deepStrictEqual(argv, ["x"])
      assert.strictEqual(stdin, "{\"any name\":\"line\\nbreak\\u0000\"}\n")
    }))

  it.effect("leaves stdin empty otherwise, and passes input_data on", () =>
    Effect.gen(function*() {
      assert.isUndefined((yield* plan({})).stdin)
      assert.strictEqual((yield* plan({ input_data: "hello" })).stdin, "hello")
    }))

  it("refuses config that cannot work", () => {
    const bad: ReadonlyArray<Schema.JsonObject> = [
      { command: "" },
      { command: "a\0b" },
      { args: ["a\0b"] },
      { timeout: 0 },
      { timeout: "300" },
      { output: "xml" },
      { input: "shell" },
      { input: "stdin", input_data: "x" },
      { env: { "A=B": "x" } },
      { env: { KIWI_PARAM_X: "x" } },
      { capture_output: false }
    ]
    for (const config of bad) assert.notStrictEqual(issues(planned(config)), "planned", JSON.stringify(config))
  })

  it.effect.prop(
    "every string parameter arrives as it is, in exactly one argument",
    [Schema.String],
    ([value]) =>
      Effect.sync(() => {
        const result = planned({}, { parameters: { v: value } })
        if (value.includes("\0") || !value.isWellFormed()) return assert.deepStrictEqual(issues(result), ["v"])
        assert.deepStrictEqual(Result.isSuccess(result) && result.success.argv, ["x", `--v=${value}`])
      })
  )
})
