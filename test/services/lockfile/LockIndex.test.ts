import { assert, describe, it } from "@effect/vitest"
import type { StoredLock } from "../../../src/services/lockfile/LockfileStore.ts"
import {
  indexEntry,
  instantOf,
  later,
  printIndex,
  readIndex,
  validatedAt
} from "../../../src/services/lockfile/LockIndex.ts"
import { frozen, lockfile } from "../../layers/lockfile/locks.ts"

const path = "math/add@1.0.0.lock.json"
const lock: StoredLock = { lockfile: lockfile(), scope: "project", path, variant: false }
const variantHash = frozen({ content: "b" }).chain_hash
const variant: StoredLock = {
  lockfile: lockfile({ content: "b" }),
  scope: "project",
  path: `math/add@1.0.0.${variantHash}.lock.json`,
  variant: true
}
const now = "2026-11-22T10:00:00.000Z"
const indexOf = (...locks: ReadonlyArray<StoredLock>) => new Map(locks.map((l) => [l.path, indexEntry(l, undefined)]))

describe("the index", () => {
  it("has the shape that is published, and a key for each variant", () => {
    assert.deepStrictEqual(JSON.parse(printIndex(indexOf(variant, lock), now)), {
      version: "1",
      updated_at: now,
      lockfiles: {
        [`math/add@1.0.0`]: {
          path,
          chain_hash: lock.lockfile.chain_hash,
          created_at: "2026-11-22T09:00:00.000Z",
          last_validated: "2026-11-22T09:00:00.000Z",
          scope: "project"
        },
        [`math/add@1.0.0.${variantHash}`]: {
          path: variant.path,
          chain_hash: variantHash,
          created_at: "2026-11-22T09:00:00.000Z",
          last_validated: "2026-11-22T09:00:00.000Z",
          scope: "project"
        }
      }
    })
    assert.strictEqual(printIndex(indexOf(variant, lock), now), printIndex(indexOf(lock, variant), now))
  })

  it("is read as it was printed", () => {
    const index = new Map([[path, indexEntry(lock, now)]])
    assert.deepStrictEqual(readIndex(printIndex(index, now)), index)
    assert.strictEqual(validatedAt(index.get(path), lock), now)
  })

  it("that is none is none", () => {
    for (
      const text of ["", "{", "null", "[]", "{}", `{"version":1,"lockfiles":{}}`, `{"version":"1","lockfiles":[]}`]
    ) {
      assert.isUndefined(readIndex(text), text)
    }
    assert.isUndefined(readIndex(`{"version":"1"}`))
  })

  it("has no entries under other names, outside of the folder, or of another shape", () => {
    const entry = { ...indexEntry(lock, now) }
    const text = (lockfiles: string) => `{"version":"1","updated_at":"x","lockfiles":{${lockfiles}}}`
    for (
      const lockfiles of [
        `"__proto__": ${JSON.stringify(entry)}`,
        `"constructor": 1`,
        `"math/sub@1.0.0": ${JSON.stringify(entry)}`,
        `"math/add@1.0.0": ${JSON.stringify({ ...entry, path: "../../etc/passwd" })}`,
        `"math/add@1.0.0": ${JSON.stringify({ ...entry, last_validated: 5 })}`,
        `"math/add@1.0.0": ${JSON.stringify({ ...entry, scope: "system" })}`
      ]
    ) {
      assert.deepStrictEqual(readIndex(text(lockfiles)), new Map(), lockfiles)
    }
    assert.isFalse("path" in {})
  })

  it("is believed only about the very lock that it names, and not about times before it was made", () => {
    const entry = indexEntry(lock, now)
    const held = (change: object) => validatedAt({ ...entry, ...change }, lock)
    assert.strictEqual(held({}), now)
    assert.isUndefined(held({ chain_hash: "0".repeat(12) }))
    assert.isUndefined(held({ created_at: "2026-11-22T09:00:00.001Z" }))
    assert.isUndefined(held({ last_validated: "2026-11-22T09:00:00.000Z" }))
    assert.isUndefined(held({ last_validated: "1970-01-01T00:00:00.000Z" }))
    assert.isUndefined(held({ last_validated: "tomorrow" }))
    assert.isUndefined(validatedAt(undefined, lock))
  })
})

describe("times", () => {
  it("are whole ones with a zone", () => {
    assert.strictEqual(instantOf("1970-01-01T00:00:01Z"), 1000)
    assert.strictEqual(instantOf("1970-01-01T01:00:00.500000+01:00"), 500)
    for (
      const text of [
        "",
        "1",
        "2020",
        "2020-01-01",
        "2020-01-01T00:00:00",
        "2020-13-01T00:00:00Z",
        " 2020-01-01T00:00:00Z"
      ]
    ) {
      assert.isUndefined(instantOf(text), text)
    }
  })

  it("the later of two is found, and a text that is no time is the earliest", () => {
    assert.strictEqual(later("2026-11-22T10:00:00Z", "2026-11-22T10:30:00+01:00"), "2026-11-22T10:00:00Z")
    assert.strictEqual(later(now, "never"), now)
    assert.strictEqual(later("never", now), now)
    assert.strictEqual(later(undefined, now), now)
    assert.isUndefined(later(undefined, undefined))
  })
})
