// What the system tier is held to. The default is what the package was built with; a kernel that brings items of its own
// adds theirs.
import { Context } from "effect"
import { systemManifest } from "./systemManifest.generated.ts"

/** Canonical digests (sha256 hex) of every file of the system tier, by path below it: "tools/core/ping.yaml". */
export const SystemManifest = Context.Reference<ReadonlyMap<string, string>>("kiwi/layers/item/system/SystemManifest", {
  defaultValue: () => systemManifest
})
