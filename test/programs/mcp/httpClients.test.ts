// Over HTTP a client is known by the token that a person gave it.
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Redacted } from "effect"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import { serveHttp } from "../../../src/programs/mcp/serve.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { Clients } from "../../../src/services/call/Clients.ts"
import { Outbound } from "../../../src/services/outbound/Outbound.ts"
import { add } from "../../services/call/Clients.contract.ts"
import { agree } from "../../support/trustWorld.ts"
import * as MemoryProject from "./memoryProject.ts"

const own = "a".repeat(43)

const post = (port: number, token: string, message: object, session?: string, more: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${token}`,
        ...(session === undefined ? {} : { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" }),
        ...more
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message })
    })
    return { status: response.status, session: response.headers.get("mcp-session-id"), text: await response.text() }
  })

const hello = (name: string) => ({
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: { elicitation: {} }, clientInfo: { name, version: "1" } }
})

const ping = { id: 2, method: "tools/call", params: { name: "execute", arguments: { item_id: "ping" } } }

/** A server in this process, and its port. */
const served = Effect.gen(function*() {
  const project = yield* MemoryProject.make
  const services = yield* Layer.build(project.layer)
  const outbound = yield* OutboundNode.make({})
  const listening = yield* Deferred.make<number>()
  const watched = Outbound.of({ ...outbound, reserve: (port) => Deferred.succeed(listening, port) })
  yield* Effect.forkScoped(
    serveHttp({
      project: "",
      client: "owner",
      host: "127.0.0.1",
      port: 0,
      allowedHosts: [],
      presence: { nobody: undefined, agent: undefined },
      token: Redacted.make(own),
      noAuth: false,
      user: "somebody"
    }).pipe(Effect.provideContext(services), Effect.provideService(Outbound, watched))
  )
  return { project, services, port: yield* Deferred.await(listening) }
})

it.live("calls are made in the name of the token, in sessions that no other token reaches, until it is removed", () =>
  Effect.gen(function*() {
    const { port, project, services } = yield* served
    const [laptop, nightly] = yield* Effect.all([add("laptop"), add("nightly", "unattended")]).pipe(
      Effect.map((tokens) => tokens.map(Redacted.value)),
      Effect.provideContext(services)
    )

    const sessions = new Map<string, string>()
    for (const [name, token] of [["owner", own], ["laptop", laptop!], ["nightly", nightly!]] as const) {
      // What a client says of itself names nobody.
      const { session, status } = yield* post(port, token, hello("owner"))
      assert.strictEqual(status, 200, name)
      sessions.set(name, session!)
      const answer = yield* post(port, token, ping, session!)
      assert.strictEqual(answer.status, 200, name)
      assert.notInclude(answer.text, "\"isError\":true", name)
    }
    const callers = yield* project.use(Effect.flatMap(AuditLog, (audit) => audit.read())).pipe(
      Effect.map((entries) =>
        entries.flatMap((entry) =>
          entry.kind === "request" && entry.caller.surface === "mcp" && entry.caller.client !== "tester"
            ? [entry.caller.client]
            : []
        )
      )
    )
    assert.deepStrictEqual(callers, ["owner", "laptop", "nightly"])

    for (const [name, session] of sessions) {
      for (const [other, token] of [["owner", own], ["laptop", laptop!], ["nightly", nightly!]] as const) {
        const { status } = yield* post(port, token, ping, session)
        assert.strictEqual(status, name === other ? 200 : 404, `${other} in the session of ${name}`)
      }
    }
    assert.strictEqual((yield* post(port, "b".repeat(43), hello("x"))).status, 401)

    const sign = {
      id: 3,
      method: "tools/call",
      params: { name: "sign", arguments: { item_type: "tool", item_id: "rogue" } }
    }
    const refused = yield* post(port, nightly!, sign, sessions.get("nightly"))
    assert.include(refused.text, "was added as unattended")

    for (let i = 0; i < 70; i++) yield* post(port, laptop!, hello("laptop"))
    for (
      const [name, token, status] of [["owner", own, 200], ["laptop", laptop!, 404], [
        "nightly",
        nightly!,
        200
      ]] as const
    ) {
      const { status: given } = yield* post(port, token, ping, sessions.get(name))
      assert.strictEqual(given, status, `the first session of ${name}, after many of laptop`)
    }

    yield* Effect.gen(function*() {
      const clients = yield* Clients
      yield* clients.remove("laptop", agree(yield* clients.proposeRemove("laptop")))
    }).pipe(Effect.provideContext(services))
    assert.strictEqual((yield* post(port, laptop!, ping, sessions.get("laptop"))).status, 401)
  }).pipe(Effect.scoped))

it.live("only a session that the server opened for the client is one: no name that a client gives", () =>
  Effect.gen(function*() {
    const { port, project, services } = yield* served
    const laptop = Redacted.value(yield* Effect.provideContext(add("laptop"), services))
    const [mine, others] = [yield* post(port, own, hello("a")), yield* post(port, laptop, hello("b"))]
    const revision = "2026-07-28"
    const modern = {
      "mcp-protocol-version": revision,
      "mcp-method": "tools/call",
      "mcp-name": "execute"
    }
    const meta = {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientCapabilities": {}
    }
    const statelessPing = { ...ping, params: { ...ping.params, _meta: meta } }
    const sessions = project.use(Effect.flatMap(AuditLog, (audit) => audit.read({ limit: 1000 }))).pipe(
      Effect.map((entries) =>
        entries.flatMap((entry) =>
          entry.kind === "request" && entry.caller.client === "owner" ? [entry.caller.session] : []
        )
      )
    )
    const invented = [
      "x",
      "1",
      "00000000-0000-4000-8000-000000000000",
      "constructor",
      "__proto__",
      "",
      " ",
      "a,b",
      mine.session!.toUpperCase(),
      `${mine.session!}x`,
      "process"
    ]
    assert.strictEqual((yield* post(port, own, statelessPing, undefined, modern)).status, 200)
    for (const session of invented) {
      const { status, text } = yield* post(port, own, statelessPing, session, modern)
      assert.strictEqual(status, 200, session)
      assert.notInclude(text, "\"isError\":true", session)
    }
    const named = yield* sessions
    assert.lengthOf(named, 1 + invented.length)
    assert.strictEqual(new Set(named).size, 1)

    assert.strictEqual((yield* post(port, own, statelessPing, others.session!, modern)).status, 404)
    assert.strictEqual((yield* post(port, own, ping, mine.session!)).status, 200)
    const last = (yield* sessions).at(-1)
    assert.isFalse(named.includes(last!))
  }).pipe(Effect.scoped))
