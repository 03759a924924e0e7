import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Result, Schema } from "effect"
import { SafeFiles } from "../../../src/services/files/SafeFiles.ts"

const limit = { maxBytes: 1_048_576 }
const text = (bytes: Uint8Array | undefined) => bytes === undefined ? undefined : new TextDecoder().decode(bytes)

/** `root` gives a fresh folder for every test; `name` tells the backends apart. */
export const contract = <E>(
  name: string,
  implementation: Layer.Layer<SafeFiles, E>,
  root: Effect.Effect<string>
) =>
  describe(`${name} satisfies SafeFiles`, () => {
    it.effect.prop("reads back what was written last", [Schema.Uint8Array, Schema.String], ([first, second]) =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.write(folder, "a/b.txt", first)
        assert.deepStrictEqual(yield* files.read(folder, "a/b.txt", limit), first)
        yield* files.write(folder, "a/b.txt", second)
        assert.deepStrictEqual(yield* files.read(folder, "a/b.txt", limit), new TextEncoder().encode(second))
      }).pipe(Effect.provide(implementation)), { arbitrary: { runs: 20 } })

    it.effect("answers undefined for what is not there, and removes it without complaint", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        assert.isUndefined(yield* files.read(folder, "no/such/file", limit))
        yield* files.remove(folder, "no/such/file")
        yield* files.remove(folder, "file")
      }).pipe(Effect.provide(implementation)))

    it.effect("writes many, and one that cannot be written stops no other", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.write(folder, "taken/file", "1")
        const names = Array.from({ length: 70 }, (_, index) =>
          `${index % 3 === 0 ? "a/b" : "c"}/${index}`)
        const wrong = ["", "../out", "a/../b", "/absolute", "a//b", "taken", "taken/file/below", "a/nul\0"]
        const writes = [...names, ...wrong].map((path) => ({ path, data: `of ${path}` }))
        const answers = yield* files.writeAll(folder, writes.toReversed())
        assert.deepStrictEqual(
          answers.toReversed().map(Result.isSuccess),
          [
            ...names.map(() =>
              true
            ),
            ...wrong.map(() =>
              false
            )
          ]
        )
        for (const answer of answers) {
          if (Result.isFailure(answer)) assert.include(wrong, answer.failure.path)
        }
        for (const path of names) {
          assert.strictEqual(text(yield* files.read(folder, path, limit)), `of ${path}`)
        }
        assert.deepStrictEqual(yield* files.writeAll(folder, []), [])
        yield* files.writeAll(folder, [{ path: "c/1", data: "first" }, { path: "c/1", data: "last" }])
        assert.strictEqual(text(yield* files.read(folder, "c/1", limit)), "last")
      }).pipe(Effect.provide(implementation)))

    it.effect("removes a folder with all that is in it and nothing beside it", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.write(folder, "gone/a/b", "1")
        yield* files.write(folder, "gone/c", "2")
        yield* files.write(folder, "gone-not", "3")
        yield* files.remove(folder, "gone")
        assert.isUndefined(yield* files.read(folder, "gone/a/b", limit))
        assert.isUndefined(yield* files.read(folder, "gone/c", limit))
        assert.strictEqual(text(yield* files.read(folder, "gone-not", limit)), "3")
        yield* files.write(folder, "gone", "a file now")
      }).pipe(Effect.provide(implementation)))

    it.effect("removes a folder that is empty, and no other", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.write(folder, "a/b/file", "1")
        assert.isFalse(yield* files.removeEmpty(folder, "a/b"))
        assert.isFalse(yield* files.removeEmpty(folder, "a/b/file"))
        assert.isFalse(yield* files.removeEmpty(folder, "a"))
        yield* files.remove(folder, "a/b/file")
        assert.isTrue(yield* files.removeEmpty(folder, "a/b"))
        assert.isTrue(yield* files.removeEmpty(folder, "a/b"))
        assert.isTrue(yield* files.removeEmpty(folder, "no/such/folder"))
        yield* files.makeDirectory(folder, "a/c")
        assert.isFalse(yield* files.removeEmpty(folder, "a"))
        assert.strictEqual((yield* Effect.flip(files.removeEmpty(folder, "../a"))).issue, "outside")
      }).pipe(Effect.provide(implementation)))

    it.effect("lets one of many exclusive writers win", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        const results = yield* Effect.forEach(
          [0, 1, 2, 3],
          (n) => Effect.result(files.write(folder, "once", `${n}`, { exclusive: true })),
          { concurrency: "unbounded" }
        )
        const winners = results.flatMap((r, n) => r._tag === "Success" ? [`${n}`] : [])
        assert.lengthOf(winners, 1)
        assert.strictEqual(text(yield* files.read(folder, "once", limit)), winners[0])
        for (const r of results) {
          if (r._tag === "Failure") {
            assert.strictEqual(r.failure.issue, "exists")
          }
        }
      }).pipe(Effect.provide(implementation)))

    it.effect("refuses paths that are not below the root", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        for (const path of ["", ".", "..", "../x", "a/../b", "/etc/x", "a//b", "a/", "a\0b", "./a"]) {
          assert.strictEqual((yield* Effect.flip(files.write(folder, path, "x"))).issue, "outside", path)
          assert.strictEqual((yield* Effect.flip(files.makeDirectory(folder, path))).issue, "outside", path)
          assert.strictEqual((yield* Effect.flip(files.remove(folder, path))).issue, "outside", path)
          assert.strictEqual((yield* Effect.flip(files.read(folder, path, limit))).issue, "outside", path)
        }
      }).pipe(Effect.provide(implementation)))

    it.effect("tells a file in the way of a folder and a folder in the way of a file", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.write(folder, "file", "x")
        yield* files.makeDirectory(folder, "dir/inner")
        yield* files.makeDirectory(folder, "dir/inner")
        assert.strictEqual((yield* Effect.flip(files.write(folder, "file/x", "x"))).issue, "not-a-directory")
        assert.strictEqual((yield* Effect.flip(files.makeDirectory(folder, "file"))).issue, "not-a-directory")
        assert.strictEqual((yield* Effect.flip(files.write(folder, "dir", "x"))).issue, "exists")
        assert.strictEqual((yield* Effect.flip(files.read(folder, "dir", limit))).issue, "not-a-file")
      }).pipe(Effect.provide(implementation)))

    it.effect("believes what it wrote itself, and gives bytes that are the caller's own", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        const data = new TextEncoder().encode("kept")
        yield* files.write(folder, "mine", data)
        data.fill(0)
        const own = { ...limit, own: true }
        const first = yield* files.read(folder, "mine", own)
        assert.strictEqual(text(first), "kept")
        first!.fill(0)
        assert.strictEqual(text(yield* files.read(folder, "mine", own)), "kept")
        assert.isUndefined(yield* files.read(folder, "none", own))
      }).pipe(Effect.provide(implementation)))

    it.effect("reads a file and nothing that only has its name", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.makeDirectory(folder, "a/folder")
        yield* files.write(folder, "a/file", "")
        assert.deepStrictEqual(yield* files.read(folder, "a/file", { maxBytes: 0 }), new Uint8Array())
        for (const path of ["a", "a/folder", "a/file/below", "a/file/below/deeper"]) {
          assert.strictEqual((yield* Effect.flip(files.read(folder, path, limit))).issue, "not-a-file", path)
        }
        yield* files.remove(folder, "a/folder")
        yield* files.write(folder, "a/folder", "a file now")
        assert.strictEqual(text(yield* files.read(folder, "a/folder", limit)), "a file now")
      }).pipe(Effect.provide(implementation)))

    it.effect("reads no more than it was allowed", () =>
      Effect.gen(function*() {
        const files = yield* SafeFiles
        const folder = yield* root
        yield* files.write(folder, "big", new Uint8Array(11))
        assert.strictEqual((yield* Effect.flip(files.read(folder, "big", { maxBytes: 10 }))).issue, "too-large")
        assert.lengthOf((yield* files.read(folder, "big", { maxBytes: 11 })) ?? [], 11)
      }).pipe(Effect.provide(implementation)))
  })
