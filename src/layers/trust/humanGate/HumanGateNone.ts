// For surfaces where nobody can be asked: every human act fails with the command to type.
import { Effect, Layer } from "effect"
import { HumanGate, HumanRequired } from "../../../services/trust/HumanAct.ts"

export const make = Effect.succeed(HumanGate.of({
  ask: ({ command, kind, title }) =>
    Effect.fail(new HumanRequired({ kind, title, command, why: "nobody can be asked here" }))
}))

export const layer = Layer.effect(HumanGate, make)
