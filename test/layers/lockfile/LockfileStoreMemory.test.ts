import { Effect, Layer } from "effect"
import * as LockfileStoreMemory from "../../../src/layers/lockfile/LockfileStoreMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { contract } from "./LockfileStore.contract.ts"

contract(
  "LockfileStoreMemory",
  Effect.sync(() => {
    const files = { project: new Map<string, string>(), user: new Map<string, string>() }
    const over = (root: string | undefined) =>
      LockfileStoreMemory.layerWith(files).pipe(
        Layer.provide(WorkspaceMemory.layerWith(root)),
        Layer.provide(KiwiHomeMemory.layer)
      )
    return {
      layer: over("/memory/project"),
      alone: over(undefined),
      put: (scope, path, text) => void files[scope].set(path, text),
      get: (scope, path) => files[scope].get(path)
    }
  })
)
