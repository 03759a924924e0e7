// Secrets that tools may refer to by name. Storing and removing one are a person's acts. The surface gives the value
// after the person has agreed; it is never part of a question, a record or a digest.
import { Effect } from "effect"
import type { Redacted } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import { SecretStore } from "../services/identity/SecretStore.ts"
import { asHuman } from "./humanAct.ts"

export const setSecret = Effect.fn("setSecret")(function*<E, R>(
  name: string,
  value: Effect.Effect<Redacted.Redacted, E, R>,
  caller: Caller
) {
  const secrets = yield* SecretStore
  const request = yield* secrets.proposeSet(name)
  return yield* asHuman(request, caller, (act) => Effect.flatMap(value, (given) => secrets.set(name, given, act)))
})

export const removeSecret = Effect.fn("removeSecret")(function*(name: string, caller: Caller) {
  const secrets = yield* SecretStore
  const request = yield* secrets.proposeRemove(name)
  return yield* asHuman(request, caller, (act) => secrets.remove(name, act))
})
