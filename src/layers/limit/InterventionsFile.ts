// `interventions.json` beside the other state of the project, so that what waits is still there after a restart.
import { Effect, Layer, Schema } from "effect"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { Intervention, Interventions, InterventionsUnavailable } from "../../services/limit/Interventions.ts"
import { ProcessLock } from "../../services/workspace/ProcessLock.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { makeOver, unavailable } from "./makeInterventions.ts"

const name = "interventions.json"
/** More than all that may wait can say. */
const maxBytes = 16_777_216

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Array(Intervention)))

export const make = Effect.gen(function*() {
  const files = yield* SafeFiles
  const locks = yield* ProcessLock
  const { state } = yield* Workspace
  return makeOver({
    read: Effect.flatMap(
      Effect.mapError(files.read(state, name, { maxBytes, own: true }), unavailable),
      (bytes) =>
        bytes === undefined
          ? Effect.succeed([])
          : Effect.mapError(
            decode(new TextDecoder().decode(bytes)),
            () => new InterventionsUnavailable({ detail: `$KIWI_HOME/…/${name} is damaged: move it away` })
          )
    ),
    write: (waiting) =>
      Effect.mapError(files.write(state, name, `${JSON.stringify(waiting)}\n`, { mode: 0o600 }), unavailable),
    alone: locks.withLock(state, "interventions.lock")
  })
})

export const layer = Layer.effect(Interventions, make)
