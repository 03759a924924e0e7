// The audit says which answer a person gave, wherever they gave it, and what became of the call.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { answerApproval } from "../../src/programs/approvals.ts"
import { execute } from "../../src/programs/execute.ts"
import type { ApprovalAnswer } from "../../src/services/approval/Approval.ts"
import { ApprovalStore } from "../../src/services/approval/ApprovalStore.ts"
import type { HumanAct } from "../../src/services/trust/HumanAct.ts"
import { HumanGate } from "../../src/services/trust/HumanAct.ts"
import { caller } from "../layers/proxy/calls.ts"
import { askingKernel } from "./askingKernel.ts"

const run = (callId: string) =>
  execute({ id: "edit", type: "tool", parameters: { path: "src/a.ts" }, dryRun: false, callId }, caller)

const titles: Readonly<Record<ApprovalAnswer, string>> = {
  once: "Allow once",
  session: "Allow for the session",
  always: "Allow always",
  no: "Refuse",
  never: "Refuse always"
}

const ways: ReadonlyArray<Pick<HumanAct, "by"> & { readonly seen: string }> = [
  { by: "terminal", seen: "answered at /dev/pts/3" },
  { by: "elicitation", seen: "answered in claude-code 2.1.330" },
  { by: "approver", seen: "answered by phone over HTTP" },
  { by: "passphrase", seen: "typed at /dev/pts/3" },
  { by: "embedder", seen: "askPerson answered true" }
]

const played = Effect.fnUntraced(function*(choice: ApprovalAnswer, { by, seen }: typeof ways[number]) {
  const world = yield* askingKernel
  const gate = HumanGate.of({ ask: ({ digest, kind }) => Effect.succeed({ kind, digest, choice, by, seen }) })
  return yield* world.use(Effect.gen(function*() {
    yield* Effect.flip(run("first"))
    const [request] = yield* (yield* ApprovalStore).list
    const id = request?.id ?? ""
    yield* Effect.provideService(answerApproval(id, caller), HumanGate, gate)
    yield* Effect.exit(run("second"))
    return { id, entries: yield* world.audit }
  }))
})

for (const way of ways) {
  describe(`an answer by ${way.by}`, () => {
    for (const answer of ["once", "session", "always", "no", "never"] as const) {
      it.effect(`"${answer}" is in the act and in the result of the call`, () =>
        Effect.gen(function*() {
          const { entries, id } = yield* played(answer, way)
          const acts = entries.flatMap((entry) =>
            entry.kind === "act" ? [[entry.outcome, entry.answer, entry.title, entry.by]] : []
          )
          const title = `${titles[answer]} ${id}: run tool edit`
          assert.deepStrictEqual(acts, [["agreed", answer, title, way.by], ["done", answer, title, way.by]])
          const results = entries.flatMap((entry) => entry.kind === "result" ? [[entry.outcome, entry.approval]] : [])
          const isYes = answer !== "no" && answer !== "never"
          assert.deepStrictEqual(results, [
            ["asked", { id }],
            isYes ? ["success", { id, by: way.seen, answer }] : ["denied", { id, answer }]
          ])
        }).pipe(Effect.scoped))
    }
  })
}

it.effect("no two answers leave the same entries", () =>
  Effect.gen(function*() {
    const all = yield* Effect.forEach(["once", "session", "always", "no", "never"] as const, (answer) =>
      Effect.map(
        played(answer, { by: "terminal", seen: "at a desk" }),
        ({ entries, id }) =>
          JSON.stringify(
            entries.flatMap((entry) => entry.kind === "act" ? [[entry.outcome, entry.answer, entry.title]] : [])
          ).replaceAll(id, "ID")
      ))
    assert.strictEqual(new Set(all).size, 5)
  }).pipe(Effect.scoped))
