// The `http_client` primitive: one request over Outbound, retried if that is safe and worth it, and its response shaped
// into data. Everything happens within the tool's timeout.
import { Clock, Duration, Effect, Option, Random, Result, type Schema, type Scope, Stream } from "effect"
import { randomBytes } from "node:crypto"
import { redactText } from "../../services/audit/redaction.ts"
import type { HostAccess, Standing } from "../../services/capability/Access.ts"
import type { SafeFiles } from "../../services/files/SafeFiles.ts"
import {
  Outbound,
  type OutboundError,
  OutboundFailed,
  type OutboundResponse
} from "../../services/outbound/Outbound.ts"
import { promises, retryAfter } from "../../services/outbound/retry.ts"
import { hostAccess } from "../../services/primitive/configAccesses.ts"
import {
  defaultAttempts,
  type HttpClientPlan,
  idempotent,
  longestWait,
  planRequest,
  type ResponsePath
} from "../../services/primitive/HttpClientConfig.ts"
import { parseJsonOutput, pick } from "../../services/primitive/jsonOutput.ts"
import { Outputs } from "../../services/primitive/Outputs.ts"
import { type CapturedOutput, type PrimitiveInput, type PrimitiveResult } from "../../services/primitive/Primitive.ts"
import {
  type PrimitiveError,
  RequestFailed,
  RequestRefused,
  ResponsePathMissing,
  ToolFailed,
  ToolOutputInvalid,
  UploadRefused
} from "../../services/primitive/PrimitiveErrors.ts"
import { type FilledPart, unsendable, writeParts } from "../../services/primitive/requestBody.ts"
import { type CaptureLimits, makeCapture } from "./captureOutput.ts"

/**
 * Statuses for "not now", after which the server has done nothing. After other statuses only repeatable requests are
 * retried.
 */
const untouched: ReadonlySet<number> = new Set([425, 429, 503])

const isPassing = (status: number, method: HttpClientPlan["method"]): boolean =>
  untouched.has(status) || (promises.status(status, undefined) && idempotent.includes(method))

/** In milliseconds. */
const firstWait = 500

/** The total size of a request's files, in bytes. */
const maxUpload = 67_108_864

export const safeHeaders = [
  "content-type",
  "content-length",
  "etag",
  "last-modified",
  "link",
  "retry-after",
  "x-request-id"
]

export const mediaType = (contentType: string | undefined): string =>
  (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? ""

/** An unknown charset is decoded as lenient UTF-8. */
export const decoderFor = (contentType: string | undefined): Pick<CaptureLimits, "decode"> => {
  const charset = /;\s*charset="?([A-Za-z0-9_:.-]{1,40})/i.exec(contentType ?? "")?.[1]?.toLowerCase()
  if (charset === undefined || charset === "utf-8" || charset === "utf8") return {}
  const decoder = Result.try(() => new TextDecoder(charset))
  return Result.isSuccess(decoder) ? { decode: (bytes) => decoder.success.decode(bytes) } : {}
}

export const isText = (type: string): boolean =>
  type === "" || type.startsWith("text/") ||
  /[/+](?:json|xml|yaml|javascript|x-www-form-urlencoded|x-ndjson)$/.test(type)

export const isJson = (type: string): boolean => /[/+]json$/.test(type)

/** One response, read completely. */
interface Answer {
  readonly status: number
  readonly origin: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: CapturedOutput
}

type Attempt = Result.Result<Answer, OutboundError>

export interface HttpClientOptions extends CaptureLimits {
  /** In milliseconds; for a tool without its own. */
  readonly timeout: number
  /** Reads the files that a request sends. Without it, none can be sent. */
  readonly read?: SafeFiles["Service"]["read"]
}

/** A request's body in its final form. */
interface Content {
  readonly bytes: Uint8Array | undefined
  readonly headers: Readonly<Record<string, string>>
}

const signedHost = (host: string, port: number) => ({ ...hostAccess(host, port), signed: true as const })

/** Without rules, a tool reaches what its signer chose. */
const standingOf = ({ mayAlso }: PrimitiveInput, access: HostAccess): Effect.Effect<Standing> =>
  mayAlso?.(access) ?? Effect.succeed("allowed")

/** A host that a variable names is known only now. */
const requireHost = Effect.fnUntraced(function*(input: PrimitiveInput, { url }: HttpClientPlan) {
  const { hostname, origin, port, protocol } = new URL(url)
  const access = signedHost(hostname, port === "" ? (protocol === "https:" ? 443 : 80) : Number(port))
  const isDecided = input.accesses?.some((one) =>
    one._tag === "Host" && one.host === access.host && one.port === access.port
  )
  const standing = isDecided === true ? "allowed" : yield* standingOf(input, access)
  if (standing === "allowed") return
  return yield* new RequestRefused({
    tool: input.tool,
    target: origin,
    issue: standing === "denied" ? "a rule denies it" : "a rule asks about it, and its address was not known before",
    hint: standing === "denied"
      ? "Do not try another way; a person may change the rule: kiwi permissions list"
      : "Write the host into the tool's url instead of a variable: then a person is asked"
  })
})

export const make = Effect.fnUntraced(function*(options: HttpClientOptions) {
  const outbound = yield* Outbound
  const outputs = yield* Outputs

  const readBody = Effect.fnUntraced(function*(response: OutboundResponse, { secrets }: PrimitiveInput) {
    const contentType = response.headers.get("content-type")
    const type = mediaType(contentType)
    const decode = decoderFor(contentType)
    // A response that is not text is kept as bytes, whatever its size.
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

  const fill = Effect.fnUntraced(function*(plan: HttpClientPlan, input: PrimitiveInput) {
    const { body } = plan
    if (body === undefined) return { bytes: undefined, headers: plan.headers }
    if (body._tag === "Bytes") return { bytes: body.bytes, headers: plan.headers }
    const filled: Array<FilledPart> = []
    let left = maxUpload
    for (const part of body.parts) {
      const { content } = part
      if (content._tag === "Bytes") {
        filled.push({ part, bytes: content.bytes })
        continue
      }
      const { field, path } = content
      const refused = (issue: string) => new UploadRefused({ tool: input.tool, field, path, issue })
      const issue = options.read === undefined ? "this kernel reads no files" : unsendable(path)
      if (issue !== undefined || options.read === undefined) return yield* refused(issue ?? "")
      const bytes = yield* options.read(input.cwd, path, { maxBytes: left }).pipe(
        Effect.mapError((error) => refused(error.detail))
      )
      if (bytes === undefined) return yield* refused("there is no such file")
      left -= bytes.length
      filled.push({ part, bytes })
    }
    const boundary = yield* Effect.sync(() => `kiwi-${randomBytes(18).toString("hex")}`)
    const headers = { ...plan.headers, "content-type": `multipart/form-data; boundary=${boundary}` }
    return { bytes: writeParts(filled, boundary), headers }
  })

  const attempt = (
    plan: HttpClientPlan,
    input: PrimitiveInput,
    content: Content
  ): Effect.Effect<Answer, OutboundError> =>
    Effect.scoped(Effect.gen(function*(): Effect.fn.Return<Answer, OutboundError, Scope.Scope> {
      const response = yield* outbound.send({
        method: plan.method,
        url: plan.url,
        headers: content.headers,
        body: content.bytes,
        privateHosts: plan.privateHosts,
        mayRedirect: (host, port) => standingOf(input, signedHost(host, port)),
        maxBytes: options.spill
      })
      const body = yield* readBody(response, input)
      return { status: response.status, origin: response.origin, headers: response.headers, body }
    }))

  const backOff = Effect.fnUntraced(function*({ config: { retry } }: HttpClientPlan, attempts: number) {
    const random = yield* Random.next
    const listed = retry?.backoff_ms
    if (listed !== undefined) return Math.round((listed[attempts - 1] ?? listed.at(-1) ?? 0) * (1 + random / 10))
    const growth = retry?.backoff === "constant" ? 1 : 2 ** (attempts - 1)
    const most = Math.min(longestWait, firstWait * growth)
    return Math.round(most / 2 + random * (most / 2))
  })

  const mostAttempts = ({ retry }: HttpClientPlan["config"]): number =>
    retry?.max_attempts ?? (retry?.backoff_ms === undefined ? defaultAttempts : retry.backoff_ms.length + 1)

  /** Milliseconds until the next attempt. Undefined if this attempt is final. */
  const waitAfter = Effect.fnUntraced(
    function*(plan: HttpClientPlan, outcome: Attempt, attempts: number, left: number) {
      const { retry } = plan.config
      if (attempts >= mostAttempts(plan.config)) return undefined
      const named = retry?.retryable_errors
      const repeatable = (retry?.methods ?? (named === undefined ? idempotent : [plan.method])).includes(plan.method)
      if (Result.isFailure(outcome)) {
        const { failure } = outcome
        if (failure._tag === "OutboundRefused" || !promises.failure(failure, named)) return undefined
        if (failure.sent && !repeatable) return undefined
      } else if (!repeatable || !promises.status(outcome.success.status, named)) return undefined
      const asked = Result.isSuccess(outcome)
        ? retryAfter(outcome.success.headers.get("retry-after"), yield* Clock.currentTimeMillis)
        : undefined
      const wait = asked ?? (yield* backOff(plan, attempts))
      // A retry earlier than the server asked for would be worse than none.
      return wait > longestWait || wait >= left ? undefined : wait
    }
  )

  /** The part of a response that `response_path` selects. */
  const picked = Effect.fnUntraced(function*(input: PrimitiveInput, plan: HttpClientPlan, data: Schema.Json) {
    if (plan.pick === undefined) return data
    const one = ({ keys, text }: ResponsePath) =>
      Effect.mapError(
        Effect.fromResult(pick(data, keys)),
        ({ at, found }) => new ResponsePathMissing({ tool: input.tool, path: text, at, found })
      )
    if (!(plan.pick instanceof Map)) return yield* one(plan.pick as ResponsePath)
    const entries: Array<readonly [string, Schema.Json]> = []
    for (const [name, path] of plan.pick) entries.push([name, yield* one(path)])
    return Object.fromEntries(entries)
  })

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
    for (const name of [...safeHeaders, ...plan.responseHeaders]) {
      const value = answer.headers.get(name)
      if (value !== undefined) headers[name] = value
    }
    const metadata = { status_code: status, attempts, headers, body }
    const output = plan.pick === undefined ? plan.config.output ?? "auto" : "json"
    if (output === "json" || (output === "auto" && isJson(type) && body.spilled === undefined)) {
      if (body.bytes === 0 && output === "auto") return { data: null, metadata }
      const parsed = body.spilled === undefined && body.dropped === 0
        ? parseJsonOutput(body.text)
        : Result.fail(
          body.binary === true ? "it is not UTF-8" : `it is ${body.bytes.toLocaleString("en-US")} bytes long`
        )
      if (Result.isSuccess(parsed)) return { data: yield* picked(input, plan, parsed.success), metadata }
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
      yield* requireHost(input, plan)
      const content = yield* fill(plan, input)
      const perAttempt = (plan.config.retry?.attempt_timeout ?? Number.POSITIVE_INFINITY) * 1_000
      for (let attempts = 1;; attempts++) {
        const left = deadline - (yield* Clock.currentTimeMillis)
        const within = Math.min(left, perAttempt)
        const done = yield* attempt(plan, input, content).pipe(
          Effect.result,
          Effect.timeoutOption(Duration.millis(within))
        )
        const outcome = Option.getOrElse(done, (): Attempt =>
          Result.fail(
            new OutboundFailed({
              target: new URL(plan.url).origin,
              issue: `there was no complete answer within ${(within < left ? within : timeout) / 1_000} s`,
              transient: true,
              sent: true,
              kind: "TIMEOUT"
            })
          ))
        const wait = Option.isNone(done) && within === left
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
