// The program that embeds Kiwi asks its person. Only a plain `true` is a yes; a callback that fails has asked nobody.
import { Effect, Layer } from "effect"
import {
  type HumanAct,
  HumanDeclined,
  HumanGate,
  type HumanRequest,
  HumanRequired
} from "../../services/trust/HumanAct.ts"

export type AskPerson = (request: HumanRequest, signal: AbortSignal) => boolean | PromiseLike<boolean>

export const make = (askPerson: AskPerson) =>
  Effect.sync(() => {
    const ask = Effect.fn("HumanGate.ask")(function*(request: HumanRequest) {
      const { command, digest, kind, title } = request
      const answer = yield* Effect.tryPromise({
        try: (signal) => Promise.resolve(askPerson(request, signal)),
        catch: () => new HumanRequired({ kind, title, command, why: "askPerson failed" })
      })
      if (answer !== true) {
        return yield* new HumanDeclined({ kind, title, by: "embedder", seen: "askPerson did not answer true" })
      }
      return { kind, digest, by: "embedder", seen: "askPerson answered true" } satisfies HumanAct
    })
    return HumanGate.of({ ask })
  })

export const layer = (askPerson: AskPerson) => Layer.effect(HumanGate, make(askPerson))
