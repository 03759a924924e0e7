// Whatever options a script declares, and whatever values its schema allows: real argparse gets exactly these values.
import { assert, it } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { spawnSync } from "node:child_process"
import * as SchemaValidatorAjv from "../../../../src/layers/schema/SchemaValidatorAjv.ts"
import { planSubprocess } from "../../../../src/services/primitive/SubprocessConfig.ts"
import { SchemaValidator } from "../../../../src/services/schema/SchemaValidator.ts"
import { describeWith } from "../../../support/realParts.ts"
import { parseTool } from "../parsing.ts"

const Text = Schema.Union([
  Schema.Literals([
    "-x",
    "--",
    "--a0",
    "--a0=1",
    "-",
    "@f",
    "",
    "a b",
    "-a b",
    "=",
    "a=b",
    "\n",
    "é\u{1F600}",
    "-1",
    "-1e5",
    "+x"
  ]),
  Schema.String
])

interface Kind {
  /** What `add_argument` is told beside the name. */
  readonly declared: string
  readonly positional?: boolean
  /** What is passed, from the texts and numbers at hand. */
  readonly value: (given: Given) => Schema.Json
  /** What the script has then, where it is something else. */
  readonly got?: (value: Schema.Json) => Schema.Json
}

interface Given {
  readonly texts: ReadonlyArray<string>
  readonly ints: ReadonlyArray<number>
  readonly floats: ReadonlyArray<number>
  readonly on: boolean
}

const first = ({ texts }: Given) => texts[0] ?? "-"

const kinds: Readonly<Record<string, Kind>> = {
  text: { declared: "", value: first },
  int: { declared: ", type=int", value: ({ ints }) => ints[0] ?? -1 },
  float: { declared: ", type=float", value: ({ floats }) => floats[0] ?? -1e-9 },
  plus: { declared: ", nargs='+'", value: ({ texts }) => texts },
  star: { declared: ", nargs='*'", value: ({ texts }) => texts },
  two: { declared: ", nargs=2", value: ({ texts }) => texts.slice(0, 2) },
  ints: { declared: ", nargs='+', type=int", value: ({ ints }) => ints },
  floats: { declared: ", nargs='*', type=float", value: ({ floats }) => floats },
  append: { declared: ", action='append'", value: ({ texts }) => texts },
  pairs: { declared: ", action='append', nargs='+'", value: ({ texts }) => [texts, ["a"], texts.slice(0, 1)] },
  extend: { declared: ", action='extend', nargs='*'", value: ({ texts }) => texts },
  count: { declared: ", action='count', default=0", value: ({ ints }) => Math.abs((ints[0] ?? 2) % 7) },
  onOff: { declared: ", action=argparse.BooleanOptionalAction", value: ({ on }) => on },
  flag: { declared: ", action='store_true'", value: ({ on }) => on },
  optional: {
    declared: ", nargs='?', const='c'",
    value: ({ on, ...given }) => on ? true : first({ on, ...given }),
    got: (value) => value === true ? "c" : value
  },
  json: {
    declared: ", type=json.loads",
    value: ({ floats, on, texts }) => on ? { a: [...texts], b: [...floats] } : texts[0] ?? null
  },
  choice: { declared: ", choices=['-a', 'b c']", value: ({ on }) => on ? "-a" : "b c" },
  one: { declared: "", positional: true, value: first },
  number: { declared: ", type=float", positional: true, value: ({ floats }) => floats[0] ?? -2 }
}

/** Of these there can be one, and behind the others. */
const lasts: Readonly<Record<string, Kind>> = {
  none: { declared: "", value: () => null },
  maybe: { declared: ", nargs='?'", positional: true, value: first },
  some: { declared: ", nargs='+'", positional: true, value: ({ texts }) => texts },
  any: { declared: ", nargs='*', type=int", positional: true, value: ({ ints }) => ints }
}

const Given = Schema.Struct({
  texts: Schema.Array(Text).check(Schema.isMaxLength(4)),
  ints: Schema.Array(Schema.Int).check(Schema.isMaxLength(3)),
  floats: Schema.Array(Schema.Finite).check(Schema.isMaxLength(3)),
  on: Schema.Boolean
})
const Declared = Schema.Struct({ kind: Schema.Literals(Object.keys(kinds)), given: Given })
const Script = Schema.Struct({
  declared: Schema.Array(Declared).check(Schema.isMinLength(1), Schema.isMaxLength(5)),
  last: Schema.Struct({ kind: Schema.Literals(Object.keys(lasts)), given: Given }),
  parser: Schema.Literals(["", "prefix_chars='-+'", "fromfile_prefix_chars='@'"]),
  /** How the script comes to call `add_argument`. */
  adds: Schema.Literals(["p.add_argument", "add", "g.add_argument", "more(p).add_argument"]),
  parses: Schema.Literals(["p.parse_args()", "p.parse_args(sys.argv[1:])", "main()", "p.parse_known_args()[0]"])
})

const before: Readonly<Record<string, string>> = {
  "p.add_argument": "",
  add: "add = p.add_argument",
  "g.add_argument": "g = p.add_argument_group('g')",
  "more(p).add_argument": "def more(parser):\n    return parser"
}

const python = (script: string, argv: ReadonlyArray<string>): unknown => {
  const { status, stderr, stdout } = spawnSync(
    "python3",
    [
      "-I",
      "-S",
      "-c",
      "import sys, json; given = json.load(sys.stdin); sys.argv = ['x', *given['argv']]; exec(given['script'])"
    ],
    { input: JSON.stringify({ script, argv }), encoding: "utf8" }
  )
  assert.strictEqual(status, 0, `${script}\n${JSON.stringify(argv)}\n${stderr}`)
  return JSON.parse(stdout)
}

/** Texts that a process can be given. */
const passable = (value: Schema.Json): boolean => {
  const text = JSON.stringify(value)
  return !text.includes("\\u0000") && !/\\ud[89a-f]/i.test(text)
}

describeWith(["python3"], "any options and any values that their schema allows", () => {
  it.effect.prop(
    "reach argparse as they are",
    [Script],
    ([{ adds, declared, last, parser, parses }]) =>
      Effect.gen(function*() {
        const all = [
          ...declared.map(({ given, kind }) => ({ given, kind: kinds[kind]! })),
          ...(last.kind === "none" ? [] : [{ given: last.given, kind: lasts[last.kind]! }])
        ]
        const script = [
          "import argparse, json, sys",
          `p = argparse.ArgumentParser(${parser})`,
          before[adds]!,
          "if False:\n    p.add_argument('--dead', required=True)",
          "def main(argv=None):\n    return p.parse_args(argv)",
          ...all.map(({ kind }, i) => `${adds}('${kind.positional === true ? "" : "--"}a${i}'${kind.declared})`),
          `print(json.dumps(vars(${parses})))`
        ].join("\n")
        const tool = yield* parseTool("a.py", script)
        const schemas = yield* SchemaValidator
        const allowed = (parameters: Schema.JsonObject) =>
          Effect.map(
            schemas.validate({
              schema: { ...tool.parameters, required: [] },
              what: "parameters",
              value: parameters,
              closed: true,
              origin: { _tag: "verified", digest: script }
            }),
            ({ issues }) => issues.length === 0
          )
        const parameters: Record<string, Schema.Json> = {}
        const expected: Record<string, Schema.Json> = {}
        for (const [i, { given, kind }] of all.entries()) {
          const name = `a${i}`
          let value = kind.value(given)
          // What a positional must have, it has: another value stands in for one that the schema excludes.
          if (!passable(value) || !(yield* allowed({ [name]: value }))) {
            if (kind.positional !== true) continue
            value = Array.isArray(value) ? [] : kind.declared.includes("float") ? 1 : "x"
            if (!(yield* allowed({ [name]: value }))) value = ["x"]
          }
          parameters[name] = value
          expected[name] = kind.got?.(value) ?? value
        }
        const planned = planSubprocess({
          tool: "a",
          config: { command: "python3", ...tool.config },
          parameters,
          toolFile: undefined
        })
        const { argv } = Result.getOrThrow(planned)
        const got = python(script, argv.slice(1)) as Schema.JsonObject
        for (const name of Object.keys(expected)) {
          assert.deepStrictEqual(
            got[name],
            JSON.parse(JSON.stringify(expected[name])),
            `${script}\n${JSON.stringify(argv)}`
          )
        }
      }).pipe(Effect.provide(SchemaValidatorAjv.layer)),
    { timeout: 120_000, arbitrary: { runs: 40 } }
  )
})
