// The client that a server is started for by name. Loaded only where one is named.
import { Effect, Layer, Schema } from "effect"
import * as ClientsFile from "../layers/call/ClientsFile.ts"
import * as SafeFilesNode from "../layers/files/SafeFilesNode.ts"
import * as ProcessLockSqlite from "../layers/workspace/ProcessLockSqlite.ts"
import { Clients, whyUnattended } from "../services/call/Clients.ts"
import { safeLine } from "../services/error/safeText.ts"

/** A server is started for a client that nobody added: a caller cannot take the name that rules are for. */
export class ClientNotAdded extends Schema.TaggedError<ClientNotAdded>()("ClientNotAdded", { name: Schema.String }) {
  override get message() {
    return `No client "${safeLine(this.name, 48)}" was added, so no server is started under that name`
  }
  get remediation() {
    return "Leave --client out, and the server's client has your name; or a person adds it: kiwi client add NAME"
  }
}

/** A server is started for a client whose token only answers requests. */
export class ClientIsApprover extends Schema.TaggedError<ClientIsApprover>()("ClientIsApprover", {
  name: Schema.String
}) {
  override get message() {
    return `The client ${this.name} was added as approver: it answers requests and makes no calls, so no server is started for it`
  }
  get remediation() {
    return "Leave --client out, or name a client that makes calls: kiwi client list"
  }
}

/** Why nobody can be asked through the client with this name; undefined if somebody can. */
export const unattendedClient = Effect.fnUntraced(function*(name: string) {
  const clients = yield* Clients
  const client = yield* clients.named(name)
  if (client === undefined) return yield* new ClientNotAdded({ name })
  if (client.approver === true) return yield* new ClientIsApprover({ name })
  return client.unattended ? whyUnattended(name) : undefined
}, Effect.provide(ClientsFile.layer.pipe(Layer.provide(ProcessLockSqlite.layer), Layer.provide(SafeFilesNode.layer))))
