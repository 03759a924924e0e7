// A parameter that is declared reaches code that reads it, or the tool is refused by its name.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

type Files = Readonly<Record<string, string>>

const sh = (parameters: string, config: string, body: string): Files => ({
  "x.sh":
    `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: bash_runtime\n#   parameters: [${parameters}]\n#   config: ${config}\n${body}\n`
})
const dn = "{name: d, type: string}, {name: n, type: boolean}"
const what = "{name: what, type: string}, {name: dry-run, type: boolean}"
const getopts =
  `while getopts "d:n" o; do case $o in d) d=$OPTARG;; n) n=1;; *) exit 2;; esac; done\nprintf '"%s %s"' "$d" "\${n:-0}"`

const schema = (...names: ReadonlyArray<string>) =>
  JSON.stringify({
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    required: names
  })
const py = (config: string, body: string, ...names: ReadonlyArray<string>): Files => ({
  "x.py": `__version__ = "1.0.0"\n__executor_id__ = "python_runtime"\nINPUT_SCHEMA = ${
    schema(...names)
  }\nCONFIG = ${config}\n${body}\n`
})
const mjs = (config: string, body: string, ...names: ReadonlyArray<string>): Files => ({
  "x.mjs":
    `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\nexport const INPUT_SCHEMA = ${
      schema(...names)
    }\nexport const CONFIG = ${config}\n${body}\n`
})
const folder = (config: string, files: Files): Files => ({
  "f/tool.yaml": `version: "1.0.0"\ntool_type: bash\nexecutor_id: bash_runtime\nentrypoint: run.sh\ninput_schema: ${
    schema("a", "b")
  }\nconfig: ${config}\n`,
  ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`f/${path}`, text]))
})

/** `name`: the parameter that is lost. */
const refused: Readonly<Record<string, readonly [files: Files, name: string, hint: string]>> = {
  getopts: [
    sh(dn, `{args: ["-d", "{d}"]}`, getopts),
    "n",
    "config: {input: args, options: {d: {option: -d}, n: {option: -n}}}"
  ],
  getopts_long_names: [
    sh(
      "{name: dir, type: string}, {name: dry-run, type: boolean}",
      `{args: ["-d", "{dir}"]}`,
      getopts.replace("d:n", "d:")
    ),
    "dry-run",
    "dry-run: {option: -d}"
  ],
  getopts_options: [
    sh(dn, "{input: args, options: {d: {as: words, option: -d}}}", getopts),
    "n",
    "n: {option: -n}"
  ],
  getopts_plain: [sh(dn, "{input: args}", getopts), "d", "d: {option: -d}"],
  numbered: [sh(what, `{args: ["{what}"]}`, `echo "$1"`), "dry-run", `config: {args: ["{what}", "{dry-run}"]}`],
  numbered_comment: [
    sh(what, `{args: ["{what}"]}`, `# $KIWI_PARAM_DRY_RUN\necho "$1"`),
    "dry-run",
    "KIWI_PARAM_DRY_RUN"
  ],
  all: [sh(what, `{args: ["{what}"]}`, `for f in "$@"; do echo "$f"; done`), "dry-run", "KIWI_PARAM_DRY_RUN"],
  main: [sh(what, `{args: ["{what}"]}`, `main() { echo "$1"; }\nmain "$@"`), "dry-run", "KIWI_PARAM_DRY_RUN"],
  prefix: [
    sh(what, `{args: ["{what}"]}`, `echo "$1"; awk 'BEGIN { print ENVIRON["KIWI_PARAM_DRY_RUN_2"] }'`),
    "dry-run",
    ""
  ],
  unread: [sh("{name: a, type: string}", "{}", "echo hello"), "a", "Read KIWI_PARAM_A"],
  in_args: [sh(what, `{input: args, args: ["{what}"]}`, `echo "$1"`), "dry-run", `"{dry-run}"`],
  in_args_unread: [sh("{name: a, type: string}", "{input: args}", "echo hello"), "a", "leave the parameter out"],
  none_bash: [sh(what, `{input: none, args: ["{what}"]}`, `echo "$1"`), "dry-run", "input: none"],
  none: [
    py(`{"input": "none", "args": ["{file}"]}`, "import sys\nprint(sys.argv[1])", "file", "dry-run"),
    "dry-run",
    `CONFIG = {"args": ["{file}", "{dry-run}"]}`
  ],
  none_argparse: [
    py(
      `{"input": "none", "args": ["{file}"]}`,
      `import argparse\np = argparse.ArgumentParser()\np.add_argument("file")\np.add_argument("--dry-run")\np.parse_args()`,
      "file",
      "dry-run"
    ),
    "dry-run",
    "input: none"
  ],
  python_numbered: [
    py(`{"args": ["{file}"]}`, "import sys\nprint(sys.argv[1])", "file", "dry-run"),
    "dry-run",
    `"{dry-run}"`
  ],
  python_unread: [py("{}", "import json, os\nprint(json.dumps(os.getcwd()))", "file"), "file", "leave the parameter"],
  python_env: [
    py(`{"input": "env"}`, `import os\nprint(os.environ["KIWI_PARAM_A"])`, "a", "b"),
    "b",
    "Read KIWI_PARAM_B"
  ],
  node_numbered: [mjs(`{ args: ["{a}"] }`, "console.log(process.argv[2])", "a", "b"), "b", `export const CONFIG`],
  node_unread: [
    mjs("{}", `import fs from "node:fs"\nconsole.log(fs.readdirSync("."))`, "a"),
    "a",
    "leave the parameter"
  ],
  node_none: [mjs(`{ input: "none" }`, "console.log(process.argv[2])", "a"), "a", "input: none"],
  folder: [folder(`{args: ["{a}"]}`, { "run.sh": "#!/bin/bash\necho \"$1\"\n" }), "b", "KIWI_PARAM_B"],
  subprocess: [
    {
      "x.yaml": `version: "1.0.0"\ntool_type: script\nexecutor_id: subprocess\ninput_schema: ${
        schema("a", "b")
      }\nconfig: {command: echo, input: none, args: ["{a}"]}\n`
    },
    "b",
    `config: {args: ["{a}", "{b}"]}`
  ]
}

const signed: Readonly<Record<string, readonly [files: Files, given: Schema.JsonObject, got: Schema.Json]>> = {
  getopts: [
    sh(dn, "{input: args, options: {d: {as: words, option: -d}, n: {option: -n}}}", getopts),
    { d: "/x y", n: true },
    "/x y 1"
  ],
  getopts_plain_value: [
    sh(dn, "{input: args, options: {d: {option: -d}, n: {option: -n}}}", getopts),
    { d: "/x", n: false },
    "/x 0"
  ],
  getopts_value: [
    sh(dn, "{input: args, options: {d: {as: value, option: -d}, n: {option: -n}}}", getopts),
    { d: "-x=1", n: true },
    "-x=1 1"
  ],
  getopts_repeat: [
    sh(
      "{name: d, type: array, items: {type: string}}",
      "{input: args, options: {d: {as: repeat, option: -d}}}",
      `while getopts d: o; do all+="[$OPTARG]"; done\nprintf '"%s"' "$all"`
    ),
    { d: ["a", "-b", ""] },
    "[a][-b][]"
  ],
  getopts_and_variable: [
    sh(dn.replace("string", "string, required: true"), `{args: ["-d", "{d}"]}`, `n=\${KIWI_PARAM_N:-0}\n${getopts}`),
    { d: "a", n: true },
    "a true"
  ],
  numbered_two: [
    sh(
      "{name: a, type: string, required: true}, {name: b, type: string}",
      `{args: ["{a}", "{b}"]}`,
      `printf '"%s-%s"' "$1" "$2"`
    ),
    { a: "1", b: "2" },
    "1-2"
  ],
  every_variable: [
    sh(what, `{args: ["{what}"]}`, `for v in \${!KIWI_PARAM_@}; do all+="$v="; done\nprintf '"%s"' "$1$all"`),
    { what: "a", "dry-run": true },
    "aKIWI_PARAM_DRY_RUN=KIWI_PARAM_WHAT="
  ],
  quoted_program: [
    sh("{name: a, type: string}", "{}", `awk 'BEGIN { printf "\\"%s\\"", ENVIRON["KIWI_PARAM_A"] }'`),
    { a: "b" },
    "b"
  ],
  here_document: [
    sh("{name: a, type: string}", "{}", `cat <<E\n"\n# $KIWI_PARAM_A"\nE`.replace("\n# ", "# ")),
    { a: "b" },
    "# b"
  ],
  here_heading: [
    sh("{name: a, type: string}", "{}", `tr -d '\\n' <<E\n"x\n# $KIWI_PARAM_A\n"\nE`),
    { a: "b" },
    "x# b"
  ],
  in_environment: [
    sh("{name: a, type: string}", `{env: {TARGET: "{a}"}}`, `printf '"%s"' "$TARGET"`),
    { a: "b" },
    "b"
  ],
  python_slice: [
    py(`{"args": ["{file}"]}`, "import sys, json\nprint(json.dumps(sys.argv[1:]))", "file", "n"),
    { file: "a", n: "1" },
    ["a", "--n=1"]
  ],
  python_both: [
    py(`{"args": ["{a}", "{b}"]}`, "import sys, json\nprint(json.dumps([sys.argv[1], sys.argv[2]]))", "a", "b"),
    { a: "1", b: "2" },
    ["1", "2"]
  ],
  python_short: [
    py(
      `{"options": {"a": {"option": "-a"}, "b": {"option": "-b"}}}`,
      "import argparse, json\np = argparse.ArgumentParser()\np.add_argument('-a')\np.add_argument('-b')\nprint(json.dumps(vars(p.parse_args())))",
      "a",
      "b"
    ),
    { a: "-1=2", b: "" },
    { a: "-1=2", b: "" }
  ],
  python_placed_only: [
    py(
      `{"input": "none", "args": ["{file}"]}`,
      "import argparse, json\np = argparse.ArgumentParser()\np.add_argument('file')\nprint(json.dumps(vars(p.parse_args())))",
      "file"
    ),
    { file: "a" },
    { file: "a" }
  ],
  node_short: [
    mjs(
      `{ options: { a: { option: "-a" }, b: { option: "-b" } } }`,
      `import { parseArgs } from "node:util"\nconst options = { a: { type: "string", short: "a" }, b: { type: "string", short: "b" } }\nconsole.log(JSON.stringify(parseArgs({ options }).values))`,
      "a",
      "b"
    ),
    { a: "/x", b: "-y" },
    { a: "/x", b: "-y" }
  ],
  folder_sourced: [
    folder("{}", {
      "run.sh": `#!/bin/bash\nsource "$(dirname "$0")/lib.sh"\nprintf '"%s"' "$KIWI_PARAM_A$b"\n`,
      "lib.sh": "b=$KIWI_PARAM_B\n"
    }),
    { a: "1", b: "2" },
    "12"
  ]
}

const named = (files: Files, name: string): Files =>
  Object.fromEntries(
    Object.entries(files).map(([path, text]) => [
      `.ai/tools/${path.replace(/^x\./, `${name}.`).replace(/^f\//, `${name}/`)}`,
      text
    ])
  )

describe("a parameter that the script never gets", () => {
  it.live("is refused by its name, and the hint says how it is placed", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [title, [files, name, hint]] of Object.entries(refused)) {
        const checked = checkFiles(
          Object.fromEntries(Object.entries(files).map(([path, text]) => [`tools/${path}`, text]))
        )
        const error = yield* Effect.match(invalid(checked), { onFailure: () => undefined, onSuccess: (one) => one })
        const isRight = error !== undefined && error.issue.includes(`the parameter ${name} `) &&
          error.hint.includes(hint) && error.line > 0
        if (!isRight) wrong.push(`${title}: ${error?.message ?? "is signed"} (${error?.hint ?? ""})`)
      }
      assert.deepStrictEqual(wrong, [])
    }), 60_000)

  it.live("is a doubt where what the script imports may read it", () =>
    Effect.gen(function*() {
      for (
        const files of [
          py("{}", "import mine\nmine.main()", "a"),
          mjs("{}", `await import(new URL("data:a"))\neval("1")`, "a")
        ]
      ) {
        const item = yield* checkFiles(
          Object.fromEntries(Object.entries(files).map(([path, text]) => [`tools/${path}`, text]))
        )
        assert.include(item._tag === "tool" ? item.unsure?.join() : "", "declares a, and no visible code")
      }
    }))
})

describeWith(["python3"], "parameters that are placed", () => {
  it.live("reach the script", () =>
    Effect.gen(function*() {
      const project = yield* realProject(
        Object.assign({}, ...Object.entries(signed).map(([name, [files]]) => named(files, name))) as Files
      )
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        const wrong: Array<string> = []
        for (const [item, [, parameters, got]] of Object.entries(signed)) {
          const printed = yield* Effect.match(
            proxy.call({ callId: "call", caller, item, parameters, dryRun: false }),
            { onFailure: ({ message }) => message, onSuccess: ({ data }) => String(data) }
          )
          if (printed.trim().replace(/([:,]) /g, "$1") !== JSON.stringify(got)) wrong.push(`${item}: ${printed}`)
        }
        assert.deepStrictEqual(wrong, [])
      }).pipe(Effect.provide(kernelOf(project)))
    }), 120_000)
})
