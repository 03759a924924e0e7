// `POST /approvals/ID`: a person's answer by way of a service that they gave a token of its own. It counts only for the
// question that the service was sent, and once.
import { Effect, Option, Schema } from "effect"
import { Projects } from "../../layers/Projects.ts"
import type { ProjectKey } from "../../layers/Projects.ts"
import { ApprovalAnswer } from "../../services/approval/Approval.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import { toErrorObject } from "../../services/error/KiwiError.ts"
import type { KiwiError } from "../../services/error/KiwiError.ts"
import { HumanGate } from "../../services/trust/HumanAct.ts"
import { answerApproval } from "../approvals.ts"

const Body = Schema.fromJsonString(Schema.Struct({
  answer: ApprovalAnswer,
  /** Of the question: `data.digest` of the webhook. */
  digest: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/))
}))
// Whoever narrows an answer by a field that does not exist would get the wider one.
const decode = Schema.decodeUnknownOption(Body, { onExcessProperty: "error" })

export interface RouteAnswer {
  readonly status: number
  readonly body: unknown
}

const failed = (status: number) => (error: KiwiError): Effect.Effect<RouteAnswer> =>
  Effect.succeed({ status, body: { status: "error", error: toErrorObject(error) } })

/** The answer is too late: the request is closed, or its question is another one by now. */
const tooLate = failed(409)
const unavailable = failed(503)

/** `client`: the name of the token. */
const answerOverHttp = (id: string, client: string, text: string) =>
  Effect.gen(function*() {
    const body = Option.getOrUndefined(decode(text))
    if (body === undefined) {
      const form = `{"answer": "${ApprovalAnswer.literals.join("|")}", "digest": "the digest of the question"}`
      const refused: RouteAnswer = {
        status: 400,
        body: { status: "error", error: { code: "INVALID_BODY", message: `Send ${form}` } }
      }
      return refused
    }
    const { answer, digest } = body
    const store = yield* ApprovalStore
    const { approval } = yield* store.propose(id)
    // The store compares the digest with the question as it is now.
    const gate = HumanGate.of({
      ask: ({ kind }) =>
        Effect.succeed({ kind, digest, choice: answer, by: "approver", seen: `answered by ${client} over HTTP` })
    })
    const done = yield* Effect.provideService(
      answerApproval(approval.id, { surface: "mcp", client, session: "approvals" }),
      HumanGate,
      gate
    )
    const data = { id: done.id, state: done.state, answer, made: done.answered?.rules ?? [] }
    return { status: 200, body: { status: "success", data } } satisfies RouteAnswer as RouteAnswer
  }).pipe(
    Effect.catchTags({
      ApprovalNotFound: failed(404),
      ApprovalClosed: tooLate,
      HumanRequired: tooLate,
      AnswerRefused: failed(422)
    }),
    Effect.catch(unavailable)
  )

/** Answers requests of every project of the person: the service is told of all of them. `own`: the server's project. */
export const makeAnswer = (own: ProjectKey) =>
  Effect.map(
    Projects,
    (projects) => (id: string, client: string, text: string): Effect.Effect<RouteAnswer> =>
      projects.ofRequest(id).pipe(
        Effect.flatMap((project) => projects.use(project ?? own)(answerOverHttp(id, client, text))),
        Effect.catch(unavailable)
      )
  )
