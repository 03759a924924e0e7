// The digests that the files of the system tier must have, from the package's build.
import { Context } from "effect"
import { systemManifest } from "./systemManifest.generated.ts"

/** Canonical digests (SHA-256, in hex) of every file of the system tier, by path below it: "tools/core/ping.yaml". */
export const SystemManifest = Context.Reference<ReadonlyMap<string, string>>("kiwi/layers/item/system/SystemManifest", {
  defaultValue: () => systemManifest
})
