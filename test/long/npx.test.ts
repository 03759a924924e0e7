import { assert, it } from "@effect/vitest"
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { pack, shellBeside, version } from "../support/packed.ts"

const folder = mkdtempSync(join(tmpdir(), "kiwi-npx-"))
const run = shellBeside(folder)
let tarball: string

beforeAll(async () => {
  tarball = await pack(folder)
})
afterAll(() => rmSync(folder, { recursive: true }))

it("npx starts it in an empty folder", async () => {
  const empty = join(folder, "empty")
  mkdirSync(empty)
  assert.strictEqual(await run("npx", ["-y", `file:${tarball}`, "--version"], empty), `kiwi ${version}\n`)
  assert.deepStrictEqual(readdirSync(empty), [])
})

it("npx plays its demo", async () => {
  assert.include(await run("npx", ["-y", `file:${tarball}`, "demo"], folder), "✓ 12 scenes")
})

it("npx makes an empty folder a project that works at once", async () => {
  const fresh = join(folder, "fresh")
  mkdirSync(fresh)
  const said = await run("npx", ["-y", `file:${tarball}`, "init"], fresh)
  assert.include(said, "mcpServers")
  assert.include(said, fresh)
  const added = await run(
    "npx",
    ["-y", `file:${tarball}`, "run", "tool", "add", "--params", `{"a": 1, "b": 2}`, "--json"],
    fresh
  )
  assert.deepStrictEqual(JSON.parse(added).data, { sum: 3 })
})
