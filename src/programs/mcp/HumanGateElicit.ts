// Reaches the person behind an MCP client. A session is asked while the call waits; a stateless call is answered with
// the question and comes again with the answer, bound by a sealed state to the act's digest, so that what was agreed to
// is what is done. A client that cannot ask gets the command that a person types instead.
import { Clock, Effect, Option, Schema } from "effect"
import type { ClientCapabilities } from "effect/ai/McpSchema"
import { ElicitRequestFormParams, InputRequired, McpRequestContext, McpServerClient } from "effect/ai/McpSchema"
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"
import { safeLine } from "../../services/error/safeText.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../../services/trust/HumanAct.ts"
import { fullText, verdictLines } from "../question.ts"

/** What is seen of a field's description: characters, and lines of 80 columns. */
interface Room {
  readonly characters: number
  readonly lines: number
}

/** More than this nobody reads in a dialog; it is not cut, since a cut diff must not be agreed to. */
export const longestQuestion = 16_000

/** A line that is longer hides its end in many dialogs. */
const longestLine = 1_000

/** What these clients were seen to cut, by the name that they give themselves. */
const rooms: ReadonlyMap<string, Room> = new Map([
  ["claude-code", { characters: 2_000, lines: Infinity }],
  ["codex-mcp-client", { characters: longestQuestion, lines: 30 }]
])

const stateLife = 15 * 60 * 1000
const answerKey = "agree"

const canElicit = ({ elicitation }: ClientCapabilities): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)

interface Question {
  /** Three lines, since Claude Code shows no more of a message. */
  readonly message: string
  /** All that the person agrees to. */
  readonly description: string
}

/** Some clients cut without a word, at the end of the screen or after one line. */
const endMark = "– end –"

const questionOf = (request: HumanRequest): Question => ({
  message: verdictLines(request).join("\n"),
  description: [
    `No "${endMark}" below? Decline, and type on a terminal: ${safeLine(request.command, 8_192)}`,
    "",
    fullText(request),
    endMark
  ].join("\n")
})

/** Why the client cannot show all of it. */
const hiddenOf = ({ description }: Question, { unreadable = [] }: HumanRequest, client: string | undefined) => {
  if (unreadable.length > 0) {
    return `${unreadable.length === 1 ? "a file" : `${unreadable.length} files`} of it cannot be shown as text`
  }
  const lines = description.split("\n")
  if (lines.some((line) => line.length > longestLine)) return `it has a line of more than ${longestLine} characters`
  const room = rooms.get(client ?? "") ?? { characters: longestQuestion, lines: Infinity }
  if (description.length > room.characters) {
    return `it has ${description.length} characters, and this client shows ${room.characters} at most`
  }
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / 80)), 0)
  return rows > room.lines ? `it has ${rows} lines, and this client shows about ${room.lines}` : undefined
}

const form = ({ description, message }: Question) => ({
  message,
  requestedSchema: {
    type: "object",
    properties: {
      [answerKey]: { type: "boolean", title: "I have read this and agree", description, default: false }
    },
    required: [answerKey]
  }
} as const)

const Sealed = Schema.fromJsonString(
  Schema.Struct({
    kind: Schema.String,
    digest: Schema.String,
    client: Schema.String,
    nonce: Schema.String,
    until: Schema.Int
  })
)
const decodeSealed = Schema.decodeUnknownOption(Sealed)

const Answer = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optional(Schema.Record(Schema.String, Schema.Unknown))
})
const decodeAnswer = Schema.decodeUnknownOption(Answer)

/** Only an explicit yes is a yes. */
const agreed = (answer: typeof Answer.Type): boolean =>
  answer.action === "accept" && answer.content !== undefined && Object.hasOwn(answer.content, answerKey) &&
  answer.content[answerKey] === true

/** The secret and the memory behind sealed states: one for each server process. */
export interface Seals {
  readonly seal: (request: HumanRequest, client: string, now: number) => string
  /** Whether `state` was sealed here for exactly this act and client, and has not been used. Uses it up. */
  readonly redeem: (state: string, request: HumanRequest, client: string, now: number) => boolean
}

export const makeSeals: Effect.Effect<Seals> = Effect.sync(() => {
  const key = randomBytes(32)
  /** Nonces that were redeemed, with when they may be forgotten. */
  const used = new Map<string, number>()
  const mac = (text: string) => createHmac("sha256", key).update(text).digest()
  return {
    seal: (request, client, now) => {
      const nonce = randomBytes(16).toString("base64url")
      const { digest, kind } = request
      const text = Buffer.from(JSON.stringify({ kind, digest, client, nonce, until: now + stateLife })).toString(
        "base64url"
      )
      return `${text}.${mac(text).toString("base64url")}`
    },
    redeem: (state, request, client, now) => {
      const [text = "", signature = "", ...rest] = state.split(".")
      const given = Buffer.from(signature, "base64url")
      const expected = mac(text)
      if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return false
      const sealed = Option.getOrUndefined(decodeSealed(Buffer.from(text, "base64url").toString()))
      if (sealed === undefined || sealed.until < now || used.has(sealed.nonce)) return false
      if (sealed.kind !== request.kind || sealed.digest !== request.digest || sealed.client !== client) return false
      for (const [nonce, until] of used) if (until < now) used.delete(nonce)
      used.set(sealed.nonce, sealed.until)
      return true
    }
  }
})

export interface RequestGate {
  readonly gate: HumanGate["Service"]
  /** The question that the call has to be answered with, when the gate could not wait for its answer. */
  readonly question: Effect.Effect<InputRequired | undefined>
}

/** What was seen of whoever started the server. */
export interface Presence {
  /** Why no answer of a client is a person's; `undefined` where one is. */
  readonly nobody: string | undefined
  /** The agent that started the server. */
  readonly agent: string | undefined
}

/** The gate of one call. `client` is the name that policy knows the caller by. */
export const make = Effect.fnUntraced(function*(
  seals: Seals,
  client: string,
  presence: Presence
): Effect.fn.Return<RequestGate, never, McpRequestContext> {
  const context = yield* McpRequestContext
  const session = yield* Effect.serviceOption(McpServerClient)
  let question: InputRequired | undefined

  const { clientInfo } = context
  const label = clientInfo === undefined ? "a client" : safeLine(`${clientInfo.name} ${clientInfo.version}`, 80)
  const seen = `answered in ${label}${presence.agent === undefined ? "" : `, server started by ${presence.agent}`}`

  const act = (request: HumanRequest): HumanAct => ({
    kind: request.kind,
    digest: request.digest,
    by: "elicitation",
    seen
  })
  const required = ({ command, kind, title }: HumanRequest, why?: string) =>
    new HumanRequired({ kind, title, command, ...(why === undefined ? {} : { why }) })
  const declined = ({ command, kind, title }: HumanRequest, { action }: typeof Answer.Type) =>
    new HumanDeclined({ kind, title, command, answer: action })

  const askSession = Effect.fnUntraced(function*(
    { getClient }: McpServerClient["Service"],
    request: HumanRequest,
    asked: Question
  ) {
    // The library encodes this one by its class: a plain object is refused.
    const params = new ElicitRequestFormParams(form(asked))
    const answer = yield* Effect.scoped(Effect.flatMap(getClient, (reverse) => reverse.elicit(params))).pipe(
      Effect.mapError(() => required(request))
    )
    return agreed(answer) ? act(request) : yield* declined(request, answer)
  })

  const askAgain = Effect.fnUntraced(function*(request: HumanRequest, asked: Question) {
    const now = yield* Clock.currentTimeMillis
    const responses = context.inputResponses ?? {}
    const answer = Object.hasOwn(responses, answerKey)
      ? Option.getOrUndefined(decodeAnswer(responses[answerKey]))
      : undefined
    if (
      answer !== undefined && context.requestState !== undefined &&
      seals.redeem(context.requestState, request, client, now)
    ) {
      return agreed(answer) ? act(request) : yield* declined(request, answer)
    }
    question = new InputRequired({
      inputRequests: { [answerKey]: { method: "elicitation/create", params: { mode: "form", ...form(asked) } } },
      requestState: seals.seal(request, client, now)
    })
    return yield* required(request)
  })

  return {
    gate: HumanGate.of({
      ask: Effect.fn("HumanGate.ask")(function*(request) {
        if (presence.nobody !== undefined) return yield* required(request, presence.nobody)
        if (!canElicit(context.clientCapabilities)) return yield* required(request)
        const asked = questionOf(request)
        const hidden = hiddenOf(asked, request, context.clientInfo?.name)
        if (hidden !== undefined) return yield* required(request, hidden)
        return yield* Option.match(session, {
          onNone: () => askAgain(request, asked),
          onSome: (serverClient) => askSession(serverClient, request, asked)
        })
      })
    }),
    question: Effect.sync(() => question)
  }
})
