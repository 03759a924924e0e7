// Answers by way of a service, over a real HTTP server on loopback.
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, FileSystem, Layer, Redacted } from "effect"
import type { Scope } from "effect"
import * as ClientsMemory from "../../../src/layers/call/ClientsMemory.ts"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import { serveHttp } from "../../../src/programs/mcp/serve.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { Outbound } from "../../../src/services/outbound/Outbound.ts"
import { request, writes } from "../../layers/approval/approvalRequest.ts"
import { answerIt, file } from "../../layers/approval/ApprovalStore.contract.ts"
import { add } from "../../services/call/Clients.contract.ts"
import { askingKernel } from "../askingKernel.ts"

const own = "a".repeat(43)

interface World {
  readonly store: ApprovalStore["Service"]
  readonly tokens: Readonly<Record<"owner" | "laptop" | "phone", string>>
  readonly send: (token: string | undefined, path: string, body?: unknown, method?: string) => Effect.Effect<number>
  /** Answers with the digest of the question as it is. */
  readonly answer: (id: string, answer: string, token?: string) => Effect.Effect<number>
  readonly acts: Effect.Effect<ReadonlyArray<string>>
}

const test = <A, E>(title: string, body: (world: World) => Effect.Effect<A, E, Scope.Scope>) =>
  it.live(title, () =>
    Effect.gen(function*() {
      const asking = yield* askingKernel
      const files = FileSystem.layerNoop({ realPath: (path) => Effect.succeed(path) })
      const services = yield* Layer.build(Layer.mergeAll(asking.layer, files, ClientsMemory.layer))
      const outbound = yield* OutboundNode.make({})
      const listening = yield* Deferred.make<number, unknown>()
      const watched = Outbound.of({ ...outbound, reserve: (port) => Deferred.succeed(listening, port) })
      yield* Effect.forkChild(
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
        }).pipe(
          Effect.provideService(Outbound, watched),
          Effect.provideContext(services),
          Effect.tapCause((cause) => Deferred.failCause(listening, cause))
        )
      )
      const port = yield* Deferred.await(listening)
      const store = yield* asking.use(ApprovalStore)
      const [laptop, phone] = yield* Effect.all([add("laptop"), add("phone", "approver")]).pipe(
        Effect.provideContext(services)
      )
      const tokens = { owner: own, laptop: Redacted.value(laptop), phone: Redacted.value(phone) }
      const send: World["send"] = (token, path, sent, method = "POST") =>
        Effect.promise(async () => {
          const { status } = await fetch(`http://127.0.0.1:${port}${path}`, {
            method,
            headers: {
              "content-type": "application/json",
              ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
            },
            ...(sent === undefined ? {} : { body: typeof sent === "string" ? sent : JSON.stringify(sent) })
          })
          return status
        })
      const answer: World["answer"] = (id, given, token = tokens.phone) =>
        Effect.flatMap(
          Effect.orDie(store.propose(id)),
          ({ question }) => send(token, `/approvals/${id}`, { answer: given, digest: question.digest })
        )
      const acts = Effect.map(asking.audit, (entries) =>
        entries.flatMap((entry) =>
          entry.kind === "act" ? [`${entry.caller.client} ${entry.by} ${entry.outcome}`] : []
        ))
      return yield* body({ store, tokens, send, answer, acts })
    }).pipe(Effect.scoped))

test("an approver's token answers a request, once", ({ acts, answer, store }) =>
  Effect.gen(function*() {
    const id = yield* file(store)
    const { question } = yield* store.propose(id)
    assert.strictEqual(yield* answer(id, "once"), 200)
    const by = yield* store.require(request({ callId: "c2" }))
    assert.strictEqual(by.by, "answered by phone over HTTP")
    assert.isTrue((yield* acts).includes("phone approver done"))
    assert.strictEqual((yield* Effect.flip(store.propose(id)))._tag, "ApprovalClosed")
    assert.isNotEmpty(question.digest)
  }))

test("twice, late, of another request, for another question or for nothing it counts for nothing", (world) =>
  Effect.gen(function*() {
    const { send, store, tokens } = world
    const [one, two] = [
      yield* file(store),
      yield* file(store, request({ digest: "e".repeat(64), asks: [writes("b")] }))
    ]
    const [first, second] = [(yield* store.propose(one)).question, (yield* store.propose(two)).question]
    const post = (id: string, body: unknown) => send(tokens.phone, `/approvals/${id}`, body)
    for (
      const [id, body, status] of [
        [one, { answer: "once", digest: second.digest }, 409],
        [two, { answer: "once", digest: first.digest }, 409],
        [one, { answer: "once", digest: "0".repeat(64) }, 409],
        [one, { answer: "yes", digest: first.digest }, 400],
        [one, { answer: "once" }, 400],
        [one, { answer: "always", digest: first.digest, rule: "allow: fs.write(docs/**)" }, 400],
        [one, { digest: first.digest }, 400],
        [one, [], 400],
        [one, "{", 400],
        [one, { answer: "once", digest: first.digest, more: "x".repeat(5_000) }, 413],
        ["aaaaaaaaaa", { answer: "once", digest: first.digest }, 404]
      ] as const
    ) assert.strictEqual(yield* post(id, body), status, JSON.stringify(body).slice(0, 100))
    assert.deepStrictEqual((yield* store.list).map(({ state }) => state), ["pending", "pending"])
    const answered = { answer: "no", digest: first.digest }
    assert.strictEqual(yield* post(one, answered), 200)
    assert.strictEqual(yield* post(one, answered), 409)
    assert.strictEqual(yield* post(one, { ...answered, answer: "once" }), 409)
    yield* answerIt(store, two, "once")
    assert.strictEqual(yield* post(two, { answer: "once", digest: second.digest }), 409)
  }))

test("of two answers at once one counts", ({ answer, store }) =>
  Effect.gen(function*() {
    const id = yield* file(store)
    const { question } = yield* store.propose(id)
    assert.isNotEmpty(question.digest)
    const statuses = yield* Effect.all([answer(id, "once"), answer(id, "no")], { concurrency: 2 })
    assert.deepStrictEqual(statuses.toSorted(), [200, 409])
  }))

test("a text that is not shown whole is agreed to at a terminal only", ({ answer, store }) =>
  Effect.gen(function*() {
    const id = yield* file(store, request({ unreadable: ["parameters"] }))
    assert.strictEqual(yield* answer(id, "once"), 422)
    assert.strictEqual(yield* answer(id, "always"), 422)
    assert.strictEqual(yield* answer(id, "no"), 200)
  }))

test("no other token answers, and this one does nothing else", ({ answer, send, store, tokens }) =>
  Effect.gen(function*() {
    const id = yield* file(store)
    assert.strictEqual(yield* answer(id, "once", tokens.owner), 403)
    assert.strictEqual(yield* answer(id, "once", tokens.laptop), 403)
    assert.strictEqual(yield* send(undefined, `/approvals/${id}`, {}), 401)
    assert.strictEqual(yield* answer(id, "once", "b".repeat(43)), 401)
    const hello = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "x", version: "1" } }
    }
    for (
      const path of [
        "/mcp",
        "/mcp?x=1",
        "/",
        "/approvals",
        "/approvals/",
        `/approvals/${id}/`,
        `/approvals/${id}?x=1`,
        `/Approvals/${id}`,
        `//approvals/${id}`,
        `/approvals/%61${id.slice(1)}`
      ]
    ) assert.strictEqual(yield* send(tokens.phone, path, hello), 403, path)
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      assert.strictEqual(yield* send(tokens.phone, `/approvals/${id}`, {}, method), 403, method)
    }
    assert.strictEqual(yield* send(tokens.phone, `/approvals/${id}`, undefined, "GET"), 403)
    assert.deepStrictEqual((yield* store.list).map(({ state }) => state), ["pending"])
  }))
