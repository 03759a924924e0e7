// Stores of approvals over one folder on a real disk.
import { Effect, Layer } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as ApprovalStoreFile from "../../../src/layers/approval/ApprovalStoreFile.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as RememberedRulesMemory from "../../../src/layers/permission/RememberedRulesMemory.ts"
import * as SettingsMemory from "../../../src/layers/settings/SettingsMemory.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceNode from "../../../src/layers/workspace/WorkspaceNode.ts"
import { temporary } from "../../support/temporary.ts"

export const worldIn = (folder: string) => {
  const home = join(folder, "home")
  /** A store of its own, as another process has it. */
  const storeOf = (project: string) =>
    Layer.fresh(ApprovalStoreFile.layer.pipe(
      Layer.provideMerge(RememberedRulesMemory.layer),
      Layer.provide(SettingsMemory.layer),
      Layer.provideMerge(WorkspaceNode.layer(join(folder, project))),
      Layer.provide(SafeFilesNode.layer),
      Layer.provide(ProcessLockSqlite.layer),
      Layer.provide(KiwiHomeNode.layerWith({ home, userSpace: join(folder, "user"), userHome: "/memory/home" })),
      Layer.orDie
    ))
  return { folder, home, storeOf }
}

export const world = Effect.map(temporary, (folder) => {
  for (const project of ["one", "two"]) fs.mkdirSync(join(folder, project, ".ai"), { recursive: true })
  return worldIn(folder)
})
