import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as IdentityMemory from "../../../src/layers/identity/IdentityMemory.ts"
import * as ItemHistoryMemory from "../../../src/layers/integrity/ItemHistoryMemory.ts"
import * as SignaturesMemory from "../../../src/layers/integrity/SignaturesMemory.ts"
import * as VerifiedCopiesMemory from "../../../src/layers/integrity/VerifiedCopiesMemory.ts"
import * as VerifierMemory from "../../../src/layers/integrity/VerifierMemory.ts"
import * as ItemStoreMemory from "../../../src/layers/item/ItemStoreMemory.ts"
import type { MemoryFile } from "../../../src/layers/item/ItemStoreMemory.ts"
import * as ProjectTrustMemory from "../../../src/layers/trust/ProjectTrustMemory.ts"
import * as SignerTrustMemory from "../../../src/layers/trust/SignerTrustMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { Signatures } from "../../../src/services/integrity/Signatures.ts"

const add = "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"python_runtime\"\n"

const open = (tiers: ItemStoreMemory.MemoryTiers) =>
  SignaturesMemory.layerWith(tiers).pipe(
    Layer.provide([
      IdentityMemory.layer,
      ItemHistoryMemory.layer,
      VerifierMemory.layer,
      Layer.provide(VerifiedCopiesMemory.layer, KiwiHomeMemory.layer),
      Layer.provide(ItemParserBuiltin.layerNoProcess, ExtractorsMemory.layer),
      ItemStoreMemory.layerWith(tiers),
      KiwiHomeMemory.layer,
      ProcessLockMemory.layer,
      SignerTrustMemory.layer.pipe(
        Layer.provideMerge(ProjectTrustMemory.layer),
        Layer.provide([IdentityMemory.layer, WorkspaceMemory.layer]),
        Layer.provide(KiwiHomeMemory.layer)
      )
    ])
  )

describe("SignaturesMemory", () => {
  it.effect("signs in the map that it was given, and keeps the executable bit", () =>
    Effect.gen(function*() {
      const project = new Map<string, MemoryFile>([["tools/add.py", { content: add, executable: true }]])
      yield* Effect.gen(function*() {
        const signatures = yield* Signatures
        const plan = yield* signatures.plan({ id: "add" })
        yield* signatures.sign(plan, { kind: "sign", digest: plan.request.digest, by: "embedder" })
        const again = yield* signatures.plan({ id: "add" })
        assert.strictEqual(again.items[0]!.diff, "")
      }).pipe(Effect.provide(open({ project })))
      const file = project.get("tools/add.py")
      assert.match(
        typeof file === "object" && "content" in file && file.executable ? String(file.content) : "",
        /^# kiwi-mcp:signed:2:/
      )
    }))

  it.effect("cannot sign a constant", () =>
    Effect.gen(function*() {
      const signatures = yield* Signatures
      const plan = yield* signatures.plan({ id: "add" })
      const error = yield* Effect.flip(
        signatures.sign(plan, { kind: "sign", digest: plan.request.digest, by: "embedder" })
      )
      assert.strictEqual(error._tag, "WriteRefused")
    }).pipe(Effect.provide(open({ project: { "tools/add.py": add } }))))
})
