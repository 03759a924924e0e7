// The example of docs/profiles.md: which items its profile has.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import * as ProfilesMemory from "../../src/layers/permission/profile/ProfilesMemory.ts"
import * as ProjectTrustMemory from "../../src/layers/trust/ProjectTrustMemory.ts"
import * as KiwiHomeMemory from "../../src/layers/workspace/KiwiHomeMemory.ts"
import { isItemId, type ItemType } from "../../src/services/item/ItemId.ts"
import { exposedBy, isListed } from "../../src/services/permission/profile/Profile.ts"

const page = readFileSync(new URL("../../docs/profiles.md", import.meta.url), "utf8")
const [, yaml = "", text = ""] = /^```yaml\n(profiles:[^]*?)^```\n\n```text\n# items\n([^]*?)^```$/m.exec(page) ?? []

const lines = text.trimEnd().split("\n").map((line) => {
  const [, type, place = "", id = "", listed] = /^(\w+) (?:(\w+)\/)?(\S+)\s+(listed|not listed)$/.exec(line) ?? []
  if (!isItemId(id)) throw new Error(line)
  const source = place.startsWith("git") ? { source: { name: place, digest: "" } } : { category: place }
  return {
    line,
    listed: listed === "listed",
    item: { type: type as ItemType, id, category: "", tier: "system" as const, ...source }
  }
})

const review = Effect.gen(function*() {
  const { current } = yield* ProfilesMemory.make(yaml)
  return (yield* current).get("review")!
}).pipe(Effect.provide([ProjectTrustMemory.layer, KiwiHomeMemory.layer]))

describe("docs/profiles.md", () => {
  for (const { item, line, listed } of lines) {
    it.effect(line.replaceAll(/\s+/g, " "), () =>
      Effect.gen(function*() {
        assert.strictEqual(isListed(yield* review, item), listed)
      }))
  }

  it.effect("exposes what it says, and has enough examples", () =>
    Effect.gen(function*() {
      assert.isAtLeast(lines.length, 8)
      assert.deepStrictEqual(exposedBy(yield* review).map(({ id }) => id), ["git.diff", "filesystem.read"])
    }))
})
