// Tells a person's own service what waits, as Standard Webhooks says: signed, and repeated until the service has it or
// the request waits no more. A message that is sent again has the same id, so the service can drop it.
import type { Latch } from "effect"
import { Clock, Data, Effect, Redacted, Schedule } from "effect"
import { createHmac } from "node:crypto"
import { basename } from "node:path"
import type { Approval } from "../../services/approval/Approval.ts"
import type { ApprovalQuestion } from "../../services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import { exactText } from "../../services/error/exactText.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { secretNameOf, SecretStore } from "../../services/identity/SecretStore.ts"
import { Outbound } from "../../services/outbound/Outbound.ts"
import type { Webhook } from "../../services/settings/Settings.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import type { Project } from "../../services/workspace/Workspace.ts"

/** A second after the first failure, then twice as long each time, up to five minutes. */
const backOff = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("5 minutes")])

/** How often the end of a request is told, if the service does not take it. */
const endingTries = 6

/** How long one attempt may take. */
const patience = "20 seconds"

/** How often it is looked whether a request still waits. */
const lookEvery = "2 seconds"

/** The service does not have a message. `lasting`: it would not get it later either. */
class NotDelivered extends Data.TaggedError("NotDelivered")<{
  readonly issue: string
  readonly lasting: boolean
}> {}

/** A secret of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
const keyOf = (secret: string): Buffer | undefined => {
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret.trim()) ?? []
  const key = text === undefined ? undefined : Buffer.from(text, "base64")
  return key !== undefined && key.length >= 24 && key.length <= 64 ? key : undefined
}

/** Why a webhook's secret cannot sign, and what to do. Undefined if it can. */
export const secretTrouble = (reference: string, secret: Redacted.Redacted | undefined) => {
  const name = secretNameOf(reference) ?? reference
  const remedy = `echo "whsec_$(openssl rand -base64 32)" | kiwi env secret set ${name} --stdin`
  if (secret === undefined) return { issue: `there is no secret ${name}`, remedy }
  return keyOf(Redacted.value(secret)) === undefined
    ? { issue: `the secret ${name} is not whsec_ and 24 to 64 bytes in base64`, remedy }
    : undefined
}

const time = (milliseconds: number): string => new Date(milliseconds).toISOString()

/** What the service may answer: what is too long to be shown whole is allowed only at a terminal. */
const answersOf = ({ approval, question }: ApprovalQuestion): ReadonlyArray<string> => {
  const answers = (question.choices ?? []).map(({ value }) => value)
  return approval.unreadable.length === 0 ? answers : answers.filter((one) => one === "no" || one === "never")
}

const requestedEvent = (asked: ApprovalQuestion, project: Project | undefined) => {
  const { approval: { asks, at, caller, id, tool, until, what }, question } = asked
  return {
    // Of another question about the same request, another id: the service would drop it otherwise.
    id: `msg_${id}_${question.digest.slice(0, 16)}`,
    body: JSON.stringify({
      type: "approval.requested",
      timestamp: time(at),
      data: {
        id,
        digest: question.digest,
        what,
        tool,
        caller: { client: caller.client, surface: caller.surface },
        project: project === undefined ? undefined : basename(project.root),
        asks: asks.map(({ access, reason, rule }) => ({ access, reason, rule })),
        details: exactText(question.details),
        answers: answersOf(asked),
        expires_at: time(until)
      }
    })
  }
}

const settledEvent = (id: string, found: Approval | undefined, now: number) => ({
  id: `msg_${id}_settled`,
  body: JSON.stringify({
    type: "approval.settled",
    timestamp: time(found?.answered?.at ?? now),
    data: {
      id,
      state: found === undefined ? "expired" : found.state === "spent" ? "approved" : found.state,
      answer: found?.answered?.answer
    }
  })
})

/** The grant of the person's own setting: the service may be on this machine or in a private network. */
const privateHostsOf = ({ hostname, port, protocol }: URL): ReadonlyArray<string> => [
  `${hostname}:${port === "" ? protocol === "https:" ? 443 : 80 : port}`
]

/**
 * Tells the service of one request, and of its end once it has the request. Ends then, or when it cannot be told.
 * `tried`: opened after the first attempt.
 */
export const tellService = Effect.fnUntraced(function*(id: string, { secret, url }: Webhook, tried: Latch.Latch) {
  const store = yield* ApprovalStore
  const secrets = yield* SecretStore
  const outbound = yield* Outbound
  const { project } = yield* Workspace
  const address = new URL(url)

  const attempt = Effect.fnUntraced(function*(message: { readonly id: string; readonly body: string }) {
    const stored = yield* secrets.get(secretNameOf(secret) ?? "").pipe(
      Effect.mapError(({ message: issue }) => new NotDelivered({ issue, lasting: false }))
    )
    const trouble = secretTrouble(secret, stored)
    const key = stored === undefined ? undefined : keyOf(Redacted.value(stored))
    if (trouble !== undefined || key === undefined) {
      const issue = trouble === undefined ? "its secret cannot be used" : `${trouble.issue}: ${trouble.remedy}`
      return yield* new NotDelivered({ issue, lasting: true })
    }
    const seconds = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
    const signature = createHmac("sha256", key).update(`${message.id}.${seconds}.${message.body}`).digest("base64")
    const { status } = yield* outbound.send({
      method: "POST",
      url,
      headers: {
        "content-type": "application/json",
        "webhook-id": message.id,
        "webhook-timestamp": String(seconds),
        "webhook-signature": `v1,${signature}`
      },
      body: new TextEncoder().encode(message.body),
      privateHosts: privateHostsOf(address),
      mayRedirect: () => Effect.succeed("denied"),
      maxBytes: 65_536
    }).pipe(
      Effect.mapError(({ _tag, issue }) => new NotDelivered({ issue, lasting: _tag === "OutboundRefused" }))
    )
    if (status < 200 || status > 299) {
      // 410: the service wants no more of it.
      return yield* new NotDelivered({ issue: `it answered ${status}`, lasting: status === 410 })
    }
  })
  const send = (message: { readonly id: string; readonly body: string }) =>
    Effect.scoped(attempt(message)).pipe(
      Effect.timeoutOrElse({
        duration: patience,
        orElse: () => new NotDelivered({ issue: `it did not answer within ${patience}`, lasting: false })
      })
    )

  let warned = false
  const warn = (issue: string, lasting: boolean) =>
    warned ? Effect.void : Effect.suspend(() => {
      warned = !lasting
      const then = lasting ? "it is not told of it" : "it is told again as long as the request waits"
      return Effect.logWarning(`${address.origin} was not told that request ${id} waits: ${safeLine(issue)}; ${then}`)
    })

  // Each attempt begins with the question as it is now, and there is none once the request waits no more.
  const requested = Effect.flatMap(
    store.propose(id),
    (asked) => send(requestedEvent(asked, project._tag === "Some" ? project.value : undefined))
  ).pipe(
    Effect.ensuring(tried.open),
    Effect.tapErrorTag("NotDelivered", ({ issue, lasting }) => warn(issue, lasting)),
    Effect.retry({
      schedule: backOff,
      while: (error) => error._tag === "ApprovalsUnavailable" || (error._tag === "NotDelivered" && !error.lasting)
    })
  )
  if ((yield* Effect.result(requested))._tag === "Failure") return

  const found = yield* Effect.map(store.list, (all) => all.find((one) => one.id === id)).pipe(
    Effect.retry({ schedule: Schedule.spaced(lookEvery) }),
    Effect.repeat({ schedule: Schedule.spaced(lookEvery), while: (one) => one?.state === "pending" })
  )
  const last = settledEvent(id, found, yield* Clock.currentTimeMillis)
  yield* Effect.ignore(
    Effect.retry(send(last), { schedule: backOff, times: endingTries, while: ({ lasting }) => !lasting })
  )
})
