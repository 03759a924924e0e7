// What holds for every config and all data, whatever is in them.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema } from "effect"
import * as Template from "../../../src/services/template/Template.ts"

const places: ReadonlyArray<Template.ConfigField> = [{ at: "/url", mode: "url" }]

const render = (
  config: Schema.JsonObject,
  parameters: Schema.JsonObject = {},
  variables: Readonly<Record<string, string>> = {}
) =>
  Template.render(Template.compile(config, places), {
    parameters,
    declared: new Set(Object.keys(parameters)),
    variables: new Map(Object.entries(variables).map(([k, v]) => [k, { value: Redacted.make(v) }]))
  })

const rendered = (...input: Parameters<typeof render>) => Result.getOrThrow(render(...input)).config

/** Text in which no placeholder can be: braces and dollars are what makes one. */
const plainText = (text: string) => text.replaceAll(/[{}$]/g, "")

const plain = (value: Schema.Json): Schema.Json =>
  typeof value === "string"
    ? plainText(value)
    : Array.isArray(value)
    ? value.map(plain)
    : typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]))
    : value

const syntax = Schema.Array(Schema.Union([
  Schema.Literals([
    "${SECRET}",
    "${SECRET:-x}",
    "{x}",
    "{{x}}",
    "$",
    "{",
    "}",
    "/",
    "..",
    "%2f",
    "?",
    "#",
    "@",
    "é",
    "💥"
  ]),
  Schema.String
])).pipe(Schema.check(Schema.isMaxLength(8)))

describe("a config that is filled in", () => {
  it.effect.prop(
    "is itself where it holds no placeholder, once and again",
    [Schema.Json],
    ([value]) =>
      Effect.sync(() => {
        const config = { a: plain(value) }
        const once = rendered(config, { x: "data" }, { SECRET: "s3cret" })
        assert.deepStrictEqual(once, config)
        assert.deepStrictEqual(rendered(once, { x: "data" }, { SECRET: "s3cret" }), config)
      })
  )

  it.effect.prop(
    "keeps the type of a value whose placeholder is the whole text, wherever it stands",
    [Schema.Json],
    ([x]) =>
      Effect.sync(() => {
        assert.deepStrictEqual(rendered({ a: "{x}", list: [1, "{x}"], deep: { b: { c: "{x}" } } }, { x }), {
          a: x,
          list: [1, x],
          deep: { b: { c: x } }
        })
      })
  )

  it.effect.prop("never looks at what was put in, not even where two pieces of data would make a placeholder", [
    syntax,
    syntax
  ], ([first, second]) =>
    Effect.sync(() => {
      const [x, y] = [first.join(""), second.join("")]
      assert.deepStrictEqual(
        rendered({ a: "{x}{y}", b: "${V}{y}", c: "{x}:{x}" }, { x, y }, { V: x, SECRET: "s3cret" }),
        { a: x + y, b: x + y, c: `${x}:${x}` }
      )
    }))

  it.effect.prop(
    "depends on the config and the data alone: filled in again it is the same",
    [syntax, syntax],
    ([t, d]) =>
      Effect.sync(() => {
        const compiled = Template.compile({ a: t.join("") }, places)
        const data = { parameters: { x: d.join("") }, declared: new Set(["x"]), variables: new Map() }
        const [one, two] = [Template.render(compiled, data), Template.render(compiled, data)]
        assert.deepStrictEqual(
          Result.isSuccess(one) ? one.success.config : one.failure.message,
          Result.isSuccess(two) ? two.success.config : two.failure.message
        )
      })
  )
})

describe("a URL that is filled in", () => {
  it.effect.prop(
    "holds the data as data: decoded, it is what was passed, and nothing in it was expanded",
    [syntax],
    ([pieces]) =>
      Effect.sync(() => {
        const x = pieces.join("")
        const found = render({ url: "https://api.example/v1/a?q={x}&r=1" }, { x }, { SECRET: "s3cret" })
        const url = new URL(String(Result.getOrThrow(found).config["url"]))
        assert.strictEqual(url.host, "api.example")
        assert.strictEqual(url.pathname, "/v1/a")
        assert.strictEqual(url.searchParams.get("q"), x.toWellFormed())
        assert.strictEqual(url.searchParams.get("r"), "1")
        assert.strictEqual(url.hash, "")
      })
  )

  it.effect.prop("is the URL as written where it holds no placeholder", [Schema.String], ([text]) =>
    Effect.sync(() => {
      const url = `https://api.example/${plainText(text)}`
      assert.deepStrictEqual(rendered({ url }, { x: "data" }), { url })
    }))

  it.effect.prop(
    "holds a number or a truth as its text, and an object as its JSON",
    [Schema.Json],
    ([x]) =>
      Effect.sync(() => {
        const url = new URL(String(rendered({ url: "https://api.example/a?q={x}" }, { x })["url"]))
        assert.strictEqual(url.searchParams.get("q"), (typeof x === "string" ? x : JSON.stringify(x)).toWellFormed())
      })
  )
})
