// The lineage on this kind of machine. Where it cannot be read, it is unknown. It is read before there is a kernel, so
// ChildProcesses cannot be used.
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
