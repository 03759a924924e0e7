import { assert, describe, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { fileURLToPath } from "node:url"
import { session, sessionFiles, verify, type World, world } from "./auditWorld.ts"

const program = fileURLToPath(new URL("./auditChild.ts", import.meta.url))

/** Runs a writer; after `killAfter` bytes of what it says it is killed. Returns the calls it said it had handed over. */
const writer = (made: World, entries: number, bytes: number, killAfter = Infinity) =>
  Effect.callback<{ readonly said: ReadonlyArray<string>; readonly code: number | null }>((resume) => {
    const child = spawn(process.execPath, [program, made.folder, String(entries), String(bytes)], {
      stdio: ["ignore", "pipe", "inherit"]
    })
    let said = ""
    child.stdout.on("data", (data: Buffer) => {
      said += data.toString()
      if (said.length > killAfter) child.kill("SIGKILL")
    })
    child.on("close", (code) => resume(Effect.succeed({ said: said.split("\n").slice(0, -1), code })))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

const callsIn = (made: World): ReadonlySet<unknown> =>
  new Set(
    sessionFiles(made.audit).flatMap((file) =>
      fs.readFileSync(file, "utf8").split("\n").map((line) => /"call":"([^"]*)"/.exec(line)?.[1])
    )
  )

describe("processes", () => {
  it.live("side by side lose nothing", () =>
    Effect.gen(function*() {
      const made = yield* world
      const ended = yield* Effect.all([writer(made, 1_500, 100), writer(made, 1_500, 100)], { concurrency: 2 })
      assert.deepStrictEqual(ended.map(({ code }) => code), [0, 0])
      const report = yield* verify(made)
      assert.deepStrictEqual(report.problems, [])
      assert.deepStrictEqual([report.files, report.entries, report.open], [2, 2 * 1_502, []])
    }), 60_000)

  it.live("that are killed while they write lose nothing that they handed over", () =>
    Effect.gen(function*() {
      const made = yield* world
      const handed: Array<string> = []
      for (let round = 0; round < 4; round++) {
        const killAfter = yield* Random.nextIntBetween(0, 4_000)
        const bytes = round % 2 === 0 ? 50_000 : 10
        const { code, said } = yield* writer(made, 0, bytes, killAfter)
        assert.isNull(code)
        handed.push(...said)
      }
      yield* session(made, (audit) => audit.read({ limit: 1 }))
      const report = yield* verify(made)
      assert.deepStrictEqual(report.problems, [])
      assert.deepStrictEqual(report.open, [])
      const calls = callsIn(made)
      assert.deepStrictEqual(handed.filter((call) => !calls.has(call)), [])
      assert.isAbove(handed.length, 0)
      // A line that was torn stays in the file, before the seal that names it.
      const seals = sessionFiles(made.audit).map((file) =>
        JSON.parse(fs.readFileSync(file, "utf8").trimEnd().split("\n").at(-1)!)["how"]
      )
      assert.deepStrictEqual(new Set(seals), new Set(["recovered"]))
    }), 60_000)
})
