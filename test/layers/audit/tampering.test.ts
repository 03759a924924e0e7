// Whatever one does to the files of the audit, or to the list of heads: `verify` notices.
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Random, Schema } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import { evidence, type Found, harm as harmOf, joined, linesOf, missed, mutations } from "./evidence.ts"

class Evidence extends Context.Service<Evidence, Found>()("kiwi/test/layers/audit/tampering/Evidence") {}

/** Numbers that a property turns into places: of a file, and of a byte or a line in it. */
const Place = Schema.Struct({
  file: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
  at: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
  to: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
  byte: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 255 }))
})
type Place = typeof Place.Type

/** What may be done to a file; `undefined` where it would change nothing. */
const deeds: Readonly<Record<string, (bytes: Buffer, place: Place) => Buffer | undefined>> = {
  "a byte is changed": (bytes, { at, byte }) => {
    const changed = Buffer.from(bytes)
    changed[at % bytes.length]! ^= byte
    return changed
  },
  "a byte is inserted": (bytes, { at, byte }) => {
    const place = at % (bytes.length + 1)
    return Buffer.concat([bytes.subarray(0, place), Buffer.from([byte]), bytes.subarray(place)])
  },
  "a byte is removed": (bytes, { at }) => {
    const place = at % bytes.length
    return Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + 1)])
  },
  "the end is cut off": (bytes, { at }) => bytes.subarray(0, at % bytes.length),
  "a line is removed": (bytes, { at }) => {
    const lines = linesOf(bytes)
    return joined(lines.toSpliced(at % lines.length, 1))
  },
  "lines at the end are removed": (bytes, { at }) => {
    const lines = linesOf(bytes)
    return joined(lines.slice(0, at % lines.length))
  },
  "a line is written twice": (bytes, { at, to }) => {
    const lines = linesOf(bytes)
    return joined(lines.toSpliced(to % (lines.length + 1), 0, lines[at % lines.length]!))
  },
  "two lines are swapped": (bytes, { at, to }) => {
    const lines = linesOf(bytes)
    const [a, b] = [at % lines.length, to % lines.length]
    return a === b ? undefined : joined(lines.with(a, lines[b]!).with(b, lines[a]!))
  },
  "a line of another file is inserted": (bytes, { at }) => {
    const lines = linesOf(bytes)
    const entry = { v: 1, n: at % 20, at: "2026-01-01T00:00:00.000Z", prev: "a".repeat(64), kind: "act" }
    return joined(lines.toSpliced(at % (lines.length + 1), 0, `${JSON.stringify(entry)}\n`))
  }
}

const harm = (path: string, bytes: Buffer | undefined) =>
  Effect.flatMap(Evidence, (found) => harmOf(found, path, bytes))

layer(Layer.effect(Evidence, evidence))("verify", (it) => {
  it.effect("finds nothing where nothing was done", () =>
    Effect.gen(function*() {
      const { audit, files } = yield* Evidence
      assert.strictEqual(files.length, 4)
      assert.deepStrictEqual((yield* audit.verify).problems, [])
    }))

  for (const [title, deed] of Object.entries(deeds)) {
    it.effect.prop(`finds that ${title}`, [Place], ([place]) =>
      Effect.gen(function*() {
        const { files } = yield* Evidence
        const { bytes, path } = files[place.file]!
        const changed = deed(bytes, place)
        if (changed === undefined || changed.equals(bytes)) return
        const { problems } = yield* harm(path, changed)
        assert.notDeepEqual(problems, [])
      }), { timeout: 30_000, arbitrary: { runs: 40 } })
  }

  it.effect("finds that a file is gone or empty, whichever", () =>
    Effect.gen(function*() {
      const { files } = yield* Evidence
      for (const { path } of files) {
        const { problems } = yield* harm(path, undefined)
        assert.strictEqual(problems[0]?.problem, "missing-file", path)
        assert.notDeepEqual((yield* harm(path, Buffer.alloc(0))).problems, [], path)
      }
    }))

  it.effect("finds that a file is a link to itself elsewhere", () =>
    Effect.gen(function*() {
      const { audit, files, made } = yield* Evidence
      const { bytes, path } = files[1]!
      const other = join(made.folder, "moved.jsonl")
      fs.renameSync(path, other)
      fs.symlinkSync(other, path)
      const { problems } = yield* audit.verify
      fs.rmSync(path)
      fs.writeFileSync(path, bytes)
      assert.include(problems.map(({ problem }) => problem), "unreadable")
    }))

  it.effect("names what was done, and where", () =>
    Effect.gen(function*() {
      const { files, made } = yield* Evidence
      const { bytes, path } = files.find((file) => file.bytes.includes("\"a1\""))!
      const lines = linesOf(bytes)
      const name = path.slice(made.audit.length + 1)
      const what = (changed: ReadonlyArray<string>) =>
        Effect.map(harm(path, joined(changed)), ({ problems }) =>
          problems.map(({ file, line, problem }) => [file, line, problem]))
      assert.deepStrictEqual(yield* what(lines.with(4, lines[4]!.replace("a1", "a9"))), [[name, 5, "changed"]])
      assert.deepStrictEqual(yield* what(lines.with(4, "{}\n")), [[name, 5, "changed"]])
      assert.deepStrictEqual(yield* what(lines.toSpliced(4, 1)), [[name, 5, "removed"]])
      assert.deepStrictEqual(yield* what(lines.toSpliced(4, 0, lines[4]!)), [[name, 6, "inserted"]])
      assert.deepStrictEqual(yield* what(lines.toSpliced(4, 0, "{}\n")), [[name, 5, "inserted"]])
      assert.deepStrictEqual(yield* what(lines.with(4, lines[6]!).with(6, lines[4]!)), [
        [name, 6, "reordered"],
        [name, 7, "reordered"]
      ])
      assert.deepStrictEqual(yield* what(lines.slice(0, -3)), [[name, lines.length - 2, "cut-tail"]])
      assert.deepStrictEqual(yield* what([...lines, "x"]), [[name, lines.length + 1, "inserted"]])
    }))

  it.effect("finds an entry that was written anew with a right chain behind it", () =>
    Effect.gen(function*() {
      const { files } = yield* Evidence
      for (const { bytes, path } of files) {
        const lines = linesOf(bytes).map((line) => line.trimEnd())
        for (const from of [0, 1, lines.length - 1]) {
          let before = from === 0 ? undefined : lines[from - 1]
          const forged = lines.map((line, index) => {
            if (index < from) return line
            const entry = JSON.parse(line)
            if (before !== undefined) entry.prev = createHash("sha256").update(before).digest("hex")
            if (index === from) Object.assign(entry, "at" in entry ? { at: "2020-01-01T00:00:00.000Z" } : { n: 99 })
            before = JSON.stringify(entry)
            return before
          })
          const { problems } = yield* harm(path, Buffer.from(`${forged.join("\n")}\n`))
          assert.notDeepEqual(problems, [], `${path}:${from}`)
        }
      }
    }))

  // Every line operation, and every thirteenth byte. test/long/auditMutations.test.ts does every byte.
  it.effect("names the place of every single change", () =>
    Effect.gen(function*() {
      const found = yield* Evidence
      const start = yield* Random.nextIntBetween(0, 12)
      const lost: Array<string> = []
      let count = 0
      for (const { bytes, path } of found.files) {
        const name = path.endsWith("audit-heads") ? "audit-heads" : path.slice(found.made.audit.length + 1)
        for (const mutation of mutations(bytes, name === "audit-heads", () => 1)) {
          const at = /\bbyte (\d+)/.exec(mutation.what)?.[1]
          if (at !== undefined && Number(at) % 13 !== start) continue
          if (mutation.bytes?.equals(bytes) === true) continue
          count++
          const miss = missed(yield* harmOf(found, path, mutation.bytes), name, mutation)
          if (miss !== undefined) lost.push(miss)
        }
      }
      assert.deepStrictEqual(lost, [])
      assert.isAbove(count, 1_000)
    }), 120_000)
})
