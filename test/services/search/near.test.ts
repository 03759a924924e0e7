import { assert, describe, it } from "@effect/vitest"
import { nearest } from "../../../src/services/search/near.ts"

describe("nearest", () => {
  const ids = ["add", "send_email", "send_sms", "filesystem.read", "filesystem.write", "http_fetch"]
  const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["send_emial", ["send_email"]],
    ["send-email", ["send_email"]],
    ["SendEmail", ["send_email"]],
    ["mail/send_emal", ["send_email"]],
    ["filesystem", ["filesystem.read", "filesystem.write"]],
    ["ad", ["add"]],
    ["dad", ["add"]],
    ["zzz", []],
    ["", []],
    ["x".repeat(100_000), []]
  ]
  for (const [wanted, expected] of cases) {
    it(`to ${JSON.stringify(wanted.slice(0, 20))}`, () =>
      assert.deepStrictEqual([...nearest(wanted, ids)], [...expected]))
  }

  it("is never the id itself, and at most three, whatever order they come in", () => {
    const many = ["item_1", "item_2", "item_3", "item_4", "item_5"]
    assert.deepStrictEqual(nearest("item_9", many), nearest("item_9", many.toReversed()))
    assert.strictEqual(nearest("item_9", many).length, 3)
    assert.notInclude(nearest("item_1", many), "item_1")
  })
})
