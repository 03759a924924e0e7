import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import { checkFiles, invalid } from "./parsing.ts"
import type { Files } from "./parsing.ts"

const bash = (body: string, version = "\"1.0.0\"") =>
  checkFiles({ "tools/a.sh": `#!/bin/bash\n# kiwi:\n#   version: ${version}\n#   executor_id: bash_runtime\n${body}` })

const python = (body: string) =>
  checkFiles({
    "tools/a.py": `__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n${body}`
  })

const script = (name: string, body: string) =>
  checkFiles({
    [`tools/${name}`]: `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n${body}`
  })

const http = (config: string, type = "http") =>
  checkFiles({
    "tools/a.yaml":
      `tool_id: a\ntool_type: ${type}\nversion: "1.0.0"\nexecutor_id: http_client\nparameters: [{name: id, type: string}]\nconfig: ${config}\n`
  })

describe("before an item is signed", () => {
  it.live("it has a version that is not 0.0.0", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(bash("", "\"0.0.0\""))).issue, "no version")
      assert.include((yield* invalid(checkFiles({ "tools/a.py": "print(1)\n" }))).issue, "no version")
      assert.include((yield* invalid(checkFiles({ "knowledge/a.md": "---\ntitle: T\n---\nx\n" }))).issue, "no version")
      const hint = (files: Files) => Effect.map(invalid(checkFiles(files)), (error) => error.hint)
      assert.include(yield* hint({ "tools/a.py": "print(1)\n" }), `__version__ = "1.0.0"`)
      assert.include(yield* hint({ "tools/a.sh": "#!/bin/sh\n# kiwi:\n#   executor_id: bash_runtime\n" }), "# kiwi:")
      assert.include(yield* hint({ "knowledge/a.md": "---\ntitle: T\n---\nx\n" }), "---")
      yield* checkFiles({ "knowledge/a.md": "---\ntitle: T\nversion: '0.0.1'\n---\nx\n" })
    }))

  it.live("a bash script is one that bash accepts, and is not run to find out", () =>
    Effect.gen(function*() {
      const trap = `${Os.tmpdir()}/kiwi-check-${process.pid}`
      yield* bash(`touch ${trap}\n$(touch ${trap})\n`)
      assert.isFalse(Fs.existsSync(trap))
      const error = yield* invalid(bash("if true; then\n  echo\n"))
      assert.include(error.issue, "syntax error")
      assert.isAtLeast(error.line, 6)
      assert.include(error.found, "unexpected end of file")
    }))

  it.live("Python is read by Kiwi's grammar, and by Python where that is behind", () =>
    Effect.gen(function*() {
      yield* python("with (open(a) as b, c as d):\n    x = 1.\n")
      assert.deepInclude(yield* invalid(python("def f(:\n    pass\n")), { line: 4 })
      assert.include((yield* invalid(python("x = (\n"))).issue, "syntax")
    }))

  it.live(
    "what the grammar accepts and the language does not is found by the language's own reader",
    () =>
      Effect.gen(function*() {
        const wrong: Array<string> = []
        const broken = [
          "print 'x'",
          "x = 1\nreturn x",
          "def f(a, a): pass",
          "def f(x=1, y): pass",
          "f(a=1, 2)",
          "f(a=1, a=2)",
          "1 = x",
          "x = 'abc",
          "try:\n  x",
          "a = 08",
          "await x",
          "break",
          "def f():\n  nonlocal x\nnonlocal y",
          "del f()"
        ]
        for (const code of broken) {
          const result = yield* Effect.result(python(`${code}\n`))
          if (result._tag === "Success") wrong.push(`Python is accepted: ${code}`)
          else {
            const { found, line } = yield* invalid(python(`${code}\n`))
            if (line < 4 || found === "") wrong.push(`${code}: ${line} ${found}`)
          }
        }
        const scripts: ReadonlyArray<readonly [name: string, code: string]> = [
          ["a.mjs", "let a; let a"],
          ["a.mjs", "return 1"],
          ["a.mjs", "const x"],
          ["a.js", "'abc"],
          ["a.js", "break"],
          ["a.js", "class A { constructor(){} constructor(){} }"],
          ["a.mjs", "export { zz }"],
          ["a.js", "try {}"],
          ["a.js", "const b = 1; const b = 2"],
          ["a.mjs", "super()"],
          ["a.ts", "let a; let a"]
        ]
        for (const [name, code] of scripts) {
          const result = yield* Effect.result(script(name, `${code}\n`))
          if (result._tag === "Success") wrong.push(`${name} is accepted: ${code}`)
          else assert.include((yield* invalid(script(name, `${code}\n`))).issue, "syntax", code)
        }
        assert.deepStrictEqual(wrong, [])
      }),
    60_000
  )

  it.live("what may be newer than this machine's Python is said, and not refused", () =>
    Effect.gen(function*() {
      const accepted = [
        "match x:\n  case 1: pass",
        "if (n := 1): pass",
        "def f(a, /, *, b): pass",
        "x: int = 1",
        "async def f():\n  await x"
      ]
      for (const code of accepted) {
        const tool = yield* python(`${code}\n`)
        assert.isUndefined(tool._tag === "tool" ? tool.unsure : [], code)
      }
      // Every Python takes it, or a doubt is all that is said.
      yield* python("try:\n  pass\nexcept A, B:\n  pass\n")
    }))

  it.live("so are JavaScript and TypeScript", () =>
    Effect.gen(function*() {
      yield* script(
        "a.mjs",
        "import x from \"pkg/x.json\" with { type: \"json\" }\nconst DEPENDENCIES = [\"pkg\"]\nexport default class {}\n"
      )
      yield* script("a.ts", "let a: [x: number, y?: string] = [1]\n")
      for (const name of ["a.js", "a.mjs", "a.ts"]) {
        assert.include((yield* invalid(script(name, "const = 1\n"))).issue, "syntax")
      }
    }), 30_000)

  it.live("an API tool has an address with a host, and an auth type that is known", () =>
    Effect.gen(function*() {
      yield* http("{url: \"https://api.example.com/v1/{id}\", auth: {type: bearer, token: x}}")
      yield* http("{url: \"http://localhost:8080\"}", "api")
      yield* http("{url: \"${API_BASE}/v1\"}")
      for (
        const url of [
          "",
          "api.example.com",
          "ftp://x.test/",
          "https://",
          "https:///x",
          "https://{host}/x",
          "file:///etc/passwd",
          "https://user@x.test/",
          "javascript:alert(1)"
        ]
      ) assert.include((yield* invalid(http(JSON.stringify({ url })))).issue, "address", url)
      assert.include((yield* invalid(http("{url: \"https://x.test\", auth: {type: magic}}"))).issue, "auth")
      assert.include((yield* invalid(http("{}"))).issue, "address")
    }))

  it.live("every file of a folder tool is looked at", () =>
    Effect.gen(function*() {
      const files = {
        "tools/f/tool.yaml":
          "tool_id: f\ntool_type: python\nversion: '1.0.0'\nexecutor_id: python_runtime\nentrypoint: main.py\n",
        "tools/f/main.py": "CONFIG = compute()\n__tool_type__ = x()\n",
        "tools/f/lib/helper.sh": "echo\n",
        "tools/f/data.bin": new Uint8Array([0, 255])
      }
      yield* checkFiles(files)
      const error = yield* invalid(checkFiles({ ...files, "tools/f/lib/helper.sh": "if\n" }))
      assert.strictEqual(error.item, "project:tools/f/lib/helper.sh")
      assert.strictEqual(error.line, 2)
    }))
})
