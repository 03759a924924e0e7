// The lineage of this machine's kind. Where there is no way to read it, nothing is known. It is read before
// there is a kernel whose ChildProcesses could be asked.
import { Layer } from "effect"
import { platform } from "node:os"
import * as ChildProcessesNode from "../process/ChildProcessesNode.ts"
import * as LineageMemory from "./LineageMemory.ts"
import * as LineageProc from "./LineageProc.ts"
import * as LineagePs from "./LineagePs.ts"

export const layer = Layer.suspend(() =>
  platform() === "linux"
    ? LineageProc.layer
    : platform() === "darwin"
    ? Layer.provide(LineagePs.layer, ChildProcessesNode.layer)
    : LineageMemory.layerWith(undefined)
)
