import { Effect, Layer } from "effect"
import { ClosedFile, Closings } from "../../services/closing/Closings.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { decodeControl } from "../../services/workspace/controlFile.ts"

export const make = Effect.gen(function*() {
  const trust = yield* ProjectTrust
  return Closings.of({
    closed: Effect.gen(function*() {
      const bytes = yield* trust.readControl(".ai/config/closed.yaml")
      if (bytes === undefined) return new Map<string, string>()
      const { tools } = yield* decodeControl(bytes, ClosedFile)
      return new Map(Object.entries(tools))
    }).pipe(Effect.orElseSucceed(() => new Map<string, string>()))
  })
})

export const layer = Layer.effect(Closings, make)
