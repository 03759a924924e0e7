import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { changedAt, isSameState, isSettled, statOf } from "../../../src/layers/files/believe.ts"
import { temporary } from "../../support/temporary.ts"

describe("what is remembered of a file", () => {
  it.effect("is believed two seconds after its last change, and not before", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "file")
      fs.writeFileSync(file, "one")
      // An older time of its content says nothing: whoever writes can set it.
      fs.utimesSync(file, 1, 1)
      const stat = statOf(file)!
      const changed = changedAt(stat)
      for (const [later, expected] of [[-1, false], [0, false], [2_000, false], [2_001, true]] as const) {
        assert.strictEqual(isSettled(stat, changed + later), expected, `${later}`)
        assert.strictEqual(isSettled(changed, changed + later), expected, `${later}`)
      }
    }))

  it.effect("is of the file itself, in the state that it had", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const [file, other, link] = ["file", "other", "link"].map((name) => join(folder, name))
      for (const one of [file!, other!]) fs.writeFileSync(one, "one")
      fs.symlinkSync("file", link!)
      const before = statOf(file!)!
      assert.isTrue(isSameState(before, statOf(file!)!))
      for (const one of [other!, link!]) assert.isFalse(isSameState(before, statOf(one)!))
      fs.chmodSync(file!, 0o600)
      assert.isFalse(isSameState(before, statOf(file!)!))
      assert.isUndefined(statOf(join(folder, "absent")))
      assert.isUndefined(statOf(join(file!, "below")))
    }))
})
