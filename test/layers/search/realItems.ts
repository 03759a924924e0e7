// The SQLite index over the real store and parser, for a project, a home and a user space below one root.
import { Layer } from "effect"
import { join } from "node:path"
import * as ExtractorsMemory from "../../../src/layers/format/ExtractorsMemory.ts"
import * as ItemParserBuiltin from "../../../src/layers/format/ItemParserBuiltin.ts"
import * as ItemStoreFile from "../../../src/layers/item/ItemStoreFile.ts"
import * as ItemIndexSqlite from "../../../src/layers/search/ItemIndexSqlite.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"

export const realIndex = (root: string) => {
  const home = KiwiHomeMemory.layerWith({
    home: join(root, "home"),
    userSpace: join(root, "user"),
    systemSpace: join(root, "system"),
    userHome: root
  })
  return Layer.fresh(ItemIndexSqlite.layer).pipe(
    Layer.provide(ItemStoreFile.layer),
    Layer.provide(ItemParserBuiltin.layerNoProcess),
    Layer.provide([ExtractorsMemory.layer, WorkspaceMemory.layerWith(join(root, "project")), ProcessLockSqlite.layer]),
    Layer.provide(home)
  )
}

export const python = (fields: { readonly description: string; readonly parameters?: ReadonlyArray<string> }): string =>
  `"""${fields.description}"""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
INPUT_SCHEMA = {"type": "object", "properties": {${
    (fields.parameters ?? []).map((name) => `"${name}": {"type": "string"}`).join(", ")
  }}}
`

export const note = (
  fields: {
    readonly title: string
    readonly tags: ReadonlyArray<string>
    readonly body: string
    readonly id: string
    readonly category: string
  }
): string =>
  `---
id: ${fields.id}
title: ${fields.title}
version: 1.0.0
entry_type: reference
category: ${fields.category}
tags: [${fields.tags.join(", ")}]
---

${fields.body}
`
