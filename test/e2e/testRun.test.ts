import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll } from "vitest"

const root = new URL("../../", import.meta.url).pathname
const folder = mkdtempSync(join(tmpdir(), "kiwi-run-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** A run of its own, on a PATH with nothing on it. */
const run = (name: string, env: Record<string, string> = {}, args: ReadonlyArray<string> = []) => {
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", join(root, "test/support/fixture"), ...args],
    { encoding: "utf8", env: { PATH: folder, KIWI_TEST_OMISSIONS: join(folder, name), NO_COLOR: "1", ...env } }
  )
  return { status, last: stdout.trimEnd().split("\n").slice(-2) }
}

it("a suite without its real part is left out, and the last lines say so", () => {
  assert.deepStrictEqual(run("omitted", {}, ["needsParts"]), {
    status: 0,
    last: [
      "left out: sandbox – bwrap is not installed (Debian: apt-get install bubblewrap)",
      "1 passed, 0 failed, 2 skipped"
    ]
  })
})

it("a missing part is a failure where every part is required", () => {
  const { last, status } = run("required", { KIWI_TEST_REQUIRE: "all" }, ["needsParts"])
  assert.strictEqual(status, 1)
  assert.strictEqual(last.at(-1), "1 passed, 1 failed, 1 skipped")
})

it("a file that breaks before its tests is a failure", () => {
  const { last, status } = run("broken", {}, ["breaks"])
  assert.strictEqual(status, 1)
  assert.strictEqual(last.at(-1), "0 passed, 1 failed, 0 skipped")
})

it("a run without tests is a failure", () => {
  const { last, status } = run("empty", {}, ["nothing-of-this-name"])
  assert.strictEqual(status, 1)
  assert.strictEqual(last.at(-1), "0 passed, 1 failed, 0 skipped")
})
