// Scripts as people have them: each is signed and run by the kernel with a real Python, and its own argparse says what
// it got. What cannot be passed is refused when it is signed, with its line.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { explain } from "../../src/programs/explain.ts"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { checkFiles, invalid } from "../layers/format/parsing.ts"
import { caller } from "../layers/proxy/calls.ts"
import { describeWith } from "../support/realParts.ts"
import { accept, kernelOf, realProject } from "../support/realProject.ts"

const argparse = (body: string, parse = "p.parse_args()", made = "argparse.ArgumentParser()") =>
  `"""A script."""
__version__ = "1.0.0"
import argparse, json, sys, pathlib
from pathlib import Path
p = ${made}
${body}
args = ${parse}
print(json.dumps(vars(args), default=str))
`

interface Case {
  readonly script: string
  readonly calls: ReadonlyArray<readonly [given: Schema.JsonObject, got: Schema.JsonObject]>
}

const plain = (
  body: string,
  ...calls: ReadonlyArray<readonly [given: Schema.JsonObject, got?: Schema.JsonObject]>
): Case => ({ script: argparse(body), calls: calls.map(([given, got]) => [given, got ?? given]) })

const cases: Readonly<Record<string, Case>> = {
  text: plain("p.add_argument('--name')", [{ name: "-x" }], [{ name: "" }], [{ name: "a b=c\nd @é" }], [{}, {
    name: null
  }]),
  number: plain("p.add_argument('--n', type=int); p.add_argument('--x', type=float)", [{ n: -3, x: -1e-7 }], [{
    n: 1e21,
    x: 2.5
  }]),
  aliases: plain("p.add_argument('-v', '--verbose', action='store_true')", [{ verbose: true }], [{ verbose: false }]),
  short: plain("p.add_argument('-o'); p.add_argument('-q', action='store_true')", [{ o: "-", q: true }], [{
    o: "",
    q: false
  }]),
  nargs_plus: plain("p.add_argument('--names', nargs='+')", [{ names: ["a", "b c", "", "é\n", "@x", "a=b"] }], [{
    names: ["one"]
  }]),
  nargs_star: plain("p.add_argument('--names', nargs='*')", [{ names: [] }], [{ names: ["a", "b"] }]),
  nargs_number: plain("p.add_argument('--size', nargs=2, type=int)", [{ size: [3, -4] }]),
  nargs_one: plain("p.add_argument('--size', nargs=1)", [{ size: ["x"] }]),
  nargs_floats: plain("p.add_argument('--at', nargs='+', type=float)", [{ at: [-1.5, -1e-9, -1e21, 0.25] }]),
  nargs_optional: plain(
    "p.add_argument('--log', nargs='?', const='all', default='none')",
    [{ log: "-x" }],
    [{ log: true }, { log: "all" }],
    [{}, { log: "none" }]
  ),
  nargs_optional_number: plain("p.add_argument('--log', nargs='?', const=9, type=int)", [{ log: 3 }], [
    { log: true },
    { log: 9 }
  ]),
  nargs_optional_bare: plain("p.add_argument('--log', nargs='?')", [{ log: "x" }]),
  nargs_constant: plain("p.add_argument('--names', nargs=argparse.ONE_OR_MORE)", [{ names: ["a", "b"] }]),
  append: plain("p.add_argument('--tag', action='append')", [{ tag: ["-a", "--x", "@b", ""] }]),
  append_short: plain("p.add_argument('-t', action='append', type=int)", [{ t: [1, -2] }]),
  append_lists: plain("p.add_argument('--pair', action='append', nargs=2)", [{ pair: [["a", "b"], ["c", "d"]] }]),
  extend: plain("p.add_argument('--tag', action='extend', nargs='+')", [{ tag: ["-a", "b"] }]),
  count: plain("p.add_argument('-v', '--verbose', action='count', default=0)", [{ verbose: 3 }], [{ verbose: 0 }], [
    {},
    { verbose: 0 }
  ]),
  count_short: plain("p.add_argument('-v', action='count')", [{ v: 2 }], [{}, { v: null }]),
  on_off: plain(
    "p.add_argument('--cache', action=argparse.BooleanOptionalAction, default=True)",
    [{ cache: true }],
    [{ cache: false }],
    [{}, { cache: true }]
  ),
  store_false: plain("p.add_argument('--no-cache', dest='cache', action='store_false')", [{ "no-cache": true }, {
    cache: false
  }], [{}, { cache: true }]),
  store_const: plain("p.add_argument('--fast', action='store_const', const=9)", [{ fast: true }, { fast: 9 }], [
    {},
    { fast: null }
  ]),
  append_const: plain(
    "p.add_argument('--a', dest='all', action='append_const', const=1); p.add_argument('--b', dest='all', action='append_const', const=2)",
    [{ a: true, b: true }, { all: [1, 2] }]
  ),
  version: plain("p.add_argument('--version', action='version', version='1'); p.add_argument('--x')", [{ x: "1" }]),
  positional: plain("p.add_argument('file')", [{ file: "-x" }], [{ file: "" }], [{ file: "a b\n=@é" }]),
  positional_list: plain("p.add_argument('files', nargs='+'); p.add_argument('--x')", [{ files: ["-a", "b"], x: "1" }]),
  positional_star: plain("p.add_argument('files', nargs='*', type=int)", [{ files: [-1, 2] }], [{}, { files: [] }]),
  positional_default: plain("p.add_argument('file', nargs='?', default='-')", [{ file: "a" }], [{}, { file: "-" }]),
  positional_several: plain(
    "p.add_argument('files', nargs='+'); p.add_argument('to'); p.add_argument('--n', type=int)",
    [{
      n: 1,
      to: "z",
      files: ["a", "b"]
    }]
  ),
  positional_optionals: plain(
    "p.add_argument('a', nargs='?'); p.add_argument('b', nargs='?')",
    [{ a: "1" }, { a: "1", b: null }],
    [{ b: "2", a: "1" }]
  ),
  positional_and_list: plain("p.add_argument('file'); p.add_argument('--names', nargs='+')", [{
    names: ["a", "b"],
    file: "c"
  }]),
  choices: plain(
    "p.add_argument('--n', type=int, choices=[1, 2]); p.add_argument('--c', choices=('r', 'g'), default='r')",
    [
      { n: 2, c: "g" }
    ],
    [{}, { n: null, c: "r" }]
  ),
  choices_range: plain(
    "p.add_argument('--n', type=int, choices=range(1, 6), default=2); p.add_argument('--m', type=int, choices=list(range(0, -5, -2))); p.add_argument('--l', nargs='+', type=int, choices=range(3)); p.add_argument('--big', type=int, choices=range(10, 1000)); p.add_argument('--f', type=float, choices=range(2))",
    [{ n: 5, m: -4, l: [0, 2], big: 999, f: 1 }, { n: 5, m: -4, l: [0, 2], big: 999, f: 1 }]
  ),
  choices_list: plain("p.add_argument('--c', nargs='+', choices=['r', '-g'])", [{ c: ["r"] }]),
  dest: plain("p.add_argument('--output-file', dest='out')", [{ "output-file": "x" }, { out: "x" }]),
  dashes: plain("p.add_argument('--dry-run', action='store_true')", [{ "dry-run": true }, { dry_run: true }]),
  defaults: plain(
    "p.add_argument('--n', type=int, default=5); p.add_argument('--s', default=5); p.add_argument('--l', nargs='+', default=['x']); p.add_argument('--f', type=float, default='1.5'); p.add_argument('--b', action='store_true', default=False)",
    [{}, { n: 5, s: 5, l: ["x"], f: 1.5, b: false }]
  ),
  path: plain(
    "p.add_argument('--a', type=Path); p.add_argument('b', type=pathlib.Path, default=Path('x'), nargs='?')",
    [
      { a: "/tmp/x y", b: "-z" }
    ]
  ),
  json_values: plain("p.add_argument('--data', type=json.loads)", [{ data: { a: [1, "x"] } }], [{ data: "text" }], [{
    data: null
  }], [{ data: false }]),
  own_type: plain("def pair(s): return s.split(',')\np.add_argument('--p', type=pair)", [{ p: "a,b" }, {
    p: ["a", "b"]
  }]),
  lambda: plain("p.add_argument('--p', type=lambda s: s.upper())", [{ p: "a" }, { p: "A" }]),
  file_type: plain("p.add_argument('--f', type=argparse.FileType('r'))", [{}, { f: null }]),
  groups: plain(
    "g = p.add_argument_group('more')\ng.add_argument('--a')\ng.add_argument('--b', type=int, default=2)",
    [{ a: "1" }, { a: "1", b: 2 }]
  ),
  exclusive: plain(
    "g = p.add_mutually_exclusive_group()\ng.add_argument('--a', default='x')\ng.add_argument('--b', type=int, default=1)",
    [{ a: "1" }, { a: "1", b: 1 }],
    [{ b: 7 }, { a: "x", b: 7 }]
  ),
  exclusive_required: plain(
    "g = p.add_mutually_exclusive_group(required=True)\ng.add_argument('--a')\ng.add_argument('--b', action='store_true')",
    [{ a: "1" }, { a: "1", b: false }],
    [{ b: true }, { a: null, b: true }]
  ),
  suppressed: plain("p.add_argument('--a', help=argparse.SUPPRESS, default=argparse.SUPPRESS)", [{ a: "1" }], [{}]),
  known_args: {
    script: argparse("p.add_argument('--a')", "p.parse_known_args()[0]"),
    calls: [[{ a: "-x" }, { a: "-x" }]]
  },
  intermixed: {
    script: argparse("p.add_argument('files', nargs='*'); p.add_argument('--a')", "p.parse_intermixed_args()"),
    calls: [[{ a: "1", files: ["b", "c"] }, { a: "1", files: ["b", "c"] }]]
  },
  prefix_chars: {
    script: argparse(
      "p.add_argument('+n'); p.add_argument('++name'); p.add_argument('++all', nargs='+'); p.add_argument('f', nargs='?')",
      "p.parse_args()",
      "argparse.ArgumentParser(prefix_chars='+')"
    ),
    calls: [[{ n: "-1", name: "+x", all: ["a"], f: "+f" }, { n: "-1", name: "+x", all: ["a"], f: "+f" }]]
  },
  from_file: {
    script: argparse(
      "p.add_argument('--a'); p.add_argument('--l', nargs='+')",
      "p.parse_args()",
      "argparse.ArgumentParser(fromfile_prefix_chars='@')"
    ),
    calls: [[{ a: "@/etc/passwd", l: ["x", "y@"] }, { a: "@/etc/passwd", l: ["x", "y@"] }]]
  },
  parents: {
    script: argparse(
      "p.add_argument('--a')\nq = argparse.ArgumentParser(parents=[p])\nq.add_argument('--b', nargs='+')",
      "q.parse_args()",
      "argparse.ArgumentParser(add_help=False)"
    ),
    calls: [[{ a: "1", b: ["2"] }, { a: "1", b: ["2"] }]]
  },
  in_function: {
    script: `"""A script."""
__version__ = "1.0.0"
from argparse import ArgumentParser, BooleanOptionalAction
import json
def build():
    parser = ArgumentParser(description="x")
    parser.add_argument("--on", action=BooleanOptionalAction)
    add_more(parser)
    return parser
def add_more(parser):
    parser.add_argument("rest", nargs="*")
def main(argv=None):
    print(json.dumps(vars(build().parse_args(argv))))
if __name__ == "__main__":
    main()
`,
    calls: [[{ on: false, rest: ["-v"] }, { on: false, rest: ["-v"] }]]
  },
  own_schema: {
    script: `"""A tool that says itself what it takes."""
__version__ = "1.0.0"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {
    "dry_run": {"type": "boolean"}, "tags": {"type": "array", "items": {"type": "string"}},
    "data": {"type": "array"}, "files": {"type": "array", "items": {"type": "string"}}, "output": {"type": "string"},
    "raw": {"type": "string"}}}
import argparse, json
p = argparse.ArgumentParser()
p.add_argument("files", nargs="*")
p.add_argument("--dry-run", action="store_true")
p.add_argument("--tags", nargs="+")
p.add_argument("--data")
p.add_argument("-o", dest="output")
p.add_argument("--raw", type=json.loads)
print(json.dumps(vars(p.parse_args())))
`,
    calls: [[
      { dry_run: true, tags: ["a", "b"], data: [1, { x: 2 }], files: ["-f"], output: "x", raw: "[1]" },
      { dry_run: true, tags: ["a", "b"], data: "[1,{\"x\":2}]", files: ["-f"], output: "x", raw: [1] }
    ]]
  },
  own_options: {
    script: `"""A tool whose config says how it takes its parameters."""
__version__ = "1.0.0"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {
    "a": {"type": "array", "items": {"type": "string"}}, "b": {"type": "array"}, "c": {"type": "array"},
    "d": {"type": "boolean"}, "e": {"type": "boolean"}, "f": {"type": "integer"}}}
CONFIG = {"options": {"b": {"as": "words"}, "c": {"as": "json", "option": "-c"}, "d": {"as": "value"},
    "e": {"as": "on_off"}, "f": {"as": "count", "option": "-f"}}}
import json, sys
print(json.dumps({"argv": sys.argv[1:]}))
`,
    calls: [[{ a: ["x", "-y"], b: [1, -2], c: [1, "z"], d: false, e: false, f: 2 }, {
      argv: ["--a=x", "--a=-y", "--b", "1", "-2", "-c", "[1,\"z\"]", "--d=false", "--no-e", "-f", "-f"]
    }]]
  },
  subcommand: {
    script: `"""A tool for one subcommand."""
__version__ = "1.0.0"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {"target": {"type": "string"}, "jobs": {"type": "integer"}}}
CONFIG = {"args": ["build"]}
import argparse, json
p = argparse.ArgumentParser()
s = p.add_subparsers(dest="command")
b = s.add_parser("build")
b.add_argument("target")
b.add_argument("--jobs", type=int)
print(json.dumps(vars(p.parse_args())))
`,
    calls: [[{ target: "-x", jobs: 2 }, { command: "build", target: "-x", jobs: 2 }]]
  },
  browser: {
    script: `"""A script that drives a browser."""
__version__ = "1.0.0"
import argparse, json
class ChromeOptions:
    def add_argument(self, text): pass
options = ChromeOptions()
options.add_argument("--headless")
p = argparse.ArgumentParser()
p.add_argument("--url", required=True)
print(json.dumps(vars(p.parse_args())))
`,
    calls: [[{ url: "https://a" }, { url: "https://a" }]]
  }
}

/** Scripts that no parameters can reach: what is refused, where, and how to write it. */
const refused: Readonly<Record<string, readonly [body: string, line: number, issue: string, hint: string]>> = {
  bool: ["p.add_argument('--a')\np.add_argument('--on', type=bool)", 7, "type=bool", "BooleanOptionalAction"],
  bool_default: ["p.add_argument('--on', type=bool, default=True)", 6, "type=bool", "store_true"],
  remainder: ["p.add_argument('rest', nargs=argparse.REMAINDER)", 6, "all remaining", "nargs=\"*\""],
  remainder_text: ["p.add_argument('rest', nargs='...')", 6, "all remaining", "nargs=\"*\""],
  computed_nargs: ["p.add_argument('--n', nargs=len(sys.argv))", 6, "computed", "nargs"],
  computed_name: ["for n in 'ab':\n    p.add_argument(f'--{n}')", 7, "computed", "INPUT_SCHEMA"],
  variable_name: ["N = '--n'\np.add_argument(N)", 7, "computed", "INPUT_SCHEMA"],
  unpacked: ["p.add_argument('--n', **{})", 6, "computed", "INPUT_SCHEMA"],
  own_action: ["class A(argparse.Action): pass\np.add_argument('--n', action=A)", 7, "action", "INPUT_SCHEMA"],
  subcommands: ["s = p.add_subparsers()\nb = s.add_parser('b')\nb.add_argument('--x')", 6, "subcommands", "CONFIG"],
  two_parsers: ["p.add_argument('--a')\nq = argparse.ArgumentParser()", 7, "more than one parser", "INPUT_SCHEMA"],
  two_lists: ["p.add_argument('a', nargs='+')\np.add_argument('b', nargs='*')", 7, "ends", "option"],
  list_then_optional: ["p.add_argument('a', nargs='*')\np.add_argument('b', nargs='?')", 7, "ends", "option"],
  negative: ["p.add_argument('-1', dest='one')", 6, "negative number", "INPUT_SCHEMA"],
  odd_name: ["p.add_argument('--ein.zwei')", 6, "name", "INPUT_SCHEMA"],
  twice: ["p.add_argument('--a-b')\np.add_argument('--a_b')", 7, "a_b", "Rename"],
  letters: ["p.add_argument('--a', action='extend')", 6, "extend", "nargs"],
  append_optional: ["p.add_argument('--a', action='append', nargs='?')", 6, "append", "nargs"],
  positional_append: ["p.add_argument('a', action='append')", 6, "positional", "INPUT_SCHEMA"],
  positional_json: ["p.add_argument('a', type=json.loads)", 6, "JSON", "INPUT_SCHEMA"],
  one_dash_on_off: ["p.add_argument('-a', action=argparse.BooleanOptionalAction)", 6, "--no-", "--name"]
}

describeWith(["python3"], "scripts as people have them", () => {
  const names = Object.keys(cases)
  for (let from = 0; from < names.length; from += 10) {
    const some = names.slice(from, from + 10)
    it.live(`get from argparse what was passed: ${some.join(", ")}`, () =>
      Effect.gen(function*() {
        const project = yield* realProject(
          Object.fromEntries(some.map((name) => [`.ai/tools/${name}.py`, cases[name]!.script]))
        )
        yield* Effect.gen(function*() {
          yield* accept
          const proxy = yield* ToolProxy
          for (const item of some) {
            for (const [parameters, got] of cases[item]!.calls) {
              const { data } = yield* proxy.call({ callId: "call", caller, item, parameters, dryRun: false })
              assert.deepStrictEqual(JSON.parse(String(data)), got, `${item} ${JSON.stringify(parameters)}`)
            }
            assert.isTrue((yield* explain({ id: item }, undefined, "explain", caller)).ready, item)
          }
        }).pipe(Effect.provide(kernelOf(project)))
      }), 120_000)
  }
})

const folderManifest = `version: "1.0.0"
tool_type: python
executor_id: python_runtime
entrypoint: main.py
`

describeWith(["python3"], "a tool that declares no parameters", () => {
  it.live(
    "has those of its argparse calls: a file with metadata, and a folder by its entrypoint",
    () =>
      Effect.gen(function*() {
        const script = argparse("p.add_argument('--t', required=True); p.add_argument('--tag', action='append')")
        const project = yield* realProject({
          ".ai/tools/file.py": `__executor_id__ = "python_runtime"\n__tool_type__ = "python"\n${script}`,
          ".ai/tools/folder/tool.yaml": folderManifest,
          ".ai/tools/folder/main.py": script.replace("import argparse", "import helpers, argparse"),
          ".ai/tools/folder/helpers.py": "x = 1\n"
        })
        yield* Effect.gen(function*() {
          yield* accept
          const proxy = yield* ToolProxy
          for (const item of ["file", "folder"]) {
            const parameters = { t: "-x", tag: ["a", "b"] }
            const { data } = yield* proxy.call({ callId: "call", caller, item, parameters, dryRun: false })
            assert.deepStrictEqual(JSON.parse(String(data)), parameters, item)
            const missing = yield* Effect.flip(proxy.call({ callId: "c", caller, item, parameters: {}, dryRun: false }))
            assert.include(missing.message, "t", item)
          }
        }).pipe(Effect.provide(kernelOf(project)))
      }),
    60_000
  )

  it.live("is refused where they cannot be read, and not where it declares them", () =>
    Effect.gen(function*() {
      const script = argparse("N = '--n'\np.add_argument(N)")
      const files = { "tools/folder/tool.yaml": folderManifest, "tools/folder/main.py": script }
      assert.include((yield* invalid(checkFiles(files))).issue, "computed")
      yield* checkFiles({ ...files, "tools/folder/tool.yaml": `${folderManifest}input_schema: {type: object}\n` })
    }))
})

describe("scripts that no parameters can reach", () => {
  it.live("are refused when they are signed, with the line and how to write it", () =>
    Effect.forEach(Object.entries(refused), ([name, [body, line, issue, hint]]) =>
      Effect.gen(function*() {
        const error = yield* invalid(checkFiles({ [`tools/${name}.py`]: argparse(body) }))
        assert.strictEqual(error.line, line, name)
        assert.include(error.issue, issue, name)
        assert.include(error.hint, hint, name)
      })))

  it.live("are signed once they say themselves what they take", () =>
    Effect.forEach(Object.values(refused), ([body]) =>
      checkFiles({
        "tools/a.py": `INPUT_SCHEMA = {"type": "object", "properties": {}}\n${argparse(body)}`
      })))
})
