import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ExtractorsFile from "../../../src/layers/format/ExtractorsFile.ts"
import { Extractors } from "../../../src/services/format/Extractors.ts"
import type { LoadedExtractor } from "../../../src/services/format/Extractors.ts"
import { ProjectTrust } from "../../../src/services/trust/ProjectTrust.ts"
import { environment, makeDisk } from "../item/onDisk.ts"
import type { Disk } from "../item/onDisk.ts"
import { invalid, parseFiles } from "./parsing.ts"

const ruby = `extensions: [.rb]
parser: text
fields:
  tool_type: {value: ruby}
  executor_id: {value: ruby_runtime}
  version: {pattern: '^# version: (\\S+)$'}
  description: {pattern: '^# (.+)$'}
  tags: {pattern: '^# tag: (\\w+)$', all: true}
`

/** A trust that accepted the given files and nothing else. */
const trusting = (accepted: ReadonlyMap<string, string>) =>
  Layer.mock(ProjectTrust, {
    readControl: (path) =>
      Effect.sync(() => {
        const text = accepted.get(path)
        return text === undefined ? undefined : new TextEncoder().encode(text)
      })
  })

const using = <A, E>(
  accepted: ReadonlyMap<string, string>,
  body: (disk: Disk, extractors: Extractors["Service"]) => Effect.Effect<A, E>
) =>
  Effect.gen(function*() {
    const disk = yield* makeDisk
    return yield* Effect.flatMap(Extractors, (extractors) => body(disk, extractors)).pipe(
      Effect.provide(ExtractorsFile.layer.pipe(Layer.provide(trusting(accepted)), Layer.provide(environment(disk))))
    )
  })

const loaded: LoadedExtractor = {
  extensions: [".rb"],
  parser: "text",
  fields: {
    tool_type: { value: "ruby" },
    executor_id: { value: "ruby_runtime" },
    version: { pattern: "^# version: (\\S+)$" },
    tags: { pattern: "^# tag: (\\w+)$", all: true }
  },
  source: "project:extractors/tool/ruby.yaml",
  digest: "d"
}

describe("extractors", () => {
  it.effect("make tools of further kinds of files, by patterns", () =>
    Effect.gen(function*() {
      const files = { "tools/hello.rb": "# tag: one\n# tag: two\n# version: 1.2.0\nputs 1\n" }
      const tool = yield* parseFiles(files, { tool: [loaded] })
      assert.deepInclude(tool, {
        _tag: "tool",
        version: "1.2.0",
        toolType: "ruby",
        tags: ["one", "two"],
        entrypoint: "hello.rb"
      })
      assert.include((yield* invalid(parseFiles(files))).issue, "no accepted extractor reads .rb files")
      const wrong = yield* invalid(parseFiles({ "tools/hello.rb": "# version: x\n" }, { tool: [loaded] }))
      assert.include(wrong.issue, "semantic version")
    }))

  it.effect("and knowledge, by paths into front matter", () =>
    Effect.gen(function*() {
      const knowledge = yield* parseFiles({ "knowledge/a.txt": "---\nmeta: {title: T, tags: [x]}\n---\nBody\n" }, {
        knowledge: [{
          extensions: [".txt"],
          parser: "front_matter",
          fields: { title: { path: "meta.title" }, tags: { path: "meta.tags" }, author: { path: "meta.constructor" } },
          source: "user:extractors/knowledge/txt.yaml",
          digest: "d"
        }]
      })
      assert.deepInclude(knowledge, {
        _tag: "knowledge",
        title: "T",
        tags: ["x"],
        frontMatter: { title: "T", tags: ["x"] }
      })
    }))

  it.effect("patterns take linear time, whatever they are", () =>
    Effect.gen(function*() {
      const evil = {
        ...loaded,
        fields: { ...loaded.fields, description: { pattern: "^(a+)+$" }, title: { pattern: "(x*)*y" } }
      }
      const text = `# version: 1.0.0\n${"a".repeat(100_000)}!${"x".repeat(100_000)}\n`
      yield* parseFiles({ "tools/hello.rb": text }, { tool: [evil] })
    }), 20_000)

  it.live("of the project count at bytes that a person accepted, before the user's", () =>
    using(
      new Map([[".ai/extractors/tool/ruby.yaml", ruby]]),
      (disk, extractors) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* extractors.of("tool", "project")).size, 0)
          disk.write("project", "extractors/tool/ruby.yaml", "anything: else")
          disk.write("project", "extractors/tool/unaccepted.yaml", ruby.replace(".rb", ".lua"))
          disk.write("user", "extractors/tool/ruby.yaml", ruby.replace("ruby_runtime", "other"))
          disk.write("user", "extractors/tool/perl.yml", ruby.replace(".rb", ".pl"))
          const found = yield* extractors.of("tool", "project")
          assert.deepStrictEqual(Array.from(found, ([extension, e]) => [extension, e.source]), [
            [".rb", "project:extractors/tool/ruby.yaml"],
            [".pl", "user:extractors/tool/perl.yml"]
          ])
          assert.deepStrictEqual(found.get(".rb")?.fields.executor_id, { value: "ruby_runtime" })
          assert.strictEqual((yield* extractors.of("knowledge", "project")).size, 0)
          const own = yield* extractors.of("tool", "user")
          assert.deepStrictEqual(Array.from(own, ([extension, e]) => [extension, e.source]), [
            [".pl", "user:extractors/tool/perl.yml"],
            [".rb", "user:extractors/tool/ruby.yaml"]
          ], "no project says what runs your own tools, and with what config")
          assert.deepStrictEqual(yield* extractors.problems, [])
        })
    ))

  it.live("that cannot be used are left out and named", () =>
    using(new Map(), (disk, extractors) =>
      Effect.gen(function*() {
        const cases: ReadonlyArray<readonly [string, string]> = [
          ["extensions: [.py]\nparser: text\nfields: {}\n", "read by Kiwi itself"],
          ["extensions: []\nparser: text\nfields: {}\n", "extensions"],
          ["extensions: [rb]\nparser: text\nfields: {}\n", "extensions"],
          ["extensions: [.rb]\nparser: python\nfields: {}\n", "parser"],
          ["extensions: [.rb]\nparser: text\nfields: {}\neval: x\n", "eval"],
          ["extensions: [.rb]\nparser: text\nfields: {a: {pattern: '(?=x)'}}\n", "cannot be used"],
          ["extensions: [.rb]\nparser: text\nfields: {a: {pattern: '(x)\\1'}}\n", "cannot be used"],
          ["extensions: [.rb]\nparser: text\nfields: {a: {exec: x}}\n", "fields"],
          ["extensions: &a [.rb]\n", "anchors"]
        ]
        for (const [text, issue] of cases) {
          disk.write("user", "extractors/tool/x.yaml", text)
          const problems = yield* extractors.problems
          assert.strictEqual(problems.length, 1, text)
          assert.include(problems[0]!.message, issue)
          assert.strictEqual(problems[0]!.item, "user:extractors/tool/x.yaml")
          assert.strictEqual((yield* extractors.of("tool", "project")).size, 0)
        }
        disk.write("user", "extractors/tool/x.yaml", new Uint8Array([0xff]))
        assert.include((yield* extractors.problems)[0]!.message, "UTF-8")
        disk.write("user", "extractors/tool/x.py", "print('never run')")
        disk.write("user", "extractors/tool/x.yaml", ruby)
        assert.deepStrictEqual(yield* extractors.problems, [])
      })))
})
