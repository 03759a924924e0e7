// Arguments and stdin that are read by other names: refused, or said when the script is signed.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkFiles, invalid } from "../parsing.ts"

const files = (extension: string, code: string) => ({
  [`tools/x.${extension}`]: {
    sh: `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n${code}\n`,
    py: `__version__ = "1.0.0"\n${code}\n`,
    js: `const __version__ = "1.0.0", __executor_id__ = "node_runtime"\n${code}\n`.replace(", __", "\nconst __"),
    mjs: `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n${code}\n`
  }[extension]!
})

const refused: ReadonlyArray<readonly [extension: string, code: string]> = [
  ["py", "from sys import *\nprint(argv[1])"],
  ["py", "import sys\nmod = sys\nprint(mod.argv[1])"],
  ["py", "import sys\na = sys\nb = a\nprint(b.argv)"],
  ["py", "import sys as s\nprint(s.argv[1])"],
  ["py", "import sys\nprint(sys.orig_argv[2:])"],
  ["py", "print(__import__('sys').argv[1])"],
  ["mjs", `const p = process\nconsole.log(p["argv"][2])`],
  ["mjs", `const p = process;\nconsole.log(p.argv[2])`],
  ["mjs", `console.log(process["argv"][2])`],
  ["mjs", "console.log(process?.argv[2])"],
  ["mjs", `import p from "node:process"\nconsole.log(p.argv[2])`],
  ["mjs", `import * as p from "process"\nconsole.log(p['argv'])`],
  ["mjs", "console.log(globalThis.process.argv[2])"],
  ["js", `const p = require("process")\nconsole.log(p.argv[2])`],
  ["sh", "for x; do echo \"$x\"; done"],
  ["sh", "for x\ndo echo \"$x\"; done"],
  ["sh", "for x do echo \"$x\"; done"],
  ["sh", "echo \"${BASH_ARGV[0]}\""],
  ["sh", "echo \"${!#}\""],
  ["sh", "f() { for x; do echo \"$x\"; done; }\nf \"$@\""]
]

const doubted: ReadonlyArray<readonly [extension: string, code: string, said: string]> = [
  ["sh", "trap 'echo \"$1\"' EXIT", "uses trap"],
  ["sh", "eval \"echo \\$1\"", "uses eval"],
  ["sh", "if true; then eval 'shift; echo $@'; fi", "uses eval"],
  ["sh", "i=1\necho \"${!i}\"", "uses ${!i}"],
  ["sh", "read -r name\necho \"$name\"", "reads stdin (read), which is empty"],
  ["sh", "if true; then read -p 'Sure? ' -r answer; fi", "reads stdin"],
  ["sh", "while read -r line; do echo \"$line\"; done", "reads stdin"],
  ["sh", "IFS= read -r name", "reads stdin"],
  ["py", "name = input('Name? ')", "reads input()"]
]

const silent: ReadonlyArray<readonly [extension: string, code: string]> = [
  ["sh", "for x in a b; do echo \"$x\"; done"],
  ["sh", "f() { for x; do echo \"$x\"; done; }\nf a b"],
  ["sh", "trap 'rm -f x' EXIT\ntrap - INT"],
  ["sh", "read -r a b <<< \"1 2\""],
  ["sh", "read -r a < /etc/hostname"],
  ["sh", "while read -r line; do echo \"$line\"; done < /etc/hostname"],
  ["sh", "ls | while read -r line; do echo \"$line\"; done"],
  ["sh", "echo please read the manual"],
  ["sh", "echo 'for x; do' # for x; do"],
  ["py", "class A:\n    argv = 1\na = A()\nprint(a.argv)"],
  ["py", "import sys\nx = sys.path\nprint(x)"],
  ["mjs", `const p = { argv: [] }\nconsole.log(p["argv"], p.argv)`]
]

describe("arguments by other names", () => {
  it.live("are refused where nothing declares them", () =>
    Effect.gen(function*() {
      for (const [extension, code] of refused) {
        const result = yield* Effect.result(invalid(checkFiles(files(extension, code))))
        assert.strictEqual(result._tag, "Success", code)
        if (result._tag === "Success") assert.include(result.success.issue, "reads its arguments by", code)
      }
    }), 60_000)

  it.live("are a doubt where they cannot be known, as is a stdin that is empty", () =>
    Effect.gen(function*() {
      for (const [extension, code, said] of doubted) {
        const item = yield* checkFiles(files(extension, code))
        assert.include(item._tag === "tool" ? item.unsure?.join() ?? "" : "", said, code)
      }
      for (const [extension, code] of silent) {
        const item = yield* checkFiles(files(extension, code))
        assert.isUndefined(item._tag === "tool" ? item.unsure : [], code)
      }
    }), 60_000)
})
