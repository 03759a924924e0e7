// Scripts whose arguments are no plain row of add_argument calls: each is signed and gets what it is passed, or is
// refused when it is signed, at this line and for this reason.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { explain } from "../../../../src/programs/explain.ts"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

type Files = Readonly<Record<string, string>>

/** What a call with these parameters prints. */
type Calls = ReadonlyArray<readonly [given: Schema.JsonObject, got: Schema.Json]>

const py = (body: string): Files => ({ "x.py": `__version__ = "1.0.0"\nimport argparse, json, sys, os\n${body}\n` })
const made = "p = argparse.ArgumentParser()\n"
const print = "\nprint(json.dumps(vars(p.parse_args())))"
const bare = (body: string): Files => ({ "x.py": `__version__ = "1.0.0"\n${body}\n` })
const mjs = (body: string): Files => ({
  "x.mjs": `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n${body}\n`
})
const sh = (body: string, declared = ""): Files => ({
  "x.sh": `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n${declared}\n${body}\n`
})
const file = "#   parameters: [{name: file, type: string}]"

const signed: Readonly<Record<string, readonly [files: Files, ...calls: Calls]>> = {
  alias: [py(`${made}add = p.add_argument\nadd("--x")\nadd("--n", type=int)${print}`), [{ x: "1", n: 2 }, {
    x: "1",
    n: 2
  }]],
  alias_of_group: [
    py(`${made}g = p.add_argument_group("g")\nadd = g.add_argument\nadd("f", nargs="*")${print}`),
    [{ f: ["-a"] }, { f: ["-a"] }]
  ],
  chained: [py(`${made}p.add_argument_group("g").add_argument("--x")${print}`), [{ x: "-1" }, { x: "-1" }]],
  other_class: [
    py(
      `class Bag:\n    def add_argument(self, *a): pass\nb = Bag()\nb.add_argument("--no")\n${made}p.add_argument("--x")${print}`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  other_annotated: [
    py(
      `class Bag:\n    def add_argument(self, *a): pass\ndef fill(b: Bag):\n    b.add_argument("--no")\nfill(Bag())\n${made}p.add_argument("--x")${print}`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  dead: [py(`${made}if False:\n    p.add_argument("--no")\np.add_argument("--x")${print}`), [{ x: "1" }, { x: "1" }]],
  dead_function: [
    py(`${made}def never():\n    p.add_argument("--no", required=True)\np.add_argument("--x")${print}`),
    [{ x: "1" }, { x: "1" }]
  ],
  behind_return: [
    py(
      `def build():\n    p = argparse.ArgumentParser()\n    p.add_argument("--x")\n    return p\n    p.add_argument("--no")\nprint(json.dumps(vars(build().parse_args())))`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  main_guard: [
    py(
      `def main(argv=None):\n    ${made}    p.add_argument("--x")\n    a = p.parse_args(argv)\n    print(json.dumps(vars(a)))\n    return 0\nif __name__ == "__main__":\n    sys.exit(main())`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  main_argv: [
    py(
      `def main(argv):\n    ${made}    p.add_argument("--x")\n    print(json.dumps(vars(p.parse_args(argv))))\nif __name__ == "__main__":\n    main(sys.argv[1:])`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  argv_or: [
    py(
      `def main(argv: list[str] | None = None) -> None:\n    argv = sys.argv[1:] if argv is None else argv\n    ${made}    p.add_argument("--x")\n    print(json.dumps(vars(p.parse_args(args=argv))))\nmain()`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  helper: [
    py(`def common(parser):\n    parser.add_argument("--x")\n    return parser\n${made}common(p)${print}`),
    [{ x: "1" }, { x: "1" }]
  ],
  subclass: [
    py(
      `class P(argparse.ArgumentParser):\n    def __init__(self):\n        super().__init__()\n        self.add_argument("--x")\n    def error(self, message):\n        sys.exit(message)\np = P()${print}`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  attribute: [
    py(
      `class App:\n    def __init__(self):\n        self.parser = argparse.ArgumentParser()\n        self.parser.add_argument("--x")\n    def run(self):\n        print(json.dumps(vars(self.parser.parse_args())))\nApp().run()`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  renamed: [
    bare(`import json\nfrom argparse import ArgumentParser as AP\np = AP()\np.add_argument("--x")${print}`),
    [{ x: "1" }, { x: "1" }]
  ],
  argument_error: [
    py(
      `${made}x = p.add_argument("--x")\na = p.parse_args()\nif a.x == "no":\n    raise argparse.ArgumentError(x, "bad")\nprint(json.dumps(vars(a)))`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  completer: [py(`${made}p.add_argument("--x").completer = None${print}`), [{ x: "1" }, { x: "1" }]],
  known_unused: [
    py(`${made}p.add_argument("--x")\na, _ = p.parse_known_args()\nprint(json.dumps(vars(a)))`),
    [{ x: "1" }, { x: "1" }]
  ],
  set_defaults: [
    py(`${made}p.add_argument("--n", type=int, default=1)\np.set_defaults(n=7)${print}`),
    [{}, { n: 7 }],
    [{ n: 2 }, { n: 2 }]
  ],
  help_when_bare: [
    py(
      `${made}p.add_argument("--x", required=True)\nif len(sys.argv) == 1:\n    p.print_help()\n    sys.exit(1)${print}`
    ),
    [{ x: "1" }, { x: "1" }]
  ],
  argv_placed: [
    bare(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {"file": {"type": "string"}}}\nCONFIG = {"args": ["{file}"]}\nimport sys, json\nprint(json.dumps(sys.argv[1:]))`
    ),
    [{ file: "a b" }, ["a b"]],
    [{}, []]
  ],
  known_declared: [
    py(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {"y": {"type": "string"}}}\n${made}p.add_argument("--x")\nprint(json.dumps(p.parse_known_args()[1]))`
    ),
    [{ y: "1" }, ["--y=1"]]
  ],
  prefix_declared: [
    py(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {"verb": {"type": "boolean"}}}\n${made}p.add_argument("--verbose", action="store_true")${print}`
    ),
    [{ verb: true }, { verbose: true }]
  ],
  environment_declared: [
    bare(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {"file": {"type": "string"}}}\nCONFIG = {"input": "env"}\nimport os, json\nprint(json.dumps(os.environ["KIWI_PARAM_FILE"]))`
    ),
    [{ file: "a b" }, "a b"]
  ],
  own_name: [bare("import sys, json\nprint(json.dumps(len(sys.argv[0]) > 0))"), [{}, true]],
  node_main: [
    mjs(
      `import { pathToFileURL } from "node:url"\nif (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(1)`
    ),
    [{}, 1]
  ],
  node_declared: [
    mjs(
      `import { parseArgs } from "node:util"\nexport const INPUT_SCHEMA = { type: "object", properties: { files: { type: "array" }, n: { type: "integer" } } }\nexport const CONFIG = { options: { files: { as: "positional" } } }\nconst { positionals, values } = parseArgs({ allowPositionals: true, options: { n: { type: "string" } } })\nconsole.log(JSON.stringify([positionals, values]))`
    ),
    [{ files: ["-a", "b"], n: 3 }, [["-a", "b"], { n: "3" }]]
  ],
  bash_variable: [sh(`printf '"%s"' "$KIWI_PARAM_FILE"`, file), [{ file: "a b" }, "a b"]],
  bash_function: [
    sh(`log() { printf '"%s' "$1"; case "$2" in a) ;; esac; }\nlog "$KIWI_PARAM_FILE" b\necho '"'`, file),
    [{ file: "x" }, "x"]
  ],
  bash_main: [sh(`main() { printf '"%s"' "$KIWI_PARAM_FILE"; }\nmain "$@"`, file), [{ file: "x" }, "x"]],
  bash_awk: [sh(`echo "$(echo a b | awk '{ print "\\"" $2 "\\"" }')" # not $1`), [{}, "b"]],
  bash_document: [sh(`cat <<'E'\n"$1 is not read"\nE`), [{}, "$1 is not read"]],
  bash_set: [sh(`set -- one two\nprintf '"%s"' "$2"`), [{}, "two"]],
  bash_options: [
    sh(
      `[ "$1" = -- ] && shift\nprintf '"%s"' "$1"`,
      `${file}\n#   config: {input: args, options: {file: {as: positional}}}`
    ),
    [{ file: "-x y" }, "-x y"]
  ],
  bash_placed: [sh(`printf '"%s"' "$1"`, `${file}\n#   config: {args: ["{file}"]}`), [{ file: "x y" }, "x y"]],
  bash_constant: [sh(`printf '"%s"' "$1"`, `#   config: {args: [build]}`), [{}, "build"]]
}

/** `item`: the file that has the line, where it is not the item's own. */
const refused: Readonly<
  Record<string, readonly [files: Files, line: number, issue: string, hint?: string, item?: string]>
> = {
  getattr: [py(`${made}getattr(p, "add_argument")("--x")${print}`), 4, "passed on", "INPUT_SCHEMA"],
  partial: [
    py(`import functools\n${made}add = functools.partial(p.add_argument, required=True)\nadd("--x")${print}`),
    5,
    "passed on"
  ],
  mapped: [py(`${made}list(map(p.add_argument, ["--x", "--y"]))${print}`), 4, "passed on"],
  alias_twice: [py(`${made}add = p.add_argument\nadd = print\nadd("--x")${print}`), 4, "passed on"],
  unknown_class: [
    py(`from mine import Parser\np = Parser()\np.add_argument("--x")\nq = argparse.ArgumentParser()\nq.parse_args()`),
    5,
    "cannot tell whether this is a parser"
  ],
  condition: [py(`${made}if sys.platform == "win32":\n    p.add_argument("--x")${print}`), 5, "under a condition"],
  otherwise: [
    py(`${made}if os.sep == "/":\n    pass\nelse:\n    p.add_argument("--x")${print}`),
    7,
    "under a condition"
  ],
  except: [
    py(`${made}try:\n    import yaml_\nexcept ImportError:\n    p.add_argument("--x")${print}`),
    7,
    "under a condition"
  ],
  loop: [py(`${made}for _ in range(1):\n    p.add_argument("--x")${print}`), 5, "in a loop"],
  conditional_helper: [
    py(`def more(q):\n    q.add_argument("--x")\n${made}if os.environ.get("MORE"):\n    more(p)${print}`),
    4,
    "under a condition"
  ],
  changed: [py(`${made}action = p.add_argument("--x")\naction.nargs = "+"${print}`), 4, "changed after it was added"],
  changed_chain: [py(`${made}p.add_argument("--x").nargs = "+"${print}`), 4, "changed after it was added"],
  changed_setattr: [py(`${made}a = p.add_argument("--x")\nsetattr(a, "nargs", "+")${print}`), 4, "changed after"],
  changed_list: [py(`${made}a = [p.add_argument("--x")]\na[0].nargs = 2${print}`), 4, "changed after"],
  changed_inside: [py(`${made}p.add_argument("--x")\np._actions[1].nargs = "+"${print}`), 5, "changed from within"],
  parse_empty: [py(`${made}p.add_argument("--x")\nprint(p.parse_args([]))`), 5, "other arguments", "parse_args()"],
  parse_later: [py(`${made}p.add_argument("--x")\nprint(p.parse_args(sys.argv[2:]))`), 5, "other arguments"],
  parse_named: [py(`${made}p.add_argument("--x")\nprint(p.parse_args(args=["--x", "1"]))`), 5, "other arguments"],
  parse_split: [py(`import shlex\n${made}p.add_argument("--x")\nprint(p.parse_args(shlex.split("a")))`), 6, "other"],
  parse_variable: [
    py(`${made}p.add_argument("--x")\nrest = ["--x"]\nprint(p.parse_args(rest))`),
    6,
    "other arguments"
  ],
  parse_passed: [
    py(`def main(argv):\n    ${made}    p.add_argument("--x")\n    p.parse_args(argv)\nmain(["--x", "1"])`),
    6,
    "other arguments"
  ],
  parse_never: [py(`${made}p.add_argument("--x")\np.print_help()`), 3, "nothing in it calls parse_args"],
  argv_popped: [py(`${made}p.add_argument("--x")\nname = sys.argv.pop(1)${print}`), 5, "changes sys.argv"],
  argv_deleted: [py(`${made}p.add_argument("--x")\ndel sys.argv[1]${print}`), 5, "changes sys.argv"],
  argv_set: [py(`${made}p.add_argument("--x")\nsys.argv = ["x"]${print}`), 5, "changes sys.argv"],
  order: [
    py(`def second(q):\n    q.add_argument("b")\n${made}p.add_argument("a")\nsecond(p)${print}`),
    6,
    "order of the positional"
  ],
  newer_syntax: [
    py(`${made}x = 1.; p.add_argument("--x")${print}`),
    4,
    "does not know the syntax"
  ],
  argv: [bare("import sys\nprint(sys.argv[1])"), 3, "sys.argv", "CONFIG = {\"args\": [\"{file}\"]}"],
  argv_name: [bare("from sys import argv\nprint(argv[1:])"), 3, "argv", "INPUT_SCHEMA"],
  argv_length: [bare("import sys\nif len(sys.argv) < 2: sys.exit(1)"), 3, "sys.argv"],
  optparse: [bare("from optparse import OptionParser\nOptionParser().parse_args()"), 2, "optparse", "INPUT_SCHEMA"],
  optparse_module: [bare("import optparse\np = optparse.OptionParser()"), 3, "optparse.OptionParser"],
  getopt: [bare("import getopt as g, sys\ng.getopt([], 'a')"), 3, "g.getopt"],
  click: [
    bare("import click\n\n@click.command()\n@click.option('--x')\ndef main(x): print(x)\nmain()"),
    4,
    "click.command"
  ],
  typer: [bare("import typer\ndef main(x: str): print(x)\ntyper.run(main)"), 4, "typer.run"],
  typer_app: [bare("import typer\napp = typer.Typer()"), 3, "typer.Typer"],
  docopt: [bare("from docopt import docopt\nprint(docopt('Usage: x FILE'))"), 2, "docopt"],
  fire: [bare("import fire\nfire.Fire(lambda name: name)"), 3, "fire.Fire"],
  absl: [bare("from absl import app, flags\napp.run(print)"), 2, "absl"],
  declared_not_there: [
    py(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {"y": {"type": "string"}}}\n${made}p.add_argument("--x")${print}`
    ),
    5,
    "the parameter y",
    "--y"
  ],
  asked_not_declared: [
    py(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {}}\n${made}p.add_argument("--x", required=True)${print}`
    ),
    5,
    "requires the argument x"
  ],
  python_environment: [
    py(
      `__executor_id__ = "python_runtime"\nINPUT_SCHEMA = {"type": "object", "properties": {"y": {"type": "string"}}}\nprint(os.environ["KIWI_PARAM_Y"])`
    ),
    5,
    "arrive as arguments",
    "input: env"
  ],
  node_argv: [mjs("console.log(process.argv[2])"), 3, "process.argv", "INPUT_SCHEMA"],
  node_slice: [mjs("const [file] = process.argv.slice(2)"), 3, "process.argv"],
  node_named: [mjs(`import { argv } from "node:process"\nconsole.log(argv[2])`), 4, "argv"],
  node_taken: [mjs("const { argv } = process"), 3, "process.argv"],
  node_parse: [
    mjs(`import { parseArgs } from "node:util"\nconst { positionals } = parseArgs({ allowPositionals: true })`),
    4,
    "parseArgs",
    "positional"
  ],
  node_minimist: [mjs(`import minimist from "minimist"`), 3, "minimist"],
  node_commander: [mjs(`const { program } = await import("commander")`), 3, "commander"],
  node_environment: [mjs("console.log(process.env.KIWI_PARAM_X)"), 3, "KIWI_PARAM_"],
  bash_one: [sh("cat \"$1\""), 6, "$1", "KIWI_PARAM_FILE"],
  bash_default: [sh("cat \"${1:?what}\""), 6, "$1"],
  bash_all: [sh("git log \"$@\""), 6, "$@"],
  bash_count: [sh("if [ $# -eq 0 ]; then exit 1; fi"), 6, "$#"],
  bash_loop: [sh("for f in \"$@\"; do cat \"$f\"; done"), 6, "$@"],
  bash_getopts: [sh("while getopts 'a:' o; do :; done"), 6, "getopts"],
  bash_shift: [sh("shift"), 6, "shift"],
  bash_main: [sh("main() { cat \"$1\"; }\nmain \"$@\""), 7, "$@"],
  bash_within: [sh("echo \"$(cat \"$1\")\""), 6, "$1"],
  bash_document: [sh("cat <<E\n$1\nE"), 7, "$1"],
  bash_declared: [sh("cat \"$1\"", file), 6, "arrive as KIWI_PARAM_", "args"],
  bash_undeclared: [sh("cat \"$KIWI_PARAM_PATH\"", file), 6, "no such parameter", "name: path"],
  bash_input: [sh("cat \"$KIWI_PARAM_FILE\"", `${file}\n#   config: {input: args}`), 7, "input: args", "input: env"],
  folder_argv: [
    {
      "f/tool.yaml": `version: "1.0.0"\ntool_type: python\nexecutor_id: python_runtime\nentrypoint: main.py\n`,
      "f/main.py": "import sys\n\nprint(sys.argv[1])\n"
    },
    3,
    "sys.argv",
    "tool.yaml",
    "project:tools/f/main.py"
  ],
  folder_imported: [
    {
      "f/tool.yaml": `version: "1.0.0"\ntool_type: python\nexecutor_id: python_runtime\nentrypoint: __main__.py\n`,
      "f/__main__.py": "from cli import main\nmain()\n",
      "f/cli.py":
        "import argparse\ndef main():\n    p = argparse.ArgumentParser()\n    p.add_argument('--on', type=bool)\n    p.parse_args()\n"
    },
    4,
    "type=bool",
    "BooleanOptionalAction",
    "project:tools/f/cli.py"
  ],
  folder_bash: [
    {
      "f/tool.yaml": `version: "1.0.0"\ntool_type: bash\nexecutor_id: bash_runtime\nentrypoint: run.sh\n`,
      "f/run.sh": "#!/usr/bin/env bash\ncat \"$1\"\n"
    },
    2,
    "$1",
    "input_schema",
    "project:tools/f/run.sh"
  ]
}

const named = (files: Files, name: string): Files =>
  Object.fromEntries(
    Object.entries(files).map(([path, text]) => [`.ai/tools/${path.replace(/^x\./, `${name}.`)}`, text])
  )

describeWith(["python3"], "scripts that read their arguments in ways of their own", () => {
  const names = Object.keys(signed)
  for (let from = 0; from < names.length; from += 12) {
    const some = names.slice(from, from + 12)
    it.live(`are signed, get what is passed, and can run: ${some.join(", ")}`, () =>
      Effect.gen(function*() {
        const project = yield* realProject(
          Object.assign({}, ...some.map((name) => named(signed[name]![0], name))) as Files
        )
        yield* Effect.gen(function*() {
          yield* accept
          const proxy = yield* ToolProxy
          const wrong: Array<string> = []
          for (const item of some) {
            const [, ...calls] = signed[item]!
            for (const [parameters, got] of calls) {
              const printed = yield* Effect.match(
                proxy.call({ callId: "call", caller, item, parameters, dryRun: false }),
                { onFailure: ({ message }) => message, onSuccess: ({ data }) => String(data) }
              )
              if (printed.trim().replace(/([:,]) /g, "$1") !== JSON.stringify(got)) {
                wrong.push(`${item} ${JSON.stringify(parameters)}: ${printed}`)
              }
            }
            const { ready, warnings = [] } = yield* explain({ id: item }, undefined, "explain", caller)
            if (!ready) wrong.push(`${item} is not ready`)
            if (warnings.some(({ code }) => code === "ARGUMENTS_UNSURE")) wrong.push(`${item}: ${warnings[0]?.message}`)
          }
          assert.deepStrictEqual(wrong, [])
        }).pipe(Effect.provide(kernelOf(project)))
      }), 120_000)
  }
})

describe("what argparse and its neighbours need", () => {
  const own = (code: string) =>
    Effect.map(
      checkFiles({
        "tools/a.py": `"""T"""\n__version__ = "1.0.0"\nimport argparse, json\n${code}\n`
      }),
      (item) => item._tag === "tool" ? item : assert.fail("no tool")
    )

  it.live("choices=range is in the schema, and choices that no text equals are refused", () =>
    Effect.gen(function*() {
      const ranges: ReadonlyArray<readonly [choices: string, schema: Record<string, unknown>]> = [
        ["range(1, 6)", { enum: [1, 2, 3, 4, 5] }],
        ["range(3)", { enum: [0, 1, 2] }],
        ["range(0, 10, 5)", { enum: [0, 5] }],
        ["range(3, 0, -1)", { enum: [3, 2, 1] }],
        ["range(-2, 1)", { enum: [-2, -1, 0] }],
        ["list(range(2))", { enum: [0, 1] }],
        ["tuple(range(1, 3))", { enum: [1, 2] }],
        ["range(1, 65536)", { minimum: 1, maximum: 65535 }],
        ["range(100, 0, -1)", { minimum: 1, maximum: 100 }],
        ["range(0, 1000, 7)", {}],
        ["range(5, 5)", {}],
        ["range(LOW, HIGH)", {}]
      ]
      for (const [choices, expected] of ranges) {
        const { parameters } = yield* own(`${made}p.add_argument("--n", type=int, choices=${choices})${print}`)
        const properties = parameters["properties"] as Record<string, unknown>
        assert.deepStrictEqual(properties["n"], { type: "integer", ...expected }, choices)
      }
      const far = yield* own(`${made}p.add_argument("--n", type=int, choices=range(1, 500), default=0)${print}`)
      assert.notProperty((far.parameters["properties"] as Record<string, object>)["n"]!, "default")
      for (const choices of ["range(1, 6)", "[1, 2]", "(1.5,)", "list(range(3))"]) {
        const { hint, issue } = yield* invalid(own(`${made}p.add_argument("--n", choices=${choices})${print}`))
        assert.include(issue, "which are numbers", choices)
        assert.include(hint, "type=int")
      }
      yield* own(`${made}p.add_argument("--n", type=level, choices=[1, 2])${print}`)
    }))

  it.live("a hint names the package, and what is required", () =>
    Effect.gen(function*() {
      const hints: ReadonlyArray<readonly [code: string, said: string]> = [
        ["import click\n@click.command()\ndef main(): pass\nmain()", `DEPENDENCIES = ["click"]`],
        ["import click as c\n@c.command()\ndef main(): pass\nmain()", `DEPENDENCIES = ["click"]`],
        ["from click import command\n@command()\ndef main(): pass\nmain()", `DEPENDENCIES = ["click"]`],
        ["import typer\ntyper.run(main)", `DEPENDENCIES = ["typer"]`],
        ["from docopt import docopt\ndocopt(__doc__)", `DEPENDENCIES = ["docopt"]`],
        ["import fire\nfire.Fire(main)", `DEPENDENCIES = ["fire"]`],
        ["from absl import app\napp.run(main)", `DEPENDENCIES = ["absl-py"]`],
        ["import hydra\n@hydra.main()\ndef main(): pass", `DEPENDENCIES = ["hydra-core"]`],
        ["from tap import Tap", `DEPENDENCIES = ["typed-argument-parser"]`],
        ["import sys\nprint(sys.argv[1])", `"required": ["file"]`],
        ["from sys import argv\nprint(argv[1:])", `"required": ["file"]`]
      ]
      for (const [code, said] of hints) assert.include((yield* invalid(own(code))).hint, said, code)
      for (const code of ["import optparse\noptparse.OptionParser()", "import sys\nprint(sys.argv[1])"]) {
        assert.notInclude((yield* invalid(own(code))).hint, "DEPENDENCIES")
      }
      assert.notInclude(
        (yield* invalid(
          own(
            `__executor_id__ = "python_runtime"\nDEPENDENCIES = ["click>=8"]\nimport click\n@click.command()\ndef f(): pass`
          )
        )).hint,
        "DEPENDENCIES"
      )
    }))

  it.live("code that may change the arguments without naming them is a doubt", () =>
    Effect.gen(function*() {
      const doubts = [
        `import sys\nvars(sys)["argv"] = ["x"]`,
        `import sys\nsys.__dict__["argv"][1:] = []`,
        `exec(open("x").read())`,
        `import builtins\nbuiltins.exec("1")`,
        `${made}p.add_argument("--x")\nexec("1")${print}`,
        `import sys\nsetattr(sys, "orig_argv", [])`
      ]
      for (const code of doubts) {
        const result = yield* Effect.result(own(code))
        if (result._tag === "Success") assert.match((result.success.unsure ?? []).join(), /is unknown/, code)
        else assert.include(String(result.failure), "argv", code)
      }
      for (
        const code of [
          `import sqlite3\nsqlite3.connect(":memory:").cursor().execute("select 1")`,
          `import sys\nprint(getattr(sys, "frozen", False))`,
          `import re\nre.exec = 1\nprint("exec(")`,
          `print(vars(object))`
        ]
      ) assert.isUndefined((yield* own(code)).unsure, code)
    }))
})

describe("scripts whose arguments no parameter reaches", () => {
  it.live("are refused when they are signed, at their line and for this reason", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [name, [files, line, issue, hint = "", item]] of Object.entries(refused)) {
        const checked = checkFiles(
          Object.fromEntries(Object.entries(files).map(([path, text]) => [`tools/${path}`, text]))
        )
        const error = yield* Effect.match(invalid(checked), { onFailure: () => undefined, onSuccess: (one) => one })
        const isRight = error !== undefined && error.line === line && error.issue.includes(issue) &&
          error.hint.includes(hint) && (item === undefined || error.item === item)
        if (!isRight) wrong.push(`${name}: ${error?.message ?? "is signed"} (${error?.hint ?? ""})`)
      }
      assert.deepStrictEqual(wrong, [])
    }), 60_000)
})
