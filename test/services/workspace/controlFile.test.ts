import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { decodeControl } from "../../../src/services/workspace/controlFile.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const Rule = Schema.Struct({
  allow: Schema.optionalKey(Schema.String),
  deny: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })))
})

const Grant = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("host"), host: Schema.String }),
  Schema.Struct({ kind: Schema.Literal("folder"), path: Schema.String, write: Schema.optionalKey(Schema.Boolean) })
])

/** As later files will be: lists, maps by foreign names, alternatives. */
const Policy = Schema.Struct({
  version: Schema.Literal(1),
  mode: Schema.optionalKey(Schema.Literals(["off", "warn", "strict"])),
  rules: Schema.optionalKey(Schema.Array(Rule).check(Schema.isMaxLength(3))),
  grants: Schema.optionalKey(Schema.Array(Grant)),
  servers: Schema.optionalKey(Schema.Record(Schema.String, Rule)),
  note: Schema.optionalKey(Schema.String.check(
    Schema.isPattern(/^[a-z]+$/, { message: "must be small letters" })
  ))
})

const refused = (text: string) =>
  Effect.map(
    Effect.flip(decodeControl(bytes(text), Policy)),
    ({ issues }) =>
      issues.map(({ column, issue, line, path }) => `${line}:${column} ${path} ${issue}`.replace("  ", " "))
  )

const cases: ReadonlyArray<readonly [what: string, text: string, ...issues: ReadonlyArray<string>]> = [
  ["a misspelt key", "version: 1\nmodee: warn\n", "2:1 modee is not known here; did you mean \"mode\"?"],
  ["a key in other letters", "version: 1\nMode: warn\n", "2:1 Mode is not known here; did you mean \"mode\"?"],
  ["a misspelt key that is needed, once", "versoin: 1\n", "1:1 versoin is not known here; did you mean \"version\"?"],
  [
    "a key that is like none",
    "version: 1\n\n  \nwebhooks: x\n",
    "4:1 webhooks is not known here, where version, mode, rules, grants, servers, note are"
  ],
  [
    "a key deep inside",
    "version: 1\nrules:\n  - allow: a\n    limt: 3\n",
    "4:5 rules[0].limt is not known here; did you mean \"limit\"?"
  ],
  [
    "a key in flow style",
    "version: 1\nrules: [{allow: a}, {dney: b}]\n",
    "2:22 rules[1].dney is not known here; did you mean \"deny\"?"
  ],
  [
    "__proto__",
    "version: 1\n__proto__: {mode: off}\n",
    "2:1 __proto__ is not known here, where version, mode, rules, grants, servers, note are"
  ],
  [
    "constructor",
    "version: 1\nrules:\n- constructor: a\n",
    "3:3 rules[0].constructor is not known here, where allow, deny, limit are"
  ],
  [
    "a key that is a sentence",
    "version: 1\n\"all is well\": 1\n",
    "2:1 [\"all is well\"] is not known here, where version, mode, rules, grants, servers, note are"
  ],
  [
    "a key that cannot be seen",
    "version: 1\n\"mo\\u202ede\": off\n",
    "2:1 [\"mo\\u{202e}de\"] is not known here; did you mean \"mode\"?"
  ],
  ["a repeated key", "version: 1\nmode: off\nversion: 1\n", "3:1 the key \"version\" is given twice, first in line 1"],
  [
    "a repeated key inside",
    "version: 1\nrules:\n  - allow: a\n    deny: b\n    allow: c\n",
    "5:5 the key \"allow\" is given twice, first in line 3"
  ],
  [
    "a repeated key, quoted once",
    "version: 1\n'mode': off\nmode: warn\n",
    "3:1 the key \"mode\" is given twice, first in line 2"
  ],
  [
    "a repeated key in JSON",
    "{\"version\": 1, \"version\": 1}",
    "1:16 the key \"version\" is given twice, first in line 1"
  ],
  [
    "a repeated key in JSON without blanks",
    "{\"version\":1,\"version\":1}",
    "1:14 the key \"version\" is given twice, first in line 1"
  ],
  [
    "a key in JSON without blanks",
    "{\"version\":1,\"notes\":\"a\"}",
    "1:14 notes is not known here; did you mean \"note\"?"
  ],
  ["a key that is missing", "mode: off\n", "1:1 version is missing"],
  ["a value that is not written", "version: 1\nnote:\n", "2:6 note must be text"],
  ["a value that is not one of the words", "version: 1\nmode: lax\n", "2:7 mode must be off, warn or strict"],
  ["a number for text", "version: 1\nrules:\n  - allow: 12\n", "3:12 rules[0].allow must be text"],
  ["text for a number", "version: 1\nrules:\n  - limit: many\n", "3:12 rules[0].limit must be a number"],
  [
    "a number out of bounds",
    "version: 1\nrules:\n  - limit: 101\n",
    "3:12 rules[0].limit must be a value between 1 and 100"
  ],
  ["a list for a map", "version: 1\nservers: []\n", "2:10 servers must be a map"],
  ["a map for a list", "version: 1\nrules: {}\n", "2:8 rules must be a list"],
  [
    "a list that is too long",
    "version: 1\nrules: [{}, {}, {}, {}]\n",
    "2:8 rules must be a value with a length of at most 3"
  ],
  ["the schema's own words", "version: 1\nnote: LOUD\n", "2:7 note must be small letters"],
  [
    "a foreign name on the way",
    "version: 1\nservers:\n  \"a b\":\n    alow: x\n",
    "4:5 servers[\"a b\"].alow is not known here; did you mean \"allow\"?"
  ],
  [
    "an alternative that fits in kind",
    "version: 1\ngrants:\n  - {kind: folder, pat: x}\n",
    "3:20 grants[0].pat is not known here; did you mean \"path\"?"
  ],
  ["an alternative of no kind", "version: 1\ngrants: [{kind: moon}]\n", "2:10 grants[0] must be a map"],
  ["a value for an alternative", "version: 1\ngrants: [x]\n", "2:10 grants[0] must be a map"],
  ["a list alone", "- version: 1\n", "1:1 must be a map"],
  ["text alone", "version 1\n", "1:1 must be a map"],
  ["nothing", "", "1:1 version is missing"],
  [
    "all of it, in order",
    "mode: lax\nrules:\n  - {limit: 0, x: 1}\n",
    "1:1 version is missing",
    "1:7 mode must be off, warn or strict",
    "3:13 rules[0].limit must be a value between 1 and 100",
    "3:16 rules[0].x is not known here, where allow, deny, limit are"
  ],
  ["a version to come", "version: 2\n", "1:10 version must be 1"]
]

describe("decodeControl", () => {
  for (const [what, text, ...issues] of cases) {
    it.effect(`tells ${what} with line, column and path`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* refused(text), issues)
      }))
  }

  it.effect("gives the value of YAML and of JSON", () =>
    Effect.gen(function*() {
      const value = { version: 1, mode: "warn", rules: [{ allow: "a: b #c" }], servers: { constructor: { limit: 3 } } }
      const yaml =
        "# head\nversion: 1\nmode: warn\nrules:\n  - allow: \"a: b #c\"\nservers: {constructor: {limit: 3}}\n"
      for (const text of [yaml, JSON.stringify(value), JSON.stringify(value, null, 2)]) {
        assert.deepStrictEqual(yield* decodeControl(bytes(text), Policy), value as typeof Policy.Type)
      }
    }))

  it.effect("quotes no value, and tells at most twenty things", () =>
    Effect.gen(function*() {
      const secret = "ghp_0123456789abcdef"
      const values = [`version: ${secret}`, `mode: ${secret}`, `rules: ${secret}`, `rules: [{limit: ${secret}}]`]
      for (const text of [...values, `grants: [${secret}]`, `servers: {a: ${secret}}`]) {
        const error = yield* Effect.flip(decodeControl(bytes(text), Policy))
        assert.notInclude(`${error.message} ${JSON.stringify(error)}`, secret)
      }
      const many = Array.from({ length: 90 }, (_, i) => `k${i}: 1\n`).join("")
      assert.lengthOf(yield* refused(many), 20)
    }))

  it.effect.prop(
    "reads whatever JSON writes as JSON does",
    [Schema.Struct({
      text: Schema.String,
      list: Schema.Array(Schema.Union([Schema.String, Schema.Int, Schema.Boolean, Schema.Null]))
    })],
    ([value]) =>
      Effect.gen(function*() {
        const Both = Schema.Struct({ text: Schema.String, list: Schema.Array(Schema.Unknown) })
        const read = yield* decodeControl(bytes(JSON.stringify(value)), Both)
        assert.deepStrictEqual(read, JSON.parse(JSON.stringify(value)))
      })
  )
})
