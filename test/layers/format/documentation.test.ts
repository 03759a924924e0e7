// The examples of docs/items.md are items: each is parsed, and passes the checks for signing.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { parse } from "yaml"
import { Extractor } from "../../../src/services/format/Extractors.ts"
import { callSignature } from "../../../src/services/item/CallSignature.ts"
import { checkFiles } from "./parsing.ts"

const document = readFileSync(new URL("../../../docs/items.md", import.meta.url), "utf8")

/** Blocks whose info string names a path, by path. */
const examples = new Map(
  Array.from(
    document.matchAll(/^(`{3,})[a-z]+ \.ai\/(\S+)\n([^]*?)^\1$/gm),
    (match) => [match[2]!, match[3]!] as const
  )
)

const folder = (prefix: string) => Object.fromEntries(Array.from(examples).filter(([path]) => path.startsWith(prefix)))

describe("docs/items.md", () => {
  it("has an example of every kind", () => {
    assert.deepStrictEqual(Array.from(examples.keys()), [
      "tools/math/add.py",
      "tools/old/greet.py",
      "tools/old/gather.py",
      "tools/old/lines.py",
      "tools/text/slug.mjs",
      "tools/text/words.ts",
      "tools/text/count_lines.sh",
      "tools/web/get_page.yaml",
      "tools/report/monthly/tool.yaml",
      "tools/report/monthly/main.py",
      "tools/report/monthly/lib/totals.py",
      "directives/ops/deploy.md",
      "knowledge/email/deliverability.md",
      "extractors/tool/ruby.yaml",
      "tools/hello.rb"
    ])
  })

  it.live("each tool is called as it says", () =>
    Effect.gen(function*() {
      const signatures: ReadonlyArray<readonly [string, string]> = [
        ["tools/math/add.py", "add(a: number, b: number)"],
        ["tools/old/greet.py", "greet(name: string, times?: integer = 1)"],
        ["tools/old/gather.py", "gather(title: string, files?: string[], tags?: string[], verbose?: integer)"],
        ["tools/old/lines.py", "lines(file: string)"],
        ["tools/text/words.ts", "words(tags?: string[], loud?: boolean)"],
        ["tools/text/slug.mjs", "slug(title: string)"],
        ["tools/text/count_lines.sh", "count_lines(file: string)"],
        ["tools/web/get_page.yaml", "get_page(path: string)"],
        ["tools/report/monthly/", "monthly()"]
      ]
      for (const [path, signature] of signatures) {
        const tool = yield* checkFiles(folder(path))
        assert.strictEqual(tool._tag === "tool" && callSignature(tool), signature)
        assert.notStrictEqual(tool.description, "")
      }
    }))

  it.live("the directive and the knowledge entry", () =>
    Effect.gen(function*() {
      const directive = yield* checkFiles(folder("directives/"))
      assert.deepInclude(directive, { title: "Deploy", templates: { note: "Deployed <branch> && all is well" } })
      assert.strictEqual(
        directive._tag === "directive" && callSignature(directive),
        "deploy(branch: string, retries?: integer = 2)"
      )
      const knowledge = yield* checkFiles(folder("knowledge/"))
      assert.deepInclude(knowledge, { entryType: "concept", links: ["spf", "email/dkim"] })
    }))

  it.live("the extractor and what it reads", () =>
    Effect.gen(function*() {
      const extractor = yield* Schema.decodeUnknownEffect(Extractor)(parse(examples.get("extractors/tool/ruby.yaml")!))
      const loaded = { ...extractor, source: "project:extractors/tool/ruby.yaml", digest: "d" }
      const tool = yield* checkFiles(folder("tools/hello.rb"), { tool: [loaded] })
      assert.deepInclude(tool, { version: "1.0.0", description: "Says hello.", tags: ["demo"] })
    }))
})
