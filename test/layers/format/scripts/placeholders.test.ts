// Placeholders that nothing can fill are refused when a tool is signed; what only some calls can fill is said there.
import { assert, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { explain } from "../../../../src/programs/explain.ts"
import { call, caller, kernel, object, tool } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

const text = { type: "string" }
const schema = object({ file: text, query: text, page: text }, "file")
const yaml = (config: Schema.JsonObject, rest: Schema.JsonObject = {}) => ({
  "tools/x.yaml": tool({ input_schema: schema, config: { command: "ls", ...config }, ...rest })
})
const http = (config: Schema.JsonObject, rest: Schema.JsonObject = {}) => ({
  "tools/x.yaml": tool({ tool_type: "http", executor_id: "http_client", input_schema: schema, config, ...rest })
})
const api = "https://api.example.com"

const refused: Readonly<
  Record<string, readonly [files: Readonly<Record<string, string>>, name: string, hint: string]>
> = {
  url: [http({ url: `${api}/?q={qeury}` }), "{qeury}", "Write {query}"],
  argument: [yaml({ args: ["{file}", "{nope}"] }), "{nope}", "Declare the parameter nope"],
  case: [yaml({ args: ["{File}"] }), "{File}", "Write {file}"],
  plural: [yaml({ args: ["{files}"] }), "{files}", "Write {file}"],
  env: [yaml({ args: ["{file}"], env: { A: "x{pgae}" } }), "{pgae}", "Write {page}"],
  header: [http({ url: api, headers: { "x-a": "{pages}" } }), "{pages}", "Write {page}"],
  body: [http({ url: api, method: "POST", body: { a: [{ b: "{quer}" }] } }), "{quer}", "Write {query}"],
  query: [http({ url: api, query: { q: "{q}" } }), "{q}", "Declare"],
  cwd: [yaml({ cwd: "{fil}" }), "{fil}", "Write {file}"],
  input_data: [yaml({ command: "cat", input_data: "{text}" }), "{text}", "{{text}}"],
  none: [yaml({ args: ["{file}"] }, { input_schema: object({}) }), "{file}", "Declare the parameter file"],
  undeclared: [
    {
      "tools/x.yaml":
        `version: "1.0.0"\ntool_type: script\nexecutor_id: subprocess\nconfig: {command: ls, args: ["{file}"]}\n`
    },
    "{file}",
    "Declare the parameter file"
  ],
  tool_file: [yaml({ args: ["${TOOL_FILE}"] }), "${TOOL_FILE}", "entrypoint"],
  bash: [
    {
      "tools/x.sh":
        `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n#   parameters: [{name: file, type: string}]\n#   config: {args: ["{fiel}"]}\necho "$KIWI_PARAM_FILE $1"\n`
    },
    "{fiel}",
    "Write {file}"
  ]
}

const said: Readonly<Record<string, readonly [files: Readonly<Record<string, string>>, doubt: string]>> = {
  url: [http({ url: `${api}/{file}?page={page}&q={query}` }), "needs page, query in its url, though not required"],
  argument: [yaml({ args: ["--page={page}"] }), "needs page in its args"],
  header: [http({ url: api, headers: { a: "x {page}" } }), "needs page in its headers"],
  cwd: [yaml({ cwd: "a/{page}" }), "needs page in its cwd"],
  loopback: [http({ url: "http://127.0.0.1:8765/{file}" }), `private_hosts: ["127.0.0.1:8765"]`],
  localhost: [http({ url: "http://localhost/a" }), `private_hosts: ["localhost:80"]`],
  private: [http({ url: "https://192.168.1.2/a" }), `private_hosts: ["192.168.1.2:443"]`],
  six: [http({ url: "http://[::1]:1/a" }), `private_hosts: ["[::1]:1"]`],
  number: [http({ url: "http://2130706433/a" }), `private_hosts: ["127.0.0.1:80"]`],
  link_local: [http({ url: "http://169.254.169.254/a" }), "169.254.169.254:80, which is not a public address"]
}

const silent: ReadonlyArray<Readonly<Record<string, string>>> = [
  http({ url: `${api}/{file}`, query: { page: "{page}" } }),
  http({ url: "http://127.0.0.1:8765/a", private_hosts: ["127.0.0.1:8765"] }),
  http({ url: "http://8.8.8.8/a" }),
  http({ url: "${API_BASE}/a" }),
  http({ url: api, body: { text: "{{nope}} and { braces }" } }),
  yaml({ args: ["--", "{anything}"] }, { input_schema: { type: "object", additionalProperties: true } }),
  yaml({ args: ["--", "{file}"], env: { A: "${SOME_VARIABLE}" } }),
  yaml({ args: ["{child}"] }, { tool_type: "runtime" }),
  yaml({ args: ["-n{page}", "{file}"] }, {
    input_schema: object({ file: text, page: { ...text, default: "1" } }, "file")
  })
]

it.live(
  "a placeholder that no call can fill is refused by its name, with the nearest one",
  () =>
    Effect.gen(function*() {
      for (const [title, [files, name, hint]] of Object.entries(refused)) {
        const error = yield* invalid(checkFiles(files))
        assert.include(error.issue, `no call can fill ${name}`, title)
        assert.include(error.hint, hint, title)
        assert.isAbove(error.line, 0, title)
      }
    }),
  60_000
)

it.live("what a call may lack, and an address that is refused, are said", () =>
  Effect.gen(function*() {
    for (const [title, [files, doubt]] of Object.entries(said)) {
      const item = yield* checkFiles(files)
      assert.include(item._tag === "tool" ? item.unsure?.join("; ") : "", doubt, title)
    }
    for (const files of silent) {
      const item = yield* checkFiles(files)
      assert.isUndefined(item._tag === "tool" ? item.unsure : [], JSON.stringify(files))
    }
  }), 60_000)

it.effect("explain without parameters says that they are missing, and not that the tool cannot run", () =>
  Effect.gen(function*() {
    const given = yield* explain({ id: "issue", type: "tool" }, { page: "1" }, "call", caller)
    const none = yield* explain({ id: "issue", type: "tool" }, undefined, "call", caller)
    assert.deepStrictEqual([given.ready, given.blocked], [true, undefined])
    assert.deepStrictEqual([none.ready, none.needs_parameters, none.blocked], [true, true, undefined])
    assert.include(yield* Effect.flip(call("issue")), { _tag: "ToolChainError" })
  }).pipe(Effect.provide(kernel({
    project: {
      "tools/issue.yaml": tool({
        input_schema: object({ page: text }),
        config: { command: "argv", args: ["p={page}"] }
      })
    }
  }))))
