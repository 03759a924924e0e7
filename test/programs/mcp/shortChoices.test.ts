// What each answer does, in a client that cuts its choices: the rule that an answer makes is read whole, or in the text.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { McpSchema } from "effect/ai"
import { answersText, questionOf } from "../../../src/layers/approval/approvalQuestion.ts"
import * as HumanGateElicit from "../../../src/programs/mcp/HumanGateElicit.ts"
import type { Approval } from "../../../src/services/approval/Approval.ts"
import { answersOf } from "../../../src/services/approval/Approval.ts"
import { exactLine, exactText, mostColumns } from "../../../src/services/error/exactText.ts"
import { safeLine } from "../../../src/services/error/safeText.ts"

/** Claude Code 2.1.330 cuts a choice after so many columns. */
const seen = 48

interface Asked {
  readonly offer?: string
  readonly denial?: string
}

const approvalOf = (asks: ReadonlyArray<Asked>): Approval => ({
  id: "k7f3m2qa9x",
  call: "c1",
  caller: { surface: "mcp", client: "ada", session: "s1" },
  what: "run tool edit",
  asks: asks.map(({ denial, offer }, index) => ({
    access: `access ${index}`,
    rule: "commands",
    reason: "runs a command",
    ...(offer === undefined ? {} : { offer: `allow: ${offer}` }),
    ...(denial === undefined ? {} : { denial: `deny: ${denial}` })
  })),
  details: "Tool: edit",
  unreadable: [],
  digest: "d".repeat(64),
  at: 0,
  until: 1,
  state: "pending"
})

const decodeForm = Schema.decodeUnknownSync(Schema.Struct({
  requestedSchema: Schema.Struct({
    properties: Schema.Struct({
      agree: Schema.Struct({
        description: Schema.String,
        enum: Schema.Array(Schema.String),
        enumNames: Schema.Array(Schema.String)
      })
    })
  })
}))

const putTo = Effect.fnUntraced(function*(name: string, asks: ReadonlyArray<Asked>) {
  const approval = approvalOf(asks)
  const request = questionOf(approval, answersOf(approval, false), undefined)
  const seals = yield* HumanGateElicit.makeSeals
  const question = yield* Effect.provideService(
    Effect.gen(function*() {
      const made = yield* HumanGateElicit.make(seals, "ada", { nobody: undefined, agent: undefined })
      yield* Effect.exit(made.gate.ask(request))
      return made.question()
    }),
    McpSchema.McpRequestContext,
    {
      clientId: 0,
      protocolVersion: "2026-07-28",
      clientCapabilities: new McpSchema.ClientCapabilities({ elicitation: { form: {} } }),
      clientInfo: { name, version: "1" }
    }
  )
  const { agree } = decodeForm(question?.inputRequests?.["agree"]?.params).requestedSchema.properties
  return { ...agree, request }
})

const scope = "src/components/navigation/menus"
const rows: ReadonlyArray<readonly [what: string, asks: ReadonlyArray<Asked>, whole: boolean]> = [
  ["the whole project", [{ offer: "fs.write(**)", denial: "fs.write(docs/q.md)" }], true],
  ["a folder", [{ offer: "fs.write(src/**)", denial: "fs.write(src/a.ts)" }], true],
  ["a command", [{ offer: "process.exec(npm test)", denial: "process.exec(npm test)" }], true],
  ["a host", [{ offer: "net.http(docs.example.org)", denial: "net.http(docs.example.org)" }], true],
  ["a secret", [{ offer: "secret.use(TOKEN)" }], true],
  ["two short rules", [{ offer: "fs.read(.env)" }, { offer: "fs.write(a)" }], true],
  ["nothing that is offered", [{}], true],
  ["a deep folder", [{ offer: `fs.write(${scope}/**)`, denial: `fs.write(${scope}/a.ts)` }], false],
  ["a long refusal only", [{ offer: "fs.write(**)", denial: `fs.write(${scope}/a.ts)` }], false],
  ["a long command", [{ offer: `process.exec(git commit -m "${"x".repeat(60)}")` }], false],
  ["three rules", [{ offer: "fs.write(src/**)" }, { offer: "fs.write(docs/**)" }, { offer: "fs.write(a/**)" }], false],
  ["wide letters", [{ offer: `fs.write(${"漢".repeat(20)}/**)` }], false],
  ["a letter that hides", [{ offer: `fs.write(${scope}\u202e/**)` }], false],
  ["a rule that ends alike", [{ offer: `fs.write(${scope}/a)`, denial: `fs.write(${scope}/b)` }], false]
]

describe("a client that cuts its choices", () => {
  for (const name of ["claude-code", "codex-mcp-client"]) {
    for (const [what, asks, whole] of rows) {
      it.effect(`${name}, ${what}`, () =>
        Effect.gen(function*() {
          const { description, enum: values, enumNames, request } = yield* putTo(name, asks)
          for (const [index, title] of enumNames.entries()) {
            assert.isAtMost(mostColumns(title), seen, title)
            assert.isTrue(title.startsWith(`${values[index]}: `), title)
          }
          assert.strictEqual(new Set(enumNames).size, enumNames.length)
          const list = exactText(answersText(request.choices ?? []))
          assert.strictEqual(description.includes(list), !whole)
          for (const { denial, offer } of asks) {
            for (const rule of [offer, denial].flatMap((one) => one ?? [])) {
              const isRead = description.includes(exactText(safeLine(rule, 8_192))) ||
                enumNames.some((title) => title.includes(rule))
              assert.isTrue(isRead, rule)
            }
          }
        }))
    }
  }

  it.effect("and any other client has whole sentences, and the list too", () =>
    Effect.gen(function*() {
      for (const [what, asks] of rows) {
        const { description, enumNames, request } = yield* putTo("tester", asks)
        assert.include(description, exactText(answersText(request.choices ?? [])), what)
        assert.deepStrictEqual(enumNames, (request.choices ?? []).map(({ title }) => exactLine(title)))
        assert.isTrue(enumNames.some((title) => title.startsWith("once: this call, as it is above")))
      }
    }))
})
