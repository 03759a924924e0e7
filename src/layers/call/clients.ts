// What every store of clients does: tokens are made here, and only their hashes are kept.
import { Clock, Effect, Redacted, Schema } from "effect"
import { randomBytes, timingSafeEqual } from "node:crypto"
import type { ClientRole, ClientsUnbelieved } from "../../services/call/Clients.ts"
import { Client, ClientName, ClientNameRefused, Clients, ClientUnknown } from "../../services/call/Clients.ts"
import type { WriteRefused } from "../../services/files/SafeFiles.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { requireAct } from "../../services/trust/HumanAct.ts"
import type { LockError } from "../../services/workspace/ProcessLock.ts"
import { sha256 } from "../identity/sha256.ts"

export const KeptClient = Schema.Struct({
  ...Client.fields,
  /** SHA-256 of the token, in hex. A token has 256 random bits, so no salt is needed. */
  token: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
})
export type KeptClient = typeof KeptClient.Type

type All = ReadonlyArray<KeptClient>

export interface ClientsStore {
  readonly load: Effect.Effect<All, ClientsUnbelieved>
  /** As `load`, from a cache, and nobody if the file cannot be believed. */
  readonly known: Effect.Effect<All>
  /** One at a time, in all processes. */
  readonly update: <E>(
    change: (all: All) => Effect.Effect<All, E>
  ) => Effect.Effect<void, E | ClientsUnbelieved | WriteRefused | LockError>
}

const isName = Schema.is(ClientName)

const aboutRole: { readonly [Role in ClientRole]: ReadonlyArray<string> } = {
  attended: [
    "Whoever has its token may call this user's servers over HTTP, as your rules say for that name.",
    "Questions to you may be answered by whoever sits in front of it."
  ],
  unattended: [
    "Whoever has its token may call this user's servers over HTTP, as your rules say for that name.",
    "Nobody sits in front of it: what would be asked waits for your answer at a terminal."
  ],
  approver: [
    "Whoever has its token may answer, in your place, every request that waits for you in the projects of this user's " +
    "HTTP servers: allow calls, and make rules.",
    "It can do nothing else."
  ]
}

const proposeAdd = (name: string, role: ClientRole): HumanRequest => ({
  kind: "client",
  title: `Add the client ${name}`,
  details: [`Name: ${name}`, "", ...aboutRole[role]].join("\n"),
  digest: sha256(JSON.stringify(["add", name, role])),
  command: `kiwi client add ${name}${role === "attended" ? "" : ` --${role}`}`
})

const proposeRemove = (name: string): HumanRequest => ({
  kind: "client",
  title: `Remove the client ${name}`,
  details: "Its token would be refused from then on, in sessions that are open too.",
  digest: sha256(JSON.stringify(["remove", name])),
  command: `kiwi client remove ${name}`
})

const free = (name: string, all: All): Effect.Effect<void, ClientNameRefused> =>
  !isName(name)
    ? Effect.fail(new ClientNameRefused({ name, issue: "invalid" }))
    : all.some((one) => one.name === name)
    ? Effect.fail(new ClientNameRefused({ name, issue: "taken" }))
    : Effect.void

const there = (name: string, all: All): Effect.Effect<void, ClientUnknown> =>
  all.some((one) => one.name === name) ? Effect.void : Effect.fail(new ClientUnknown({ name }))

export const makeClients = ({ known, load, update }: ClientsStore) =>
  Clients.of({
    list: Effect.map(load, (all) =>
      all.map(({ added, approver, name, unattended }): Client => ({
        name,
        unattended,
        ...(approver === undefined ? {} : { approver }),
        added
      }))),
    withToken: (token) =>
      Effect.map(known, (all) => {
        const given = Buffer.from(sha256(Redacted.value(token)), "hex")
        return all.find((one) => timingSafeEqual(Buffer.from(one.token, "hex"), given))
      }),
    named: (name) => Effect.map(known, (all) => all.find((one) => one.name === name)),
    proposeAdd: (name, role) => Effect.flatMap(load, (all) => Effect.as(free(name, all), proposeAdd(name, role))),
    add: Effect.fn("Clients.add")(function*(name: string, role: ClientRole, act: HumanAct) {
      yield* requireAct(proposeAdd(name, role), act)
      const token = randomBytes(32).toString("base64url")
      const added = new Date(yield* Clock.currentTimeMillis).toISOString()
      const client: KeptClient = {
        name,
        unattended: role !== "attended",
        ...(role === "approver" ? { approver: true } : {}),
        added,
        token: sha256(token)
      }
      yield* update((all) => Effect.as(free(name, all), [...all, client]))
      return Redacted.make(token)
    }),
    proposeRemove: (name) => Effect.flatMap(load, (all) => Effect.as(there(name, all), proposeRemove(name))),
    remove: Effect.fn("Clients.remove")(function*(name: string, act: HumanAct) {
      yield* requireAct(proposeRemove(name), act)
      yield* update((all) => Effect.as(there(name, all), all.filter((one) => one.name !== name)))
    })
  })
