import { assert, it } from "@effect/vitest"
import { only } from "./only.ts"

const names = ["Codex", "Claude Code", "@modelcontextprotocol/sdk", "opencode"]

it("--only takes names in any case", () => {
  assert.deepStrictEqual([...only(names, [])], names)
  assert.deepStrictEqual([...only(names, ["codex"])], ["Codex"])
  assert.deepStrictEqual([...only(names, ["CODE"])], ["Codex", "Claude Code", "opencode"])
  assert.deepStrictEqual([...only(names, ["sdk", "claude"])], ["Claude Code", "@modelcontextprotocol/sdk"])
})

it("--only says what there is where nothing matches", () => {
  assert.throws(() => only(names, ["copilot"]), "--only copilot takes no client. There are: Codex, Claude Code, @model")
})
