// Clients in `$KIWI_HOME/clients.json`. The file counts only if this user wrote it and nobody else could. An invalid file
// names nobody and is not overwritten.
import { Effect, Layer, Schema } from "effect"
import { join } from "node:path"
import { Clients, ClientsUnbelieved } from "../../services/call/Clients.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { decodeControl } from "../../services/workspace/controlFile.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Readings } from "../files/believe.ts"
import { KeptClient, makeClients } from "./clients.ts"

const ClientsJson = Schema.Struct({ version: Schema.Literal(1), clients: Schema.Array(KeptClient) })

const file = "clients.json"
const maxBytes = 1_048_576

export const make = Effect.gen(function*() {
  const { home } = yield* KiwiHome
  const files = yield* SafeFiles
  const { withLock } = yield* ProcessLock
  const readings = new Readings<ReadonlyArray<KeptClient>>()

  const load = Effect.gen(function*() {
    const bytes = yield* Effect.mapError(files.read(home, file, { maxBytes, own: true }), (error) => error.detail)
    if (bytes === undefined) return []
    return (yield* Effect.mapError(decodeControl(bytes, ClientsJson, maxBytes), (error) => error.message)).clients
  }).pipe(Effect.mapError((detail) => new ClientsUnbelieved({ detail })))

  return makeClients({
    load,
    known: Effect.orElseSucceed(
      Effect.map(readings.getEffect(join(home, file), load), (all) => all ?? []),
      (): ReadonlyArray<KeptClient> => []
    ),
    update: (change) =>
      withLock(home, "clients")(Effect.gen(function*() {
        const clients = yield* change(yield* load)
        yield* files.write(home, file, JSON.stringify({ version: 1, clients } satisfies typeof ClientsJson.Encoded))
      }))
  })
})

export const layer = Layer.effect(Clients, make)
