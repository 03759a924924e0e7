// What a person has to agree to, and answers that do not count. The store is the real one, over a file.
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import { join } from "node:path"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { agreeTo, request } from "../../layers/approval/approvalRequest.ts"
import { answerIt, file } from "../../layers/approval/ApprovalStore.contract.ts"
import { world } from "../../layers/approval/approvalWorld.ts"
import type { Examples } from "../Example.ts"

type Store = ApprovalStore["Service"]

const failing = <E>(
  body: (store: Store, state: string) => Effect.Effect<unknown, E, Scope.Scope>
) =>
  Effect.gen(function*() {
    const { storeOf } = yield* world
    const context = yield* Layer.build(storeOf("one"))
    return yield* Effect.flip(body(Context.get(context, ApprovalStore), Context.get(context, Workspace).state))
  }).pipe(Effect.provide(TestClock.layer()))

export const examples: Examples = {
  ApprovalPending: {
    when: "An agent changes a file for the first time, and nobody has been asked about that yet",
    produce: failing((store) => store.require(request()))
  },
  ApprovalRejected: {
    when: "The person has answered no, and the agent repeats the call",
    produce: failing((store) =>
      Effect.gen(function*() {
        yield* answerIt(store, yield* file(store), "no")
        return yield* store.require(request())
      })
    )
  },
  ApprovalExpired: {
    when: "Nobody has answered for an hour, and the agent repeats the call",
    produce: failing((store) =>
      Effect.gen(function*() {
        yield* file(store)
        yield* TestClock.adjust("1 hour")
        return yield* store.require(request())
      })
    )
  },
  ApprovalsFull: {
    when: "An agent asks for a twenty-first thing, and nobody has answered the twenty before",
    produce: failing((store) =>
      Effect.gen(function*() {
        for (let at = 0; at < 20; at++) yield* file(store, request({ digest: `${at}` }))
        return yield* store.require(request())
      })
    )
  },
  ApprovalsUnavailable: {
    when: "Somebody has put a link in the place of the file that holds the requests",
    produce: failing((store, state) => {
      fs.symlinkSync("/nowhere", join(state, "approvals.json"))
      return store.require(request())
    })
  },
  ApprovalNotFound: {
    when: "A person approves a request of another project",
    produce: failing((store) => store.propose("k7f3m2qa9x"))
  },
  ApprovalClosed: {
    when: "Two people answer the same request",
    produce: failing((store) =>
      Effect.gen(function*() {
        const id = yield* file(store)
        const { question } = yield* store.propose(id)
        yield* answerIt(store, id, "once")
        return yield* store.answer(id, agreeTo(question, "once"))
      })
    )
  },
  AnswerRefused: {
    when: "A person widens the offered rule to all files",
    produce: failing((store) =>
      Effect.flatMap(file(store), (id) => store.propose(id, { answers: ["always"], rules: ["allow: fs.write(**)"] }))
    )
  }
}
