// What a person is shown of a call of a built-in tool, before it runs.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Schema } from "effect"
import { McpSchema } from "effect/ai"
import * as HumanGateElicit from "../../../src/programs/mcp/HumanGateElicit.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { Access } from "../../../src/services/capability/Access.ts"
import { questionText } from "../../support/questionText.ts"
import type { Behaviour, FileWorld } from "../filesystem/fileWorld.ts"
import { inWorld } from "../filesystem/fileWorld.ts"

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
