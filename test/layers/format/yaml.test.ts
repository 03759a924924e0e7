import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { invalid, parseFiles, parseTool } from "./parsing.ts"

const head = `tool_id: fetch
tool_type: http
version: "1.0.0"
executor_id: http_client
`

const fetch = (rest: string) => parseTool("web/fetch.yaml", head + rest)

describe("a YAML tool", () => {
  it.effect("is read from its top keys", () =>
    Effect.gen(function*() {
      const tool = yield* fetch(`category: web
description: |
  Fetches a page.

  More.
tags: [http, "web"]
mutates_state: true
config:
  method: GET
  url: https://example.com/{path}   # a comment
  headers: {accept: text/html}
retry: {max_attempts: 3}
required_scope: [read]
parameters:
  - {name: path, type: string, required: true, description: which}
  - {name: depth, type: int, default: 1, required: true, minimum: 0}
  - name: tags
    type: list
    items: {type: string}
`)
      assert.deepInclude(tool, {
        version: "1.0.0",
        toolType: "http",
        description: "Fetches a page.",
        tags: ["http", "web"],
        mutatesState: true,
        config: {
          retry: { max_attempts: 3 },
          method: "GET",
          url: "https://example.com/{path}",
          headers: { accept: "text/html" }
        },
        extra: { retry: { max_attempts: 3 }, required_scope: ["read"] },
        entrypoint: undefined
      })
      assert.deepStrictEqual(tool.parameters, {
        type: "object",
        properties: {
          path: { type: "string", description: "which" },
          depth: { type: "integer", default: 1, minimum: 0 },
          tags: { type: "array", items: { type: "string" } }
        },
        required: ["path"]
      })
    }))

  it.effect("the schema for parameters is input_schema, else config_schema, else parameters, else empty", () =>
    Effect.gen(function*() {
      const [input, config, list] = [
        "input_schema: {type: object, properties: {i: {}}}\n",
        "config_schema: {type: object, properties: {c: {}}}\n",
        "parameters: [{name: p}]\n"
      ]
      const names = (rest: string) => Effect.map(fetch(rest), (t) => Object.keys(t.parameters.properties as object))
      assert.deepStrictEqual(yield* names(`${list}${config}${input}`), ["i"])
      assert.deepStrictEqual(yield* names(`${list}${config}`), ["c"])
      assert.deepStrictEqual(yield* names(list!), ["p"])
      assert.deepStrictEqual(yield* names(""), [])
    }))

  it.effect("retry beside config is a part of it, where config does not say and the tool makes requests", () =>
    Effect.gen(function*() {
      const retry = "retry: {backoff_ms: [250]}\n"
      assert.deepStrictEqual((yield* fetch(retry)).config, { retry: { backoff_ms: [250] } })
      assert.deepStrictEqual((yield* fetch(`${retry}config: {retry: {max_attempts: 2}}\n`)).config, {
        retry: { max_attempts: 2 }
      })
      const other = yield* parseTool(
        "a.yaml",
        `tool_id: a\ntool_type: bash\nversion: "1.0.0"\nexecutor_id: subprocess\n${retry}`
      )
      assert.deepStrictEqual(other.config, {})
    }))

  it.effect("executor is accepted for executor_id, and name for tool_id", () =>
    Effect.gen(function*() {
      const tool = yield* parseTool(
        "fetch.yml",
        "name: fetch\ntool_type: http\nversion: '1.0.0'\nexecutor: http_client\n"
      )
      assert.strictEqual(tool.executorId, "http_client")
    }))

  it.effect("a version without quotes is a number, and says so", () =>
    Effect.gen(function*() {
      const error = yield* invalid(parseTool("a.yaml", "tool_type: http\nversion: 1.0\nexecutor_id: x\n"))
      assert.deepInclude(error, { line: 2, column: 1, issue: "the version is not text", found: "1" })
    }))

  it.effect("anchors, aliases, tags, directives, merge keys and second documents are refused at their place", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string, number, number]> = [
        ["config: &a {b: 1}\n", "anchors", 5, 9],
        ["config: *a\n", "aliases", 5, 9],
        ["config: !!js/function 'x'\n", "tags", 5, 9],
        ["config: !x 1\n", "tags", 5, 9],
        ["---\na: 1\n", "not YAML", 5, 1],
        ["config: {<<: {a: 1}, <<: {a: 1}}\n", "duplicated", 5, 22],
        ["config: {a: 1, a: 2}\n", "duplicated", 5, 16],
        ["config: {__proto__: 1}\n", "__proto__", 5, 10],
        ["config: {1: 2}\n", "key is not text", 5, 10],
        ["config: {n: .inf}\n", "cannot be written in JSON", 5, 13],
        ["config: {n: 12345678901234567890}\n", "too large", 5, 13],
        ["config: {n: \"\\ud800\"}\n", "surrogate", 5, 13],
        ["config:\n\t- a\n", "not YAML", 6, 1],
        ["config: \"a\n", "not YAML", 6, 1]
      ]
      for (const [rest, issue, line, column] of cases) {
        const error = yield* invalid(fetch(rest))
        assert.include(error.issue, issue, rest)
        assert.deepStrictEqual([error.line, error.column], [line, column], rest)
        assert.notStrictEqual(error.hint, "")
      }
      yield* invalid(parseTool("a.yaml", "%YAML 1.1\n---\na: 1\n"))
      yield* invalid(parseTool("a.yaml", "- a\n"))
      yield* invalid(parseTool("a.yaml", ""))
    }))

  it.effect("text that only looks like an anchor is text", () =>
    Effect.gen(function*() {
      const tool = yield* fetch("config: {a: 'x & *y', b: a&b}\ndescription: |\n  &not an anchor\n")
      assert.deepStrictEqual(tool.config, { a: "x & *y", b: "a&b" })
      assert.strictEqual(tool.description, "&not an anchor")
    }))

  it.effect("deep and large documents are refused before they are composed", () =>
    Effect.gen(function*() {
      for (const unit of ["[", "{a: ", "- ", "? ", "[{a: "]) {
        assert.include((yield* invalid(fetch(`config:\n  ${unit.repeat(50_000)}`))).issue, "64 levels", unit)
      }
      const nested = Array.from({ length: 100 }, (_, i) => `${" ".repeat(i)}a:\n`).join("")
      assert.include((yield* invalid(parseTool("a.yaml", nested))).issue, "64 levels")
      assert.include((yield* invalid(fetch(`config: [${"1,".repeat(60_000)}]`))).issue, "too much YAML")
      assert.include((yield* invalid(fetch(`${"x: 1\n".repeat(30_000)}`))).issue, "too much YAML")
      const wide = yield* fetch(`config: {${Array.from({ length: 10_000 }, (_, i) => `k${i}: 1`).join(", ")}}\n`)
      assert.strictEqual(Object.keys(wide.config).length, 10_000)
    }), 30_000)

  it.effect("a name or category that is not where it lies is refused", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(parseTool("other.yaml", head))).issue, "\"other\"")
      assert.include((yield* invalid(fetch("category: net\n"))).hint, "\"web\"")
    }))
})

describe("a folder tool", () => {
  const manifest = `tool_id: report
tool_type: python
version: "1.0.0"
executor_id: python_runtime
entrypoint: src/main.py
`

  it.effect("runs the file that it names", () =>
    Effect.gen(function*() {
      const tool = yield* parseFiles({ "tools/a/report/tool.yaml": manifest, "tools/a/report/src/main.py": "x" })
      assert.deepInclude(tool, { _tag: "tool", entrypoint: "src/main.py" })
      assert.strictEqual(tool.location.path, "a/report")
    }))

  it.effect("that file must be one of its own", () =>
    Effect.gen(function*() {
      for (const entrypoint of ["other.py", "../main.py", "/etc/passwd", "src", ""]) {
        const text = manifest.replace("src/main.py", JSON.stringify(entrypoint))
        const error = yield* invalid(parseFiles({ "tools/report/tool.yaml": text, "tools/report/src/main.py": "x" }))
        assert.include(error.issue, "not a file of the folder")
        assert.include(error.item, "project:tools/report/tool.yaml")
      }
      const without = manifest.replace("entrypoint: src/main.py\n", "")
      assert.include((yield* invalid(parseFiles({ "tools/report/tool.yaml": without }))).issue, "which file runs")
    }))

  it.effect("the older manifest with an executor object is read", () =>
    Effect.gen(function*() {
      const text = `tool_id: report
tool_type: bash
version: "1.0.0"
executor:
  type: bash
  entrypoint: run.sh
  requires: {commands: [git], environment: [TOKEN]}
  dependencies: [x]
  timeout: 30
`
      const tool = yield* parseFiles({ "tools/report/tool.yaml": text, "tools/report/run.sh": "x" })
      assert.strictEqual<unknown>(tool._tag === "tool" && tool.executorId, "bash_runtime")
      assert.deepInclude(tool, {
        _tag: "tool",
        entrypoint: "run.sh",
        config: { timeout: 30 },
        dependencies: ["x"],
        requires: { commands: ["git"], environment: ["TOKEN"], capabilities: [] }
      })
    }))
})

describe("a bash tool", () => {
  const script = `#!/usr/bin/env bash
# Counts lines.
#
# kiwi:
#   version: "1.0.0"
#   executor_id: bash_runtime
#   requires: {commands: [wc]}
#   parameters:
#     - {name: file, required: true}
#
# Written in a hurry.
set -eu
# kiwi:
`

  it.effect("is read from its `# kiwi:` block", () =>
    Effect.gen(function*() {
      const tool = yield* parseTool("count.sh", script)
      assert.deepInclude(tool, {
        version: "1.0.0",
        toolType: "bash",
        description: "Counts lines.",
        entrypoint: "count.sh",
        requires: { commands: ["wc"], environment: [], capabilities: [] }
      })
      assert.deepStrictEqual(tool.parameters.required, ["file"])
    }))

  it.effect("must start with #!, hold one block, and hold it before the first command", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(parseTool("a.sh", "echo\n"))).issue, "#!")
      assert.include((yield* invalid(parseTool("a.sh", "#!/bin/bash\necho\n# kiwi:\n"))).issue, "no `# kiwi:` block")
      const twice = "#!/bin/bash\n# kiwi:\n#  version: '1.0.0'\n# kiwi:\n"
      assert.deepInclude(yield* invalid(parseTool("a.sh", twice)), {
        line: 4,
        issue: "there is a second `# kiwi:` block"
      })
    }))

  it.effect("errors in the block have their place in the file", () =>
    Effect.gen(function*() {
      const error = yield* invalid(
        parseTool("a.sh", "#!/bin/bash\n\n# kiwi:\n#   version: \"1.0.0\"\n#   config: &a 1\n")
      )
      assert.deepStrictEqual([error.line, error.column], [5, 13])
      const wrong = yield* invalid(parseTool("a.sh", "#!/bin/bash\n# kiwi:\n#   version: 1.5\n#   executor_id: x\n"))
      assert.deepStrictEqual([wrong.line, wrong.column], [3, 5])
    }))
})
