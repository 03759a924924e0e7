import { assert, describe, it } from "@effect/vitest"
import { signedText } from "../../../src/programs/cli/commands/init.ts"

describe("what init says of the items that it wrote", () => {
  it("all are signed", () => assert.match(signedText({ signed: ["a", "b"] }), /^The 2 items are signed/))

  it("one is not, why, and how to go on", () => {
    const refused = [{
      path: "project:tools/a.sh",
      error: "project:tools/a.sh: too slow\u001b[2J",
      remediation: "Wait"
    }]
    assert.deepStrictEqual(signedText({ signed: ["a", "b", "c", "d"], refused }).split("\n"), [
      "4 of the 5 items are signed with your key. Not signed:",
      "  project:tools/a.sh: too slow\\u{1b}[2J",
      "    hint: Wait",
      "Sign the rest, once the causes are fixed: kiwi sign tool '**' --changed"
    ])
  })
})
