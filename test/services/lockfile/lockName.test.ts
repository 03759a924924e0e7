import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { lockPath, nameFits, parseLockPath } from "../../../src/services/lockfile/lockName.ts"
import { lockfile } from "../../layers/lockfile/locks.ts"
import { frozenOf } from "../../layers/lockfile/locks.ts"
import { Category, categoryOf, Id, idOf, Links, linksOf, Version, versionOf } from "./seeds.ts"

describe("names of lockfiles", () => {
  it.effect.prop(
    "say again what they were made from, and fit what was locked and nothing else",
    [Category, Id, Version, Version, Links],
    ([category, id, version, otherVersion, seeds]) =>
      Effect.sync(() => {
        const key = { category: categoryOf(category), toolId: idOf(id), version: versionOf(version) }
        const [leaf, ...rest] = linksOf(seeds)
        const { chain_hash, ...frozen } = frozenOf(
          [{ ...leaf, tool_id: key.toolId, version: key.version }, ...rest],
          key
        )
        const lock = { ...lockfile(), ...frozen, chain_hash }
        const [plain, variant] = [lockPath(key)!, lockPath(key, chain_hash)!]
        assert.strictEqual(plain, `${key.category}/${key.toolId}@${key.version}.lock.json`)
        const [parsed, parsedVariant] = [parseLockPath(plain)!, parseLockPath(variant)!]
        assert.deepStrictEqual(parsed, { category: key.category, toolId: key.toolId, tail: key.version })
        assert.deepStrictEqual(parsedVariant, { ...parsed, tail: `${key.version}.${chain_hash}` })
        assert.strictEqual(nameFits(parsed, lock), "version")
        assert.strictEqual(nameFits(parsedVariant, lock), "variant")
        for (
          const other of [{ category: `${key.category}x` }, { toolId: `${key.toolId}x` }, { tail: `${key.version}0` }]
        ) {
          assert.isUndefined(nameFits({ ...parsed, ...other }, lock))
        }
        const elsewhere = versionOf(otherVersion)
        if (elsewhere !== key.version) {
          assert.isUndefined(nameFits({ ...parsed, tail: elsewhere }, { ...lock, chain_hash: "0".repeat(12) }))
        }
      })
  )

  it("are made of nothing that leads elsewhere", () => {
    const key = { category: "math", toolId: "add", version: "1.0.0" }
    const hostile = ["", ".", "..", "../x", "a/../b", "/etc", "a\0b", "a\\b", "a b", "a\n", "\u202ea", "-"]
    for (const category of [...hostile, "a//b", "a/", "a".repeat(257)]) {
      assert.isUndefined(lockPath({ ...key, category }), JSON.stringify(category))
    }
    for (const toolId of [...hostile, "a/b", "Add", "a@b", "a".repeat(129)]) {
      assert.isUndefined(lockPath({ ...key, toolId }), JSON.stringify(toolId))
    }
    for (const version of [...hostile, "1/2", "1.0.0@2", "a".repeat(250)]) {
      assert.isUndefined(lockPath({ ...key, version }), JSON.stringify(version))
    }
    for (const hash of [...hostile, "abcdef01234", "ABCDEF012345", "abcdef0123456"]) {
      assert.isUndefined(lockPath(key, hash), JSON.stringify(hash))
    }
  })

  it("are told from other names", () => {
    for (
      const path of [
        "",
        "add@1.0.0.lock.json",
        "math/add.lock.json",
        "math/add@1.0.0.json",
        "math/@1.0.0.lock.json",
        "math/add@.lock.json",
        "math/Add@1.0.0.lock.json",
        "../math/add@1.0.0.lock.json",
        "/math/add@1.0.0.lock.json",
        "math//add@1.0.0.lock.json",
        "math/add@1.0.0.lock.json/x",
        "math/add@1.0.0 .lock.json",
        "math/.add@1.0.0.lock.json"
      ]
    ) {
      assert.isUndefined(parseLockPath(path), path)
    }
  })
})
