// What every store of clients does: tokens are made here, and only their hashes are kept.
import { Clock, Effect, Redacted, Schema } from "effect"
import { randomBytes, timingSafeEqual } from "node:crypto"
import type { ClientsUnbelieved } from "../../services/call/Clients.ts"
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

const proposeAdd = (name: string, unattended: boolean): HumanRequest => ({
  kind: "client",
  title: `Add the client ${name}`,
  details: [
    `Name: ${name}`,
    "",
    "Whoever has its token may call this user's servers over HTTP, as your rules say for that name.",
    unattended
      ? "Nobody sits in front of it: what would be asked waits for your answer at a terminal."
      : "Questions to you may be answered by whoever sits in front of it."
  ].join("\n"),
  digest: sha256(JSON.stringify(["add", name, unattended])),
  command: `kiwi client add ${name}${unattended ? " --unattended" : ""}`
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
    list: Effect.map(load, (all) => all.map(({ added, name, unattended }) => ({ name, unattended, added }))),
    withToken: (token) =>
      Effect.map(known, (all) => {
        const given = Buffer.from(sha256(Redacted.value(token)), "hex")
        return all.find((one) => timingSafeEqual(Buffer.from(one.token, "hex"), given))
      }),
    named: (name) => Effect.map(known, (all) => all.find((one) => one.name === name)),
    proposeAdd: (name, unattended) =>
      Effect.flatMap(load, (all) => Effect.as(free(name, all), proposeAdd(name, unattended))),
    add: Effect.fn("Clients.add")(function*(name: string, unattended: boolean, act: HumanAct) {
      yield* requireAct(proposeAdd(name, unattended), act)
      const token = randomBytes(32).toString("base64url")
      const added = new Date(yield* Clock.currentTimeMillis).toISOString()
      yield* update((all) => Effect.as(free(name, all), [...all, { name, unattended, added, token: sha256(token) }]))
      return Redacted.make(token)
    }),
    proposeRemove: (name) => Effect.flatMap(load, (all) => Effect.as(there(name, all), proposeRemove(name))),
    remove: Effect.fn("Clients.remove")(function*(name: string, act: HumanAct) {
      yield* requireAct(proposeRemove(name), act)
      yield* update((all) => Effect.as(there(name, all), all.filter((one) => one.name !== name)))
    })
  })
