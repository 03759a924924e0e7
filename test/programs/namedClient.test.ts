import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import * as ClientsFile from "../../src/layers/call/ClientsFile.ts"
import * as SafeFilesNode from "../../src/layers/files/SafeFilesNode.ts"
import * as KiwiHomeNode from "../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../src/layers/workspace/ProcessLockMemory.ts"
import { unattendedClient } from "../../src/programs/namedClient.ts"
import { toErrorObject } from "../../src/services/error/KiwiError.ts"
import { add } from "../services/call/Clients.contract.ts"
import { temporary } from "../support/temporary.ts"

const inHome = Effect.map(temporary, (folder) => {
  const home = KiwiHomeNode.layerWith({ home: join(folder, "kiwi") })
  const files = Layer.mergeAll(SafeFilesNode.layer, ProcessLockMemory.layer)
  return ClientsFile.layer.pipe(Layer.provide(files), Layer.provideMerge(home))
})

describe("a server that is started for a client by name", () => {
  it.live("serves those who make calls, and nobody else", () =>
    Effect.gen(function*() {
      yield* add("laptop")
      yield* add("nightly", "unattended")
      yield* add("phone", "approver")
      assert.isUndefined(yield* unattendedClient("laptop"))
      assert.include(yield* unattendedClient("nightly"), "unattended")
      const refused = yield* Effect.flip(unattendedClient("phone"))
      assert.strictEqual(toErrorObject(refused).code, "CLIENT_IS_APPROVER")
      for (const name of ["nobody", "Phone", "phone ", ""]) {
        assert.strictEqual((yield* Effect.flip(unattendedClient(name)))._tag, "ClientNotAdded", name)
      }
    }).pipe(Effect.provide(Layer.unwrap(inHome))))
})
