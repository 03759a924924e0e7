// The `http_client` primitive: one request over Outbound, repeated where that is safe and promising, its answer shaped
// into data. Everything happens within the tool's timeout.
import { Clock, Duration, Effect, Option, Random, Result, type Scope, Stream } from "effect"
import { redactText } from "../../services/audit/redaction.ts"
import {
  Outbound,
  type OutboundError,
  OutboundFailed,
  type OutboundResponse
} from "../../services/outbound/Outbound.ts"
import {
  defaultAttempts,
  type HttpClientPlan,
  idempotent,
  planRequest
} from "../../services/primitive/HttpClientConfig.ts"
import { parseJsonOutput } from "../../services/primitive/jsonOutput.ts"
import { Outputs } from "../../services/primitive/Outputs.ts"
import {
  type CapturedOutput,
  type PrimitiveError,
  type PrimitiveInput,
  type PrimitiveResult,
  RequestFailed,
  RequestRefused,
  ToolFailed,
  ToolOutputInvalid
} from "../../services/primitive/Primitive.ts"
import { type CaptureLimits, makeCapture } from "./captureOutput.ts"

/** Statuses that say "not now". */
const promising: ReadonlySet<number> = new Set([408, 425, 429, 500, 502, 503, 504])

/** Of those, the ones that say that nothing was done. After any other, only what can be repeated is worth repeating. */
const untouched: ReadonlySet<number> = new Set([425, 429, 503])

const isPassing = (status: number, method: HttpClientPlan["method"]): boolean =>
  untouched.has(status) || (promising.has(status) && idempotent.includes(method))

/** Milliseconds. */
const firstWait = 500
const longestWait = 30_000

const safeHeaders = ["content-type", "content-length", "etag", "last-modified", "link", "retry-after", "x-request-id"]

const httpDate = /^[A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2} GMT$/

/** Milliseconds that the server asks to wait: seconds or a date. `Date.parse` alone reads "-5" as a year. */
export const retryAfter = (value: string | undefined, now: number): number | undefined => {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1_000
  const date = httpDate.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

const mediaType = (contentType: string | undefined): string =>
  (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

/** A charset that the platform does not know is read as UTF-8, leniently. */
const decoderFor = (contentType: string | undefined): Pick<CaptureLimits, "decode"> => {
  const charset = /;\s*charset="?([A-Za-z0-9_:.-]{1,40})/i.exec(contentType ?? "")?.[1]?.toLowerCase()
  if (charset === undefined || charset === "utf-8" || charset === "utf8") return {}
  const decoder = Result.try(() => new TextDecoder(charset))
  return Result.isSuccess(decoder) ? { decode: (bytes) => decoder.success.decode(bytes) } : {}
}

const isText = (type: string): boolean =>
  type === "" || type.startsWith("text/") ||
  /[/+](?:json|xml|yaml|javascript|x-www-form-urlencoded|x-ndjson)$/.test(type)

const isJson = (type: string): boolean => /[/+]json$/.test(type)

/** One answer, read to its end. */
interface Answer {
  readonly status: number
  readonly origin: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: CapturedOutput
}

type Attempt = Result.Result<Answer, OutboundError>

export interface HttpClientOptions extends CaptureLimits {
  /** Milliseconds for a tool that does not say. */
  readonly timeout: number
}

export const make = Effect.fnUntraced(function*(options: HttpClientOptions) {
  const outbound = yield* Outbound
  const outputs = yield* Outputs

  const readBody = Effect.fnUntraced(function*(response: OutboundResponse, { secrets }: PrimitiveInput) {
    const contentType = response.headers.get("content-type")
    const type = mediaType(contentType)
    const decode = decoderFor(contentType)
    // What is no text is kept as the bytes that it is, whatever its size.
    const capture = makeCapture(outputs, { ...options, ...(isText(type) ? {} : { inline: 0 }), ...decode, secrets })
    return yield* Stream.runForEach(response.body, (chunk) => capture.take(Buffer.from(chunk)) ?? Effect.void).pipe(
      Effect.catchTag("OutputTooLarge", ({ limit }) =>
        Effect.fail(
          new OutboundFailed({
            target: response.origin,
            issue: `its answer is larger than ${limit.toLocaleString("en-US")} bytes`,
            transient: false,
            sent: true
          })
        )),
      Effect.andThen(capture.finish),
      Effect.onExit(() => capture.close)
    )
  })

  const attempt = (plan: HttpClientPlan, input: PrimitiveInput): Effect.Effect<Answer, OutboundError> =>
    Effect.scoped(Effect.gen(function*(): Effect.fn.Return<Answer, OutboundError, Scope.Scope> {
      const response = yield* outbound.send({
        method: plan.method,
        url: plan.url,
        headers: plan.headers,
        body: plan.body === undefined ? undefined : new TextEncoder().encode(plan.body),
        privateHosts: plan.privateHosts,
        maxBytes: options.spill
      })
      const body = yield* readBody(response, input)
      return { status: response.status, origin: response.origin, headers: response.headers, body }
    }))

  const backOff = Effect.fnUntraced(function*(plan: HttpClientPlan, attempts: number) {
    const growth = plan.config.retry?.backoff === "constant" ? 1 : 2 ** (attempts - 1)
    const most = Math.min(longestWait, firstWait * growth)
    return Math.round(most / 2 + (yield* Random.next) * (most / 2))
  })

  /** Milliseconds until another attempt; `undefined` when this one stands. */
  const waitAfter = Effect.fnUntraced(
    function*(plan: HttpClientPlan, outcome: Attempt, attempts: number, left: number) {
      if (attempts >= (plan.config.retry?.max_attempts ?? defaultAttempts)) return undefined
      const repeatable = (plan.config.retry?.methods ?? idempotent).includes(plan.method)
      if (Result.isFailure(outcome)) {
        const { failure } = outcome
        if (failure._tag === "OutboundRefused" || !failure.transient) return undefined
        if (failure.sent && !repeatable) return undefined
      } else if (!repeatable || !promising.has(outcome.success.status)) return undefined
      const asked = Result.isSuccess(outcome)
        ? retryAfter(outcome.success.headers.get("retry-after"), yield* Clock.currentTimeMillis)
        : undefined
      const wait = asked ?? (yield* backOff(plan, attempts))
      // Coming back earlier than the server asked would be worse than not coming back.
      return wait > longestWait || wait >= left ? undefined : wait
    }
  )

  const shape = Effect.fnUntraced(function*(
    input: PrimitiveInput,
    plan: HttpClientPlan,
    answer: Answer,
    attempts: number
  ): Effect.fn.Return<PrimitiveResult, PrimitiveError> {
    const { body, status } = answer
    if (status < 200 || status > 299) {
      return yield* new ToolFailed({
        tool: input.tool,
        how: `HTTP ${status}`,
        output: redactText(body.text, input.secrets ?? []).trim().slice(0, 4_096),
        ...(isPassing(status, plan.method) ? { transient: true } : {})
      })
    }
    const type = mediaType(answer.headers.get("content-type"))
    const headers: Record<string, string> = {}
    for (const name of safeHeaders) {
      const value = answer.headers.get(name)
      if (value !== undefined) headers[name] = value
    }
    const metadata = { status_code: status, attempts, headers, body }
    const output = plan.config.output ?? "auto"
    if (output === "json" || (output === "auto" && isJson(type) && body.spilled === undefined)) {
      if (body.bytes === 0 && output === "auto") return { data: null, metadata }
      const parsed = body.spilled === undefined && body.dropped === 0
        ? parseJsonOutput(body.text)
        : Result.fail(`it is ${body.bytes.toLocaleString("en-US")} bytes long`)
      if (Result.isSuccess(parsed)) return { data: parsed.success, metadata }
      if (output === "json") {
        return yield* new ToolOutputInvalid({
          tool: input.tool,
          issue: parsed.failure,
          output: redactText(body.text, input.secrets ?? []).slice(0, 4_096)
        })
      }
    }
    if (body.bytes === 0 && output === "auto") return { data: null, metadata }
    if (isText(type) || body.spilled === undefined) return { data: body.text, metadata }
    return { data: { content_type: type, bytes: body.bytes, output: body.spilled }, metadata }
  })

  const failed = (input: PrimitiveInput, error: OutboundError, attempts: number): PrimitiveError =>
    error._tag === "OutboundRefused"
      ? new RequestRefused({ tool: input.tool, target: error.target, issue: error.issue, hint: error.hint })
      : new RequestFailed({
        tool: input.tool,
        target: error.target,
        issue: error.issue,
        attempts,
        transient: error.transient
      })

  const run = Effect.fnUntraced(
    function*(input: PrimitiveInput): Effect.fn.Return<PrimitiveResult, PrimitiveError> {
      const plan = yield* Effect.fromResult(planRequest(input))
      const timeout = plan.config.timeout === undefined ? options.timeout : plan.config.timeout * 1_000
      const deadline = (yield* Clock.currentTimeMillis) + timeout
      for (let attempts = 1;; attempts++) {
        const left = deadline - (yield* Clock.currentTimeMillis)
        const done = yield* attempt(plan, input).pipe(Effect.result, Effect.timeoutOption(Duration.millis(left)))
        const outcome = Option.getOrElse(done, (): Attempt =>
          Result.fail(
            new OutboundFailed({
              target: new URL(plan.url).origin,
              issue: `there was no complete answer within ${timeout / 1_000} s`,
              transient: true,
              sent: true
            })
          ))
        const wait = Option.isNone(done)
          ? undefined
          : yield* waitAfter(plan, outcome, attempts, deadline - (yield* Clock.currentTimeMillis))
        if (wait === undefined) {
          return Result.isSuccess(outcome)
            ? yield* shape(input, plan, outcome.success, attempts)
            : yield* failed(input, outcome.failure, attempts)
        }
        yield* Effect.forkChild(
          input.emit({ _tag: "Progress", message: `attempt ${attempts} failed, next in ${wait} ms` })
        )
        yield* Effect.sleep(wait)
      }
    }
  )

  return { run, plan: planRequest }
})
