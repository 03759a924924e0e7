import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { McpSchema } from "effect/ai"
import { TestClock } from "effect/testing"
import * as HumanGateElicit from "../../../src/programs/mcp/HumanGateElicit.ts"
import { agentRemedy } from "../../../src/services/error/agentRemedy.ts"
import { exactText } from "../../../src/services/error/exactText.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"

const request: HumanRequest = {
  kind: "sign",
  title: "Sign tool add 1.0.0 (project)",
  verdict: ["Runs by python", "New: 1 line"],
  details: "+ print(1)",
  digest: "d".repeat(64),
  command: "kiwi sign tool add"
}

const forms = new McpSchema.ClientCapabilities({ elicitation: { form: {} } })
const yes = { action: "accept", content: { agree: true } }

type Context = Partial<McpSchema.McpRequestContext["Service"]>

const ask = Effect.fnUntraced(function*(seals: HumanGateElicit.Seals, act: HumanRequest, client: string) {
  const { gate, question } = yield* HumanGateElicit.make(seals, client, { nobody: undefined, agent: undefined })
  const result = yield* Effect.result(gate.ask(act))
  const outcome = result._tag === "Success" ? result.success.digest : result.failure._tag
  const error = result._tag === "Success" ? undefined : result.failure
  return { outcome, error, question: question() }
})

/** One round of a stateless call that asks for `act`: what came of it, and the question it is answered with. */
const round = (seals: HumanGateElicit.Seals, context: Context, act = request, client = "tester") =>
  Effect.provideService(ask(seals, act, client), McpSchema.McpRequestContext, {
    clientId: 0,
    protocolVersion: "2026-07-28",
    clientCapabilities: forms,
    ...context
  })

const decodeForm = Schema.decodeUnknownSync(Schema.Struct({
  message: Schema.String,
  requestedSchema: Schema.Struct({
    properties: Schema.Struct({ agree: Schema.Struct({ description: Schema.String }) })
  })
}))
const paramsOf = (question: McpSchema.InputRequired | undefined) => question?.inputRequests?.["agree"]?.params
const asked = (question: McpSchema.InputRequired | undefined) => {
  const { message, requestedSchema } = decodeForm(paramsOf(question))
  return { message, description: requestedSchema.properties.agree.description }
}

describe("a stateless call", () => {
  it.effect("is answered with the question, and comes again with the answer", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const first = yield* round(seals, {})
      assert.strictEqual(first.outcome, "HumanRequired")
      assert.strictEqual(asked(first.question).message, "Sign tool add 1.0.0 (project)\nRuns by python\nNew: 1 line")
      assert.strictEqual(
        asked(first.question).description,
        "No \"– end –\" below? Press Esc and type on a terminal: kiwi sign tool add\n\n+ print(1)\n– end –"
      )
      const requestState = first.question?.requestState
      const second = yield* round(seals, { inputResponses: { agree: yes }, requestState })
      assert.strictEqual(second.outcome, request.digest)
      assert.isUndefined(second.question)
    }))

  it.effect("names the agent that started the server, whose passphrase seals no new key", () =>
    Effect.gen(function*() {
      const act = (agent: string | undefined) =>
        Effect.gen(function*() {
          const seals = yield* HumanGateElicit.makeSeals
          const { question } = yield* round(seals, {})
          const { gate } = yield* Effect.provideService(
            HumanGateElicit.make(seals, "tester", { nobody: undefined, agent }),
            McpSchema.McpRequestContext,
            {
              clientId: 0,
              protocolVersion: "2026-07-28",
              clientCapabilities: forms,
              inputResponses: { agree: yes },
              requestState: question?.requestState
            }
          )
          return yield* gate.ask(request)
        })
      assert.strictEqual((yield* act("Claude Code")).agent, "Claude Code")
      assert.isUndefined((yield* act(undefined)).agent)
    }))

  const unknown = "whether a person saw it is not known"
  const refusals: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, string]> = [
    ["decline", { action: "decline" }, `the client answered that the question was declined; ${unknown}`],
    ["cancel", { action: "cancel" }, `the client answered that the question was dismissed; ${unknown}`],
    ["accept without content", { action: "accept" }, `the client sent the question back without a yes; ${unknown}`],
    ["accept with no", { action: "accept", content: { agree: false } }, `without a yes; ${unknown}`],
    ["accept with the word true", { action: "accept", content: { agree: "true" } }, `without a yes; ${unknown}`],
    ["accept of something else", { action: "accept", content: { yes: true } }, `without a yes; ${unknown}`]
  ]
  for (const [what, answer, said] of refusals) {
    it.effect(`takes ${what} for a no, and does not say that a person said it`, () =>
      Effect.gen(function*() {
        const seals = yield* HumanGateElicit.makeSeals
        const { question } = yield* round(seals, {})
        yield* TestClock.adjust("1 second")
        const second = yield* round(seals, { inputResponses: { agree: answer }, requestState: question?.requestState })
        assert.strictEqual(second.outcome, "HumanDeclined")
        assert.include(second.error?.message, said)
        assert.notInclude(second.error?.message, "the person said no")
        assert.include(second.error?.remediation, "Do not ask again: a person who wants it asks for it")
        assert.notMatch(second.error?.remediation ?? "", /ask the person/i)
        assert.include(second.error?.remediation, "kiwi sign tool add")
        assert.strictEqual(agentRemedy(second.error?.remediation ?? ""), second.error?.remediation)
      }))
  }

  it.effect("asks anew when the answer does not belong to exactly this question", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const others = yield* HumanGateElicit.makeSeals
      const fresh = Effect.map(round(seals, {}), ({ question }) => question?.requestState ?? "")
      const foreign = (yield* round(others, {})).question?.requestState ?? ""
      const changed = (state: string) => {
        const [text = "", mac = ""] = state.split(".")
        const forged = { ...JSON.parse(Buffer.from(text, "base64url").toString()), digest: "e".repeat(64) }
        return `${Buffer.from(JSON.stringify(forged)).toString("base64url")}.${mac}`
      }
      const attempts: ReadonlyArray<readonly [string, string | undefined, HumanRequest, string]> = [
        ["no state", undefined, request, "tester"],
        ["an empty one", "", request, "tester"],
        ["rubbish", "a.b.c", request, "tester"],
        ["a forged one", changed(yield* fresh), { ...request, digest: "e".repeat(64) }, "tester"],
        ["one without its seal", (yield* fresh).split(".")[0] ?? "", request, "tester"],
        ["another process's", foreign, request, "tester"],
        ["another item's", yield* fresh, { ...request, digest: "e".repeat(64) }, "tester"],
        ["another act's", yield* fresh, { ...request, kind: "trust-project" }, "tester"],
        ["another client's", yield* fresh, request, "somebody else"]
      ]
      for (const [what, requestState, act, client] of attempts) {
        const { outcome, question } = yield* round(seals, { inputResponses: { agree: yes }, requestState }, act, client)
        assert.strictEqual(outcome, "HumanRequired", what)
        assert.isDefined(question, what)
      }
    }))

  it.effect("takes an answer once", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const { question } = yield* round(seals, {})
      const again = { inputResponses: { agree: yes }, requestState: question?.requestState }
      assert.strictEqual((yield* round(seals, again)).outcome, request.digest)
      assert.strictEqual((yield* round(seals, again)).outcome, "HumanRequired")
    }))

  it.effect("takes no answer after fifteen minutes", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const { question } = yield* round(seals, {})
      yield* TestClock.adjust("16 minutes")
      const again = { inputResponses: { agree: yes }, requestState: question?.requestState }
      assert.strictEqual((yield* round(seals, again)).outcome, "HumanRequired")
    }))
})

describe("the question", () => {
  it.effect("shows what hides", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const { question } = yield* round(seals, {}, {
        ...request,
        title: "Sign \u001b[31mtool\nand more",
        verdict: ["may\u202e\nforge", "a\u0007 line"],
        details: "safe \u202e evil \u200b\u{e0041}\u0007",
        project: "/home/me/\nother\u202e"
      })
      const { description, message } = asked(question)
      for (const hidden of ["\u001b", "\u202e", "\u200b", "\u0007", "\u{e0041}"]) {
        assert.notInclude(message + description, hidden)
      }
      assert.include(description, "\\u{202e}")
      assert.strictEqual(message.split("\n").length, 3)
      assert.strictEqual(description.split("\n").length, 6)
    }))

  it.effect("names the project that it is about", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const project = `/home/me/${"deep/".repeat(20)}other`
      const { question } = yield* round(seals, {}, { ...request, project })
      const { description, message } = asked(question)
      assert.match(message, /^Sign tool add 1\.0\.0 \(project\) in ….{33}\/other\n/)
      assert.include(description, `Project: ${project}\n`)
    }))

  const Piece = Schema.Literals(["a", "é", "\n", "\u202e", "\t", "\u{1f600}", "y".repeat(400), "line\n".repeat(900)])
  it.effect.prop(
    "holds every character that is agreed to, or is not put",
    [Schema.Array(Piece)],
    ([pieces]) =>
      Effect.gen(function*() {
        const seals = yield* HumanGateElicit.makeSeals
        const details = pieces.join("")
        const { error, outcome, question } = yield* round(seals, {}, { ...request, details })
        assert.strictEqual(outcome, "HumanRequired")
        if (question === undefined) {
          assert.match(error?.message ?? "", /it has (?:a line of more than 1000|\d+) characters/)
          assert.include(error?.remediation, "kiwi sign tool add")
          return
        }
        const shown = asked(question).description.split("\n").slice(2, -1).join("\n")
        assert.strictEqual(shown, exactText(details).replace(/\n+$/, ""))
      })
  )

  it.effect("is never cut: what a client does not show in full has to be read elsewhere", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const attempts: ReadonlyArray<readonly [string, string, HumanRequest]> = [
        ["it has a line of more than 1000", "tester", { ...request, details: "x".repeat(1001) }],
        ["it has a line of more than 1000", "tester", { ...request, details: `a\n${"\u202e".repeat(200)}` }],
        ["characters", "tester", { ...request, details: "+ a line\n".repeat(HumanGateElicit.longestQuestion / 9) }],
        ["characters", "claude-code", { ...request, details: "+ a line\n".repeat(220) }],
        ["lines", "codex-mcp-client", { ...request, details: "+ a line\n".repeat(30) }],
        ["lines", "codex-mcp-client", { ...request, details: `${"y".repeat(700)}\n`.repeat(4) }],
        ["a file of it cannot be shown", "tester", { ...request, unreadable: ["web/logo.png"] }],
        ["2 files of it cannot be shown", "tester", { ...request, unreadable: ["web/logo.png", "web/x.wasm"] }]
      ]
      for (const [why, name, act] of attempts) {
        const { error, outcome, question } = yield* round(seals, { clientInfo: { name, version: "1" } }, act)
        assert.strictEqual(outcome, "HumanRequired")
        assert.include(error?.message, why)
        assert.isUndefined(question)
      }
      for (const name of ["claude-code", "codex-mcp-client", "tester"]) {
        const details = "+ a line\n".repeat(20)
        const { question } = yield* round(seals, { clientInfo: { name, version: "1" } }, { ...request, details })
        assert.isDefined(question)
      }
    }))

  it.effect("is not put to a client that cannot show it", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      for (const capabilities of [{}, { elicitation: { url: {} } }, { sampling: {} }]) {
        const clientCapabilities = new McpSchema.ClientCapabilities(capabilities)
        const { outcome, question } = yield* round(seals, { clientCapabilities })
        assert.strictEqual(outcome, "HumanRequired")
        assert.isUndefined(question)
      }
    }))
})

describe("a client that cuts", () => {
  const cutting = ["claude-code", "codex-mcp-client"] as const
  const named = (name: string): Context => ({ clientInfo: { name, version: "1" } })
  const endOf = (description: string) => /\n– end: (\d{4}) –$/.exec(description)?.[1] ?? ""
  const other = (number: string) => number === "1234" ? "4321" : "1234"
  const accept = (content: Readonly<Record<string, unknown>>) => ({ action: "accept", content } as const)

  type Given = (number: string) => Readonly<Record<string, unknown>>
  const answers: ReadonlyArray<readonly [what: string, content: Given, outcome: string]> = [
    ["the number", (end) => ({ agree: true, end }), request.digest],
    ["the number between blanks", (end) => ({ agree: true, end: ` ${end}\n` }), request.digest],
    ["no number", () => ({ agree: true }), "HumanRequired"],
    ["an empty one", () => ({ agree: true, end: "" }), "HumanRequired"],
    ["blanks", () => ({ agree: true, end: "  " }), "HumanRequired"],
    ["another", (end) => ({ agree: true, end: other(end) }), "HumanRequired"],
    ["the number and more", (end) => ({ agree: true, end: `${end}0` }), "HumanRequired"],
    ["half of it", (end) => ({ agree: true, end: end.slice(0, 2) }), "HumanRequired"],
    ["the dots of the first line", () => ({ agree: true, end: "…" }), "HumanRequired"],
    ["a number that is no text", (end) => ({ agree: true, end: Number(end) }), "HumanRequired"],
    ["true", () => ({ agree: true, end: true }), "HumanRequired"],
    ["null", () => ({ agree: true, end: null }), "HumanRequired"],
    ["a list", (end) => ({ agree: true, end: [end] }), "HumanRequired"],
    ["the number under another name", (end) => ({ agree: true, number: end }), "HumanRequired"],
    ["the number of a prototype", (end) => ({ agree: true, ["__proto__"]: { end } }), "HumanRequired"],
    ["the number and no", (end) => ({ agree: false, end }), "HumanDeclined"],
    ["the number alone", (end) => ({ end }), "HumanDeclined"]
  ]
  const unseen = "the answer does not have the number at the end of the text"

  for (const [what, content, outcome] of answers) {
    it.effect(`answers a stateless call with ${what}`, () =>
      Effect.gen(function*() {
        for (const name of cutting) {
          const seals = yield* HumanGateElicit.makeSeals
          const { question } = yield* round(seals, named(name))
          const answer = accept(content(endOf(asked(question).description)))
          const again = { ...named(name), inputResponses: { agree: answer }, requestState: question?.requestState }
          const second = yield* round(seals, again)
          assert.strictEqual(second.outcome, outcome)
          assert.isUndefined(second.question)
          if (outcome !== "HumanRequired") continue
          assert.include(second.error?.message, unseen)
          assert.include(second.error?.remediation, request.command)
          const better = accept({ agree: true, end: endOf(asked(question).description) })
          const third = yield* round(seals, { ...again, inputResponses: { agree: better } })
          assert.strictEqual(third.outcome, "HumanRequired", "a question is answered once")
          assert.isDefined(third.question)
        }
      }))

    it.effect(`answers the question of a session with ${what}`, () =>
      Effect.gen(function*() {
        for (const name of cutting) {
          const seals = yield* HumanGateElicit.makeSeals
          const result = yield* inSession(
            round(seals, named(name)),
            (params) => accept(content(endOf(decodeForm(params).requestedSchema.properties.agree.description)))
          )
          assert.strictEqual(result.outcome, outcome)
          if (outcome === "HumanRequired") assert.include(result.error?.message, unseen)
        }
      }))
  }

  /** The call of a client that stays, and answers like this. */
  const inSession = <A>(
    call: Effect.Effect<A>,
    answer: (params: unknown) => { readonly action: "accept"; readonly content: Readonly<Record<string, unknown>> }
  ) => {
    const reverse = { elicit: (params: unknown) => Effect.succeed(answer(params)) }
    return Effect.provideService(
      call,
      McpSchema.McpServerClient,
      {
        getClient: Effect.succeed(reverse)
      } as unknown as McpSchema.McpServerClient["Service"]
    )
  }

  const closings: ReadonlyArray<readonly [action: "decline" | "cancel", after: number, outcome: string]> = [
    ["decline", 0, "HumanRequired"],
    ["cancel", 0, "HumanRequired"],
    // What `codex exec` takes.
    ["decline", 300, "HumanRequired"],
    ["cancel", 300, "HumanRequired"],
    ["decline", 999, "HumanRequired"],
    ["cancel", 999, "HumanRequired"],
    ["decline", 1_000, "HumanDeclined"],
    ["cancel", 1_000, "HumanDeclined"],
    ["decline", 60_000, "HumanDeclined"],
    ["cancel", 60_000, "HumanDeclined"]
  ]
  for (const [action, after, outcome] of closings) {
    for (const content of [undefined, { agree: true }, { agree: "no" }]) {
      it.effect(`closes a question after ${after} ms: ${action} ${JSON.stringify(content)}`, () =>
        Effect.gen(function*() {
          const answer = { action, ...(content === undefined ? {} : { content }) }
          for (const name of ["claude-code", "codex-mcp-client", "tester"]) {
            const seals = yield* HumanGateElicit.makeSeals
            const { question } = yield* round(seals, named(name))
            yield* TestClock.adjust(after)
            const again = { ...named(name), inputResponses: { agree: answer }, requestState: question?.requestState }
            const stateless = yield* round(seals, again)
            const reverse = { elicit: () => Effect.as(TestClock.adjust(after), answer) }
            const session = yield* Effect.provideService(
              round(seals, named(name)),
              McpSchema.McpServerClient,
              { getClient: Effect.succeed(reverse) } as unknown as McpSchema.McpServerClient["Service"]
            )
            for (const one of [stateless, session]) {
              assert.strictEqual(one.outcome, outcome)
              assert.isUndefined(one.question)
              if (outcome === "HumanDeclined") continue
              assert.include(one.error?.message, "closed the question in less than a second, so nobody has read it")
              assert.include(one.error?.remediation, request.command)
            }
          }
        }))
    }
  }

  it.effect("is not taken at the number of another question", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const fresh = Effect.map(round(seals, named("claude-code")), ({ question }) => ({
        end: endOf(asked(question).description),
        requestState: question?.requestState
      }))
      const one = yield* fresh
      let two = yield* fresh
      while (two.end === one.end) two = yield* fresh
      const inputResponses = { agree: accept({ agree: true, end: one.end }) }
      const context = { ...named("claude-code"), inputResponses, requestState: two.requestState }
      assert.strictEqual((yield* round(seals, context)).outcome, "HumanRequired")
    }))

  it.effect("does not get round the number by another name in its answer", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const { question } = yield* round(seals, named("claude-code"))
      const context = { ...named("tester"), inputResponses: { agree: yes }, requestState: question?.requestState }
      const { error } = yield* round(seals, context)
      assert.include(error?.message, unseen)
    }))

  const Word = Schema.Literals([
    "a",
    "\n",
    "1234",
    "– end: 1234 –",
    "9",
    "5678 ",
    "2026-11-22",
    "é",
    "\u202e",
    "sha256"
  ])
  const Words = Schema.Array(Word)
  it.effect.prop(
    "is given the number in the last line and nowhere else",
    [Words, Words, Schema.Literals(cutting)],
    ([title, details, name]) =>
      Effect.gen(function*() {
        const seals = yield* HumanGateElicit.makeSeals
        const act = {
          ...request,
          title: `Sign tool ${title.join("")}`,
          details: details.join(""),
          command: `kiwi sign tool ${title.join("")}`
        }
        const { question } = yield* round(seals, named(name), act)
        if (question === undefined) return
        const end = endOf(asked(question).description)
        assert.strictEqual(end.length, 4)
        assert.strictEqual(JSON.stringify(paramsOf(question)).split(end).length, 2)
        assert.notInclude(Buffer.from(question.requestState?.split(".")[0] ?? "", "base64url").toString(), `"${end}"`)
      })
  )

  it.effect("gets a number of its own for each question", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const rounds = yield* Effect.forEach(Array.from({ length: 50 }), () => round(seals, named("claude-code")))
      const numbers = new Set(rounds.map(({ question }) => endOf(asked(question).description)))
      assert.isAbove(numbers.size, 40)
    }))

  it.effect("has a field for the number, which says what to do without; any other client has not", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const agree = (description: string) => ({
        type: "boolean",
        title: "I have read this and agree",
        description,
        default: false
      })
      const elsewhere = "Press Esc and type on a terminal: kiwi sign tool add"
      for (const name of cutting) {
        const { question } = yield* round(seals, named(name))
        const { description, message } = asked(question)
        assert.strictEqual(description.split("\n")[0], `No "– end: … –" below? ${elsewhere}`)
        assert.deepStrictEqual(paramsOf(question), {
          mode: "form",
          message,
          requestedSchema: {
            type: "object",
            properties: {
              agree: agree(description),
              end: {
                type: "string",
                title: "The number at the end of that text",
                description: `Not shown? ${elsewhere}`
              }
            },
            required: ["agree", "end"]
          }
        })
      }
      const others: ReadonlyArray<Context> = [{}, ...["Claude Code", "claude-code ", "codex", "tester", ""].map(named)]
      for (const context of others) {
        const { question } = yield* round(seals, context)
        assert.deepStrictEqual(paramsOf(question), {
          mode: "form",
          message: "Sign tool add 1.0.0 (project)\nRuns by python\nNew: 1 line",
          requestedSchema: {
            type: "object",
            properties: { agree: agree(`No "– end –" below? ${elsewhere}\n\n+ print(1)\n– end –`) },
            required: ["agree"]
          }
        })
        const second = yield* round(seals, {
          ...context,
          inputResponses: { agree: yes },
          requestState: question?.requestState
        })
        assert.strictEqual(second.outcome, request.digest)
        const session = yield* inSession(round(seals, context), () => accept({ agree: true }))
        assert.strictEqual(session.outcome, request.digest)
      }
    }))
})
