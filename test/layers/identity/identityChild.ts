// Makes sure of the identity of the home that it is given, and prints it.
import { ConfigProvider, Effect, Layer, Logger } from "effect"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as IdentityKeyring from "../../../src/layers/identity/IdentityKeyring.ts"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"

const home = KiwiHomeNode.layerWith({ home: process.argv[2] })

await Effect.runPromise(
  Effect.gen(function*() {
    const { ensure } = yield* Identity
    process.stdout.write((yield* ensure()).publicKey)
  }).pipe(
    Effect.provide(IdentityKeyring.layer.pipe(
      Layer.provide([home, KeychainMemory.layerUnavailable, ProcessLockSqlite.layer]),
      Layer.provide(Layer.provide(SafeFilesNode.layer, home)),
      Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({})))
    )),
    Effect.provideService(Logger.LogToStderr, true)
  )
)
