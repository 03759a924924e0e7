// A project's profile that nobody has accepted says so, and what is then not listed.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { listProfiles, showProfile } from "../../src/programs/profiles.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import { findListed } from "../../src/services/permission/profile/callerProfile.ts"
import { kernelOf, realProject } from "../support/realProject.ts"
import { trustProject } from "../support/trustWorld.ts"

const profiles = (text: string) => ({ ".ai/config/profiles.yaml": `profiles: {dev: ${text}}\n` })

const person: Caller = { surface: "cli", client: "ada", session: "one" }
const agent: Caller = { surface: "mcp", client: "ada", session: "one", profile: "dev" }

describe("a project's profile", () => {
  it.live("lists nothing before it is accepted, and says why of each tool", () =>
    Effect.gen(function*() {
      const real = yield* realProject(profiles("{expose: [filesystem.read, {id: nothing.here}]}"))
      yield* Effect.gen(function*() {
        const before = yield* showProfile("dev", person)
        assert.deepStrictEqual(before.not_accepted, ["project:config/profiles.yaml:1"])
        assert.deepStrictEqual(before.exposed, [])
        assert.deepStrictEqual(before.left_out.map(({ id }) => id), ["filesystem.read", "nothing.here"])
        for (const { remedy, why } of before.left_out) {
          assert.include(why, "not accepted yet")
          assert.strictEqual(remedy, "kiwi trust project")
        }
        assert.deepStrictEqual((yield* listProfiles()).profiles[0]?.not_accepted, ["project:config/profiles.yaml:1"])
        yield* trustProject
        const after = yield* showProfile("dev", person)
        assert.isUndefined(after.not_accepted)
        assert.deepStrictEqual(after.exposed.map(({ name }) => name), ["filesystem_read"])
        assert.lengthOf(after.left_out, 1)
        assert.notInclude(after.left_out[0]?.why ?? "", "the profile dev has no such item")
      }).pipe(Effect.provide(kernelOf(real)))
    }).pipe(Effect.scoped))

  it.live("that has every item conceals none: what is missing is missing", () =>
    Effect.gen(function*() {
      const codes = Effect.fnUntraced(function*(text: string) {
        const real = yield* realProject(profiles(text))
        return yield* Effect.gen(function*() {
          yield* trustProject
          return (yield* Effect.flip(findListed(agent, { id: "nothing.here", type: "tool" })))._tag
        }).pipe(Effect.provide(kernelOf(real)))
      })
      assert.strictEqual(yield* codes("{}"), "ItemNotFound")
      assert.strictEqual(yield* codes("{rules: [{deny: shell.run}]}"), "ItemNotFound")
      for (const text of ["{items: [add]}", "{servers: [x]}", "{items: []}"]) {
        assert.strictEqual(yield* codes(text), "PermissionDenied", text)
      }
    }).pipe(Effect.scoped))
})
