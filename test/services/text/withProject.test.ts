import { assert, describe, it } from "@effect/vitest"
import { agentRemedy } from "../../../src/services/error/agentRemedy.ts"
import { withProject } from "../../../src/services/text/withProject.ts"

describe("a command for another project", () => {
  const cases: ReadonlyArray<readonly [line: string, expected: string]> = [
    ["kiwi sign tool add", "kiwi sign tool add --project /p"],
    ["kiwi a && kiwi b", "kiwi a --project /p && kiwi b --project /p"],
    ["kiwi a && kiwi b && kiwi c", "kiwi a --project /p && kiwi b --project /p && kiwi c --project /p"],
    ["kiwi a 'x && y'", "kiwi a 'x && y' --project /p"],
    ["kiwi a \"x && y\"", "kiwi a \"x && y\" --project /p"],
    ["kiwi a 'x && y' && kiwi b", "kiwi a 'x && y' --project /p && kiwi b --project /p"],
    ["kiwi a 'it'\\''s && y'", "kiwi a 'it'\\''s && y' --project /p"],
    ["kiwi a \"x \\\" && y\"", "kiwi a \"x \\\" && y\" --project /p"],
    ["kiwi a '\"' && kiwi b '\"'", "kiwi a '\"' --project /p && kiwi b '\"' --project /p"],
    ["kiwi a x\\' && kiwi b", "kiwi a x\\' --project /p && kiwi b --project /p"],
    ["kiwi a 'x\n && y'", "kiwi a 'x\n && y' --project /p"],
    ["kiwi a x&&y", "kiwi a x&&y --project /p"]
  ]
  for (const [line, expected] of cases) {
    it(JSON.stringify(line), () => assert.strictEqual(withProject(line, "/p"), expected))
  }

  it("quotes the project's path", () => {
    assert.strictEqual(withProject("kiwi a", "/my && site"), "kiwi a --project '/my && site'")
  })

  it("is named as one by a remedy for an agent", () => {
    assert.include(
      agentRemedy("kiwi search 'make && make test'", "/p"),
      "kiwi search 'make && make test' --project /p"
    )
  })
})
