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
    "tools/a.yaml": `tool_id: a\ntool_type: ${type}\nversion: "1.0.0"\nexecutor_id: http_client\nconfig: ${config}\n`
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

  it.live("so are JavaScript and TypeScript", () =>
    Effect.gen(function*() {
      yield* script("a.mjs", "import x from \"pkg/x.json\" with { type: \"json\" }\nexport default class {}\n")
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
