import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { readStored } from "../../../src/layers/lockfile/makeLockfileStore.ts"
import { printLockfile } from "../../../src/services/lockfile/lockfileText.ts"
import { lockPath, toolOfPath } from "../../../src/services/lockfile/lockName.ts"
import { lockfile } from "../../layers/lockfile/locks.ts"
import { frozenOf } from "../../layers/lockfile/locks.ts"
import { Category, categoryOf, Id, idOf, Links, linksOf, Version, versionOf } from "./seeds.ts"

describe("names of lockfiles", () => {
  it.effect.prop(
    "follow from what was locked and say the tool again, and fit nothing else",
    [Category, Id, Version, Version, Links],
    ([category, id, version, otherVersion, seeds]) =>
      Effect.sync(() => {
        const key = { category: categoryOf(category), toolId: idOf(id), version: versionOf(version) }
        const [leaf, ...rest] = linksOf(seeds)
        const frozen = frozenOf([{ ...leaf, tool_id: key.toolId, version: key.version }, ...rest], key)
        const text = printLockfile({ ...lockfile(), ...frozen })
        const variantAt = (path: string) => Result.map(readStored("user", path, text), ({ variant }) => variant)
        const [plain, variant] = [lockPath(key)!, lockPath(key, frozen.chain_hash)!]
        assert.strictEqual(plain, `${key.category}/${key.toolId}@${key.version}.lock.json`)
        assert.strictEqual(variant, `${key.category}/${key.toolId}@${key.version}.${frozen.chain_hash}.lock.json`)
        assert.deepStrictEqual([toolOfPath(plain), toolOfPath(variant)], [key.toolId, key.toolId])
        assert.deepStrictEqual(variantAt(plain), Result.succeed(false))
        assert.deepStrictEqual(variantAt(variant), Result.succeed(true))
        const elsewhere = versionOf(otherVersion)
        const others = [
          { category: `${key.category}x` },
          { toolId: `${key.toolId}x` },
          { version: `${key.version}0` },
          ...(elsewhere === key.version ? [] : [{ version: elsewhere }])
        ]
        for (const other of others) {
          for (const hash of [undefined, frozen.chain_hash, "0".repeat(12)]) {
            const path = lockPath({ ...key, ...other }, hash)
            if (path !== undefined && path !== variant) assert.isTrue(Result.isFailure(variantAt(path)), path)
          }
        }
        assert.isTrue(Result.isFailure(variantAt(lockPath(key, "0".repeat(12))!)))
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
      assert.isUndefined(toolOfPath(path), path)
    }
  })
})
