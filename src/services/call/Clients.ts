// The clients that a person has named: each has a token for HTTP, and a name that rules refer to. What a client says of
// itself is never its name.
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "../trust/HumanAct.ts"
import type { LockError } from "../workspace/ProcessLock.ts"

export const ClientName = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,47}$/))

export const Client = Schema.Struct({
  name: ClientName,
  /** Nobody sits in front of it: it is never asked a question. */
  unattended: Schema.Boolean,
  /** Its token answers requests that wait for a person, and does nothing else. */
  approver: Schema.optionalKey(Schema.Literal(true)),
  /** When it was added, ISO 8601. */
  added: Schema.String
})
export type Client = typeof Client.Type

/** `unattended`: nobody is asked there. `approver`: its token only answers requests. */
export type ClientRole = "attended" | "unattended" | "approver"

export const whyUnattended = (name: string): string =>
  `the client ${name} was added as unattended: nobody sits in front of it`

/** There is already a client with this name, or the name cannot be one. */
export class ClientNameRefused extends Schema.TaggedError<ClientNameRefused>()("ClientNameRefused", {
  name: Schema.String,
  issue: Schema.Literals(["taken", "invalid", "yours"])
}) {
  override get message() {
    if (this.issue === "yours") return `"${this.name}" is your own name: a client of that name would be taken for you`
    return this.issue === "taken"
      ? `There is already a client "${this.name}", and its token is not shown again`
      : `"${this.name}" cannot be a client's name: 1 to 48 letters, digits, dots, - and _, beginning with a letter or digit`
  }
  get remediation() {
    return this.issue === "taken"
      ? `For a new token, remove it first: kiwi client remove ${this.name}`
      : "Choose another name: kiwi client add NAME"
  }
}

/** No client has this name. Nothing was removed. */
export class ClientUnknown extends Schema.TaggedError<ClientUnknown>()("ClientUnknown", {
  name: Schema.String
}) {
  override get message() {
    return `There is no client "${this.name}", and nothing was changed`
  }
  get remediation() {
    return "kiwi client list"
  }
}

/** The file of clients is not valid, so no client's token counts. It is not overwritten. */
export class ClientsUnbelieved extends Schema.TaggedError<ClientsUnbelieved>()("ClientsUnbelieved", {
  detail: Schema.String
}) {
  override get message() {
    return `clients.json in Kiwi's folder cannot be used, so no client's token counts: ${this.detail}`
  }
  get remediation() {
    return "Restore clients.json from a backup; or move it away and add each client again: kiwi client add NAME"
  }
}

export class Clients extends Context.Service<Clients, {
  readonly list: Effect.Effect<ReadonlyArray<Client>, ClientsUnbelieved>
  /** The client with this token. Undefined if there is none, or if the file cannot be believed. */
  readonly withToken: (token: Redacted.Redacted<string>) => Effect.Effect<Client | undefined>
  /** The client with this name, by the same rule. */
  readonly named: (name: string) => Effect.Effect<Client | undefined>
  readonly proposeAdd: (
    name: string,
    role: ClientRole
  ) => Effect.Effect<HumanRequest, ClientNameRefused | ClientsUnbelieved>
  /** Makes a token of 256 bits and returns it, this one time: only its hash is kept. */
  readonly add: (
    name: string,
    role: ClientRole,
    act: HumanAct
  ) => Effect.Effect<
    Redacted.Redacted<string>,
    ClientNameRefused | ClientsUnbelieved | HumanRequired | WriteRefused | LockError
  >
  readonly proposeRemove: (name: string) => Effect.Effect<HumanRequest, ClientUnknown | ClientsUnbelieved>
  /** From then on its token is refused, in sessions that are open too. */
  readonly remove: (
    name: string,
    act: HumanAct
  ) => Effect.Effect<void, ClientUnknown | ClientsUnbelieved | HumanRequired | WriteRefused | LockError>
}>()("kiwi/services/call/Clients") {}
