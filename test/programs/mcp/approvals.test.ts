// Calls over MCP that a person has to agree to: asked in place, by a repeated call, or on another surface.
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Duration, Effect, Exit, Fiber, FileSystem, Layer, Scope } from "effect"
import { McpSchema } from "effect/ai"
import { TestClock } from "effect/testing"
import type { Projects } from "../../../src/layers/Projects.ts"
import * as CallProject from "../../../src/programs/mcp/callProject.ts"
import * as Edge from "../../../src/programs/mcp/edge.ts"
import * as LongCalls from "../../../src/programs/mcp/longCalls.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { CallEvent } from "../../../src/services/call/CallEvents.ts"
import { CallEvents } from "../../../src/services/call/CallEvents.ts"
import { answerIt } from "../../layers/approval/ApprovalStore.contract.ts"
import { world as diskWorld } from "../../layers/approval/approvalWorld.ts"
import { questionText } from "../../support/questionText.ts"
import { askingKernel, askingKernelWith } from "../askingKernel.ts"

type World = Effect.Success<typeof askingKernel>

const edit = { item_id: "edit", parameters: { path: "src/a.ts" } }
const forms = new McpSchema.ClientCapabilities({ elicitation: { form: {} } })
const none = new McpSchema.ClientCapabilities({})

interface Connection {
  readonly client?: string
  /** Why no person answers this server. */
  readonly nobody?: string
}

/** A server over one kernel. */
const serve = (world: World, { client = "ada", nobody }: Connection = {}) =>
  Effect.gen(function*() {
    const files = FileSystem.layerNoop({ realPath: (path) => Effect.succeed(path) })
    const services = yield* Layer.build(Layer.merge(world.layer, files))
    return yield* Effect.provideContext(
      Effect.gen(function*() {
        const server = yield* Effect.context<Projects | Scope.Scope>()
        const options = { client, presence: { nobody, agent: undefined } }
        return yield* Edge.make(yield* CallProject.make(""), options, LongCalls.make(), server)
      }),
      services
    )
  })

type Server = Effect.Success<ReturnType<typeof serve>>

type Answer = Readonly<Record<string, unknown>>

const callWith = (
  server: Server,
  context: Partial<McpSchema.McpRequestContext["Service"]>,
  args: object = edit
) =>
  Effect.provideService(server.call("execute", args), McpSchema.McpRequestContext, {
    clientId: 0,
    protocolVersion: "2025-11-25",
    clientCapabilities: none,
    ...context
  })

/** A session whose client answers each question by the next of `answers`. */
const inSession = (
  server: Server,
  answers: Array<Answer>,
  asked: Array<string> = [],
  args: object = edit,
  /** How long the answer takes. Default: a second, without the test's doing. */
  reads?: string,
  name = "tester"
) =>
  Effect.provideService(
    callWith(server, { clientCapabilities: forms, clientInfo: { name, version: "1" } }, args),
    McpSchema.McpServerClient,
    McpSchema.McpServerClient.of({
      clientId: 0,
      getClient: Effect.succeed({
        elicit: (params: unknown) =>
          Effect.andThen(
            reads === undefined ? TestClock.adjust("1 second") : Effect.sleep(reads as Duration.Input),
            Effect.sync(() => {
              asked.push(questionText(params))
              return answers.shift() ?? { action: "cancel" }
            })
          )
      })
    } as never)
  )

const structured = (result: unknown) =>
  (result as McpSchema.CallToolResult).structuredContent as {
    readonly status: string
    readonly data?: { readonly call_id: string }
    readonly approval_id?: string
    readonly error?: { readonly code: string; readonly message: string; readonly remediation: string }
  }

const codeOf = (result: unknown) => structured(result).error?.code ?? structured(result).status

const accept = (agree: unknown): Answer => ({ action: "accept", content: { agree } })

const test = <A, E>(title: string, body: (world: World, server: Server) => Effect.Effect<A, E, Scope.Scope>) =>
  it.effect(title, () =>
    Effect.gen(function*() {
      const world = yield* askingKernel
      return yield* body(world, yield* serve(world))
    }))

describe("a session's client is asked in place", () => {
  for (const answer of ["once", "session", "always"]) {
    test(`and the call goes on for "${answer}", once`, ({ asking, audit }, server) =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        assert.strictEqual(codeOf(yield* inSession(server, [accept(answer)], asked)), "success")
        assert.strictEqual(asking.ran, 1)
        assert.lengthOf(asked, 1)
        for (const text of ["run tool edit", `"path": "src/a.ts"`, "allow: fs.write(src/**)", "– end –"]) {
          assert.include(asked[0], text)
        }
        const results = (yield* audit).filter((entry) => entry.kind === "result")
        assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["asked", "success"])
        assert.match(results[1]?.approval?.by ?? "", /^answered in /)
        assert.strictEqual(codeOf(yield* inSession(server, [{ action: "cancel" }])), "APPROVAL_PENDING")
        assert.strictEqual(asking.ran, 1)
      }))
  }

  for (const [what, reads, takes] of [["runs", 0, 60], ["is read", 60, 60]] as const) {
    test(
      `and a call that ${what} for long has the id that the audit has for it`,
      ({ asking, audit }, server) =>
        Effect.gen(function*() {
          asking.takes = `${takes} seconds`
          const fiber = yield* Effect.forkChild(inSession(server, [accept("once")], [], edit, `${reads} seconds`))
          yield* TestClock.adjust("59 seconds")
          const { data, status } = structured(yield* Fiber.join(fiber))
          assert.strictEqual(status, "running")
          yield* TestClock.adjust("2 minutes")
          const results = (yield* audit).filter((entry) => entry.kind === "result")
          assert.deepStrictEqual(results.map(({ outcome }) => outcome), ["asked", "success"])
          assert.strictEqual(results[1]?.call, data?.call_id)
        })
    )
  }

  for (
    const [answer, code] of [
      [accept("no"), "APPROVAL_REJECTED"],
      [accept("never"), "APPROVAL_REJECTED"],
      [{ action: "decline" }, "APPROVAL_PENDING"],
      [{ action: "decline", content: { agree: "no" } }, "APPROVAL_PENDING"],
      [{ action: "decline", content: { agree: "once" } }, "APPROVAL_PENDING"],
      [{ action: "cancel" }, "APPROVAL_PENDING"],
      [{ action: "cancel", content: { agree: "no" } }, "APPROVAL_PENDING"],
      [{ action: "accept" }, "APPROVAL_PENDING"],
      [accept(true), "APPROVAL_PENDING"],
      [accept("yes"), "APPROVAL_PENDING"],
      [accept("ONCE"), "APPROVAL_PENDING"],
      [accept(["once"]), "APPROVAL_PENDING"],
      [{ action: "accept", content: { answer: "once" } }, "APPROVAL_PENDING"]
    ] as const
  ) {
    test(`and nothing runs for ${JSON.stringify(answer)}: ${code}`, ({ asking }, server) =>
      Effect.gen(function*() {
        assert.strictEqual(codeOf(yield* inSession(server, [answer])), code)
        assert.strictEqual(asking.ran, 0)
      }))
  }

  test(
    "but not where no person is behind the client: that call waits",
    ({ asking }, _server) =>
      Effect.gen(function*() {
        const world = yield* askingKernel
        const server = yield* serve(world, { nobody: "this client was added as unattended" })
        const asked: Array<string> = []
        const fiber = yield* Effect.forkChild(inSession(server, [accept("always")], asked))
        yield* TestClock.adjust("40 seconds")
        assert.strictEqual(codeOf(yield* Fiber.join(fiber)), "APPROVAL_PENDING")
        assert.deepStrictEqual([asked.length, asking.ran, world.asking.ran], [0, 0, 0])
      })
  )

  test(
    "and two that call at the same time each hear their own question, and answer it alone",
    (world, server) =>
      Effect.gen(function*() {
        const isHeard = yield* Deferred.make<void>()
        const mayAnswer = yield* Deferred.make<void>()
        const heard: Array<readonly [client: string, text: string, answered: Answer]> = []
        const callAs = (name: string, path: string, elicit: Effect.Effect<Answer>) =>
          callWith(
            server,
            { clientCapabilities: forms, clientInfo: { name, version: "1" } },
            { ...edit, parameters: { path } }
          ).pipe(
            Effect.provideService(
              McpSchema.McpServerClient,
              McpSchema.McpServerClient.of({
                clientId: 0,
                getClient: Effect.succeed({
                  elicit: (params: unknown) =>
                    Effect.tap(
                      elicit,
                      (answered) => Effect.sync(() => heard.push([name, questionText(params), answered]))
                    )
                })
              } as never)
            )
          )
        const slow = Effect.andThen(Deferred.succeed(isHeard, undefined), Deferred.await(mayAnswer))
        const first = yield* Effect.forkChild(callAs("ada", "src/a.ts", Effect.as(slow, accept("once"))))
        yield* Deferred.await(isHeard)
        const second = yield* callAs("grace", "src/b.ts", Effect.succeed(accept("no")))
        assert.strictEqual(codeOf(second), "APPROVAL_REJECTED")
        assert.strictEqual(world.asking.ran, 0)
        yield* Deferred.succeed(mayAnswer, undefined)
        assert.strictEqual(codeOf(yield* Fiber.join(first)), "success")
        assert.strictEqual(world.asking.ran, 1)
        assert.deepStrictEqual(
          heard.map(([name, text]) => [name, text.includes("src/a.ts"), text.includes("src/b.ts")]),
          [["grace", false, true], ["ada", true, false]]
        )
        const labels = (yield* world.audit).flatMap((entry) =>
          entry.kind === "request" && entry.operation === "run"
            ? [[entry.caller.label, JSON.stringify(entry.parameters)]]
            : []
        )
        assert.deepStrictEqual(labels, [
          ["ada 1", `{"path":"src/a.ts"}`],
          ["grace 1", `{"path":"src/b.ts"}`],
          ["grace 1", `{"path":"src/b.ts"}`],
          ["ada 1", `{"path":"src/a.ts"}`]
        ])
      })
  )

  test("nor with a text that the dialog would cut", ({ asking }, server) =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      for (const text of ["x".repeat(2_000), "x\n".repeat(9_000), "x".repeat(100_000)]) {
        const args = { ...edit, parameters: { path: "src/a.ts", text } }
        const fiber = yield* Effect.forkChild(inSession(server, [accept("once")], asked, args))
        yield* TestClock.adjust("40 seconds")
        assert.strictEqual(codeOf(yield* Fiber.join(fiber)), "APPROVAL_PENDING")
      }
      assert.deepStrictEqual([asked.length, asking.ran], [0, 0])
    }))
})

describe("a stateless client", () => {
  const round = (server: Server, context: Partial<McpSchema.McpRequestContext["Service"]> = {}, args: object = edit) =>
    callWith(server, { protocolVersion: "2026-07-28", clientCapabilities: forms, ...context }, args)

  test(
    "is answered with the question, and repeats the call with the answer",
    ({ asking }, server) =>
      Effect.gen(function*() {
        const first = yield* round(server)
        assert.instanceOf(first, McpSchema.InputRequired)
        const { inputRequests, requestState } = first as McpSchema.InputRequired
        assert.include(questionText(inputRequests?.["agree"]?.params), "run tool edit")
        const answered = { inputResponses: { agree: accept("once") }, requestState }
        assert.strictEqual(codeOf(yield* round(server, answered)), "success")
        assert.strictEqual(asking.ran, 1)
        assert.instanceOf(yield* round(server, answered), McpSchema.InputRequired)
        assert.strictEqual(asking.ran, 1)
      })
  )

  test("gets nothing for an answer to another call, or by another client", (world, server) =>
    Effect.gen(function*() {
      const { requestState } = (yield* round(server)) as McpSchema.InputRequired
      const answered = { inputResponses: { agree: accept("once") }, requestState }
      const other = { ...edit, parameters: { path: "src/b.ts" } }
      assert.instanceOf(yield* round(server, answered, other), McpSchema.InputRequired)
      const eve = yield* serve(world, { client: "eve" })
      assert.instanceOf(yield* round(eve, answered), McpSchema.InputRequired)
      assert.strictEqual(world.asking.ran, 0)
    }))

  test("learns of a no", ({ asking }, server) =>
    Effect.gen(function*() {
      const { requestState } = (yield* round(server)) as McpSchema.InputRequired
      const answered = { inputResponses: { agree: accept("no") }, requestState }
      assert.strictEqual(codeOf(yield* round(server, answered)), "APPROVAL_REJECTED")
      assert.strictEqual(asking.ran, 0)
    }))
})

describe("a client that closes the question before anybody can read it", () => {
  for (const action of ["decline", "cancel"]) {
    test(
      `is one without a person: the call goes on waiting (${action})`,
      ({ asking, audit, use }, server) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(inSession(server, [{ action }], [], edit, "300 millis"))
          yield* TestClock.adjust("5 seconds")
          const [request] = yield* use(Effect.flatMap(ApprovalStore, ({ list }) => list))
          assert.deepInclude(request, { state: "pending" })
          assert.notProperty(request, "dismissed")
          const acts = (yield* audit).flatMap((entry) => entry.kind === "act" ? [[entry.outcome, entry.by]] : [])
          assert.deepStrictEqual(acts, [["refused", "mcp"]])
          yield* use(Effect.flatMap(ApprovalStore, (store) => answerIt(store, request?.id ?? "", "once")))
          yield* TestClock.adjust("1 second")
          assert.strictEqual(codeOf(yield* Fiber.join(fiber)), "success")
          assert.strictEqual(asking.ran, 1)
        })
    )

    test(`and fails with what a person types (${action})`, (_, server) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(inSession(server, [{ action }], [], edit, "300 millis"))
        yield* TestClock.adjust("42 seconds")
        const { approval_id, error } = structured(yield* Fiber.join(fiber))
        assert.strictEqual(error?.code, "APPROVAL_PENDING")
        assert.include(error?.message, "closed the question in less than a second, so nobody has read it")
        assert.include(error?.remediation, `kiwi approve ${approval_id}`)
      }))
  }
})

describe("a question that a person cannot read where it is put", () => {
  const closing = [{ action: "decline" }, { action: "cancel" }, { action: "accept" }] as const
  for (const answer of closing) {
    test(
      `is closed by ${answer.action}, and answered as its own text says: at a terminal`,
      ({ asking, audit, use }, server) =>
        Effect.gen(function*() {
          const result = structured(yield* inSession(server, [answer]))
          const id = result.approval_id ?? ""
          assert.strictEqual(result.error?.code, "APPROVAL_PENDING")
          assert.include(result.error?.message, "the question was closed here without an answer")
          assert.strictEqual(
            result.error?.remediation,
            `Ask the person to type: kiwi approve ${id}; do not repeat the call before`
          )
          const acts = (yield* audit).flatMap((entry) => entry.kind === "act" ? [[entry.outcome, entry.answer]] : [])
          assert.deepStrictEqual(acts, [["declined", undefined]])
          yield* use(Effect.flatMap(ApprovalStore, (store) => answerIt(store, id, "once")))
          const asked: Array<string> = []
          assert.strictEqual(codeOf(yield* inSession(server, [], asked)), "success")
          assert.deepStrictEqual([asking.ran, asked.length], [1, 0])
        })
    )
  }

  for (const name of ["claude-code", "codex-mcp-client"]) {
    test(
      `can be refused without the number at its end, in ${name}: and nothing else`,
      ({ asking }, server) =>
        Effect.gen(function*() {
          for (
            const [answer, code] of [["never", "APPROVAL_PENDING"], ["once", "APPROVAL_PENDING"], [
              "no",
              "APPROVAL_REJECTED"
            ]]
          ) {
            const fiber = yield* Effect.forkChild(inSession(server, [accept(answer)], [], edit, "1 second", name))
            yield* TestClock.adjust("42 seconds")
            assert.strictEqual(codeOf(yield* Fiber.join(fiber)), code, answer)
          }
          assert.strictEqual(asking.ran, 0)
        })
    )
  }
})

describe("a client that cannot ask", () => {
  test(
    "waits forty seconds, says so every five, and is told what a person types",
    (_world, server) =>
      Effect.gen(function*() {
        const heard: Array<CallEvent> = []
        const fiber = yield* Effect.forkChild(Effect.provideService(callWith(server, {}), CallEvents, {
          emit: (event) => Effect.sync(() => heard.push(event))
        }))
        yield* TestClock.adjust("39 seconds")
        assert.lengthOf(heard, 7)
        assert.include(heard[0]?._tag === "Progress" ? heard[0].message : "", "waits for a person to answer request")
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust("1 second")
        const { approval_id, error } = structured(yield* Fiber.join(fiber))
        assert.strictEqual(error?.code, "APPROVAL_PENDING")
        assert.strictEqual(
          error?.remediation,
          `Ask the person to type: kiwi approve ${approval_id}; then repeat the same call`
        )
      })
  )

  for (
    const [answer, code, ran] of [["once", "success", 1], ["always", "success", 1], [
      "no",
      "APPROVAL_REJECTED",
      0
    ]] as const
  ) {
    test(
      `goes on at once when the person answers "${answer}" elsewhere`,
      ({ asking, use }, server) =>
        Effect.gen(function*() {
          const fiber = yield* Effect.forkChild(callWith(server, {}))
          yield* TestClock.adjust("10 seconds")
          const store = yield* use(ApprovalStore)
          const [one] = yield* store.list
          yield* answerIt(store, one?.id ?? "", answer)
          yield* TestClock.adjust("1 second")
          assert.strictEqual(codeOf(yield* Fiber.join(fiber)), code)
          assert.strictEqual(asking.ran, ran)
        })
    )
  }

  test("repeats the call after the answer, and it runs once", ({ asking, use }, server) =>
    Effect.gen(function*() {
      const again = Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(callWith(server, {}))
        yield* TestClock.adjust("42 seconds")
        return structured(yield* Fiber.join(fiber))
      })
      const { approval_id } = yield* again
      assert.strictEqual((yield* again).approval_id, approval_id)
      yield* answerIt(yield* use(ApprovalStore), approval_id ?? "", "once")
      assert.strictEqual((yield* again).status, "success")
      assert.notStrictEqual((yield* again).approval_id, approval_id)
      assert.strictEqual(asking.ran, 1)
    }))
})

describe("a server that ends in between", () => {
  it.effect("loses no request and no answer, and runs the call once", () =>
    Effect.gen(function*() {
      const disk = yield* diskWorld
      let ran = 0
      /** A process: its own kernel, its own store over the same file. */
      const process = <A, E>(body: (server: Server) => Effect.Effect<A, E, Scope.Scope>) =>
        Effect.gen(function*() {
          const scope = yield* Scope.make()
          const world = yield* Effect.provideService(
            askingKernelWith(disk.storeOf("one"), Duration.zero),
            Scope.Scope,
            scope
          )
          const done = yield* body(yield* serve(world))
          ran += world.asking.ran
          // As a killed process: nothing is closed in order.
          yield* Scope.close(scope, Exit.void)
          return done
        })
      const call = process((server) => Effect.map(callWith(server, {}), structured))
      const { approval_id } = yield* call
      const person = yield* Effect.map(
        Layer.build(disk.storeOf("one")),
        (context) => Context.get(context, ApprovalStore)
      )
      yield* answerIt(person, approval_id ?? "", "once")
      // These servers have one process, which runs on.
      for (const { caller } of yield* person.list) yield* person.endSession(caller.session)
      assert.strictEqual((yield* call).status, "success")
      assert.strictEqual((yield* call).error?.code, "APPROVAL_PENDING")
      assert.strictEqual(ran, 1)
    }))
})
