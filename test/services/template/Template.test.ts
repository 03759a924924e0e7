import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Result, Schema } from "effect"
import * as Template from "../../../src/services/template/Template.ts"

const places: ReadonlyArray<Template.ConfigField> = [
  { at: "/url", mode: "url" },
  { at: "/headers/*", mode: "header" },
  { at: "/args/*", mode: "argument" },
  { at: "/command", mode: "text" }
]

interface Data {
  readonly parameters?: Schema.JsonObject
  readonly declared?: ReadonlyArray<string>
  readonly variables?: Readonly<Record<string, string>>
  readonly mask?: (name: string) => boolean
}

const run = (config: Schema.JsonObject, data: Data = {}) =>
  Template.render(Template.compile(config, places), {
    parameters: data.parameters ?? {},
    declared: new Set(data.declared ?? Object.keys(data.parameters ?? {})),
    variables: new Map(Object.entries(data.variables ?? {}).map(([k, v]) => [k, { value: Redacted.make(v) }])),
    mask: data.mask
  })

const config = (c: Schema.JsonObject, data: Data = {}) => Result.getOrThrow(run(c, data)).config
const error = (c: Schema.JsonObject, data: Data = {}) => {
  const result = run(c, data)
  return Result.isFailure(result) ? result.failure : assert.fail(`rendered ${JSON.stringify(result.success.config)}`)
}

// Strings that try hard: every piece of syntax there is, and what surrounds it.
const piece = Schema.Literals([
  "${SECRET}",
  "${SECRET:-x}",
  "{x}",
  "{{x}}",
  "{y}",
  "$",
  "{",
  "}",
  "/",
  "..",
  ".",
  "%2e",
  "\\",
  "?",
  "#",
  "@",
  ":",
  "//",
  "evil.example",
  "\u0000",
  "\r\n",
  " ",
  "\t",
  "é",
  "💥",
  "\uD800",
  "__proto__",
  "&",
  "=",
  "+",
  "-",
  "a"
])
const Hostile = Schema.Array(piece).pipe(Schema.check(Schema.isMaxLength(12)))

const expand = (text: string) =>
  Result.getOrThrow(Template.expandVariables(text, "/env/A", (n) => n === "HOME" ? "/home/${X}" : undefined))

describe("Template", () => {
  describe("attacks", () => {
    it.effect.prop("no parameter value is ever expanded", [Hostile], ([pieces]) =>
      Effect.sync(() => {
        const x = pieces.join("")
        const rendered = config(
          { whole: "{x}", inline: "a {x} b {x}", list: ["{x}", "${SECRET}"], deep: { a: [{ b: "{x}" }] } },
          { parameters: { x, y: "other" }, variables: { SECRET: "s3cret-value" } }
        )
        assert.deepStrictEqual(rendered, {
          whole: x,
          inline: `a ${x} b ${x}`,
          list: [x, "s3cret-value"],
          deep: { a: [{ b: x }] }
        })
      }))

    it.effect.prop("no structured parameter is looked into", [Schema.Json], ([value]) =>
      Effect.sync(() => {
        const x = { inner: ["${SECRET}", "{x}", value] }
        const rendered = config({ body: "{x}" }, { parameters: { x }, variables: { SECRET: "s3cret-value" } })
        assert.deepStrictEqual(rendered["body"], x)
      }))

    it.effect.prop("no variable's value is ever expanded", [Hostile], ([pieces]) =>
      Effect.sync(() => {
        const V = pieces.join("")
        assert.deepStrictEqual(
          config({ a: "${V}", b: "-${V}-" }, { parameters: { x: "data" }, variables: { V, SECRET: "s3cret-value" } }),
          { a: V, b: `-${V}-` }
        )
      }))

    const templates = [
      "https://api.example:8443/v1/{x}",
      "https://api.example:8443/v1/{x}/tail",
      "https://api.example:8443/v1/a{x}?q=1",
      "https://api.example:8443/v1/items?q={x}&z=1",
      "https://api.example:8443/v1/items#{x}",
      "${BASE}/items/{x}",
      "${BASE}/items?q={x}"
    ]
    it.effect.prop(
      "a parameter never changes a URL's scheme, host, port or credentials, nor leaves its path segment",
      [Hostile, Schema.Literals(templates)],
      ([pieces, url]) =>
        Effect.sync(() => {
          const x = pieces.join("")
          const result = run({ url }, { parameters: { x }, variables: { BASE: "https://api.example:8443/v1" } })
          if (Result.isFailure(result)) {
            assert.strictEqual(result.failure._tag, "TemplateUnsafe")
            return
          }
          const written = String(result.success.config["url"])
          const parsed = new URL(written)
          const plain = new URL(url.replace("${BASE}", "https://api.example:8443/v1").replace("{x}", "x"))
          assert.strictEqual(parsed.origin, plain.origin)
          assert.strictEqual(parsed.username + parsed.password, "")
          assert.strictEqual(parsed.pathname.split("/").length, plain.pathname.split("/").length)
          assert.isTrue(parsed.pathname.startsWith("/v1/"))
          if (plain.searchParams.has("q") && url.includes("q={x}")) {
            assert.strictEqual(parsed.searchParams.get("q"), x.toWellFormed())
            assert.deepStrictEqual([...parsed.searchParams.keys()], [...plain.searchParams.keys()])
          }
        })
    )

    it("a parameter decides no host, however the URL is written", () => {
      for (
        const url of [
          "{x}",
          "https://{x}",
          "https://{x}/a",
          "https://api.example{x}",
          "https://api.example:{x}/a",
          "https://{x}@api.example/",
          "https:{x}",
          "https:/{x}",
          "https:///{x}",
          "https://\t/{x}",
          "\\\\api.example\\{x}",
          "https:\\\\{x}",
          "{x}://api.example/",
          "/relative/{x}",
          "${BASE}{x}"
        ]
      ) {
        const failure = error({ url }, {
          parameters: { x: "evil.example" },
          variables: { BASE: "https://api.example" }
        })
        assert.strictEqual(failure._tag, "TemplateUnsafe", url)
      }
    })

    it("dots and nothing are no path segments", () => {
      for (const x of ["..", ".", ""]) {
        assert.strictEqual(error({ url: "https://a.example/u/{x}" }, { parameters: { x } })._tag, "TemplateUnsafe")
        assert.strictEqual(error({ url: "https://a.example/u/{x}/k" }, { parameters: { x } })._tag, "TemplateUnsafe")
      }
      assert.strictEqual(error({ url: "https://a.example/.{x}/k" }, { parameters: { x: "." } })._tag, "TemplateUnsafe")
      assert.strictEqual(
        error({ url: "https://a.example/%2e{x}/k" }, { parameters: { x: "." } })._tag,
        "TemplateUnsafe"
      )
      assert.strictEqual(
        config({ url: "https://a.example/u/{x}" }, { parameters: { x: "..a" } })["url"],
        "https://a.example/u/..a"
      )
      assert.strictEqual(
        config({ url: "https://a.example/u?d={x}" }, { parameters: { x: ".." } })["url"],
        "https://a.example/u?d=.."
      )
    })

    it("nothing ends a header", () => {
      for (const x of ["a\r\nX-Evil: 1", "a\nb", "a\u0000", "\u007f", "日本"]) {
        assert.strictEqual(error({ headers: { "X-A": "v {x}" } }, { parameters: { x } })._tag, "TemplateUnsafe")
        assert.strictEqual(error({ headers: { "X-A": "${X}" } }, { variables: { X: x } })._tag, "TemplateUnsafe")
      }
      assert.deepStrictEqual(config({ headers: { "X-A": "{x}" } }, { parameters: { x: 5 } }), {
        headers: { "X-A": "5" }
      })
    })

    it("a parameter is no option of a command, unless the config says that options are over", () => {
      assert.strictEqual(
        error({ args: ["log", "{x}"] }, { parameters: { x: "--output=/etc/passwd" } })._tag,
        "TemplateUnsafe"
      )
      assert.strictEqual(error({ args: ["{e}{x}"] }, { parameters: { e: "", x: "-rf" } })._tag, "TemplateUnsafe")
      assert.deepStrictEqual(config({ args: ["log", "--", "{x}"] }, { parameters: { x: "-a" } }), {
        args: ["log", "--", "-a"]
      })
      assert.deepStrictEqual(config({ args: ["--text={x}"] }, { parameters: { x: "--path=/etc/passwd" } }), {
        args: ["--text=--path=/etc/passwd"]
      })
      assert.deepStrictEqual(config({ args: ["-n", "{n}"] }, { parameters: { n: -5 } }), { args: ["-n", "-5"] })
    })

    it("a parameter's name reaches no prototype", () => {
      assert.strictEqual(error({ a: "{constructor}" })._tag, "TemplateUnresolved")
      assert.strictEqual(error({ a: "{__proto__}" })._tag, "TemplateUnresolved")
      const hostile: Schema.JsonObject = JSON.parse(`{"__proto__": {"a": "{x}"}, "b": "{x}"}`)
      const rendered = config(hostile, { parameters: { x: 1 } })
      assert.deepStrictEqual(JSON.stringify(rendered), `{"__proto__":{"a":1},"b":1}`)
      assert.strictEqual(Object.getPrototypeOf(rendered), Object.prototype)
    })
  })

  it("a placeholder that is the whole string keeps the value's type", () => {
    const parameters = { n: 1.5, b: false, z: null, l: [1, "2"], o: { a: 1 }, s: "t" }
    assert.deepStrictEqual(
      config({ n: "{n}", b: "{b}", z: "{z}", l: "{l}", o: "{o}", s: "{s}", in: "{n}|{b}|{z}|{l}|{o}|{s}" }, {
        parameters
      }),
      { ...parameters, in: `1.5|false|null|[1,"2"]|{"a":1}|t` }
    )
  })

  it("an absent optional parameter drops its key or element; inside a text it is unresolved", () => {
    assert.deepStrictEqual(config({ a: "{x}", l: ["1", "{x}", "2"], o: { k: "{x}" } }, { declared: ["x"] }), {
      l: ["1", "2"],
      o: {}
    })
    const failure = error({ o: { "a/b": "v {x}" } }, { declared: ["x"] })
    assert.strictEqual(failure._tag, "TemplateUnresolved")
    assert.strictEqual(failure.at, "/o/a~1b")
    assert.strictEqual(failure.message, "{x} in config /o/a~1b has no value")
  })

  it("a tool without a file is told so, and not to set a variable that is Kiwi's", () => {
    const failure = error({ args: ["${TOOL_FILE}"] })
    assert.strictEqual(failure._tag, "TemplateUnresolved")
    assert.include(failure.remediation, "no file to run")
  })

  it("a name that the schema does not declare is a mistake, and the hint says what to write", () => {
    const failure = error({ body: "{usr}" }, { parameters: { user: "u" } })
    assert.strictEqual(failure._tag, "TemplateUnresolved")
    assert.include(failure.remediation, "{{usr}}")
    assert.include(error({ body: "${user}" }, { parameters: { user: "u" } }).remediation, "write {user}")
  })

  it("variables: value, default, set but empty, missing", () => {
    const variables = { PORT: "9000", EMPTY: "" }
    assert.deepStrictEqual(
      config({
        a: "${PORT:-8080}",
        b: "${NONE:-8080}",
        c: "${EMPTY:-8080}",
        d: "${EMPTY}",
        e: "${NONE:-}",
        f: "http://h:${PORT}/x"
      }, { variables }),
      { a: "9000", b: "8080", c: "8080", d: "", e: "", f: "http://h:9000/x" }
    )
    assert.strictEqual(error({ a: "${NONE}" })._tag, "TemplateUnresolved")
  })

  it("what is no placeholder stays as it is", () => {
    for (
      const text of [
        `{ "a": 1 }`,
        "{}",
        `{"a":{"b":{}}}`,
        "{{.Names}}",
        "{{json .}}",
        "$HOME $1 $$ $",
        "${1} ${x%.*} ${#a[@]}",
        "a{2,3}",
        "{ x }",
        "{a.b}",
        "{",
        "}",
        "${",
        "${X",
        "{x",
        "日本{語}"
      ]
    ) {
      assert.deepStrictEqual(config({ t: text }), { t: text })
    }
  })

  it("one more brace pair or one more dollar is taken off and means nothing", () => {
    const data = { parameters: { x: "v" }, variables: { X: "v" } }
    const expected: Readonly<Record<string, string>> = {
      "{{x}}": "{x}",
      "{{{x}}}": "{{x}}",
      "$${X}": "${X}",
      "$$${X}": "$${X}",
      "$${X:-d}": "${X:-d}",
      "{{x}": "{v",
      "{x}}": "v}",
      [`{"a":{x}}`]: `{"a":v}`,
      "${{x}}": "${x}"
    }
    for (const [text, value] of Object.entries(expected)) {
      assert.strictEqual(config({ t: text }, data)["t"], value, text)
    }
  })

  it("a default with braces is refused rather than half expanded", () => {
    const failure = error({ a: "${A:-${B}}" }, { variables: { B: "b" } })
    assert.strictEqual(failure._tag, "TemplateUnresolved")
    assert.include(failure.remediation, "without braces")
  })

  it("keys are not templated, and what holds no placeholder is the same object", () => {
    const constant = { "{x}": ["a", { b: 1 }] }
    const rendered = config({ constant, "${X}": "{x}" }, { parameters: { x: 1 } })
    assert.strictEqual(rendered["constant"], constant)
    assert.strictEqual(rendered["${X}"], 1)
  })

  it("a variable may be a whole base URL, and is encoded after the host", () => {
    const variables = { BASE: "http://127.0.0.1:80/api", KEY: "a b&c", HOST: "h.example" }
    assert.deepStrictEqual(
      config({ url: "${BASE}/x?key=${KEY}" }, { variables }),
      { url: "http://127.0.0.1:80/api/x?key=a%20b%26c" }
    )
    assert.deepStrictEqual(config({ url: "https://${HOST}/" }, { variables }), { url: "https://h.example/" })
    assert.strictEqual(
      error({ url: "${BASE}/x" }, { variables: { BASE: "http://h\n.example" } })._tag,
      "TemplateUnsafe"
    )
  })

  it("says which texts variables put in, in the form in which they stand there", () => {
    const result = Result.getOrThrow(
      run({ url: "https://h.example/?k=${KEY}", headers: { a: "Bearer ${KEY}" }, args: ["${KEY}"] }, {
        variables: { KEY: "p&ss word", OTHER: "unused" }
      })
    )
    assert.deepStrictEqual(result.substituted.map((s) => [s.name, Redacted.value(s.text)]), [
      ["KEY", "p%26ss%20word"],
      ["KEY", "p&ss word"]
    ])
    assert.notInclude(JSON.stringify(result.substituted), "p&ss")
  })

  it("a masked rendering shows names and checks values", () => {
    const data: Data = {
      parameters: { id: "7" },
      variables: { BASE: "https://h.example/v1", KEY: "s3cret", PYTHON: "/usr/bin/python3" },
      mask: (name) => name !== "PYTHON"
    }
    assert.deepStrictEqual(config({ url: "${BASE}/{id}?k=${KEY}", command: "${PYTHON}" }, data), {
      url: "‹BASE›/7?k=‹KEY›",
      command: "/usr/bin/python3"
    })
    assert.strictEqual(
      error({ url: "${BASE}{id}" }, { ...data, variables: { BASE: "https://h.example" } })._tag,
      "TemplateUnsafe"
    )
  })

  it("knows which names a config uses", () => {
    const compiled = Template.compile({ a: "{x} ${A:-1} ${B}", b: ["${A}", "{{y}}"] }, [])
    assert.deepStrictEqual([...compiled.parameters], ["x"])
    assert.deepStrictEqual([...compiled.variables], [["A", true], ["B", true]])
    assert.deepStrictEqual([...Template.compile({ a: "${A:-1}" }, []).variables], [["A", false]])
  })

  it("expands variables in a single text by the same rules", () => {
    assert.strictEqual(expand("${HOME}/{x}/${NO:-d}/$${HOME}"), "/home/${X}/{x}/d/${HOME}")
    assert.isTrue(Result.isFailure(Template.expandVariables("${NO}", "/env/A", () => undefined)))
  })
})
