// Asks the person behind an MCP client. In a session the call waits for the answer. A stateless call is answered with
// the question, and the client repeats the call with the answer; a sealed state binds the answer to the act's digest,
// so that exactly what was agreed to is done. A client that cannot ask gets the command that a person types instead.
import { Clock, Context, Effect, Option, Schema } from "effect"
import type { ClientCapabilities } from "effect/ai/McpSchema"
import { ElicitRequestFormParams, InputRequired, McpRequestContext, McpServerClient } from "effect/ai/McpSchema"
import { createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto"
import { answersText } from "../../layers/approval/approvalQuestion.ts"
import { exactLine, mostColumns } from "../../services/error/exactText.ts"
import { safeLine } from "../../services/error/safeText.ts"
import { HumanDeclined, HumanGate, HumanRequired } from "../../services/trust/HumanAct.ts"
import type { HumanAct, HumanChoice, HumanRequest } from "../../services/trust/HumanAct.ts"
import { fullText, verdictLines } from "../question.ts"

/** How much of a field's description a client shows: characters, and lines of 80 columns. */
interface Room {
  readonly characters: number
  readonly lines: number
}

/** A longer text is not asked about in a dialog. It is not cut either: nobody may agree to a diff that is cut. */
export const longestQuestion = 16_000

/** Many dialogs hide the end of a longer line. */
const longestLine = 1_000

/** Of an answer in a list of choices, in columns: Claude Code 2.1.330 cuts after 48 on terminals of 100 and of 160. */
const widestChoice = 47

/** The lengths at which these clients were seen to cut, and that show the names of an answer's choices, by the client name that they send. */
const rooms: ReadonlyMap<string, Room> = new Map([
  ["claude-code", { characters: 2_000, lines: Infinity }],
  ["codex-mcp-client", { characters: longestQuestion, lines: 30 }]
])

const stateLife = 15 * 60 * 1000

/** Milliseconds. A question that is closed sooner was closed by a program: nobody has read it. */
const shortestReading = 1_000

const answerKey = "agree"
const endKey = "end"

const canElicit = ({ elicitation }: ClientCapabilities): boolean =>
  elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)

interface Question {
  /** Three lines: Claude Code shows no more of a message. */
  readonly message: string
  /** Everything that the person agrees to. */
  readonly description: string
  /** The answers to choose from, in place of yes. */
  readonly choices: ReadonlyArray<HumanChoice>
  /**
   * For a client that is known to cut: a number that only the end of the description shows. A yes without it does not
   * count.
   */
  readonly end: { readonly number: string; readonly hint: string } | undefined
}

const endMark = (number?: string): string => number === undefined ? "– end –" : `– end: ${number} –`

/** Four digits that do not occur in the text. A text that contains most of them is longer than these clients show. */
const newNumber = (text: string): string => {
  const numbers = Array.from({ length: 100 }, () => String(randomInt(1_000, 10_000)))
  return numbers.find((number) => !text.includes(number)) ?? numbers[0] ?? ""
}

/** An answer as a client that cuts shows it whole. Undefined if it does not fit. */
const shortChoice = ({ short, title }: HumanChoice): string | undefined => {
  const text = exactLine(short ?? title, longestLine)
  return mostColumns(text) <= widestChoice ? text : undefined
}

/** An answer in the list of choices. */
const choiceTitle = (choice: HumanChoice, client: string | undefined): string =>
  rooms.has(client ?? "")
    ? shortChoice(choice) ?? `${choice.value}: see "Answers" at the end of the text`
    : exactLine(choice.title, longestLine)

/** Without the answers, if the client shows each of them whole among the choices. */
const withoutAnswers = (request: HumanRequest, client: string | undefined): HumanRequest => {
  const { choices = [], details } = request
  const answers = answersText(choices)
  const isTwice = rooms.has(client ?? "") && details.endsWith(answers) &&
    choices.every((choice) => shortChoice(choice) !== undefined)
  return isTwice ? { ...request, details: details.slice(0, -answers.length) } : request
}

const questionOf = (request: HumanRequest, client: string | undefined): Question => {
  const message = verdictLines(request).join("\n")
  const text = fullText(withoutAnswers(request, client))
  const elsewhere = `Press Esc and type on a terminal: ${exactLine(request.command, 8_192)}`
  const number = rooms.has(client ?? "") ? newNumber([message, elsewhere, text].join("\n")) : undefined
  const mark = number === undefined ? endMark() : endMark("…")
  return {
    message,
    choices: (request.choices ?? []).map((choice) => ({ value: choice.value, title: choiceTitle(choice, client) })),
    description: [`No "${mark}" below? ${elsewhere}`, "", text, endMark(number)].join("\n"),
    end: number === undefined ? undefined : { number, hint: `Not shown? ${elsewhere}` }
  }
}

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
  const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(mostColumns(line) / 80)), 0)
  return rows > room.lines ? `it has ${rows} lines, and this client shows about ${room.lines}` : undefined
}

const shownIn = (client: string | undefined, request: HumanRequest) => {
  const asked = questionOf(request, client)
  return { asked, hidden: hiddenOf(asked, request, client) }
}

const agreeField = ({ choices, description }: Question) =>
  choices.length === 0
    ? { type: "boolean" as const, title: "I have read this and agree", description, default: false }
    : {
      type: "string" as const,
      title: "I have read this, and my answer is",
      description,
      enum: choices.map(({ value }) => value),
      enumNames: choices.map(({ title }) => title)
    }

const form = (question: Question) => ({
  message: question.message,
  requestedSchema: {
    type: "object",
    properties: {
      [answerKey]: agreeField(question),
      ...(question.end === undefined ? {} : {
        [endKey]: {
          type: "string" as const,
          title: "The number at the end of that text",
          description: question.end.hint
        }
      })
    },
    required: question.end === undefined ? [answerKey] : [answerKey, endKey]
  }
} as const)

const Sealed = Schema.fromJsonString(
  Schema.Struct({
    kind: Schema.String,
    digest: Schema.String,
    client: Schema.String,
    nonce: Schema.String,
    /** The number at the end of the text, as a MAC. */
    end: Schema.optionalKey(Schema.String),
    until: Schema.Int
  })
)
const decodeSealed = Schema.decodeUnknownOption(Sealed)

const Answer = Schema.Struct({
  action: Schema.Literals(["accept", "decline", "cancel"]),
  content: Schema.optional(Schema.Record(Schema.String, Schema.Unknown))
})
const decodeAnswer = Schema.decodeUnknownOption(Answer)

/**
 * Only an explicit yes is a yes; of several answers, one of those that were shown. Declining is none of them: it is
 * what a person does who cannot read the question here.
 */
const agreedTo = ({ choices = [] }: HumanRequest, { action, content }: typeof Answer.Type) => {
  const given = action === "accept" && content !== undefined && Object.hasOwn(content, answerKey)
    ? content[answerKey]
    : undefined
  return choices.length === 0 ? given === true : choices.find(({ value }) => value === given)
}

/** What is known of a question when its answer comes. */
interface Put {
  /** When it was put, in milliseconds. */
  readonly at: number
  /** Whether the person typed the number at the end of the text; `undefined` if they typed none. */
  readonly sawEnd: (typed: string | undefined) => boolean
}

const typedEnd = ({ content = {} }: typeof Answer.Type): string | undefined => {
  const typed = Object.hasOwn(content, endKey) ? content[endKey] : undefined
  return typeof typed === "string" ? typed.trim() : undefined
}

/** The secret key and the used nonces of sealed states: one for each server process. */
export interface Seals {
  readonly seal: (request: HumanRequest, client: string, now: number, end?: string) => string
  /**
   * Redeems a state. Returns the question that it was sealed with if that was here, for exactly this act and client, and
   * `state` was not used before; otherwise `undefined`.
   */
  readonly redeem: (state: string, request: HumanRequest, client: string, now: number) => Put | undefined
}

export const makeSeals: Effect.Effect<Seals> = Effect.sync(() => {
  const key = randomBytes(32)
  /** Redeemed nonces, each with the time when it may be dropped. */
  const used = new Map<string, number>()
  const mac = (text: string) => createHmac("sha256", key).update(text).digest()
  const hide = (nonce: string, end: string) => mac(`${nonce} ${end}`).toString("base64url")
  return {
    seal: (request, client, now, number) => {
      const nonce = randomBytes(16).toString("base64url")
      const { digest, kind } = request
      const end = number === undefined ? undefined : hide(nonce, number)
      const sealed = JSON.stringify({ kind, digest, client, nonce, end, until: now + stateLife })
      const text = Buffer.from(sealed).toString("base64url")
      return `${text}.${mac(text).toString("base64url")}`
    },
    redeem: (state, request, client, now) => {
      const [text = "", signature = "", ...rest] = state.split(".")
      const given = Buffer.from(signature, "base64url")
      const expected = mac(text)
      if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      const sealed = Option.getOrUndefined(decodeSealed(Buffer.from(text, "base64url").toString()))
      if (sealed === undefined || sealed.until < now || used.has(sealed.nonce)) return undefined
      if (sealed.kind !== request.kind || sealed.digest !== request.digest || sealed.client !== client) return undefined
      for (const [nonce, until] of used) if (until < now) used.delete(nonce)
      used.set(sealed.nonce, sealed.until)
      const { end, nonce, until } = sealed
      return {
        at: until - stateLife,
        sawEnd: (typed) => end === undefined || (typed !== undefined && hide(nonce, typed) === end)
      }
    }
  }
})

export interface RequestGate {
  readonly gate: HumanGate["Service"]
  /** The question with which a stateless call is answered. */
  readonly question: () => InputRequired | undefined
}

/** How the server was started: by an agent, in a tool's call, or by a person. */
export interface Presence {
  /** Why a client's answers do not count as a person's; `undefined` if they do. */
  readonly nobody: string | undefined
  /** The agent that started the server. */
  readonly agent: string | undefined
}

const makeFor = (
  seals: Seals,
  client: string,
  presence: Presence,
  context: McpRequestContext["Service"],
  session: Option.Option<McpServerClient["Service"]>
): RequestGate => {
  let question: InputRequired | undefined

  const { clientInfo } = context
  const label = clientInfo === undefined ? "a client" : safeLine(`${clientInfo.name} ${clientInfo.version}`, 80)
  const seen = `answered in ${label}${presence.agent === undefined ? "" : `, server started by ${presence.agent}`}`

  const act = (request: HumanRequest, choice: HumanChoice | undefined): HumanAct => ({
    kind: request.kind,
    digest: request.digest,
    ...(choice === undefined ? {} : { choice: choice.value }),
    by: "elicitation",
    seen,
    ...(presence.agent === undefined ? {} : { agent: presence.agent })
  })
  const required = ({ command, kind, title }: HumanRequest, why: string) =>
    new HumanRequired({ kind, title, command, why })
  const declined = ({ command, kind, title }: HumanRequest, { action }: typeof Answer.Type) =>
    new HumanDeclined({ kind, title, command, answer: action, by: "elicitation", seen: `${action}, ${seen}` })
  const judge = (request: HumanRequest, answer: typeof Answer.Type, { at, sawEnd }: Put, now: number) => {
    // A client without a person, as `codex exec`, closes the question by itself.
    if (answer.action !== "accept" && now - at < shortestReading) {
      return Effect.fail(
        required(request, `${label} closed the question in less than a second, so nobody has read it`)
      )
    }
    const agreed = agreedTo(request, answer)
    if (agreed === undefined || agreed === false) return Effect.fail(declined(request, answer))
    // Nobody has to read a question to its end to say no.
    const isNo = agreed !== true && agreed.value === "no"
    return isNo || sawEnd(typedEnd(answer))
      ? Effect.succeed(act(request, agreed === true ? undefined : agreed))
      : Effect.fail(required(request, "the answer does not have the number at the end of the text"))
  }

  const askSession = Effect.fnUntraced(function*(
    { getClient }: McpServerClient["Service"],
    request: HumanRequest,
    asked: Question
  ) {
    // The library encodes this by its class and refuses a plain object.
    const params = new ElicitRequestFormParams(form(asked))
    const at = yield* Clock.currentTimeMillis
    const answer = yield* Effect.scoped(Effect.flatMap(getClient, (reverse) => reverse.elicit(params))).pipe(
      Effect.mapError(() => required(request, `${label} did not answer the question`))
    )
    const sawEnd = (typed: string | undefined) => asked.end === undefined || typed === asked.end.number
    return yield* judge(request, answer, { at, sawEnd }, yield* Clock.currentTimeMillis)
  })

  const askAgain = Effect.fnUntraced(function*(request: HumanRequest, asked: Question) {
    const now = yield* Clock.currentTimeMillis
    const responses = context.inputResponses ?? {}
    const answer = Object.hasOwn(responses, answerKey)
      ? Option.getOrUndefined(decodeAnswer(responses[answerKey]))
      : undefined
    const put = answer === undefined || context.requestState === undefined
      ? undefined
      : seals.redeem(context.requestState, request, client, now)
    if (answer !== undefined && put !== undefined) return yield* judge(request, answer, put, now)
    question = new InputRequired({
      inputRequests: { [answerKey]: { method: "elicitation/create", params: { mode: "form", ...form(asked) } } },
      requestState: seals.seal(request, client, now, asked.end?.number)
    })
    const { command, kind, title } = request
    return yield* new HumanRequired({ kind, title, command, asked: true })
  })

  return {
    gate: HumanGate.of({
      ask: Effect.fn("HumanGate.ask")(function*(request) {
        if (presence.nobody !== undefined) return yield* required(request, presence.nobody)
        if (!canElicit(context.clientCapabilities)) {
          return yield* required(request, `${label} cannot put a question to its person`)
        }
        const whole = shownIn(context.clientInfo?.name, request)
        const { asked, hidden } = whole.hidden === undefined || request.brief === undefined
          ? whole
          : shownIn(context.clientInfo?.name, { ...request, details: request.brief, unreadable: [] })
        if (hidden !== undefined) return yield* required(request, whole.hidden ?? hidden)
        return yield* Option.match(session, {
          onNone: () => askAgain(request, asked),
          onSome: (serverClient) => askSession(serverClient, request, asked)
        })
      })
    }),
    question: () => question
  }
}

/**
 * The gate of one call. `client` is the name that policy knows the caller by. Most calls ask nobody: what asking needs is
 * made by the first question.
 */
export const make = (
  seals: Seals,
  client: string,
  presence: Presence
): Effect.Effect<RequestGate, never, McpRequestContext> =>
  Effect.contextWith((services: Context.Context<McpRequestContext>) => {
    let made: RequestGate | undefined
    const gateOf = () =>
      made ??= makeFor(
        seals,
        client,
        presence,
        Context.get(services, McpRequestContext),
        Context.getOption(services, McpServerClient)
      )
    return Effect.succeed({
      gate: HumanGate.of({ ask: (request) => gateOf().gate.ask(request) }),
      question: () => made?.question()
    })
  })
