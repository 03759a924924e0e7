import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { McpSchema } from "effect/ai"
import { TestClock } from "effect/testing"
import * as HumanGateElicit from "../../../src/programs/mcp/HumanGateElicit.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"

const request: HumanRequest = {
  kind: "sign",
  title: "Sign tool add 1.0.0",
  details: "+ print(1)",
  digest: "d".repeat(64),
  command: "kiwi sign tool add"
}

const forms = new McpSchema.ClientCapabilities({ elicitation: { form: {} } })
const yes = { action: "accept", content: { agree: true } }

type Context = Partial<McpSchema.McpRequestContext["Service"]>

const ask = Effect.fnUntraced(function*(seals: HumanGateElicit.Seals, act: HumanRequest, client: string) {
  const { gate, question } = yield* HumanGateElicit.make(seals, client)
  const outcome = yield* Effect.match(gate.ask(act), { onSuccess: (a) => a.digest, onFailure: (e) => e._tag })
  return { outcome, question: yield* question }
})

/** One round of a stateless call that asks for `act`: what came of it, and the question it is answered with. */
const round = (seals: HumanGateElicit.Seals, context: Context, act = request, client = "tester") =>
  Effect.provideService(ask(seals, act, client), McpSchema.McpRequestContext, {
    clientId: 0,
    protocolVersion: "2026-07-28",
    clientCapabilities: forms,
    ...context
  })

const decodeForm = Schema.decodeUnknownSync(Schema.Struct({ message: Schema.String }))
const message = (question: McpSchema.InputRequired | undefined): string => {
  const { agree } = question?.inputRequests ?? {}
  return decodeForm(agree?.params).message
}

describe("a stateless call", () => {
  it.effect("is answered with the question, and comes again with the answer", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const first = yield* round(seals, {})
      assert.strictEqual(first.outcome, "HumanRequired")
      assert.include(message(first.question), "Sign tool add 1.0.0")
      assert.include(message(first.question), "+ print(1)")
      const requestState = first.question?.requestState
      const second = yield* round(seals, { inputResponses: { agree: yes }, requestState })
      assert.strictEqual(second.outcome, request.digest)
      assert.isUndefined(second.question)
    }))

  const refusals: ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>]> = [
    ["decline", { action: "decline" }],
    ["cancel", { action: "cancel" }],
    ["accept without content", { action: "accept" }],
    ["accept with no", { action: "accept", content: { agree: false } }],
    ["accept with the word true", { action: "accept", content: { agree: "true" } }],
    ["accept of something else", { action: "accept", content: { yes: true } }]
  ]
  for (const [what, answer] of refusals) {
    it.effect(`takes ${what} for a no`, () =>
      Effect.gen(function*() {
        const seals = yield* HumanGateElicit.makeSeals
        const { question } = yield* round(seals, {})
        const second = yield* round(seals, { inputResponses: { agree: answer }, requestState: question?.requestState })
        assert.strictEqual(second.outcome, "HumanDeclined")
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
        details: "safe \u202e evil \u200b\u{e0041}\u0007"
      })
      const shown = message(question)
      for (const hidden of ["\u001b", "\u202e", "\u200b", "\u0007", "\u{e0041}"]) assert.notInclude(shown, hidden)
      assert.include(shown, "\\u{202e}")
      assert.strictEqual(shown.split("\n").length, 3)
    }))

  it.effect("is never cut: what is too long has to be read elsewhere", () =>
    Effect.gen(function*() {
      const seals = yield* HumanGateElicit.makeSeals
      const details = "+ a line\n".repeat(HumanGateElicit.longestQuestion / 9)
      const { outcome, question } = yield* round(seals, {}, { ...request, details })
      assert.strictEqual(outcome, "HumanRequired")
      assert.isUndefined(question)
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
