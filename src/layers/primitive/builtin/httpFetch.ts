// Sends one request to a server that the caller names. The server is an access, decided before anything is sent; a
// redirect to another one is decided too. Addresses are checked by Outbound. Every status is an answer, not a failure.
import { Duration, Effect, Result, Schema, type Scope, Stream } from "effect"
import { isSecretKey } from "../../../services/audit/secretNames.ts"
import { mark, redactUrls } from "../../../services/audit/urlSecrets.ts"
import type { Standing } from "../../../services/capability/Access.ts"
import { addressKind } from "../../../services/outbound/Address.ts"
import { Outbound } from "../../../services/outbound/Outbound.ts"
import type { OutboundRequest } from "../../../services/outbound/Outbound.ts"
import type { Builtin } from "../../../services/primitive/Builtins.ts"
import { decodeParameters } from "../../../services/primitive/Builtins.ts"
import { hostAccess } from "../../../services/primitive/configAccesses.ts"
import { planRequest } from "../../../services/primitive/HttpClientConfig.ts"
import { parseJsonOutput } from "../../../services/primitive/jsonOutput.ts"
import { Outputs } from "../../../services/primitive/Outputs.ts"
import type { AccessInput, PrimitiveInput, PrimitiveResult } from "../../../services/primitive/Primitive.ts"
import { BuiltinFailed, RequestFailed, RequestRefused } from "../../../services/primitive/PrimitiveErrors.ts"
import { Settings } from "../../../services/settings/Settings.ts"
import { portOf } from "../../outbound/proxyChoice.ts"
import { makeCapture } from "../captureOutput.ts"
import { decoderFor, isJson, isText, mediaType, safeHeaders } from "../HttpClientNode.ts"

const Request = Schema.Struct({
  url: Schema.NonEmptyString.check(Schema.isMaxLength(8_192)),
  method: Schema.optionalKey(Schema.Literals(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  body: Schema.optionalKey(Schema.Json)
})

const planned = Effect.fnUntraced(function*(input: AccessInput) {
  const given = yield* decodeParameters(Request, input)
  const config = { ...given }
  const plan = Result.mapError(
    planRequest({ tool: input.tool, config, signed: {}, parameters: {} }),
    (error) => new BuiltinFailed({ tool: input.tool, issue: error.message, hint: "Correct the parameters of the call" })
  )
  const { body, headers, method, url } = yield* Effect.fromResult(plan)
  const parsed = new URL(url)
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:") {
    return yield* new BuiltinFailed({
      tool: input.tool,
      issue: `the scheme of its URL is ${parsed.protocol}`,
      hint: "Only http and https are supported"
    })
  }
  return { url: parsed, method, headers, body: body?._tag === "Bytes" ? body.bytes : undefined }
})

const publicOnly =
  "http.fetch reaches public addresses only. A tool that the person signed, with private_hosts in its config, can reach this one"

/** Nobody is asked about an address that is refused in any case. A name is looked up only once it is allowed. */
const refusePrivate = ({ tool }: AccessInput, url: URL) => {
  const host = hostAccess(url.hostname, portOf(url)).host
  const kind = /(?:^|\.)localhost$/.test(host) ? "loopback" : addressKind(host)
  return kind === "public" || (kind === "invalid" && !host.includes(":"))
    ? Effect.void
    : Effect.fail(
      new RequestRefused({ tool, target: url.origin, issue: `${host} is not a public address`, hint: publicOnly })
    )
}

const send = (input: PrimitiveInput, request: OutboundRequest) =>
  Effect.flatMap(Outbound, (outbound) => outbound.send(request)).pipe(
    Effect.mapError((error) =>
      error._tag === "OutboundFailed" ? failed(input, error) : new RequestRefused({
        tool: input.tool,
        target: error.target,
        issue: error.issue,
        hint: error.hint.includes("private_hosts") ? publicOnly : error.hint
      })
    )
  )

const failed = (
  { tool }: PrimitiveInput,
  { issue, target, transient }: { readonly target: string; readonly issue: string; readonly transient: boolean }
) => new RequestFailed({ tool, target, issue, attempts: 1, transient })

const fetch = Effect.fnUntraced(
  function*(
    input: PrimitiveInput
  ): Effect.fn.Return<
    PrimitiveResult,
    BuiltinFailed | RequestFailed | RequestRefused,
    Outbound | Outputs | Settings | Scope.Scope
  > {
    const { body, headers, method, url } = yield* planned(input)
    const outputs = yield* Outputs
    const { httpTimeout, outputInline: inline, outputMax: spill } = yield* (yield* Settings).current
    const own = hostAccess(url.hostname, portOf(url))
    const isUpgrade = (host: string, port: number) => host === own.host && own.port === 80 && port === 443
    const exchanged = Effect.gen(function*() {
      const response = yield* send(input, {
        method,
        url: url.href,
        headers,
        body,
        privateHosts: [],
        maxBytes: spill,
        mayRedirect: (host, port) => {
          const access = hostAccess(host, port)
          // Who may reach a server without TLS may reach it with TLS, unless a rule says otherwise.
          return Effect.map(
            input.mayAlso?.(access) ?? Effect.succeed<Standing>("denied"),
            (standing): Standing => standing === "asked" && isUpgrade(access.host, port) ? "allowed" : standing
          )
        }
      })
      const contentType = response.headers.get("content-type")
      const type = mediaType(contentType)
      const capture = makeCapture(outputs, { inline: isText(type) ? inline : 0, spill, ...decoderFor(contentType) })
      yield* Effect.addFinalizer(() => capture.close)
      yield* Stream.runForEach(response.body, (chunk) => capture.take(Buffer.from(chunk)) ?? Effect.void).pipe(
        Effect.mapError((error) =>
          error._tag === "OutputTooLarge"
            ? failed(input, {
              target: response.origin,
              issue: `the answer is larger than ${spill} bytes`,
              transient: false
            })
            : failed(input, error)
        )
      )
      return { response, type, captured: yield* capture.finish }
    })
    const { captured, response, type } = yield* exchanged.pipe(Effect.timeoutOrElse({
      duration: httpTimeout,
      orElse: () =>
        Effect.fail(failed(input, {
          target: url.origin,
          issue: `there was no complete answer within ${Duration.toSeconds(httpTimeout)} s`,
          transient: true
        }))
    }))
    const parsed = isJson(type) && captured.spilled === undefined ? parseJsonOutput(captured.text) : undefined
    const shown = safeHeaders.flatMap((name) => {
      const value = response.headers.get(name)
      return value === undefined ? [] : [[name, value] as const]
    })
    return {
      data: {
        status: response.status,
        origin: response.origin,
        content_type: type,
        body: parsed !== undefined && Result.isSuccess(parsed) ? parsed.success : captured.text
      },
      metadata: { status_code: response.status, headers: Object.fromEntries(shown), body: captured }
    }
  },
  Effect.scoped
)

const tool: Builtin<Outbound | Outputs | Settings> = {
  run: fetch,
  accesses: (input) =>
    Effect.flatMap(
      planned(input),
      ({ url }) => Effect.as(refusePrivate(input, url), [hostAccess(url.hostname, portOf(url))])
    ),
  preview: (input) =>
    Effect.map(planned(input), ({ body, headers, method, url }) =>
      [
        `${method} ${redactUrls(url.href)}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${isSecretKey(name) ? mark : redactUrls(value)}`),
        ...(body === undefined ? [] : ["", new TextDecoder().decode(body)])
      ].join("\n")),
  needs: { level: "sandboxed", by: "outbound" }
}

export const handlers = { http_fetch: tool }
