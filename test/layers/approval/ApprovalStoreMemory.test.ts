import { Effect, Layer } from "effect"
import * as ApprovalStoreMemory from "../../../src/layers/approval/ApprovalStoreMemory.ts"
import * as RememberedRulesMemory from "../../../src/layers/permission/RememberedRulesMemory.ts"
import * as SettingsMemory from "../../../src/layers/settings/SettingsMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import { contract } from "./ApprovalStore.contract.ts"

contract(
  "in memory",
  Effect.succeed(
    ApprovalStoreMemory.layer.pipe(
      Layer.provideMerge(RememberedRulesMemory.layer),
      Layer.provide(SettingsMemory.layer),
      Layer.provide(KiwiHomeMemory.layer)
    )
  )
)
