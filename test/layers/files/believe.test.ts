import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import { join } from "node:path"
import { changedAt, isSameState, isSettled, Readings, statOf } from "../../../src/layers/files/believe.ts"
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

describe("what files hold", () => {
  it.effect("is read again until a change of the file has to show, and then after a change", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "file")
      fs.writeFileSync(file, "one")
      const changed = changedAt(statOf(file)!)
      const readings = new Readings<string>()
      let count = 0
      const read = () => {
        count++
        return fs.readFileSync(file, "utf8")
      }
      const cases = [[-5_000, 1], [0, 2], [1_999, 3], [2_000, 4], [2_001, 5], [2_002, 5], [9_000, 5]] as const
      for (const [later, expected] of cases) {
        assert.strictEqual(readings.get(file, changed + later, read), "one")
        assert.strictEqual(count, expected, `${later}`)
      }
      assert.strictEqual(readings.last(file), "one")
      fs.writeFileSync(file, "two")
      assert.strictEqual(readings.get(file, changed + 10_000, read), "two")
      fs.chmodSync(file, 0o600)
      readings.get(file, changed + 10_000, read)
      fs.rmSync(file)
      assert.isUndefined(readings.get(file, changed + 20_000, read))
      assert.isUndefined(readings.last(file))
      assert.strictEqual(count, 7)
    }))

  it.effect("is remembered by the clock's time, and a failure is not", () =>
    Effect.gen(function*() {
      const file = join(yield* temporary, "file")
      fs.writeFileSync(file, "one")
      const changed = changedAt(statOf(file)!)
      const readings = new Readings<number>()
      let count = 0
      const read = Effect.sync(() => ++count)
      yield* TestClock.setTime(changed + 2_000)
      assert.strictEqual(yield* readings.getEffect(file, read), 1)
      assert.strictEqual(yield* readings.getEffect(file, read), 2)
      yield* TestClock.setTime(changed + 2_001)
      assert.strictEqual(yield* Effect.flip(readings.getEffect(file, Effect.fail("no"))), "no")
      assert.strictEqual(yield* readings.getEffect(file, read), 3)
      assert.strictEqual(yield* readings.getEffect(file, read), 3)
      // When the read began counts: what changed while it took place may not show.
      fs.writeFileSync(file, "two")
      const again = changedAt(statOf(file)!)
      yield* TestClock.setTime(again + 1_000)
      const slow = Effect.andThen(TestClock.adjust("1 hour"), Effect.sync(() => ++count))
      assert.strictEqual(yield* readings.getEffect(file, slow), 4)
      assert.isAbove(yield* Clock.currentTimeMillis, again + 2_000)
      assert.strictEqual(yield* readings.getEffect(file, read), 5)
      assert.isUndefined(yield* readings.getEffect(`${file}.none`, read))
    }))

  it.effect("is of the link or of its target, and read by whoever knows why where nobody may look", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const [file, link] = [join(folder, "file"), join(folder, "link")]
      fs.symlinkSync("file", link)
      const readings = { itself: new Readings<string>(), target: new Readings<string>({ follow: true }) }
      const read = () => "read"
      assert.strictEqual(readings.itself.get(link, 0, read), "read")
      assert.isUndefined(readings.target.get(link, 0, read))
      fs.writeFileSync(file, "one")
      const later = changedAt(statOf(file)!) + 10_000
      assert.strictEqual(readings.target.get(link, later, () => "first"), "first")
      fs.appendFileSync(file, "more")
      assert.strictEqual(readings.target.get(link, later, () => "second"), "second")
      const loop = join(folder, "loop")
      fs.symlinkSync("loop", loop)
      assert.strictEqual(readings.target.get(loop, later, read), "read")
      assert.isUndefined(readings.target.last(loop))
    }))

  it.effect("is forgotten by the size of the files", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      const files = ["a", "b", "c"].map((name) => join(folder, name))
      for (const file of files) fs.writeFileSync(file, "1234")
      const readings = new Readings<string>({ most: 8, sizeOf: ({ size }) => Number(size) })
      const later = changedAt(statOf(files[2]!)!) + 10_000
      for (const file of files) readings.get(file, later, () => file)
      assert.deepStrictEqual(files.map((file) => readings.last(file)), [undefined, files[1], files[2]])
    }))
})
