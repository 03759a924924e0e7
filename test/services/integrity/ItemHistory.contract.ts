// What every history does. Each test takes an item of its own.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Layer } from "effect"
import { ItemHistory } from "../../../src/services/integrity/ItemHistory.ts"
import { maxAgreed } from "../../../src/services/integrity/ItemPast.ts"
import { locationOf } from "../../support/snapshots.ts"

export const contract = <E>(name: string, implementation: Layer.Layer<ItemHistory, E>) =>
  layer(implementation)(`${name} satisfies ItemHistory`, (it) => {
    it.effect("knows nothing of an item that never ran and was never signed", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        const item = locationOf("tools/a.py")
        const past = yield* history.past(item)
        assert.isUndefined(past.lastSigned)
        assert.isUndefined(past.newest)
        assert.isFalse(yield* history.acceptedHiding(item, "d"))
        yield* history.checkForward(item, "0.0.1", "d")
      }))

    it.effect("asks once before an item goes back, for exactly these bytes", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        const item = locationOf("tools/b.py")
        yield* history.ran(item, "1.2.0", "new")
        for (const version of ["1.2.0", "1.10.0", "2.0.0-rc.1"]) yield* history.checkForward(item, version, "x")
        for (const version of ["1.1.9", "1.2.0-rc.1", "0.0.0", "no version"]) {
          const error = yield* Effect.flip(history.checkForward(item, version, "old"))
          assert.strictEqual(error._tag, "GoesBack")
          assert.include(error.message, `from 1.2.0 to ${version}`)
          assert.strictEqual(error.command, "kiwi sign tool b")
        }
        yield* history.signed([{ location: item, digest: "old", goesBack: true, hides: false }])
        yield* history.checkForward(item, "1.0.0", "old")
        yield* history.ran(item, "1.0.0", "old")
        yield* history.checkForward(item, "1.0.0", "old")
        assert.strictEqual((yield* Effect.flip(history.checkForward(item, "1.0.0", "other")))._tag, "GoesBack")
        assert.deepStrictEqual((yield* history.past(item)).newest, { version: "1.2.0", digest: "new" })
      }))

    it.effect("asks about bytes that were signed when they were the newest", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        const item = locationOf("tools/c.py")
        yield* history.signed([{ location: item, digest: "one", goesBack: false, hides: false }])
        yield* history.ran(item, "1.0.0", "one")
        yield* history.ran(item, "1.1.0", "two")
        assert.strictEqual((yield* history.past(item)).lastSigned?.digest, "one")
        assert.strictEqual((yield* Effect.flip(history.checkForward(item, "1.0.0", "one")))._tag, "GoesBack")
      }))

    it.effect("asks nothing about what was accepted before, whatever has run or was accepted since", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        const item = locationOf("tools/f.py")
        yield* history.ran(item, "2.0.0", "two")
        yield* history.signed([{ location: item, digest: "one", goesBack: true, hides: false }])
        yield* history.signed([{ location: item, digest: "zero", goesBack: true, hides: true }])
        yield* history.ran(item, "3.0.0", "three")
        yield* history.signed([{ location: item, digest: "four", goesBack: false, hides: false }])
        yield* history.checkForward(item, "1.0.0", "one")
        yield* history.checkForward(item, "0.1.0", "zero")
        yield* Effect.flip(history.checkForward(item, "2.0.0", "two"))
      }))

    it.effect("keeps so many answers of one item, and forgets the oldest", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        const item = locationOf("tools/g.py")
        yield* history.ran(item, "2.0.0", "new")
        const sign = (index: number) =>
          history.signed([{ location: item, digest: `d${index}`, goesBack: true, hides: false }])
        for (let index = 0; index < maxAgreed; index++) yield* sign(index)
        yield* sign(0)
        yield* sign(maxAgreed)
        assert.lengthOf((yield* history.past(item)).agreed ?? [], maxAgreed)
        yield* history.checkForward(item, "1.0.0", "d0")
        yield* Effect.flip(history.checkForward(item, "1.0.0", "d1"))
        yield* history.checkForward(item, "1.0.0", `d${maxAgreed}`)
      }))

    it.effect("accepts hiding only for bytes of which somebody was shown it", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        const item = locationOf("tools/d.py")
        yield* history.signed([{ location: item, digest: "one", goesBack: false, hides: false }])
        assert.isFalse(yield* history.acceptedHiding(item, "one"))
        yield* history.signed([{ location: item, digest: "one", goesBack: false, hides: true }])
        assert.isTrue(yield* history.acceptedHiding(item, "one"))
        assert.isFalse(yield* history.acceptedHiding(item, "two"))
        yield* history.signed([{ location: item, digest: "two", goesBack: false, hides: false }])
        assert.isTrue(yield* history.acceptedHiding(item, "one"))
        assert.isFalse(yield* history.acceptedHiding(item, "two"))
        yield* history.signed([{ location: item, digest: "one", goesBack: false, hides: false }])
        assert.isFalse(yield* history.acceptedHiding(item, "one"), "the last answer for these bytes counts")
      }))

    it.effect("tells items apart by tier, type and path, and leaves the system tier alone", () =>
      Effect.gen(function*() {
        const history = yield* ItemHistory
        yield* history.ran(locationOf("knowledge/e.md"), "2.0.0", "x")
        yield* history.ran(locationOf("knowledge/e.md", { tier: "system" }), "2.0.0", "x")
        for (
          const other of [
            locationOf("directives/e.md"),
            locationOf("knowledge/f/e.md"),
            locationOf("knowledge/e.md", { tier: "user" }),
            locationOf("knowledge/e.md", { tier: "system" })
          ]
        ) {
          yield* history.checkForward(other, "1.0.0", "y")
        }
        yield* Effect.flip(history.checkForward(locationOf("knowledge/e.md"), "1.0.0", "y"))
      }))
  })
