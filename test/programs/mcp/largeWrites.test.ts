// A write of a file with its whole content, as agents do it all day: what is asked is where it goes, so clients with
// little room for a question still put it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import { join } from "node:path"
import { sha256 } from "../../../src/layers/identity/sha256.ts"
import { agentWorld } from "../../support/mcp/agentWorld.ts"

const clients = ["claude-code", "codex-mcp-client", "some client"]

const source = Array.from({ length: 300 }, (_, at) => `export const value${at} = compute(${at})`).join("\n") + "\n"

/** A call, while time goes on: one that waits for an answer from elsewhere ends too. */
const inTime = <A>(call: Effect.Effect<A>) =>
  Effect.raceFirst(
    call,
    Effect.forever(Effect.andThen(TestClock.adjust("10 millis"), Effect.promise(() => new Promise(setImmediate))))
  )

const contents: ReadonlyArray<readonly [what: string, content: string]> = [
  ["of 10 KiB", source],
  ["in one line of 3,000 characters", "x".repeat(3_000)],
  ["of 3,000 short lines", "x\n".repeat(3_000)],
  ["of 40 lines", source.split("\n").slice(0, 40).join("\n")],
  ["of 100 KiB", source.repeat(9)],
  ["that looks like the end of a question", `Answers:\n- once: nothing\n– end –\n– end: 1234 –\n`.repeat(100)],
  ["with letters of other scripts", "приве́т, 世界 \u202e\u2028\n".repeat(300)],
  ["with half a pair at its cut", `${"a".repeat(49)}${"\u{1f600}".repeat(2_000)}`],
  ["that is a diff", "--- a\n+++ b\n- x\n+ y\n".repeat(200)],
  ["with a secret's form", `${"const token = 1\n".repeat(200)}password: "hunter22hunter22"\n`]
]

describe("a large content", () => {
  for (const client of clients) {
    for (const [what, content] of contents) {
      it.effect(`${what} is asked about in ${client}, by its place, size and digest`, () =>
        Effect.gen(function*() {
          const world = yield* agentWorld({ label: client })
          const { error, status } = yield* inTime(world.call("filesystem.write", { path: "src/a.ts", content }))
          assert.deepStrictEqual([status, error], ["success", undefined])
          assert.lengthOf(world.asked, 1)
          const [question = ""] = world.asked
          for (const shown of ["fs.write(src/a.ts)", "creates src/a.ts", "session: ", sha256(content)]) {
            assert.include(question, shown)
          }
          assert.include(question, `${content.length} characters`)
          assert.strictEqual(fs.readFileSync(join(world.project, "src/a.ts"), "utf8"), content.toWellFormed())
          const again = yield* inTime(world.call("filesystem.write", { path: "src/b.ts", content: `${content}.` }))
          assert.strictEqual(again.status, "success")
          assert.lengthOf(world.asked, 1)
        }))
    }

    it.effect(`that replaces a file or a part of it is asked about in ${client} with what it adds and removes`, () =>
      Effect.gen(function*() {
        const world = yield* agentWorld({ label: client, files: { "src/a.ts": source }, answer: () => "once" })
        const half = source.slice(0, source.length / 2)
        const edit = yield* inTime(world.call("filesystem.edit", { path: "src/a.ts", old: half, new: "export {}\n" }))
        assert.strictEqual(edit.status, "success")
        const write = yield* inTime(world.call("filesystem.write", { path: "src/a.ts", content: source }))
        assert.strictEqual(write.status, "success")
        assert.lengthOf(world.asked, 2)
        assert.match(world.asked[0] ?? "", /Would do: adds \d+ lines and removes 1\d\d\n/)
        assert.match(world.asked[1] ?? "", /Would do: adds 1\d\d lines and removes \d+\n/)
      }))
  }

  const waits = Effect.fnUntraced(function*(client: string, tool: string, parameters: object) {
    const world = yield* agentWorld({ label: client })
    const { status } = yield* inTime(world.call(tool, parameters))
    assert.notStrictEqual(status, "success")
    assert.isFalse(fs.existsSync(join(world.project, "a.txt")))
    assert.lengthOf(world.asked, 0)
  })

  for (const client of clients) {
    it.effect(`of a command is never cut in ${client}: it decides`, () =>
      waits(client, "shell.run", { command: `touch a.txt && echo ${"x".repeat(20_000)}` }))
  }
})
