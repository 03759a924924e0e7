// Parameters of a Node script are held against its call of parseArgs, where that is written out and strict.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Schema } from "effect"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller, object } from "../../proxy/calls.ts"
import { checkFiles, invalid } from "../parsing.ts"

const string = { type: "string" }
const boolean = { type: "boolean" }
const list = { type: "array", items: string }

const declared = (properties: Schema.JsonObject, options: Schema.JsonObject = {}, args: ReadonlyArray<string> = []) =>
  `export const INPUT_SCHEMA = ${JSON.stringify(object(properties))}\nexport const CONFIG = ${
    JSON.stringify({ options, ...(args.length === 0 ? {} : { args }) })
  }\n`
const script = (head: string, code: string) =>
  `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n${head}import { parseArgs } from "node:util"\n${code}`
const printed = (config: string, before = "") =>
  `${before}const { positionals, values } = parseArgs(${config})\nconsole.log(JSON.stringify({ ...values, positionals }))\n`

/** Every call fails, or its value is lost: `line` is the call's or the option's. */
const refused: Readonly<Record<string, readonly [text: string, line: number, issue: string, hint: string]>> = {
  camel: [
    script(declared({ outFile: string }), printed(`{ options: { "out-file": { type: "string" } } }`)),
    6,
    "outFile is passed as --outFile, which parseArgs does not know",
    `export const CONFIG = {"options": {"outFile": {"option": "--out-file"}}}`
  ],
  snake: [
    script(declared({ out_file: string }), printed(`{ options: { "out-file": { type: "string" } } }`)),
    6,
    "--out_file, which parseArgs does not know",
    `"option": "--out-file"`
  ],
  unknown: [
    script(declared({ a: string, b: boolean }), printed(`{ options: { a: { type: "string" } } }`)),
    6,
    "--b, which parseArgs does not know",
    `Add "b": { type: "boolean" } to its options`
  ],
  mapped: [
    script(declared({ a: string }, { a: { option: "--b" } }), printed(`{ options: { a: { type: "string" } } }`)),
    6,
    "--b, which parseArgs does not know",
    `"option": "--a"`
  ],
  short: [
    script(
      declared({ a: string }, { a: { option: "-b" } }),
      printed(`{ options: { a: { type: "string", short: "a" } } }`)
    ),
    6,
    "-b, which parseArgs does not know",
    `{"a": {"option": "--a"}}`
  ],
  none: [script(declared({ a: string }), printed("{ options: {} }")), 6, "--a, which", `Add "a"`],
  positional: [
    script(declared({ file: string }, { file: { as: "positional" } }), printed("{ options: {} }")),
    6,
    "positional argument",
    "allowPositionals: true"
  ],
  positional_false: [
    script(
      declared({ file: string }, { file: { as: "positional" } }),
      printed("{ allowPositionals: false, options: {} }")
    ),
    6,
    "positional argument",
    "allowPositionals: true"
  ],
  placed: [
    script(declared({ file: string }, {}, ["{file}"]), printed(`{ options: { a: { type: "string" } } }`)),
    6,
    "positional argument",
    "file: { type:"
  ],
  boolean_for_string: [
    script(declared({ a: boolean }), printed(`{ options: {\n  a: { type: "string" } } }`)),
    7,
    "--a without a value",
    `type: "boolean"`
  ],
  string_for_boolean: [
    script(declared({ a: string }), printed(`{ options: {\n  a: { type: "boolean" } } }`)),
    7,
    "--a with a value",
    `type: "string"`
  ],
  number_for_boolean: [
    script(declared({ a: { type: "integer" } }), printed(`{ options: { a: { type: "boolean", short: "a" } } }`)),
    6,
    "--a with a value",
    `type: "string"`
  ],
  value_for_boolean: [
    script(declared({ a: boolean }, { a: { as: "value" } }), printed(`{ options: { a: { type: "boolean" } } }`)),
    6,
    "--a with a value",
    ""
  ],
  list_once: [
    script(declared({ a: list }), printed(`{ options: { a: { type: "string" } } }`)),
    6,
    "keeps only the last",
    "multiple: true"
  ],
  list_words: [
    script(
      declared({ a: list }, { a: { as: "words" } }),
      printed(`{ allowPositionals: true, options: { a: { type: "string", multiple: true } } }`)
    ),
    6,
    "takes only the first",
    "as: words out"
  ],
  on_off: [
    script(declared({ a: boolean }, { a: { as: "on_off" } }), printed(`{ options: { a: { type: "boolean" } } }`)),
    6,
    "--no-",
    "allowNegative: true"
  ],
  constant: [
    script(declared({ b: string }), printed(`{ options }`, `const options = { a: { type: "string" } }\n`)),
    7,
    "--b, which",
    ""
  ],
  own_arguments: [
    script(declared({ b: string }), printed(`{ args: process.argv.slice(2), options: { a: { type: "string" } } }`)),
    6,
    "--b, which",
    ""
  ],
  in_function: [
    script(
      declared({ b: string }),
      `function main() {\n  try {\n    return parseArgs({ options: {} })\n  } catch (cause) { console.error(cause.message); process.exit(2) }\n}\nmain()\n`
    ),
    8,
    "--b, which",
    ""
  ],
  module: [
    script(declared({ b: string }), `import * as util from "node:util"\nutil.parseArgs({ options: {} })\n`)
      .replace(`import { parseArgs } from "node:util"\n`, ""),
    6,
    "--b, which",
    ""
  ]
}

/** What is printed, among other things. */
const signed: Readonly<
  Record<string, readonly [text: string, given: Schema.JsonObject, got: Readonly<Record<string, Schema.Json>>]>
> = {
  plain: [
    script(
      declared({ a: string, b: boolean, c: { type: "integer" } }),
      printed(`{ options: { a: { type: "string" }, b: { type: "boolean" }, c: { type: "string", default: "1" } } }`)
    ),
    { a: "-x", b: true, c: 3 },
    { a: "-x", b: true, c: "3" }
  ],
  hinted: [
    script(
      declared({ outFile: string }, { outFile: { option: "--out-file" } }),
      printed(`{ options: { "out-file": { type: "string" } } }`)
    ),
    { outFile: "x" },
    { "out-file": "x" }
  ],
  short: [
    script(
      declared({ a: string }, { a: { option: "-a" } }),
      printed(`{ options: { all: { type: "string", short: "a" } } }`)
    ),
    { a: "1" },
    { all: "1" }
  ],
  positionals: [
    script(
      declared({ files: list }, { files: { as: "positional" } }),
      printed(`{ allowPositionals: true, options: {} }`)
    ),
    { files: ["-a", "b"] },
    { positionals: ["-a", "b"] }
  ],
  many: [
    script(declared({ a: list }), printed(`{ options: { a: { type: "string", multiple: true } } }`)),
    { a: ["1", "-2"] },
    { a: ["1", "-2"] }
  ],
  negative: [
    script(
      declared({ a: boolean }, { a: { as: "on_off" } }),
      printed(`{ allowNegative: true, options: { a: { type: "boolean" } } }`)
    ),
    { a: false },
    { a: false }
  ],
  loose: [script(declared({ a: string }), printed(`{ strict: false, options: {} }`)), { a: "1" }, { a: "1" }],
  changed: [
    script(
      declared({ a: string }),
      printed(`{ options }`, `const options = {}\noptions.a = { type: "string" }\n`)
    ),
    { a: "1" },
    { a: "1" }
  ],
  spread: [
    script(
      declared({ a: string }),
      printed(`{ options: { ...more } }`, `const more = { a: { type: "string" } }\n`)
    ),
    { a: "1" },
    { a: "1" }
  ],
  other_arguments: [
    script(
      declared({ a: string }),
      `const args = process.argv.slice(2).map((one) => one.replace("--a", "--b"))\n${
        printed(`{ args, options: { b: { type: "string" } } }`)
      }`
    ),
    { a: "1" },
    { b: "1" }
  ],
  taken: [
    script(
      declared({ a: string }),
      `const [a] = process.argv.splice(2, 1)\n${printed(`{ options: { b: { type: "string", default: a } } }`)}`
    ),
    { a: "1" },
    { b: "--a=1" }
  ],
  own_function: [
    script(
      declared({ a: string }),
      `const read = (parseArgs) => parseArgs({ options: {} })\n${printed(`{ options: { a: { type: "string" } } }`)}`
    ),
    { a: "1" },
    { a: "1" }
  ]
}

describe("a parameter that parseArgs does not take as it is passed", () => {
  it.live("is refused at the line of the option or of the call", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [name, [text, line, issue, hint]] of Object.entries(refused)) {
        const error = yield* Effect.match(invalid(checkFiles({ "tools/x.mjs": text })), {
          onFailure: () => undefined,
          onSuccess: (one) => one
        })
        const isRight = error?.line === line && error.issue.includes(issue) && error.hint.includes(hint)
        if (!isRight) wrong.push(`${name}: ${error?.message ?? "is signed"} (${error?.hint ?? ""})`)
      }
      assert.deepStrictEqual(wrong, [])
    }), 60_000)

  it.live("is named where the tool declares nothing, with what the script takes and nothing else", () =>
    Effect.gen(function*() {
      const hint = (config: string) =>
        Effect.map(invalid(checkFiles({ "tools/x.mjs": script("", printed(config)) })), (error) => error.hint)
      const plain = yield* hint(`{ options: { "out-file": { type: "string" }, loud: { type: "boolean" } } }`)
      assert.include(plain, `"properties": {"out-file": {"type": "string"}, "loud": {"type": "boolean"}}`)
      assert.notInclude(plain, "positional")
      assert.include(
        yield* hint(`{ options: { tag: { type: "string", multiple: true } } }`),
        `"tag": {"type": "array", "items": {"type": "string"}}`
      )
      assert.include(yield* hint(`{ allowPositionals: true, options: {} }`), `"as": "positional"`)
      assert.notInclude(yield* hint("{ options: { ...more } }"), "positional")
    }))
})

describe("a parameter that parseArgs takes, or may take", () => {
  it.live("is signed and arrives", () =>
    Effect.gen(function*() {
      const project = yield* realProject(
        Object.fromEntries(Object.entries(signed).map(([name, [text]]) => [`.ai/tools/${name}.mjs`, text]))
      )
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const [item, [, parameters, got]] of Object.entries(signed)) {
          const said = yield* Effect.match(
            proxy.call({ callId: "call", caller, item, parameters, dryRun: false }),
            { onFailure: ({ message }) => message, onSuccess: ({ data }) => String(data) }
          )
          assert.isTrue(said.startsWith("{"), `${item}: ${said}`)
          assert.deepInclude(JSON.parse(said) as object, got, item)
        }
      }).pipe(Effect.provide(kernelOf(project)))
    }), 120_000)
})
