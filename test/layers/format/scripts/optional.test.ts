// Scripts that run without arguments and may take some, and files that other programs write: signed, with a doubt.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

const head: Readonly<Record<string, string>> = {
  sh: `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n`,
  py: `__version__ = "1.0.0"\nimport sys\n`,
  mjs: `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n`
}

/** Each prints `ok` without arguments. */
const accepted: ReadonlyArray<readonly [extension: string, code: string]> = [
  ["sh", `set -u\ndir="\${1:-.}"\n[ -d "$dir" ] && echo ok`],
  ["sh", `dir=\${1-.}; [ -d "$dir" ]; echo "ok\${2:+ and $2}"`],
  ["sh", `case "\${1:-}" in -h) echo usage; exit ;; esac\necho ok`],
  ["sh", `(( $# )) && dir="$1"\necho ok`],
  ["sh", `if (( $# > 0 )); then\n  echo "$1"\n  shift\nfi\necho ok`],
  ["sh", `[[ $# -ge 1 ]] && cd "$1"\necho ok`],
  ["sh", `[ -n "$1" ] && cd "$1"\necho ok`],
  ["sh", `if [ "$1" = "--verbose" ]; then shift; set -x; fi\necho ok`],
  ["py", `name = sys.argv[1] if len(sys.argv) > 1 else "-"\nprint("ok")`],
  ["py", `if len(sys.argv) >= 2:\n    print(sys.argv[1])\nprint("ok")`],
  ["py", `from sys import argv\nname = argv[1] if len(argv) > 1 else "-"\nprint("ok")`],
  ["py", `verbose = "--verbose" in sys.argv\nprint("ok")`],
  ["py", `if "-v" not in sys.argv[1:]:\n    print("ok")`],
  ["py", `for one in sys.argv[1:] or ["ok"]:\n    print(one)`],
  ["py", `try:\n    name = sys.argv[1]\nexcept IndexError:\n    name = "ok"\nprint(name)`],
  ["mjs", `console.log(process.argv.includes("--verbose") ? "" : "ok")`],
  ["mjs", `if (process.argv.slice(2).includes("-v")) console.log(1)\nconsole.log("ok")`],
  ["mjs", `const dir = process.argv[2] ?? "ok"\nconsole.log(dir)`],
  ["mjs", `console.log(process.argv[2] || "ok")`],
  ["mjs", `console.log(process.argv.length > 2 ? process.argv[2] : "ok")`],
  ["mjs", `if (process.argv[2] === "-v") console.log(process.argv[3])\nconsole.log("ok")`],
  ["mjs", `const [dir = "ok"] = process.argv.slice(2)\nconsole.log(dir)`]
]

const refused: ReadonlyArray<readonly [extension: string, code: string]> = [
  ["sh", `set -u\n[ -n "$1" ] && cd "$1"`],
  ["sh", `[ $# -eq 1 ] || exit 2\ncd "\${1:-.}"`],
  ["sh", `(( $# )) && echo "$1"\necho "$2"`],
  ["sh", `if (( $# )); then echo "$1"; else cat "$2"; fi`],
  ["sh", `case "\${1:-}" in -h) exit ;; *) cat "$1" ;; esac`],
  ["sh", `dir="\${1:-.}"; cat "$2"`],
  ["py", `if len(sys.argv) > 1:\n    pass\nelse:\n    print(sys.argv[1])`],
  ["py", `name = "-" if len(sys.argv) > 1 else sys.argv[1]`],
  ["py", `if len(sys.argv) != 2:\n    sys.exit("usage")`],
  ["py", `verbose = "-v" in sys.argv\nprint(sys.argv[1])`],
  ["py", `print(sys.argv[1] in ("a", "b"))`],
  ["mjs", `const v = process.argv.includes("-v")\nconsole.log(process.argv[2])`],
  ["mjs", `if (process.argv.length > 2) {} else console.log(process.argv[2])`],
  ["mjs", `const [a = 1, b] = process.argv.slice(2)`]
]

const none: Readonly<Record<string, string>> = {
  sh: "#   parameters: []",
  py: `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {}}`,
  mjs: `export const INPUT_SCHEMA = {"type": "object", "properties": {}}`
}

describeWith(["python3"], "a script that may take arguments", () => {
  it.live("is signed with a doubt, and runs without", () =>
    Effect.gen(function*() {
      const project = yield* realProject(
        Object.fromEntries(accepted.map(([extension, code], at) => [
          `.ai/tools/x${at}.${extension}`,
          `${head[extension]}${code}\n`
        ]))
      )
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const [at, [, code]] of accepted.entries()) {
          const { data } = yield* proxy.call({ callId: "call", caller, item: `x${at}`, parameters: {}, dryRun: false })
          assert.strictEqual(String(data).trim(), "ok", code)
        }
      }).pipe(Effect.provide(kernelOf(project)))
      for (const [extension, code] of accepted) {
        const item = yield* checkFiles({ [`tools/x.${extension}`]: `${head[extension]}${code}\n` })
        const doubt = item._tag === "tool" ? item.unsure?.join() ?? "" : ""
        assert.include(doubt, "may take arguments", code)
        // A question for a signature shows so much of it.
        assert.isAtMost(doubt.length, 200, doubt)
        const declared = doubt.split("to pass one, write ")[1]!
        const [lines, margin] = extension === "sh"
          ? [`#   ${declared.replace(" and config", "\n#   config")}\n`, /(?<=executor_id: bash_runtime\n)/]
          : [`${declared.replace("} and CONFIG", "}\nCONFIG")}\n`, /^/]
        const placed = yield* checkFiles({
          [`tools/x.${extension}`]: `${head[extension]!.replace(margin, lines)}${code}\n`
        })
        assert.isUndefined(placed._tag === "tool" ? placed.unsure : [], `${declared}: ${code}`)
      }
    }), 120_000)

  it.live(
    "is refused where one read has neither default nor guard, and the hint says how it takes none",
    () =>
      Effect.gen(function*() {
        for (const [extension, code] of refused) {
          const error = yield* invalid(checkFiles({ [`tools/x.${extension}`]: `${head[extension]}${code}\n` }))
          assert.include(error.issue, "reads its arguments", code)
          assert.include(error.hint, "if it needs none", code)
          if (extension === "sh") assert.include(error.hint, "parameters: []")
          yield* checkFiles({ [`tools/x.${extension}`]: `${head[extension]}${none[extension]}\n${code}\n` })
        }
      }),
    60_000
  )
})

describe("what a bash script turns on itself", () => {
  const bash = (code: string) => checkFiles({ "tools/x.sh": `${head["sh"]}${code}\n` })
  it.live("counts for its syntax, and aliases are a doubt", () =>
    Effect.gen(function*() {
      for (
        const code of [
          "shopt -s extglob\necho !(a|b)",
          "shopt -s nullglob extglob\nfor f in *.@(js|ts); do echo \"$f\"; done",
          "shopt -s extglob\ncase x in +([0-9])) echo 1 ;; esac"
        ]
      ) {
        const item = yield* bash(code)
        assert.isUndefined(item._tag === "tool" ? item.unsure : [], code)
      }
      const item = yield* bash("shopt -s expand_aliases\nalias begin='{' end='}'\nf() begin\necho 1\nend")
      assert.include(item._tag === "tool" ? item.unsure?.join() : "", "uses aliases")
      for (
        const code of [
          "echo !(a|b)",
          "shopt -s extglob\nif true",
          "# shopt -s extglob\necho !(a)",
          "shopt -u extglob\nx=(("
        ]
      ) {
        assert.include((yield* invalid(bash(code))).issue, "syntax", code)
      }
    }))
})

describe("__requires__", () => {
  it.live("of setuptools is none of Kiwi's", () =>
    Effect.gen(function*() {
      const python = (value: string) =>
        checkFiles({
          "tools/x.py": `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\n__requires__ = ${value}\n`
        })
      for (const value of [`"yq==3.1.0"`, `'yq'`, `["yq==3.1.0"]`, `["a[b]>=1"]`]) {
        const item = yield* python(value)
        assert.deepStrictEqual(item._tag === "tool" ? item.requires.capabilities : ["?"], [], value)
      }
      const item = yield* python(`["fs.read"]`)
      assert.deepStrictEqual(item._tag === "tool" ? item.requires.capabilities : [], ["fs.read"])
      yield* invalid(python(`["nothing"]`))
      yield* invalid(python(`{"other": []}`))
    }))
})

describe("what argparse requires and nothing declares", () => {
  const script = (properties: ReadonlyArray<string>, config: string, ...added: ReadonlyArray<string>) =>
    checkFiles({
      "tools/x.py": `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\nINPUT_SCHEMA = ${
        JSON.stringify({
          type: "object",
          properties: Object.fromEntries(properties.map((name) => [name, { type: "string" }]))
        })
      }\nCONFIG = ${config}\nimport argparse\np = argparse.ArgumentParser()\n${
        added.map((one) => `p.add_argument(${one})\n`).join("")
      }p.parse_args()\n`
    })
  it.live("is refused however the other parameters are spelled", () =>
    Effect.gen(function*() {
      for (
        const [properties, config, ...added] of [
          [["max_width"], "{}", `"--max-width"`, `"file"`],
          [["max-width"], "{}", `"--max_width"`, `"file"`],
          [["max_width", "min_width"], "{}", `"--max-width"`, `"--min-width"`, `"--file", required=True`],
          [["w"], `{"options": {"w": {"option": "--width"}}}`, `"--width"`, `"file"`],
          [["b"], `{"options": {"b": {"as": "positional"}}}`, `"b"`, `"c"`],
          [["a"], `{"env": {"B": "{a}"}}`, `"--a"`, `"file"`]
        ] as ReadonlyArray<readonly [ReadonlyArray<string>, string, ...ReadonlyArray<string>]>
      ) {
        assert.include(
          (yield* invalid(script(properties, config, ...added))).issue,
          "requires the argument",
          added.join()
        )
      }
    }))

  it.live("is not, where another parameter is handed over as it", () =>
    Effect.gen(function*() {
      yield* script(["max_width", "file"], "{}", `"--max-width"`, `"file"`)
      yield* script(["w"], `{"options": {"w": {"option": "--width"}}}`, `"--width", required=True`)
      yield* script(["w"], `{"options": {"w": {"option": "-x"}}}`, `"-x", "--width", required=True`)
      yield* script(["path"], `{"options": {"path": {"as": "positional", "option": "--path"}}}`, `"path"`)
      yield* script(["path"], `{"args": ["{path}"]}`, `"file"`)
    }))
})

describe("a tool that names no executor", () => {
  it.live("is told the line, as its language has it", () =>
    Effect.gen(function*() {
      for (
        const [name, text, hint] of [
          ["x.py", `\n__version__ = "1.0.0"\n__tool_type__ = "python"\n`, `__executor_id__ = "python_runtime"`],
          ["x.mjs", `\nexport const __version__ = "1.0.0"\n`, `const __executor_id__ = "node_runtime"`],
          ["x.ts", `\nconst __version__ = "1.0.0"\n`, `const __executor_id__ = "node_runtime"`],
          ["x.sh", `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n`, "#   executor_id: bash_runtime"],
          ["x.yaml", `tool_type: script\nversion: "1.0.0"\n`, "http_client"]
        ] as const
      ) {
        const error = yield* invalid(checkFiles({ [`tools/${name}`]: text }))
        assert.include(error.issue, "names no executor", name)
        assert.include(error.hint, hint, name)
        assert.strictEqual(error.line, name === "x.sh" ? 3 : 2, name)
      }
    }))
})
