// Chains that have no end, no middle or two of it, as files.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Fs from "node:fs"
import * as ChainResolverStore from "../../../src/layers/chain/ChainResolverStore.ts"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { type Disk, makeDisk, storeOn } from "../item/onDisk.ts"

const tool = (executor: string) => JSON.stringify({ version: "1.0.0", tool_type: "script", executor_id: executor })

const failing = (id: string, write: (disk: Disk) => void) =>
  Effect.gen(function*() {
    const disk = yield* makeDisk
    disk.write("system", "tools/primitives/subprocess.yaml", `{"version": "1.0.0", "tool_type": "primitive"}`)
    write(disk)
    return yield* Effect.provide(
      Effect.flip(ChainResolver.use((resolver) => resolver.resolve({ id }))),
      ChainResolverStore.layer.pipe(
        Layer.provide(
          Layer.mergeAll(storeOn(disk), Layer.provide(ItemParserBuiltin.layerNoProcess, ExtractorsMemory.layer))
        )
      )
    )
  }).pipe(Effect.scoped)

const shown = (error: Effect.Success<ReturnType<typeof failing>>) => {
  const { chain, code, failed_at } = toErrorObject(error)
  return [code, chain?.join(" > "), failed_at?.tool_id, failed_at?.config_path]
}

describe("a chain on disk that is none", () => {
  it.effect("one link that names itself", () =>
    Effect.gen(function*() {
      const error = yield* failing("a", (disk) => disk.write("project", "tools/x/a.yaml", tool("a")))
      assert.deepStrictEqual(shown(error), ["CHAIN_CYCLE", "a > a", "a", "project:tools/x/a.yaml"])
    }))

  it.effect("two that name each other, the first of them the project's", () =>
    Effect.gen(function*() {
      const error = yield* failing("a", (disk) => {
        disk.write("project", "tools/a.yaml", tool("b"))
        disk.write("user", "tools/a.yaml", tool("b"))
        disk.write("user", "tools/b.yaml", tool("a"))
      })
      // From the user's b on, a is the user's: the project's counts for nothing there, and so is no cycle yet.
      assert.deepStrictEqual(shown(error), ["CHAIN_CYCLE", "a > b > a > b", "a", "user:tools/a.yaml"])
      const missing = yield* failing("a", (disk) => {
        disk.write("project", "tools/a.yaml", tool("b"))
        disk.write("user", "tools/b.yaml", tool("a"))
      })
      assert.deepStrictEqual(shown(missing), ["CHAIN_LINK_MISSING", "a > b", "b", "user:tools/b.yaml"])
    }))

  it.effect("one file by two names, by way of a link", () =>
    Effect.gen(function*() {
      const error = yield* failing("a", (disk) => {
        disk.write("project", "tools/a.yaml", tool("other"))
        Fs.symlinkSync("a.yaml", `${disk.root("project")}/tools/other.yaml`)
      })
      assert.deepStrictEqual(shown(error), ["CHAIN_CYCLE", "a > other", "a", "project:tools/a.yaml"])
    }))

  it.effect("two files of one id in the middle, unless the category says which", () =>
    Effect.gen(function*() {
      const write = (executor: string) => (disk: Disk) => {
        disk.write("project", "tools/a.yaml", tool(executor))
        disk.write("project", "tools/x/b.yaml", tool("nowhere"))
        disk.write("project", "tools/y/b.yaml", tool("subprocess"))
      }
      const error = yield* failing("a", write("b"))
      assert.deepStrictEqual(shown(error), ["CHAIN_LINK_BROKEN", "a", "a", "project:tools/a.yaml"])
      assert.include(error.message, "project:tools/x/b.yaml")
      assert.include(error.message, "project:tools/y/b.yaml")
      assert.strictEqual((yield* failing("a", write("x/b")))._tag, "ChainLinkMissing")
    }))

  it.effect("eleven links", () =>
    Effect.gen(function*() {
      const error = yield* failing("t0", (disk) => {
        for (let i = 0; i < 10; i++) {
          disk.write("project", `tools/t${i}.yaml`, tool(i === 9 ? "subprocess" : `t${i + 1}`))
        }
      })
      assert.deepStrictEqual(shown(error).slice(0, 1), ["CHAIN_TOO_DEEP"])
      assert.deepStrictEqual(shown(error).slice(2), ["t9", "project:tools/t9.yaml"])
    }))
})
