// What the files of the system tier are held to: what the package was built with.
import { Context } from "effect"
import { systemManifest } from "./systemManifest.generated.ts"

/** Canonical digests (sha256 hex) of every file of the system tier, by path below it: "tools/core/ping.yaml". */
export const SystemManifest = Context.Reference<ReadonlyMap<string, string>>("kiwi/layers/item/system/SystemManifest", {
  defaultValue: () => systemManifest
})
