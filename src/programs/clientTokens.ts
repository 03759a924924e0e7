// Naming a client, and removing one: acts of a person.
import { Effect } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import { ClientNameRefused, type ClientRole, Clients } from "../services/call/Clients.ts"
import { asHuman } from "./humanAct.ts"

export const addClient = Effect.fn("addClient")(function*(name: string, role: ClientRole, caller: Caller) {
  const clients = yield* Clients
  // Rules know you by that name, on stdin and stdout.
  if (name === caller.client) return yield* new ClientNameRefused({ name, issue: "yours" })
  const request = yield* clients.proposeAdd(name, role)
  return yield* asHuman(request, caller, (act) => clients.add(name, role, act))
})

export const removeClient = Effect.fn("removeClient")(function*(name: string, caller: Caller) {
  const clients = yield* Clients
  const request = yield* clients.proposeRemove(name)
  return yield* asHuman(request, caller, (act) => clients.remove(name, act))
})
