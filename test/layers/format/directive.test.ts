import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { invalid, parseDirective } from "./parsing.ts"

const fence = "```"

const xml = (process: string, rest = "") =>
  `<directive name="deploy" version="1.2.0">
  <metadata>
    <description>Deploys a branch.</description>
    <category>ops</category>
    <permissions><read resource="filesystem" path="src/**"/></permissions>
    ${rest}
  </metadata>
  <process>
    <step name="one">
      <action>${process}</action>
    </step>
  </process>
</directive>`

const inFence = (source: string) => `# Deploy\n\nProse.\n\n${fence}xml\n${source}\n${fence}\n\nAfter.\n`
const parse = (source: string) => parseDirective("ops/deploy.md", inFence(source))
const action = (process: string) => Effect.map(parse(xml(process)), (d) => d.steps[0]!.action)

describe("a directive", () => {
  it.effect("is read whole", () =>
    Effect.gen(function*() {
      const directive = yield* parse(`<directive name="deploy" version="1.2.0">
  <metadata>
    <description>
      Deploys a branch
      to production.
    </description>
    <category>ops</category>
    <author>Ada</author>
    <model tier="reasoning" fallback_id="x" parallel="false">Needs care</model>
    <permissions>
      <read resource="filesystem" path="src/**"/>
      <execute resource="tool" id="git.*"/>
    </permissions>
    <limits><turns>8</turns><spend currency="USD">0.50</spend></limits>
    <hooks>
      <hook><when>event.name == "error"</when><directive>rollback</directive></hook>
    </hooks>
    <tags>ops, deploy</tags>
    <relationships><requires>build</requires></relationships>
  </metadata>
  <inputs>
    <input name="branch" type="string" required="true">Which branch.</input>
    <input name="count" type="integer" default="3" required="true">How many.</input>
    <input name="flags" type="array" default='["a"]'/>
    <input name="dry" type="boolean" default="false"/>
    <input name="anything"/>
  </inputs>
  <process>
    <step name="build">
      <description>Build it</description>
      <action>Run the build &amp; wait.</action>
    </step>
    <step name="show"><instruction>Show {{branch}}.</instruction></step>
    <step>Plain text.</step>
  </process>
  <outputs>
    <success>Done.</success>
    <output name="sha" type="string">The commit.</output>
  </outputs>
</directive>`)
      assert.deepInclude(directive, {
        version: "1.2.0",
        title: "Deploy",
        description: "Deploys a branch to production.",
        author: "Ada",
        tags: ["ops", "deploy"],
        limits: { turns: "8", spend: "0.50", spend_currency: "USD" },
        model: { tier: "reasoning", fallback_id: "x", parallel: "false", context: "Needs care" },
        body: "# Deploy\n\nProse.\n\nAfter."
      })
      assert.deepStrictEqual(directive.permissions, [
        { tag: "read", attributes: { resource: "filesystem", path: "src/**" }, text: "", children: [] },
        { tag: "execute", attributes: { resource: "tool", id: "git.*" }, text: "", children: [] }
      ])
      assert.deepStrictEqual(directive.hooks[0]?.children.map((c) => [c.tag, c.text]), [
        ["when", "event.name == \"error\""],
        ["directive", "rollback"]
      ])
      assert.deepStrictEqual(directive.inputs, [
        { name: "branch", type: "string", required: true, description: "Which branch." },
        { name: "count", type: "integer", required: false, default: 3, description: "How many." },
        { name: "flags", type: "array", required: false, default: ["a"], description: "" },
        { name: "dry", type: "boolean", required: false, default: false, description: "" },
        { name: "anything", type: "string", required: false, description: "" }
      ])
      assert.deepStrictEqual(directive.steps, [
        { name: "build", description: "Build it", action: "Run the build & wait." },
        { name: "show", description: "", action: "Show {{branch}}." },
        { name: "step_3", description: "", action: "Plain text." }
      ])
      assert.deepStrictEqual(directive.outputs.map((o) => [o.tag, o.text]), [["success", "Done."], [
        "output",
        "The commit."
      ]])
      assert.deepStrictEqual(
        directive.xml.children[0]?.children.find((c) => c.tag === "relationships")?.children[0],
        { tag: "requires", attributes: {}, text: "build", children: [] }
      )
    }))

  it.effect("may bring its own schema for its inputs", () =>
    Effect.gen(function*() {
      const withInputs = (inputs: string) => parse(xml("x").replace("<process>", `${inputs}<process>`))
      const schema = "{\"type\": \"object\", \"properties\": {\"n\": {\"minimum\": 1}}}"
      const expected = { type: "object", properties: { n: { minimum: 1 } } }
      assert.deepStrictEqual((yield* withInputs(`<inputs><schema>${schema}</schema></inputs>`)).inputSchema, expected)
      assert.deepStrictEqual((yield* withInputs(`<inputs schema='${schema}'/>`)).inputSchema, expected)
      for (const wrong of ["{", "[]", "{\"type\": \"array\"}", `${"[".repeat(2000)}`, "{\"__proto__\": 1}"]) {
        yield* invalid(withInputs(`<inputs><schema>${wrong}</schema></inputs>`))
      }
    }))
})

describe("the block is found before any XML is parsed", () => {
  it.effect("prose may speak of <directive>, before and after, and in other blocks", () =>
    Effect.gen(function*() {
      const text =
        `A <directive> tag, and </directive>.\n\n${fence}\n<directive name="no">\n${fence}\n\n~~~xml\n<other/>\n~~~\n${
          inFence(xml("x"))
        }More about </directive> and <b>bold</b>.\n\n${fence}text\n${fence}xml\n<directive/>\n${fence}\n`
      assert.strictEqual((yield* parseDirective("ops/deploy.md", text)).version, "1.2.0")
    }))

  it.effect("<directive> inside a hook is not the root, and the last </directive> is not the end", () =>
    Effect.gen(function*() {
      const hooks = "<hooks><hook><when>x</when><directive>other</directive></hook></hooks>"
      assert.strictEqual((yield* parse(xml("x", hooks))).hooks.length, 1)
    }))

  it.effect("fences may be longer, of tildes, indented, or never closed", () =>
    Effect.gen(function*() {
      for (const [open, close] of [["`````xml", "`````"], ["~~~ XML title", "~~~~"], ["  ```xml", " ```  "]]) {
        const text = `${open}\n${xml("x")}\n${close}\n`
        assert.strictEqual((yield* parseDirective("ops/deploy.md", text)).version, "1.2.0")
      }
      const open = yield* invalid(parseDirective("ops/deploy.md", `a\n${fence}xml\n${xml("x")}\n`))
      assert.deepInclude(open, { line: 2, issue: "the fenced block has no end" })
      yield* invalid(parseDirective("ops/deploy.md", `\`\`\`\`xml\n${xml("x")}\n${fence}\n`))
    }))

  it.effect("none, an empty one and two are refused", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(parseDirective("ops/deploy.md", "# x\n"))).issue, "no fenced xml block")
      assert.include((yield* invalid(parseDirective("ops/deploy.md", ""))).issue, "no fenced xml block")
      assert.include((yield* invalid(parse("<other/>"))).issue, "does not contain a <directive>")
      const two = yield* invalid(parseDirective("ops/deploy.md", inFence(xml("x")) + inFence(xml("y"))))
      assert.include(two.issue, "second block")
    }))

  it.effect("nothing but blanks may follow </directive> in the block", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* parse(`${xml("x")}\n\n  `)).version, "1.2.0")
      for (const after of ["text", "<x/>"]) yield* invalid(parse(`${xml("x")}\n${after}`))
    }))

  it.effect("an XML declaration and comments are tolerated", () =>
    Effect.gen(function*() {
      const source = `<?xml version="1.0" encoding="UTF-8"?>\n<!-- <directive> -->\n${xml("x<!-- a -- < & b -->y")}`
      assert.strictEqual((yield* parse(source)).steps[0]?.action, "xy")
    }))
})

describe("templates and examples are opaque", () => {
  it.effect("a directive in its own fence inside a template", () =>
    Effect.gen(function*() {
      const inner = `\n${fence}xml\n<directive name="inner">\n  <process>a < b && c</process>\n</directive>\n${fence}\n`
      const directive = yield* parse(xml(`Write:<template name="new">${inner}</template>`))
      assert.deepStrictEqual(directive.templates, { new: inner.trim() })
      assert.include(directive.steps[0]?.action, "<directive name=\"inner\">")
    }))

  it.effect("fences in an example, templates in templates, several of one name", () =>
    Effect.gen(function*() {
      const directive = yield* parse(
        xml(
          `<example>${fence}sh\nls <dir> && x\n${fence}</example><template>a<template>b</template>c</template><template/><template/>`
        )
      )
      assert.deepStrictEqual(directive.templates, {
        example: `${fence}sh\nls <dir> && x\n${fence}`,
        template: "a<template>b</template>c",
        template_2: "",
        template_3: ""
      })
    }))

  it.effect("CDATA is opaque and may hold a closing fence", () =>
    Effect.gen(function*() {
      assert.strictEqual(
        yield* action(`<![CDATA[if (a < b && c) {\n${fence}\n}<x>]]>`),
        `if (a < b && c) {\n${fence}\n}<x>`
      )
    }))

  it.effect("one that is not closed is refused at its start", () =>
    Effect.gen(function*() {
      const error = yield* invalid(action("<template>a"))
      assert.deepInclude(error, { line: 15, column: 15 })
      assert.include(error.issue, "</template>")
      assert.include((yield* invalid(action("<![CDATA[ a"))).issue, "]]>")
      assert.include((yield* invalid(action("<!-- a"))).issue, "-->")
    }))
})

describe("XML is strict, but for one thing", () => {
  it.effect("a < before a digit or a blank is text inside <process>", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* action("if it took <100ms or x < Result"), "if it took <100ms or x < Result")
      assert.strictEqual(yield* action("a > b -> c"), "a > b -> c")
      assert.strictEqual(yield* action("\ue000 < 1"), "\ue000 < 1")
    }))

  it.effect("elsewhere, and for anything else, it is an error with its place and a hint", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string]> = [
        ["List<String>", "&lt;"],
        ["a <- b", "&lt;"],
        ["a & b", "&amp;"],
        ["https://x.test/?a=b&c=d", "&amp;"],
        ["&custom;", "&amp;"],
        ["<b>", "Close"],
        ["</action>", "Close"],
        ["<x a=1/>", "quotes"],
        ["<x a=\"1\" a=\"2\"/>", "Close"],
        ["a\u0001b", "Close"],
        ["&#0;", "Close"]
      ]
      for (const [wrong, hint] of cases) {
        const error = yield* invalid(action(wrong))
        assert.include(error.issue, "Invalid directive XML", wrong)
        assert.isAtLeast(error.line, 15, wrong)
        assert.include(error.hint, hint, wrong)
      }
      const description = yield* invalid(parse(xml("x").replace("Deploys a branch.", "Takes <100ms")))
      assert.deepInclude(description, { line: 8, found: "<description>Takes <100ms</description>" })
      assert.include(description.hint, "&lt;")
    }))

  it.effect("document types, entities and processing instructions are refused at their place", () =>
    Effect.gen(function*() {
      const bomb = `<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n${xml("&b;")}`
      yield* invalid(parse(bomb))
      yield* invalid(parse(`<!DOCTYPE x SYSTEM "file:///etc/passwd">\n${xml("x")}`))
      assert.include((yield* invalid(action("<!DOCTYPE x>"))).issue, "document types")
      assert.include((yield* invalid(action("<?php x ?>"))).issue, "processing instructions")
    }))

  it.effect("deep, wide and adversarial blocks end in an answer", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(action("<a>".repeat(100) + "</a>".repeat(100)))).issue, "Invalid directive XML")
      assert.include((yield* invalid(action("<a/>".repeat(20_000)))).issue, "10000 elements")
      for (
        const unit of [
          "<template ",
          "<template>",
          "<example>",
          "<!--",
          "<![CDATA[",
          "<",
          "< ",
          "</",
          "<a ",
          "&",
          "&#",
          "`"
        ]
      ) {
        yield* Effect.result(action(unit.repeat(Math.floor(200_000 / unit.length))))
        yield* Effect.result(parseDirective("ops/deploy.md", `${unit}\n`.repeat(Math.floor(100_000 / unit.length))))
      }
      yield* Effect.result(parseDirective("ops/deploy.md", `${fence}xml\n`.repeat(100_000)))
      yield* Effect.result(parseDirective("ops/deploy.md", `${fence}xml\n<directive>\n`.repeat(50_000)))
    }), 60_000)
})

describe("what a directive must say", () => {
  const refused = (from: string, to: string) => invalid(parse(xml("x", "<model tier=\"fast\"/>").replace(from, to)))

  it.effect("is checked, with the place of the element", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [from: string, to: string, issue: string, line: number, column: number]> = [
        ["name=\"deploy\"", "name=\"other\"", "not the file's", 6, 1],
        ["name=\"deploy\"", "", "not the file's", 6, 1],
        ["1.2.0", "1.2", "semantic version", 6, 1],
        ["<category>ops<", "<category>web<", "declared category", 9, 5],
        ["<read resource=\"filesystem\" path=\"src/**\"/>", "", "names no permission", 10, 5],
        [" resource=\"filesystem\" path=\"src/**\"", "", "neither what nor where", 10, 18],
        ["<permissions><read resource=\"filesystem\" path=\"src/**\"/></permissions>", "", "no <permissions>", 7, 3],
        ["<model tier=\"fast\"/>", "<model/>", "no usable tier", 11, 5],
        ["<model tier=\"fast\"/>", "<model tier=\"fast\" parallel=\"yes\"/>", "neither \"true\" nor", 11, 5],
        ["<model tier=\"fast\"/>", "<model tier=\"fast\" fallback=\"\"/>", "is empty", 11, 5],
        ["<model tier=\"fast\"/>", "<cost max_turns=\"3\"/>", "<limits> has taken its place", 11, 5],
        ["<model tier=\"fast\"/>", "<limits><turns>many</turns></limits>", "not a number", 11, 5],
        ["<model tier=\"fast\"/>", "<hooks><hook><when>x</when></hook></hooks>", "no <directive>", 11, 12],
        ["<model tier=\"fast\"/>", "<hooks><x/></hooks>", "is not allowed in <hooks>", 11, 12],
        ["<process>", "<inputs><input/></inputs><process>", "no usable name", 13, 11],
        ["<process>", "<inputs><input name=\"a\" type=\"date\"/></inputs><process>", "type is unknown", 13, 11],
        [
          "<process>",
          "<inputs><input name=\"a\" type=\"integer\" default=\"x\"/></inputs><process>",
          "the default",
          13,
          11
        ],
        ["<process>", "<inputs><input name=\"a\"/><input name=\"a\"/></inputs><process>", "duplicated", 13, 28],
        ["<process>", "<inputs/><inputs/><process>", "second <inputs>", 13, 12],
        ["metadata>", "metadatum>", "Invalid directive XML", 12, 3]
      ]
      for (const [from, to, issue, line, column] of cases) {
        const error = yield* refused(from, to)
        assert.include(error.issue, issue, to)
        assert.deepStrictEqual([error.line, error.column], [line, column], to)
        assert.notStrictEqual(error.hint, "")
      }
      assert.include((yield* invalid(parse(`<directive name="deploy"/>`))).issue, "no <metadata>")
      assert.include(
        (yield* invalid(parse("<directive name=\"deploy\"><metadata/></directive>"))).issue,
        "no <process>"
      )
    }))

  it.effect("an error is not chosen by words that a directive's text happens to hold", () =>
    Effect.gen(function*() {
      // The original picked its message by searching for "model" and "permission" in the issue.
      const error = yield* invalid(
        parseDirective("model_permission.md", inFence("<directive name=\"model_permission\" version=\"1\"/>"))
      )
      assert.strictEqual(error.issue, "the version is not a semantic version")
    }))

  it.effect("without a version it is 0.0.0, which is never signed", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* parse(xml("x").replace(" version=\"1.2.0\"", ""))).version, "0.0.0")
    }))
})
