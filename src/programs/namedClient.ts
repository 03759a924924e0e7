// Whether somebody sits in front of a server's client. Loaded only where a client is named.
import { Effect, Layer } from "effect"
import * as ClientsFile from "../layers/call/ClientsFile.ts"
import * as SafeFilesNode from "../layers/files/SafeFilesNode.ts"
import * as ProcessLockSqlite from "../layers/workspace/ProcessLockSqlite.ts"
import { Clients, whyApprover, whyUnattended } from "../services/call/Clients.ts"

/** Why nobody can be asked through the client with this name; undefined if somebody can, or nobody added it. */
export const unattendedClient = Effect.fnUntraced(function*(name: string) {
  const clients = yield* Clients
  const client = yield* clients.named(name)
  if (client?.approver === true) return whyApprover(name)
  return client?.unattended === true ? whyUnattended(name) : undefined
}, Effect.provide(ClientsFile.layer.pipe(Layer.provide(ProcessLockSqlite.layer), Layer.provide(SafeFilesNode.layer))))
