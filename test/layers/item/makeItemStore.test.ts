import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Stream } from "effect"
import * as MakeItemStore from "../../../src/layers/item/makeItemStore.ts"
import { ItemInvalid, ItemUnreadable } from "../../../src/services/item/ItemErrors.ts"
import { sourcesOf } from "../../../src/services/item/ItemSources.ts"

describe("makeItemStore", () => {
  it.effect("tells of more files that are no items than a call can have arguments", () =>
    Effect.gen(function*() {
      const issue = new ItemInvalid({ item: "project:tools/A.py", line: 0, column: 0, issue: "", found: "", hint: "" })
      const problems = Array.from({ length: 300_000 }, () => issue)
      const gone = new ItemUnreadable({ item: "", issue: "vanished", detail: "" })
      const store = MakeItemStore.make({
        listing: (tier, type) =>
          Effect.succeed({ byId: new Map(), problems: tier === "project" && type === "tool" ? problems : [] }),
        listings: () => Effect.die("not used"),
        resolve: () => Result.fail(gone),
        read: () => Effect.fail(gone),
        rootOf: () => Option.none(),
        changes: Stream.never,
        changedSince: () => Effect.succeed({ mark: undefined, folders: undefined })
      }, sourcesOf([]))
      assert.strictEqual((yield* store.problems).length, problems.length)
    }))
})
