// The SQLite index over a temporary root that is everybody's home, user space and project at once.
import { Layer } from "effect"
import { join } from "node:path"
import * as ItemIndexSqlite from "../../../src/layers/search/ItemIndexSqlite.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import type { MakeIndex } from "./ItemIndex.contract.ts"

export const makeIndex: MakeIndex = (root) => {
  const home = KiwiHomeMemory.layerWith({
    home: join(root, "home"),
    userSpace: join(root, "user"),
    systemSpace: join(root, "system"),
    userHome: root
  })
  const workspace = WorkspaceMemory.layerWith(join(root, "project")).pipe(Layer.provide(home))
  return ItemIndexSqlite.layer.pipe(Layer.provide([home, workspace, ProcessLockSqlite.layer]))
}
