// That `npm run bench` works and prints what programs read. What it measures is no test's business.
import { assert, it } from "@effect/vitest"
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { Report } from "../bench/Report.ts"

const bench = new URL("../bench/bench.ts", import.meta.url).pathname
const run = (...args: ReadonlyArray<string>) => promisify(execFile)(process.execPath, [bench, ...args])

it("prints one JSON document of the documented form", async () => {
  const { stderr, stdout } = await run("--quick", "--only", "governed")
  const report = Schema.decodeUnknownSync(Report)(JSON.parse(stdout))
  assert.isTrue(report.quick)
  assert.deepStrictEqual(report.rows.map(({ name }) => name), ["governed.in_process", "governed.no_token"])
  const { measured, met, targets } = report.rows[0]!
  assert.isAbove(measured.n, 100)
  assert.isAtMost(measured.min, measured.p50)
  assert.deepStrictEqual(targets.map(({ of }) => of), ["p50", "p99"])
  assert.strictEqual(met, targets.every((target) => target.met))
  assert.include(stderr, "governed.in_process")
})

it("names the suites when it is asked for one that there is not", async () => {
  const failed = await run("--only", "nonsense").then(() => undefined, (error: unknown) => error)
  assert.include(
    JSON.stringify(failed),
    "start, governed, token, mcp, tool, lockfile, opening, resolve, search, permission, sign"
  )
})
