// A parameter that is left out must not hand its place among the arguments to the next one: the tool is refused, and a
// tool that was signed before refuses the call.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { ParametersInvalid, ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { call, caller, kernel, object, reasonOf, tool } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

type Files = Readonly<Record<string, string>>

const text = { type: "string" }
const schema = (required: ReadonlyArray<string>, optional: ReadonlyArray<string>) =>
  object(Object.fromEntries([...required, ...optional].map((name) => [name, text])), ...required)

const yaml = (required: ReadonlyArray<string>, optional: ReadonlyArray<string>, config: Schema.JsonObject): Files => ({
  "x.yaml": tool({ input_schema: schema(required, optional), config: { command: "sort", ...config } })
})

const sh = (parameters: string, config: string, body: string): Files => ({
  "x.sh":
    `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n#   parameters: [${parameters}]\n#   config: ${config}\n${body}\n`
})
const py = (
  required: ReadonlyArray<string>,
  optional: ReadonlyArray<string>,
  config: Schema.JsonObject,
  body: string
): Files => ({
  "x.py": `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\nINPUT_SCHEMA = ${
    JSON.stringify(schema(required, optional))
  }\nCONFIG = ${JSON.stringify(config)}\n${body}\n`
})
const mjs = (
  required: ReadonlyArray<string>,
  optional: ReadonlyArray<string>,
  config: Schema.JsonObject,
  body: string
): Files => ({
  "x.mjs":
    `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\nexport const INPUT_SCHEMA = ${
      JSON.stringify(schema(required, optional))
    }\nexport const CONFIG = ${JSON.stringify(config)}\n${body}\n`
})

const three = "{name: src, type: string, required: true}, {name: dest, type: string}, {name: mode, type: string}"
const numbered = `printf '%s|%s|%s' "$1" "\${2-}" "\${3-}"`
const number = "{name: n, type: string}, {name: pattern, type: string, required: true}"
const getopts = `while getopts "n:" o; do case $o in n) n=$OPTARG;; *) exit 2;; esac; done; shift $((OPTIND - 1))
printf '"%s %s"' "\${n-none}" "$1"`
const printArgv = "import json, sys\nprint(json.dumps(sys.argv[1:]))"
const parseArgs = `import { parseArgs } from "node:util"
const { positionals } = parseArgs({ allowPositionals: true })
console.log(JSON.stringify(positionals))`
const subparser = `import argparse, json
p = argparse.ArgumentParser()
s = p.add_subparsers(dest="what")
m = s.add_parser("make")
m.add_argument("name", nargs="?")
m.add_argument("size", nargs="?")
print(json.dumps(vars(p.parse_args())))`

/** `names`: the parameters that the problem and the hint have to name. */
const refused: Readonly<Record<string, readonly [files: Files, said: string, hint: string]>> = {
  sort: [
    yaml(["file"], ["out"], { args: ["-o", "{out}", "{file}"] }),
    `out may be left out, and the "-o" before it would then take "{file}"`,
    "config: {options: {out: {option: -o}, file: {as: positional}}}"
  ],
  long_option: [
    yaml(["file"], ["out"], { args: ["-u", "--output", "{out}", "--", "{file}"] }),
    `the "--output" before it`,
    `config: {args: ["-u"], options: {out: {option: --output}, file: {as: positional}}}`
  ],
  option_alone: [yaml([], ["n"], { args: ["-n", "{n}"] }), `the "-n" before it would then have no value`, "option: -n"],
  flag_before: [
    yaml([], ["path"], { args: ["-la", "{path}"] }),
    `the "-la" before it`,
    `Where the option takes no value, write "--" behind it`
  ],
  literal_behind: [yaml([], ["file"], { args: ["{file}", "out"] }), `"out" would then take its place`, "Require file"],
  partial_before: [yaml([], ["a", "b"], { args: ["-x{a}", "{b}"] }), `"-x{a}"`, "Require b"],
  runtime_args: [yaml([], ["a"], { runtime_args: ["-t"], args: ["{a}"] }), `the "-t" before it`, "Require a"],
  both_optional: [yaml([], ["a", "b", "c"], { args: ["{a}", "{b}", "{c}"] }), "parameter a may be", "Require a and b"],
  options_behind: [
    yaml(["b"], ["a"], { args: ["{a}"], options: { b: { as: "positional" } } }),
    `"{b}" would then take its place`,
    "Require a"
  ],
  positionals: [
    yaml(["src"], ["dest", "mode"], {
      options: { src: { as: "positional" }, dest: { as: "positional" }, mode: { as: "positional" } }
    }),
    `dest may be left out, and "{mode}" would then take its place`,
    "Require dest, or give it a default"
  ],
  bash: [sh(three, `{args: ["{src}", "{dest}", "{mode}"]}`, numbered), `dest may be`, "Require dest"],
  bash_getopts: [
    sh(number, `{args: ["-n", "{n}", "{pattern}"]}`, getopts),
    `the "-n" before it would then take "{pattern}"`,
    "config: {input: args, options: {n: {option: -n}, pattern: {as: positional}}}"
  ],
  python: [
    py(["src"], ["dest", "mode"], { args: ["{src}", "{dest}", "{mode}"] }, printArgv),
    "dest may be",
    "Require dest"
  ],
  python_option: [
    py(["file"], ["out"], { args: ["-o", "{out}", "{file}"] }, printArgv),
    "out may be",
    `CONFIG = {"options": {"out": {"option": "-o"}, "file": {"as": "positional"}}}`
  ],
  node: [
    mjs(
      ["src"],
      ["dest", "mode"],
      { args: ["{src}", "{dest}", "{mode}"] },
      "console.log(process.argv.slice(2).join())"
    ),
    "dest may be",
    "Require dest"
  ],
  node_positionals: [
    mjs(["src"], ["dest", "mode"], {
      options: { src: { as: "positional" }, dest: { as: "positional" }, mode: { as: "positional" } }
    }, parseArgs),
    "dest may be",
    "Require dest"
  ],
  subparser: [py([], ["name", "size"], { args: ["make"] }, subparser), "name may be", "Require name"],
  argparse_alone: [
    py([], ["size"], {}, subparser.replace(/s = .*\nm = .*\n/, "").replaceAll("m.", "p.")),
    "size",
    "name"
  ]
}

/** Signed, and what the program is given. */
const signed: Readonly<Record<string, readonly [files: Files, given: Schema.JsonObject, got: string]>> = {
  option_left_out: [
    yaml(["file"], ["out"], { options: { out: { option: "-o" }, file: { as: "positional" } } }),
    { file: "in.txt" },
    "a\nb\n"
  ],
  last: [yaml(["file"], ["more"], { args: ["{file}", "{more}"] }), { file: "in.txt" }, "a\nb\n"],
  behind_dashes: [yaml([], ["file"], { args: ["-u", "--", "{file}"] }), { file: "in.txt" }, "a\nb\n"],
  with_equals: [yaml([], ["file"], { args: ["--buffer-size=1M", "{file}"] }), { file: "in.txt" }, "a\nb\n"],
  bash_last: [
    sh(
      three.replace("dest, type: string", "dest, type: string, default: out"),
      `{args: ["{src}", "{dest}", "{mode}"]}`,
      numbered
    ),
    { src: "a" },
    "a|out|"
  ],
  getopts_left_out: [
    sh(number, "{input: args, options: {n: {option: -n}, pattern: {as: positional}}}", getopts),
    { pattern: "x" },
    `"none x"`
  ],
  getopts_given: [
    sh(number, "{input: args, options: {n: {option: -n}, pattern: {as: positional}}}", getopts),
    { pattern: "-x", n: "-1" },
    `"-1 -x"`
  ],
  python_given: [
    py(["src", "dest"], ["mode"], { args: ["{src}", "{dest}", "{mode}"] }, printArgv),
    { src: "a", dest: "b" },
    `["a", "b"]\n`
  ],
  node_given: [
    mjs(["src", "dest"], ["mode"], {
      options: { src: { as: "positional" }, dest: { as: "positional" }, mode: { as: "positional" } }
    }, parseArgs),
    { src: "a", dest: "-b" },
    `["a","-b"]\n`
  ],
  argparse_gap: [
    py(
      ["dest"],
      ["src"],
      {},
      "import argparse, json\np = argparse.ArgumentParser()\np.add_argument('src', nargs='?')\np.add_argument('dest')\nprint(json.dumps(vars(p.parse_args())))"
    ),
    { dest: "a" },
    `{"src": null, "dest": "a"}\n`
  ]
}

const in_ = (folder: string, files: Files, name: string): Files =>
  Object.fromEntries(Object.entries(files).map(([path, one]) => [`${folder}/${path.replace(/^x\./, `${name}.`)}`, one]))

describe("an argument that would take another one's place", () => {
  it.live("is refused when the tool is signed, with its line and what to write", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [title, [files, said, hint]] of Object.entries(refused)) {
        const error = yield* Effect.match(invalid(checkFiles(in_("tools", files, "x"))), {
          onFailure: () => undefined,
          onSuccess: (one) => one
        })
        const isRight = error?.issue.includes(said) === true && error.hint.includes(hint) && error.line > 0
        if (!isRight) wrong.push(`${title}: ${error?.message ?? "is signed"} (${error?.hint ?? ""})`)
      }
      assert.deepStrictEqual(wrong, [])
    }), 60_000)
})

const positional = { as: "positional" }

/** Not signed by today's rules: `needs` is left out of the call, and `next` is what would come in its place. */
const calls: Readonly<
  Record<string, readonly [config: Schema.JsonObject, given: Schema.JsonObject, needs: string, next: string]>
> = {
  option: [{ args: ["-o", "{a}", "{b}"] }, { b: "1" }, "a", `-o before it would read "b" as its value`],
  option_alone: [{ args: ["-o", "{a}"] }, {}, "a", "-o before it would read what follows"],
  place: [{ args: ["{a}", "{b}"] }, { b: "1" }, "a", `"b" would take its place`],
  gap: [{ args: ["{a}", "{b}", "{c}"] }, { a: "1", c: "2" }, "b", `"c" would take its place`],
  literal: [{ args: ["{a}", "to"] }, {}, "a", `"to" would take its place`],
  runtime: [{ runtime_args: ["{a}"], args: ["{b}"] }, { b: "1" }, "a", `"b" would take`],
  positionals: [{ options: { a: positional, b: positional } }, { b: "1" }, "a", `"b" would take`],
  positional_null: [{ options: { a: positional, b: positional } }, { a: null, b: "1" }, "a", `"b" would take`],
  positional_empty: [{ options: { a: positional, b: positional } }, { a: [], b: "1" }, "a", `"b" would take`],
  both: [{ args: ["{a}"], options: { b: positional } }, { b: "1" }, "a", `"b" would take`],
  partial: [{ args: ["{a}", "x={b}"] }, { b: "1" }, "a", `"x={b}" would take`],
  dashes: [{ args: ["{a}", "--", "{b}"] }, { b: "1" }, "a", `"--" would take`]
}

const passed: Readonly<
  Record<string, readonly [config: Schema.JsonObject, given: Schema.JsonObject, argv: ReadonlyArray<string>]>
> = {
  last: [{ args: ["{a}", "{b}"] }, { a: "1" }, ["1"]],
  none: [{ args: ["{a}", "{b}"] }, {}, []],
  first_positional: [{ options: { a: positional, b: positional } }, { a: "1" }, ["--", "1"]],
  dashes: [{ args: ["-o", "--", "{a}"] }, {}, ["-o", "--"]],
  equals: [{ args: ["--o=1", "{a}"] }, {}, ["--o=1"]],
  options: [{ args: ["{a}"] }, { b: "1" }, ["--b=1"]],
  empty_text: [{ args: ["{a}", "{b}"] }, { a: "", b: "1" }, ["", "1"]],
  elsewhere: [{ args: ["x"], cwd: "{a}", options: { a: positional, b: positional } }, { b: "1" }, ["x", "--", "1"]]
}

const any = object({ a: {}, b: {}, c: {} })
const tools = Object.fromEntries(
  Object.entries({ ...calls, ...Object.fromEntries(Object.entries(passed).map(([name, one]) => [`ok_${name}`, one])) })
    .map(([name, [config]]) => [
      `tools/${name}.yaml`,
      tool({ input_schema: any, config: { command: "argv", output: "json", ...config } })
    ])
)

it.effect("stops the call of a tool that was signed before, and names both parameters", () =>
  Effect.gen(function*() {
    const wrong: Array<string> = []
    for (const [name, [, parameters, needs, next]] of Object.entries(calls)) {
      const reason = yield* Effect.match(call(name, parameters), {
        onFailure: reasonOf,
        onSuccess: ({ data }) => data
      })
      const issue = reason instanceof ParametersInvalid ? reason.issues[0] : undefined
      if (issue?.field !== needs || !issue.error.includes(next)) wrong.push(`${name}: ${JSON.stringify(reason)}`)
    }
    for (const [name, [, parameters, argv]] of Object.entries(passed)) {
      const data = yield* Effect.match(call(`ok_${name}`, parameters), {
        onFailure: ({ message }) => message,
        onSuccess: (result) => result.data
      })
      if (JSON.stringify(data) !== JSON.stringify(argv)) wrong.push(`ok_${name}: ${JSON.stringify(data)}`)
    }
    assert.deepStrictEqual(wrong, [])
  }).pipe(Effect.provide(kernel({ project: tools }))))

describeWith(["python3"], "arguments that cannot shift", () => {
  it.live("reach sort, bash, Python and Node as they are meant", () =>
    Effect.gen(function*() {
      const project = yield* realProject({
        "in.txt": "b\na\n",
        ...Object.assign(
          {},
          ...Object.entries(signed).map(([name, [files]]) => in_(".ai/tools", files, name))
        ) as Files,
        ".ai/tools/own_runtime.yaml": tool({
          tool_type: "runtime",
          config: { command: "sort", args: ["-o", "{out}", "{file}"] }
        }),
        ".ai/tools/own.yaml": tool({ executor_id: "own_runtime", input_schema: schema(["file"], ["out"]) }),
        ".ai/tools/mine.py":
          `__version__ = "1.0.0"\nimport argparse\np = argparse.ArgumentParser()\np.add_argument("name", nargs="?")\np.add_argument("size", nargs="?")\nprint(p.parse_args())\n`,
        ".ai/tools/declared.py": py(
          [],
          ["name", "size"],
          {},
          `import argparse\np = argparse.ArgumentParser()\np.add_argument("name", nargs="?")\np.add_argument("size", nargs="?")\nprint(p.parse_args())`
        )["x.py"]!
      })
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        const run = (item: string, parameters: Schema.JsonObject) =>
          Effect.match(proxy.call({ callId: "call", caller, item, parameters, dryRun: false }), {
            onFailure: ({ message }) => message,
            onSuccess: ({ data }) => String(data)
          })
        const wrong: Array<string> = []
        for (const [item, [, parameters, got]] of Object.entries(signed)) {
          const printed = yield* run(item, parameters)
          if (printed !== got) wrong.push(`${item}: ${printed}`)
        }
        assert.deepStrictEqual(wrong, [])
        // What a runtime of one's own places is seen when it is called, before anything runs.
        assert.include(yield* run("own", { file: "in.txt" }), `out: is missing, and -o before it would read "file"`)
        assert.strictEqual(fs.readFileSync(join(project.project, "in.txt"), "utf8"), "b\na\n")
        for (const item of ["mine", "declared"]) {
          assert.include(yield* run(item, { size: "3" }), `name: is missing, and "size" needs it`, item)
        }
      }).pipe(Effect.provide(kernelOf(project)))
    }), 120_000)
})
