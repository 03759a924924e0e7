// The config of `http_client`, and the request made from it. Pure, so that a dry run shows exactly the request that a
// run would send.
import { Result, Schema } from "effect"
import { RetryableError } from "../outbound/retry.ts"
import { parsePath } from "./jsonOutput.ts"
import { type PrimitiveInput } from "./Primitive.ts"
import { ParametersUnpassable, PrimitiveConfigInvalid } from "./PrimitiveErrors.ts"
import { type BodyIssue, Fields, fromBase64, Part, type PlannedBody, planParts, utf8 } from "./requestBody.ts"

const Scalar = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const hostPort = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\]):[1-9][0-9]{0,4}$/

/** Milliseconds. */
export const longestWait = 30_000

const methods = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const

export const HttpClientConfig = Schema.Struct({
  url: Schema.NonEmptyString,
  method: Schema.optionalKey(Schema.Literals(methods)),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Scalar)),
  /** Added to the URL's query. A list repeats its name, null omits it. */
  query: Schema.optionalKey(Fields),
  /** A string is sent as it is, any other value as JSON. */
  body: Schema.optionalKey(Schema.Json),
  /** Sent as application/x-www-form-urlencoded. */
  form: Schema.optionalKey(Fields),
  /** Sent as the decoded bytes. */
  body_base64: Schema.optionalKey(Schema.String),
  /** Sent as multipart/form-data. */
  multipart: Schema.optionalKey(Schema.Array(Part).check(Schema.isMaxLength(100))),
  /** Where parameters go that no `{name}` uses. */
  input: Schema.optionalKey(Schema.Literals(["none", "query", "body"])),
  auth: Schema.optionalKey(Schema.Union([
    Schema.Struct({ type: Schema.Literal("bearer"), token: Schema.NonEmptyString }),
    Schema.Struct({
      type: Schema.Literal("api_key"),
      key: Schema.NonEmptyString,
      header: Schema.optionalKey(Schema.String)
    }),
    Schema.Struct({ type: Schema.Literal("basic"), username: Schema.String, password: Schema.String })
  ])),
  /**
   * Seconds for everything together: attempts, waits, redirects and the response. Default: the setting `http.timeout`.
   */
  timeout: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(3_600))),
  retry: Schema.optionalKey(Schema.Struct({
    max_attempts: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 10 }))),
    backoff: Schema.optionalKey(Schema.Literals(["exponential", "constant"])),
    /** The waits themselves. The last one applies to all further attempts. */
    backoff_ms: Schema.optionalKey(
      Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: longestWait }))).check(
        Schema.isMaxLength(9)
      )
    ),
    /** Replaces the built-in list of failures to retry after. With it, the tool's own method may be repeated. */
    retryable_errors: Schema.optionalKey(Schema.Array(RetryableError)),
    /** Seconds for one attempt, so that time is left for another if it hangs. */
    attempt_timeout: Schema.optionalKey(
      Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(3_600))
    ),
    /** Methods that may be repeated. Default: the idempotent ones. */
    methods: Schema.optionalKey(Schema.Array(Schema.Literals(methods)))
  })),
  output: Schema.optionalKey(Schema.Literals(["auto", "json", "text"])),
  /** The part of a JSON response that is the result's data, by its path; or several parts by name. */
  response_path: Schema.optionalKey(
    Schema.Union([Schema.String, Schema.Record(Schema.String, Schema.String)])
  ),
  /** Further response headers for the result's metadata. Read only from the signed config. */
  response_headers: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(50))),
  /** `host:port` of hosts at a private address. Read only from the signed config. */
  private_hosts: Schema.optionalKey(Schema.Array(Schema.String))
})
export type HttpClientConfig = typeof HttpClientConfig.Type

export const defaultAttempts = 3
export const idempotent: ReadonlyArray<string> = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]

export interface HttpClientPlan {
  readonly config: HttpClientConfig
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: PlannedBody | undefined
  readonly privateHosts: ReadonlyArray<string>
  /** Lower-case names. */
  readonly responseHeaders: ReadonlyArray<string>
  /** The parts to select from the response: one path, or several by name. */
  readonly pick: ResponsePick | undefined
}

export interface ResponsePath {
  readonly text: string
  readonly keys: ReadonlyArray<string>
}
export type ResponsePick = ResponsePath | ReadonlyMap<string, ResponsePath>

type Issue = BodyIssue
type Values = Fields

const decodeConfig = Schema.decodeUnknownResult(HttpClientConfig)

/** Set by the connection itself. A tool that set them could split one request into two. */
const connectionHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

const addAll = (target: URLSearchParams, values: Values): void => {
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null) target.append(name, String(one))
    }
  }
}

/** Whether a header may have this value: Latin-1 without control characters. */
const isHeaderValue = (value: string): boolean => {
  for (let i = 0; i < value.length; i++) {
    const c = value.charCodeAt(i)
    if (c > 0xff || c === 0x7f || (c < 0x20 && c !== 0x09)) return false
  }
  return true
}

const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

const withAuth = (headers: Map<string, string>, auth: HttpClientConfig["auth"]): void => {
  switch (auth?.type) {
    case undefined:
      return
    case "bearer":
      headers.set("authorization", `Bearer ${auth.token}`)
      return
    case "api_key":
      headers.set((auth.header ?? "x-api-key").toLowerCase(), auth.key)
      return
    case "basic":
      headers.set("authorization", `Basic ${base64(`${auth.username}:${auth.password}`)}`)
  }
}

/** The grants of a signed config. An entry that is not literally `host:port` grants nothing and is reported. */
const grants = (signed: Schema.JsonObject, issues: Array<Issue>): ReadonlyArray<string> => {
  const listed = signed["private_hosts"]
  if (listed === undefined) return []
  if (!Array.isArray(listed)) {
    issues.push({ field: "private_hosts", error: "is not a list" })
    return []
  }
  return listed.flatMap((entry: Schema.Json, index) => {
    const host = typeof entry === "string" ? entry.toLowerCase() : ""
    if (hostPort.test(host)) return [host]
    issues.push({
      field: `private_hosts/${index}`,
      error: "is not a literal host and port like 127.0.0.1:8080; it cannot come from a parameter or a variable"
    })
    return []
  })
}

/** These would reveal credentials that a server gives to a browser, or Kiwi's own. */
const neverShown = /^(?:set-cookie2?|(?:proxy-)?authorization|(?:proxy-)?authenticat.*|www-authenticate|cookie)$/

const shownHeaders = (signed: Schema.JsonObject, issues: Array<Issue>): ReadonlyArray<string> => {
  const listed = signed["response_headers"]
  return (Array.isArray(listed) ? listed : []).flatMap((entry: Schema.Json, index) => {
    const name = typeof entry === "string" ? entry.toLowerCase() : ""
    if (token.test(name) && !name.includes("{") && !neverShown.test(name)) return [name]
    issues.push({
      field: `response_headers/${index}`,
      error: neverShown.test(name) ? "is never shown" : "is not literally the name of a header"
    })
    return []
  })
}

const readPath = (field: string, text: string, issues: Array<Issue>): ResponsePath => {
  const keys = parsePath(text)
  if (Result.isSuccess(keys)) return { text, keys: keys.success }
  issues.push({ field, error: keys.failure })
  return { text, keys: [] }
}

const pickOf = (path: HttpClientConfig["response_path"], issues: Array<Issue>): ResponsePick | undefined =>
  path === undefined
    ? undefined
    : typeof path === "string"
    ? readPath("response_path", path, issues)
    : new Map(Object.entries(path).map(([name, text]) => [name, readPath(`response_path/${name}`, text, issues)]))

const bodyOf = (
  config: HttpClientConfig,
  signed: Schema.JsonObject,
  rest: Schema.JsonObject,
  headers: Map<string, string>,
  issues: Array<Issue>
): PlannedBody | undefined => {
  const given = [
    ...(["body", "form", "body_base64", "multipart"] as const).filter((key) => config[key] !== undefined),
    ...(config.input === "body" ? ["input"] : [])
  ]
  if (given.length > 1) {
    issues.push({ field: given[1] ?? "", error: `cannot be combined with ${given[0]}: a request has one body` })
  }
  if (given.length === 0) return undefined
  const method = config.method ?? "GET"
  if (method === "GET" || method === "HEAD") {
    issues.push({ field: given[0] ?? "", error: `a ${method} request has no body: set method` })
  }
  const typed = (type: string) => {
    if (!headers.has("content-type")) headers.set("content-type", type)
  }
  if (config.form !== undefined) {
    const form = new URLSearchParams()
    addAll(form, config.form)
    typed("application/x-www-form-urlencoded")
    return { _tag: "Bytes", bytes: utf8(form.toString()) }
  }
  if (config.body_base64 !== undefined) {
    typed("application/octet-stream")
    const bytes = fromBase64(config.body_base64)
    if (Result.isFailure(bytes)) issues.push({ field: "body_base64", error: bytes.failure })
    return { _tag: "Bytes", bytes: Result.getOrElse(bytes, () => new Uint8Array()) }
  }
  if (config.multipart !== undefined) {
    if (headers.has("content-type")) {
      issues.push({ field: "headers/content-type", error: "is set by Kiwi, with the boundary between the parts" })
    }
    return { _tag: "Parts", parts: planParts(config.multipart, signed["multipart"], issues) }
  }
  const body = config.input === "body" ? rest : config.body
  typed(typeof body === "string" ? "text/plain; charset=utf-8" : "application/json")
  return { _tag: "Bytes", bytes: utf8(typeof body === "string" ? body : JSON.stringify(body)) }
}

export const planRequest = (
  input: Pick<PrimitiveInput, "tool" | "config" | "signed" | "parameters" | "placed">
): Result.Result<HttpClientPlan, PrimitiveConfigInvalid | ParametersUnpassable> => {
  const decoded = decodeConfig(input.config)
  if (Result.isFailure(decoded)) {
    return Result.fail(
      new PrimitiveConfigInvalid({ tool: input.tool, issues: [{ field: "", error: decoded.failure.message }] })
    )
  }
  const config = decoded.success
  const rest = Object.fromEntries(Object.entries(input.parameters).filter(([name]) => input.placed?.has(name) !== true))
  const issues: Array<Issue> = []

  const headers = new Map<string, string>()
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    if (value === null) continue
    const lower = name.toLowerCase()
    if (!token.test(name)) issues.push({ field: `headers/${name}`, error: "is not the name of a header" })
    else if (connectionHeaders.has(lower)) issues.push({ field: `headers/${name}`, error: "is set by Kiwi" })
    else if (headers.has(lower)) issues.push({ field: `headers/${name}`, error: "is given twice" })
    else headers.set(lower, String(value))
  }
  withAuth(headers, config.auth)
  const body = bodyOf(config, input.signed, rest, headers, issues)
  for (const [name, value] of headers) {
    if (!token.test(name)) issues.push({ field: "auth/header", error: "is not the name of a header" })
    else if (connectionHeaders.has(name)) issues.push({ field: "auth/header", error: "is set by Kiwi" })
    if (!isHeaderValue(value)) {
      issues.push({
        field: `headers/${name}`,
        error: "contains a character that is not allowed in a header, such as a newline"
      })
    }
  }
  const privateHosts = grants(input.signed, issues)
  const responseHeaders = shownHeaders(input.signed, issues)
  const picked = pickOf(config.response_path, issues)
  if (picked !== undefined && config.output === "text") {
    issues.push({ field: "response_path", error: "needs JSON, but output is text" })
  }

  const url = URL.parse(config.url)
  if (url === null) issues.push({ field: "url", error: "is not a whole URL like https://host/path" })
  else {
    url.hash = ""
    addAll(url.searchParams, config.query ?? {})
  }
  if (issues.length > 0) return Result.fail(new PrimitiveConfigInvalid({ tool: input.tool, issues }))

  if (config.input === "query") {
    const wrong = Object.entries(rest).filter(([, value]) =>
      typeof value === "object" && value !== null &&
      !(Array.isArray(value) && value.every((v) => typeof v !== "object"))
    )
    if (wrong.length > 0) {
      return Result.fail(
        new ParametersUnpassable({
          tool: input.tool,
          issues: wrong.map(([field]) => ({
            field,
            error: "is not a value or list of values that a query can contain"
          }))
        })
      )
    }
    addAll(url!.searchParams, rest as Values)
  }
  return Result.succeed({
    config,
    method: config.method ?? "GET",
    url: url!.href,
    headers: Object.fromEntries(headers),
    body,
    privateHosts,
    responseHeaders,
    pick: picked
  })
}
