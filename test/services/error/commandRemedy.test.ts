import { assert, describe, it } from "@effect/vitest"
import { callIn, loadCall, openCall, searchCall } from "../../../src/services/error/calls.ts"
import { commandRemedy, forCommand } from "../../../src/services/error/commandRemedy.ts"

describe("commandRemedy: a remedy on the command line", () => {
  for (
    const [remedy, command] of [
      [searchCall("ad"), "Look for it with: kiwi search ad"],
      [searchCall("$(rm) \"x\""), "Look for it with: kiwi search '$(rm) \"x\"'"],
      [loadCall("tool", "math/add"), "kiwi load tool math/add"],
      [loadCall("directive", "deploy"), "kiwi load directive deploy"],
      [openCall, "Go to the folder of the project that was meant, or name it: --project DIR"],
      ["kiwi sign tool add", "kiwi sign tool add"],
      ["Pass a plain value there", "Pass a plain value there"],
      ["Call search({ query: x })", "Call search({ query: x })"]
    ] as const
  ) it(remedy, () => assert.strictEqual(commandRemedy(remedy), command))

  it("reaches every level of a report, and only remedies", () => {
    const load = loadCall("tool", "add")
    assert.deepStrictEqual(
      forCommand({ blocked: { error: { remediation: load, message: load } }, all: [{ remediation: load }, 1] }),
      {
        blocked: { error: { remediation: "kiwi load tool add", message: load } },
        all: [{ remediation: "kiwi load tool add" }, 1]
      }
    )
  })

  it("is the call that it was made from", () => {
    assert.deepStrictEqual(callIn(loadCall("tool", "a\\\"b")), { _tag: "Load", type: "tool", id: "a\\\"b" })
    assert.isUndefined(callIn("kiwi trust project"))
  })
})
