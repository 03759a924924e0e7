import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer } from "effect"
import { maxOutputRange, outputId, Outputs } from "../../../src/services/primitive/Outputs.ts"

export const contract = <E>(name: string, implementation: Layer.Layer<Outputs, E>) =>
  describe(`${name} satisfies Outputs`, () => {
    const test = (title: string, body: (outputs: Outputs["Service"]) => Effect.Effect<void, unknown>) =>
      it.live(title, () => Outputs.use(body).pipe(Effect.provide(implementation)))

    test("reads back in ranges what was written in pieces", (outputs) =>
      Effect.gen(function*() {
        const writer = yield* outputs.create
        yield* writer.append(Uint8Array.from([1, 2, 3]))
        yield* writer.append(Uint8Array.from([4, 255]))
        const read = (offset: number, length: number) =>
          Effect.map(outputs.read(writer.uri, { offset, length }), ({ bytes, total }) => [[...bytes], total])
        assert.deepStrictEqual(yield* read(0, 100), [[1, 2, 3, 4, 255], 5])
        assert.deepStrictEqual(yield* read(2, 2), [[3, 4], 5])
        assert.deepStrictEqual(yield* read(5, 10), [[], 5])
        assert.deepStrictEqual(yield* read(99, 10), [[], 5])
        assert.deepStrictEqual(yield* read(-1, 1), [[1], 5])
        assert.deepStrictEqual(yield* read(0, -1), [[], 5])
        yield* writer.close
        yield* writer.close
        assert.deepStrictEqual(yield* read(0, 1), [[1], 5])
      }))

    test("knows an output by its address and by its id", (outputs) =>
      Effect.gen(function*() {
        const writer = yield* outputs.create
        yield* writer.close
        assert.match(writer.uri, /^kiwi:\/\/output\/[0-9a-f]{32}$/)
        assert.strictEqual((yield* outputs.read(outputId(writer.uri) ?? "", { offset: 0, length: 1 })).total, 0)
      }))

    test("returns at most 1 MiB at a time", (outputs) =>
      Effect.gen(function*() {
        const writer = yield* outputs.create
        yield* writer.append(new Uint8Array(maxOutputRange + 10))
        const { bytes, total } = yield* outputs.read(writer.uri, { offset: 0, length: 10 * maxOutputRange })
        assert.deepStrictEqual([bytes.length, total], [maxOutputRange, maxOutputRange + 10])
        yield* writer.close
      }))

    test("leaves nothing of what is discarded", (outputs) =>
      Effect.gen(function*() {
        const [gone, kept] = [yield* outputs.create, yield* outputs.create]
        yield* gone.append(Uint8Array.from([1]))
        yield* gone.discard
        yield* gone.discard
        const error = yield* Effect.flip(outputs.read(gone.uri, { offset: 0, length: 1 }))
        assert.strictEqual(error._tag, "OutputNotFound")
        assert.strictEqual((yield* outputs.read(kept.uri, { offset: 0, length: 1 })).total, 0)
        yield* kept.close
      }))

    test("keeps outputs apart, and knows no others", (outputs) =>
      Effect.gen(function*() {
        const [a, b] = [yield* outputs.create, yield* outputs.create]
        yield* a.append(Uint8Array.from([1]))
        assert.notStrictEqual(a.uri, b.uri)
        assert.strictEqual((yield* outputs.read(b.uri, { offset: 0, length: 1 })).total, 0)
        for (const id of ["", "x", "0".repeat(32), "../../etc/passwd", `${"0".repeat(31)}/`, "kiwi://tool/add", "\0"]) {
          const error = yield* Effect.flip(outputs.read(id, { offset: 0, length: 1 }))
          assert.strictEqual(error._tag, "OutputNotFound", id)
        }
        yield* a.close
        yield* b.close
      }))
  })
