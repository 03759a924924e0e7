// The lineage of this machine's kind. Where there is no way to read it, nothing is known.
import { Layer } from "effect"
import { platform } from "node:os"
import * as LineageMemory from "./LineageMemory.ts"
import * as LineageProc from "./LineageProc.ts"
import * as LineagePs from "./LineagePs.ts"

export const layer = Layer.suspend(() =>
  platform() === "linux"
    ? LineageProc.layer
    : platform() === "darwin"
    ? LineagePs.layer
    : LineageMemory.layerWith(undefined)
)
