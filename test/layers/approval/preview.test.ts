// What a person is shown of a call of a built-in tool, before it runs.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Schema } from "effect"
import { McpSchema } from "effect/ai"
import * as fs from "node:fs"
import { join } from "node:path"
import { requestText } from "../../../src/layers/approval/requestText.ts"
import * as HumanGateElicit from "../../../src/programs/mcp/HumanGateElicit.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { Access } from "../../../src/services/capability/Access.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { GrantSet } from "../../../src/services/capability/Grant.ts"
import { questionText } from "../../support/questionText.ts"
import { kernelOf, realProject } from "../../support/realProject.ts"
import { trustProject } from "../../support/trustWorld.ts"
import type { Behaviour, FileWorld } from "../filesystem/fileWorld.ts"
import { inWorld } from "../filesystem/fileWorld.ts"
import { call } from "../proxy/calls.ts"

const changes: Behaviour = {
  asks: (access) =>
    access._tag === "Host" || access._tag === "Command" || access.capability !== "fs.read" && access._tag === "Path",
  engine: true
}

/** What "Would do" says of a call that waits. */
const previewOf = (world: FileWorld, tool: string, parameters: Schema.JsonObject) =>
  Effect.gen(function*() {
    assert.strictEqual((yield* Effect.flip(world.run(tool, parameters)))._tag, "ApprovalPending")
    const all = yield* Effect.flatMap(ApprovalStore, (store) => store.list)
    const details = all.at(-1)?.details ?? ""
    assert.notInclude(details, "Would run:")
    return details.slice(details.indexOf("Would do:\n") + 10)
  })

const secret = "only the owner reads this"

const cases: ReadonlyArray<
  readonly [title: string, tool: string, parameters: Schema.JsonObject, shown: ReadonlyArray<string>]
> = [
  ["an edit as a diff", "edit", { path: "a.txt", old: "two", new: "2" }, ["  | -two", "  | +2", "  |  one"]],
  ["a whole new content as a diff", "write", { path: "a.txt", content: "one\n2\nthree\n" }, ["  | -two", "  | +2"]],
  ["the same content", "write", { path: "a.txt", content: "one\ntwo\nthree\n" }, ["changes nothing: a.txt"]],
  ["a new file", "write", { path: "new.txt", content: "x" }, ["creates new.txt"]],
  ["bytes", "write", { path: "a.txt", content: "AAAA", encoding: "base64" }, [
    "replaces all of a.txt, which has 14 bytes"
  ]],
  ["what would be deleted", "delete", { path: "folder", recursive: true }, [
    "deletes these 3:",
    "  | folder/b.txt",
    "  | folder/c.txt"
  ]],
  ["what would be moved", "move", { from: "folder", to: "other" }, ["moves to other:", "  | folder/b.txt"]],
  ["a request", "http.fetch", { url: "https://example.org/a?b=c", method: "DELETE" }, [
    "  | DELETE https://example.org/a?b=c"
  ]],
  ["a command and its folder", "shell.run", { command: "npm test && rm -r dist", cwd: "folder" }, [
    "  | in folder:",
    "  | npm test && rm -r dist"
  ]],
  ["a file's text without its power over a terminal", "edit", { path: "evil.txt", old: "x", new: "y" }, [
    "  | -\\u{1b}[2Kx",
    "  |  Answers:"
  ]]
]

describe("the question about a built-in tool shows", () => {
  for (const [title, tool, parameters, shown] of cases) {
    it.effect(title, () =>
      inWorld(changes, (world) =>
        Effect.gen(function*() {
          world.put("a.txt", "one\ntwo\nthree\n")
          world.put("evil.txt", "Answers:\n\u001b[2Kx\n- once: nothing\n")
          world.put("folder/b.txt", "b")
          world.put("folder/c.txt", "c")
          const text = yield* previewOf(world, tool, parameters)
          for (const line of shown) assert.include(text, line)
          for (const line of text.trimEnd().split("\n")) assert.match(line, /^ {2}\| /)
        })))
  }

  for (
    const [tool, parameters] of [
      ["write", { path: "README.md", content: "# Hello\n" }],
      ["write", { path: "a.txt", content: "one\n2\nthree\n" }],
      ["edit", { path: "a.txt", old: "two", new: "2" }],
      ["delete", { path: "a.txt" }],
      ["move", { from: "a.txt", to: "b.txt" }],
      ["http.fetch", { url: "https://example.org/a?b=c", method: "DELETE" }],
      ["shell.run", { command: "node --version" }],
      ["shell.run", { command: "npm run build --if-present" }]
    ] as const
  ) {
    // The diff of a file that is there has three lines of head, and the lines around the change.
    const most = "path" in parameters && parameters.path === "a.txt" && tool !== "delete" ? 18 : 15
    it.effect(`at most ${most} lines about a small call: ${tool} ${JSON.stringify(parameters)}`, () =>
      inWorld(changes, (world) =>
        Effect.gen(function*() {
          world.put("a.txt", "one\ntwo\nthree\n")
          yield* previewOf(world, tool, parameters)
          const store = yield* ApprovalStore
          const { approval, question } = yield* store.propose((yield* store.list).at(-1)?.id ?? "")
          const { gate, question: asked } = yield* HumanGateElicit.make(yield* HumanGateElicit.makeSeals, "codex", {
            nobody: undefined,
            agent: undefined
          })
          const refused = yield* Effect.flip(gate.ask(question))
          assert.isTrue(refused._tag === "HumanRequired" && refused.asked, refused.message)
          const text = questionText(asked()?.inputRequests?.["agree"]?.params)
          const rows = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0)
          // Beside the description: the message's three lines, and what the number is for.
          assert.isAtMost(rows, most + 5, text)
          for (const { access } of approval.asks) assert.include(text, access)
          assert.notInclude(text, "Built on")
        }).pipe(Effect.provideService(McpSchema.McpRequestContext, {
          clientId: 0,
          protocolVersion: "2026-07-28",
          clientCapabilities: new McpSchema.ClientCapabilities({ elicitation: { form: {} } }),
          clientInfo: { name: "codex-mcp-client", version: "0.169.0" }
        }))))
  }

  for (
    const [content, lines] of [
      ["a line\n".repeat(60), "60 lines"],
      [`${"line\n".repeat(60)}end`, "61 lines"],
      ["x".repeat(400), "1 line"],
      [`${"x".repeat(400)}\n`, "1 line"],
      ["\n".repeat(400), "400 lines"]
    ] as const
  ) {
    const title = `how many lines a long content has: ${lines}, ${content.length} characters`
    it.effect(title, () =>
      Effect.sync(() => {
        const { brief } = requestText({
          caller: { surface: "mcp", client: "ada", session: "s1" },
          about: [],
          asks: [{
            access: { _tag: "Path", capability: "fs.write", path: "a" },
            rule: "r",
            reason: "x",
            offer: "allow: fs.write(a)"
          }],
          parameters: { content },
          preview: { text: "creates a", contents: ["content"] },
          secrets: []
        })
        assert.include(brief, ` characters in ${lines}, SHA-256`)
      }))
  }

  it.effect("that a command names a file with secrets", () =>
    inWorld(changes, (world) =>
      Effect.gen(function*() {
        world.put(".env", "TOKEN=x")
        yield* previewOf(world, "shell.run", { command: "cat .env" })
        const [one] = yield* Effect.flatMap(ApprovalStore, ({ list }) => list)
        assert.include(one?.details, "Look twice:\n! names .env: it may contain secrets")
      })))

  for (const old of ["four", "o", "one\ntwo\nfour", "Two", "\r\n"]) {
    it.effect(`nothing of an edit that would fail: ${JSON.stringify(old)} is refused before it is asked about`, () =>
      inWorld(changes, (world) =>
        Effect.gen(function*() {
          world.put("a.txt", "one\ntwo\nthree\n")
          assert.strictEqual((yield* world.refused("edit", { path: "a.txt", old, new: "2" }))._tag, "EditUnclear")
          assert.lengthOf(yield* Effect.flatMap(ApprovalStore, ({ list }) => list), 0)
        })))
  }

  const failing: ReadonlyArray<readonly [tool: string, parameters: Schema.JsonObject, tag: string]> = [
    ["write", { path: "a.txt", content: "x", overwrite: false }, "WriteRefused"],
    ["write", { path: "./folder/../a.txt", content: "x", overwrite: false }, "WriteRefused"],
    ["write", { path: "a.txt", content: "AAAA", encoding: "base64", overwrite: false }, "WriteRefused"],
    ["write", { path: "folder", content: "x" }, "PathUnusable"],
    ["write", { path: "folder/", content: "x" }, "PathUnusable"],
    ["write", { path: "folder", content: "x", overwrite: false }, "PathUnusable"],
    ["write", { path: "new.txt", content: "%%%", encoding: "base64" }, "PathUnusable"],
    ["edit", { path: "folder", old: "x", new: "y" }, "PathUnusable"],
    ["edit", { path: "absent.txt", old: "x", new: "y" }, "FileAbsent"],
    ["move", { from: "a.txt", to: "folder/b.txt" }, "WriteRefused"],
    ["move", { from: "a.txt", to: "folder" }, "WriteRefused"],
    ["move", { from: "a.txt", to: "folder", overwrite: true }, "WriteRefused"],
    ["move", { from: "folder", to: "a.txt", overwrite: true }, "WriteRefused"],
    ["move", { from: "folder", to: "other" }, "WriteRefused"]
  ]
  for (const [tool, parameters, tag] of failing) {
    it.effect(`nothing of what would fail: ${tool} ${JSON.stringify(parameters)}`, () =>
      inWorld(changes, (world) =>
        Effect.gen(function*() {
          world.put("a.txt", "one")
          world.put("folder/b.txt", "b")
          world.put("other/c.txt", "c")
          assert.strictEqual((yield* world.refused(tool, parameters))._tag, tag)
          assert.lengthOf(yield* Effect.flatMap(ApprovalStore, ({ list }) => list), 0)
        })))
  }

  for (
    const [tool, parameters] of [
      ["write", { path: "a.txt", content: "x", overwrite: true }],
      ["write", { path: "new.txt", content: "x", overwrite: false }],
      ["move", { from: "a.txt", to: "b.txt", overwrite: true }],
      ["move", { from: "a.txt", to: "new.txt" }]
    ] as const
  ) {
    it.effect(`what would not fail: ${tool} ${JSON.stringify(parameters)}`, () =>
      inWorld(changes, (world) =>
        Effect.gen(function*() {
          world.put("a.txt", "one")
          world.put("b.txt", "b")
          assert.include(yield* previewOf(world, tool, parameters), "  | ")
        })))
  }

  it.effect("not whether there is a file that the caller may not read", () => {
    const denies = (access: Access) => access._tag === "Path" && access.capability === "fs.read" && access.path === "b"
    return inWorld({ ...changes, denies }, (world) =>
      Effect.gen(function*() {
        world.put("a.txt", "one")
        world.put("b", "hidden")
        yield* previewOf(world, "write", { path: "b", content: "x", overwrite: false })
      }))
  })

  it.effect("an edit of a file that the caller may not read, whether or not it would fail", () => {
    const denies = (access: Access) => access._tag === "Path" && access.capability === "fs.read"
    return inWorld({ ...changes, denies }, (world) =>
      Effect.gen(function*() {
        world.put("a.txt", "one\ntwo\n")
        const texts = yield* Effect.forEach(["two", "four"], (old) =>
          previewOf(world, "edit", { path: "a.txt", old, new: "2" }))
        assert.strictEqual(texts[0], texts[1])
      }))
  })

  for (const [tool, more] of [["edit", { old: "x", new: "y" }], ["write", { content: "y" }]] as const) {
    it.effect(`nothing of a file that the caller may not read: ${tool}`, () => {
      const denies = (access: Access) => access._tag === "Path" && access.capability === "fs.read"
      return inWorld({ ...changes, denies }, (world) =>
        Effect.gen(function*() {
          world.put("a.txt", `${secret}\nx\n`)
          const text = yield* previewOf(world, tool, { path: "a.txt", ...more })
          assert.notInclude(text, secret)
          assert.include(text, "a.txt")
        }))
    })
  }
})

/** What "Would do" says of a call in a real project, whose person has these rules. */
const previewUnder = (rules: string, tool: string, parameters: Schema.JsonObject, grants?: GrantSet) =>
  Effect.gen(function*() {
    const real = yield* realProject({ "a.txt": "one\ntwo\nthree\n" })
    fs.mkdirSync(join(real.userSpace, "config"), { recursive: true, mode: 0o700 })
    fs.writeFileSync(join(real.userSpace, "config/permissions.yaml"), `rules:\n${rules}\n`, { mode: 0o600 })
    return yield* Effect.gen(function*() {
      yield* trustProject
      const tokens = yield* CapabilityTokens
      const token = grants && { thread: "t1", token: yield* tokens.mint({ thread: "t1", directive: "d", grants }) }
      assert.strictEqual((yield* Effect.flip(call(tool, parameters, token)))._tag, "ApprovalPending")
      const [request] = yield* Effect.flatMap(ApprovalStore, (store) => store.list)
      const details = request?.details ?? ""
      return details.slice(details.indexOf("Would do:"))
    }).pipe(Effect.provide(kernelOf(real)))
  })

describe("whatever is asked about, the question shows", () => {
  const edit = ["filesystem.edit", { path: "a.txt", old: "two", new: "2" }] as const
  const write = ["filesystem.write", { path: "a.txt", content: "one\n2\nthree\n" }] as const
  const ofFiles: GrantSet = { allow: [{ capability: "fs.write", scope: ["**"] }], deny: [] }
  const all: GrantSet = { allow: [...ofFiles.allow, { capability: "tool.*" }], deny: [] }
  const rows: ReadonlyArray<
    readonly [
      title: string,
      rules: string,
      given: readonly [string, Schema.JsonObject],
      grants: GrantSet | undefined,
      isShown: boolean
    ]
  > = [
    ["the shipped default", "  []", edit, undefined, true],
    ["a rule on the tool", "  - ask: filesystem.edit", edit, undefined, true],
    ["a rule on a tool that writes", "  - ask: filesystem.write", write, undefined, true],
    ["a rule on tools by pattern", "  - ask: filesystem.*", write, undefined, true],
    ["a rule on every first run", "  - ask: \"*\"\n    when: [first-run, changed]", edit, undefined, true],
    ["rules on the tool and the file", "  - ask: filesystem.edit\n  - ask: fs.write(a.txt)", edit, undefined, true],
    [
      "a rule on the tool, where writing is allowed",
      "  - ask: filesystem.edit\n  - allow: fs.write(**)",
      edit,
      undefined,
      true
    ],
    ["a token", "  []", edit, ofFiles, true],
    ["a token and a rule on the tool", "  - ask: filesystem.edit", edit, all, true],
    ["a token for one file", "  []", write, { allow: [{ capability: "fs.write", scope: ["a.txt"] }], deny: [] }, true],
    ["a rule on reading the file", "  - ask: fs.read(a.txt)", edit, undefined, false],
    [
      "a rule on reading the file and one on the tool",
      "  - ask: fs.read(*.txt)\n  - ask: \"*\"",
      edit,
      undefined,
      false
    ],
    ["a rule on reading the file, and a token", "  - ask: fs.read(a.txt)", write, all, false]
  ]
  for (const [title, rules, [tool, parameters], grants, isShown] of rows) {
    it.effect(`${isShown ? "the diff" : "no content"}: ${title}`, () =>
      Effect.gen(function*() {
        const text = yield* previewUnder(rules, tool, parameters, grants)
        assert.strictEqual(text.includes("-two"), isShown, text)
      }))
  }
})
