import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as Fs from "node:fs"
import { join } from "node:path"
import { forEachLine } from "../../../src/layers/audit/lines.ts"
import { temporary } from "../../support/temporary.ts"

const opened = (bytes: number, head = "") =>
  Effect.gen(function*() {
    const file = join(yield* temporary, "file")
    Fs.writeFileSync(file, head)
    Fs.truncateSync(file, bytes)
    return yield* Effect.acquireRelease(
      Effect.sync(() => Fs.openSync(file, "r")),
      (fd) => Effect.sync(() => Fs.closeSync(fd))
    )
  })

describe("the lines of a file", () => {
  for (const [what, head] of [["no line at all", ""], ["one line, then nothing", "{}\n"]] as const) {
    it.live(`without an end are read between other work: ${what}`, () =>
      Effect.gen(function*() {
        const fd = yield* opened(1024 ** 4, head)
        const [elapsed] = yield* Effect.timed(
          Effect.timeoutOption(forEachLine(fd, () => undefined), Duration.millis(200))
        )
        assert.isBelow(Duration.toSeconds(elapsed), 5)
      }))
  }

  it.effect("that are long keep their number, place and hash", () =>
    Effect.gen(function*() {
      const fd = yield* opened(3_000_003, `a\n${"b".repeat(3_000_000)}\n`)
      const seen: Array<readonly [number, number, string | undefined, boolean]> = []
      yield* forEachLine(fd, ({ next, number, text, whole }) => void seen.push([number, next, text, whole]))
      assert.deepStrictEqual(seen, [[1, 2, "a", true], [2, 3_000_003, undefined, true]])
    }))
})
