// Makes one copy many times and damages it in between, as its brothers do in other processes; prints the folder.
import { Effect, Layer } from "effect"
import { chmodSync, rmSync } from "node:fs"
import { join } from "node:path"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as VerifiedCopiesFile from "../../../src/layers/integrity/VerifiedCopiesFile.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import { VerifiedCopies } from "../../../src/services/integrity/VerifiedCopies.ts"
import * as Snapshots from "../../support/snapshots.ts"

const home = KiwiHomeNode.layerWith({ home: process.argv[2] })

const snapshot = Snapshots.folderSnapshot(Snapshots.locationOf("tools/web", { kind: "folder" }), [
  Snapshots.folderFile("tool.yaml", "version: 1.0.0\n"),
  Snapshots.folderFile("a.py", "a = 1\n")
])

const damage = (folder: string) => {
  try {
    chmodSync(folder, 0o700)
    rmSync(join(folder, "a.py"))
  } catch {
    // A brother has just replaced it.
  }
}

await Effect.runPromise(
  Effect.gen(function*() {
    const { materialize } = yield* VerifiedCopies
    let folder = ""
    for (let round = 0; round < 40; round++) {
      if (folder !== "" && round % 4 === 3) damage(folder)
      folder = (yield* materialize({ snapshot, by: { _tag: "System" } }, undefined)).folder
    }
    yield* Effect.sleep(500)
    process.stdout.write((yield* materialize({ snapshot, by: { _tag: "System" } }, undefined)).folder)
  }).pipe(Effect.provide(
    VerifiedCopiesFile.layer.pipe(Layer.provide([home, Layer.provide(SafeFilesNode.layer, home)]))
  ))
)
