import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as ClientsFile from "../../../src/layers/call/ClientsFile.ts"
import * as ClientsMemory from "../../../src/layers/call/ClientsMemory.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import { Clients } from "../../../src/services/call/Clients.ts"
import { add, contract } from "../../services/call/Clients.contract.ts"
import { temporary } from "../../support/temporary.ts"

const inHome = (home: string) =>
  ClientsFile.layer.pipe(
    Layer.provide(Layer.mergeAll(SafeFilesNode.layer, ProcessLockMemory.layer)),
    Layer.provide(KiwiHomeNode.layerWith({ home: join(home, "kiwi") }))
  )

contract("ClientsMemory", ClientsMemory.layer)
contract("ClientsFile", Layer.unwrap(Effect.map(temporary, inHome)))

describe("the file of clients", () => {
  it.live("has no token, is private, and is read by the next kernel and by one that runs", () =>
    Effect.gen(function*() {
      const home = yield* temporary
      const running = yield* Layer.build(inHome(home))
      const token = yield* Effect.provide(add("laptop"), inHome(home))
      const file = join(home, "kiwi/clients.json")
      assert.notInclude(fs.readFileSync(file, "utf8"), Redacted.value(token))
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      const known = Effect.flatMap(Clients, (clients) => clients.withToken(token))
      assert.include(yield* Effect.provideContext(known, running), { name: "laptop" })
    }))

  const broken: ReadonlyArray<readonly [string, (file: string) => void]> = [
    ["a link", (file) => {
      fs.renameSync(file, `${file}.real`)
      fs.symlinkSync(`${file}.real`, file)
    }],
    ["writable for others", (file) => fs.chmodSync(file, 0o666)],
    ["cut short", (file) => fs.writeFileSync(file, fs.readFileSync(file).subarray(0, 40))],
    ["of another version", (file) => fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("\":1", "\":2"))],
    [
      "with an unknown key",
      (file) =>
        fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("{\"version\"", "{\"all\":true,\"version\""))
    ],
    ["a folder", (file) => {
      fs.rmSync(file)
      fs.mkdirSync(file)
    }]
  ]
  for (const [what, breakIt] of broken) {
    it.live(`names nobody and is not overwritten when it is ${what}`, () =>
      Effect.gen(function*() {
        const home = yield* temporary
        const token = yield* Effect.provide(add("laptop"), inHome(home))
        const file = join(home, "kiwi/clients.json")
        breakIt(file)
        yield* Effect.gen(function*() {
          const clients = yield* Clients
          assert.isUndefined(yield* clients.withToken(token))
          assert.isUndefined(yield* clients.named("laptop"))
          assert.strictEqual((yield* Effect.flip(clients.list))._tag, "ClientsUnbelieved")
          assert.strictEqual((yield* Effect.flip(add("other")))._tag, "ClientsUnbelieved")
        }).pipe(Effect.provide(inHome(home)))
      }))
  }
})
