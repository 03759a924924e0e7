import { assert, it } from "@effect/vitest"
import { starterFiles } from "../../src/programs/starter.ts"

it("what git is told to ignore is told once", () => {
  const lines = starterFiles.find(({ path }) => path === ".ai/.gitignore")?.text.trim().split("\n") ?? []
  assert.include(lines, "/lockfiles/.index.json")
  assert.strictEqual(new Set(lines).size, lines.length)
})
