import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { invalid, parseTool } from "./parsing.ts"

const head = `"""Add two numbers.

More of it.
"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "math"
`

const add = (rest: string) => parseTool("math/add.py", head + rest)

describe("a Python tool", () => {
  it.effect("is read from its module constants", () =>
    Effect.gen(function*() {
      const tool = yield* add(`
INPUT_SCHEMA = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
CONFIG = {"output": "json"}
DEPENDENCIES = ["requests>=2"]
REQUIRES = {"commands": ["git"], "environment": ["HOME"], "capabilities": ["fs.read"]}
TAGS = ["sum", "math"]

if __name__ == "__main__":
    import argparse, json
`)
      assert.deepInclude(tool, {
        version: "1.0.0",
        toolType: "python",
        description: "Add two numbers.",
        config: { output: "json" },
        dependencies: ["requests>=2"],
        requires: { commands: ["git"], environment: ["HOME"], capabilities: ["fs.read"] },
        tags: ["sum", "math"],
        entrypoint: "add.py",
        legacy: false
      })
      assert.strictEqual(tool.executorId, "python_runtime")
      assert.deepStrictEqual(tool.parameters, {
        type: "object",
        properties: { a: { type: "number" }, b: { type: "number" } },
        required: ["a", "b"]
      })
    }))

  it.effect("literals are evaluated from the syntax tree as Python would", () =>
    Effect.gen(function*() {
      const tool = yield* add(String.raw`
CONFIG = {
    "plain": 'it''s', "joined": ("a" "b"  # said why
        "c"),
    "escapes": "\n\t\\\x41\u00e9\U0001F600\101\q\'",
    "raw": r"\d+\n", "u": u"x", "multi": """one
two""",
    "int": 1_000, "hex": 0xff, "oct": 0o17, "bin": 0b11, "neg": -2, "float": -1.5e3, "dot": .5,
    "true": True, "false": False, "none": None,
    "list": [1, [2, {"x": ()}],], "tuple": (1,), "paren": (3),
}
`)
      assert.deepStrictEqual(tool.config, {
        plain: "its",
        joined: "abc",
        escapes: "\n\t\\A\u00e9\u{1F600}A\\q'",
        raw: "\\d+\\n",
        u: "x",
        multi: "one\ntwo",
        int: 1000,
        hex: 255,
        oct: 15,
        bin: 3,
        neg: -2,
        float: -1500,
        dot: 0.5,
        true: true,
        false: false,
        none: null,
        list: [1, [2, { x: [] }]],
        tuple: [1],
        paren: 3
      })
    }))

  it.effect("what is computed is refused with its place", () =>
    Effect.gen(function*() {
      for (
        const value of [
          "f\"{x}\"",
          "os.environ[\"X\"]",
          "dict(a=1)",
          "[x for x in y]",
          "{**a}",
          "\"a\" + \"b\"",
          "not True",
          "b\"x\"",
          "1j",
          "1e999",
          "007",
          "12345678901234567890",
          "{1: 2}",
          "{\"a\": 1, \"a\": 2}",
          "{\"__proto__\": 1}",
          "\"\\ud800\"",
          "\"\\N{BULLET}\"",
          "\"\\x4\"",
          "lambda: 1",
          "{1, 2}",
          "..."
        ]
      ) {
        const error = yield* invalid(add(`CONFIG = {"k":\n  ${value}}\n`))
        assert.isAtLeast(error.line, 9, value)
        assert.isAbove(error.column, 0)
        assert.include(error.item, "project:tools/math/add.py")
        assert.notStrictEqual(error.hint, "")
      }
    }))

  it.effect("a known name that is not assigned once and on its own is refused", () =>
    Effect.gen(function*() {
      for (
        const source of ["CONFIG += 1", "CONFIG, x = 1, 2", "x = CONFIG = {}", "CONFIG = {}\nCONFIG = {}", "CONFIG = {"]
      ) {
        assert.strictEqual((yield* invalid(add(source))).line, source.includes("\nCONFIG") ? 10 : 9, source)
      }
      assert.deepStrictEqual((yield* add("x = CONFIG")).config, {})
    }))

  it.effect("annotations, other names, functions and branches are the program's own affair", () =>
    Effect.gen(function*() {
      const tool = yield* add(`
CONFIG: dict[str, int] = {"a": 1}; x = compute()
VERSION = compute()
if x:
    CONFIG = compute()
def f():
    CONFIG = 3
`)
      assert.deepStrictEqual(tool.config, { a: 1 })
    }))

  it.effect("a syntax error elsewhere does not keep its metadata from being read", () =>
    Effect.gen(function*() {
      const tool = yield* add("CONFIG = {\"a\": 1}\ndef broken(:\n  pass\n")
      assert.deepStrictEqual(tool.config, { a: 1 })
    }))

  it.effect("a coding line that makes Python read other text than is shown is refused", () =>
    Effect.gen(function*() {
      for (
        const line of ["# -*- coding: utf-7 -*-", "#!/usr/bin/env python\n# vim: set fileencoding=raw_unicode_escape :"]
      ) {
        const error = yield* invalid(parseTool("a.py", `${line}\n# \\u000aimport os\n__version__ = "1.0.0"\n`))
        assert.include(error.issue, "not UTF-8")
      }
      yield* parseTool("a.py", "# -*- coding: UTF-8 -*-\n")
    }))

  it.effect("fields that are not what they must be are refused, each at its line", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["__version__ = 1.0", "not text"],
        ["__version__ = \"1.0\"", "semantic version"],
        ["__category__ = \"web\"", "declared category"],
        ["__tool_id__ = \"sub\"", "not the file's name"],
        ["__executor_id__ = \"../x\"", "not the id"],
        ["CONFIG = []", "not an object"],
        ["TAGS = \"a\"", "not a list"],
        ["REQUIRES = [\"git\"]", "not a capability"],
        ["REQUIRES = {\"comands\": []}", "unknown member"],
        ["INPUT_SCHEMA = {\"type\": \"array\"}", "object schema"],
        ["__mutates_state__ = 1", "neither true nor false"],
        ["PARAMETERS = [{\"name\": \"a\", \"type\": \"date\"}]", "unknown"]
      ]
      for (const [line, issue] of cases) {
        const rest = "__tool_type__ = \"python\"\n__executor_id__ = \"python_runtime\"\n"
        const without = rest.split("\n").filter((l) => !l.startsWith(line.split(" ")[0]!)).join("\n")
        const error = yield* invalid(parseTool("math/add.py", `${line}\n${without}`))
        assert.include(error.issue, issue)
        assert.deepStrictEqual([error.line, error.column], [1, 1], line)
      }
    }))

  it.effect("every tool but a primitive names its executor", () =>
    Effect.gen(function*() {
      const error = yield* invalid(parseTool("a.py", "__tool_type__ = \"python\"\n"))
      assert.include(error.issue, "no executor")
      const primitive = yield* parseTool("a.py", "__tool_type__ = \"primitive\"\n__executor_id__ = None\n")
      assert.isUndefined(primitive.executorId)
      yield* invalid(parseTool("a.py", "__tool_type__ = \"primitive\"\n__executor_id__ = \"x\"\n"))
      yield* invalid(parseTool("a.py", "__tool_type__ = \"python\"\n__executor_id__ = None\n"))
    }))
})

describe("a Python script without metadata", () => {
  it.effect("is a tool of version 0.0.0 whose schema comes from literal argparse calls", () =>
    Effect.gen(function*() {
      const tool = yield* parseTool(
        "old/greet.py",
        `#!/usr/bin/env python3
'''Greet somebody.'''
import argparse
CONFIG = load()
parser = argparse.ArgumentParser()
parser.add_argument("-n", "--name", required=True, help="whom")
parser.add_argument("--times", type=int, default=2, choices=[1, 2, 3])
group = parser.add_mutually_exclusive_group()
group.add_argument("--loud", action="store_true")
parser.add_argument("--dry-run", action="store_false", dest="dry")
parser.add_argument("--to", nargs="+", type=float)
parser.add_argument("file")
parser.add_argument(computed)
parser.add_argument("--path", type=Path, default=HOME)
`
      )
      assert.deepInclude(tool, {
        version: "0.0.0",
        toolType: "python",
        description: "Greet somebody.",
        legacy: true,
        config: { options: { to: { as: "words" }, file: { as: "positional" } } },
        entrypoint: "greet.py"
      })
      assert.strictEqual(tool.executorId, "python_runtime")
      assert.deepStrictEqual(tool.parameters, {
        type: "object",
        properties: {
          name: { type: "string", not: { const: "--" }, description: "whom" },
          times: { type: "integer", enum: [1, 2, 3], default: 2 },
          loud: { type: "boolean" },
          "dry-run": { type: "boolean" },
          to: { type: "array", items: { type: "number" }, minItems: 1 },
          file: { type: "string", not: { const: "--" } },
          path: { type: "string", not: { const: "--" } }
        },
        required: ["name", "file"]
      })
    }))

  it.effect("takes nothing where it uses no argparse, and keeps its version", () =>
    Effect.gen(function*() {
      const tool = yield* parseTool("greet.py", "__version__ = \"1.2.3\"\nprint(1)\n")
      assert.strictEqual(tool.version, "1.2.3")
      assert.deepStrictEqual(tool.parameters, { type: "object", properties: {} })
    }))
})

describe("hostile Python", () => {
  it.effect("deep, large and broken files end in an answer", () =>
    Effect.gen(function*() {
      const deep = yield* invalid(add(`CONFIG = {"a": ${"[".repeat(100)}${"]".repeat(100)}}`))
      assert.include(deep.issue, "64 levels")
      yield* invalid(add(`CONFIG = {"a": ${"[".repeat(50_000)}${"]".repeat(50_000)}}`))
      const many = yield* invalid(add(`CONFIG = {"a": [${"1,".repeat(60_000)}]}`))
      assert.include(many.issue, "50000 values")
      for (
        const unit of ["(", "[", "{", "\"", "'''", "f\"{", "\\\n", "if x:\n ", "x=", "a.", "@", "lambda:", "-", "not "]
      ) {
        yield* Effect.result(parseTool("a.py", unit.repeat(Math.floor(100_000 / unit.length))))
      }
    }), 30_000)
})
