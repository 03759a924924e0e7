// Outbound over node:http. Every hop is checked: scheme, userinfo, port, and the current addresses of its name; the
// connection is then made to exactly those. Connections to public addresses are reused. One to a private address is
// used once, so that no other tool can reuse it.
import { Effect, Exit, Layer, Option, Result, Scope } from "effect"
import * as Dns from "node:dns"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import * as Os from "node:os"
import * as Tls from "node:tls"
import { addressKind } from "../../services/outbound/Address.ts"
import {
  Outbound,
  type OutboundError,
  OutboundFailed,
  OutboundRefused,
  type OutboundRequest,
  type OutboundResponse
} from "../../services/outbound/Outbound.ts"
import { readText } from "../files/readRegular.ts"
import { errorCode } from "../process/errorCode.ts"
import { variable } from "../process/variable.ts"
import { exchange, type PinnedAddress } from "./exchange.ts"
import { noProxy, portOf, proxyAddress, proxyFor, proxyFromEnvironment, type ProxySettings } from "./proxyChoice.ts"

export interface OutboundOptions {
  /** Resolves a name. Default: the operating system's resolver. */
  readonly resolve?: (host: string) => Effect.Effect<ReadonlyArray<PinnedAddress>, { readonly code: string }>
  readonly proxy?: ProxySettings
  /** PEM certificates of authorities to trust in addition to Node's own. */
  readonly ca?: string
}

const maxRedirects = 10

const systemResolve: NonNullable<OutboundOptions["resolve"]> = (host) =>
  Effect.callback((resume) => {
    Dns.lookup(host, { all: true }, (error, found) =>
      resume(
        error === null
          ? Effect.succeed(found.map(({ address, family }) => ({ address, family: family === 6 ? 6 : 4 })))
          : Effect.fail({ code: errorCode(error) })
      ))
  })

const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "")
const hostPort = (url: URL): string => `${url.hostname}:${portOf(url)}`

const parseUrl = (text: string, base: URL | undefined): Result.Result<URL, OutboundRefused> => {
  const target = base?.origin ?? "that address"
  const refuse = (issue: string, hint: string) => Result.fail(new OutboundRefused({ target, issue, hint }))
  const url = URL.parse(text, base?.href)
  if (url === null) return refuse("it is not a URL", "Write a whole URL: https://host/path")
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return refuse(`its scheme is ${url.protocol}`, "Only http and https are supported")
  }
  if (url.username !== "" || url.password !== "") {
    return refuse("it contains a user name or password", "Give credentials in auth: {type: basic, …}")
  }
  return Result.succeed(url)
}

const explain: Readonly<Record<string, string>> = {
  loopback: "is this machine",
  private: "is in a private network",
  "link-local": "is link-local, where clouds keep their credentials",
  metadata: "is where clouds keep their credentials",
  multicast: "is a multicast address",
  reserved: "is not a public address",
  invalid: "is not an address"
}

/** Headers that may go to another origin: none that could contain a credential. */
const harmless = new Set(["accept", "accept-language", "accept-encoding", "user-agent"])

const withHeaders = (
  headers: OutboundRequest["headers"],
  keep: (name: string) => boolean
): OutboundRequest["headers"] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => keep(name.toLowerCase())))

export const make = Effect.fnUntraced(function*(options: OutboundOptions) {
  const resolve = options.resolve ?? systemResolve
  const proxies = options.proxy ?? noProxy
  const ca = options.ca === undefined ? {} : { ca: [...Tls.getCACertificates("default"), options.ca] }
  const reserved = new Map<number, number>()

  const pool = { keepAlive: true, maxSockets: 20, maxFreeSockets: 10 }
  const agents = yield* Effect.acquireRelease(
    Effect.sync(() => ({
      "http:": new Http.Agent(pool),
      "https:": new Https.Agent({ ...pool, ...ca }),
      proxied: new Map<string, Http.Agent>()
    })),
    (all) =>
      Effect.sync(() => {
        for (const agent of [all["http:"], all["https:"], ...all.proxied.values()]) agent.destroy()
      })
  )

  const proxyAgent = (url: URL, proxy: string): Http.Agent => {
    const key = `${url.protocol} ${proxy}`
    const known = agents.proxied.get(key)
    if (known !== undefined) return known
    const proxyEnv = { HTTP_PROXY: proxy, HTTPS_PROXY: proxy }
    const agent = url.protocol === "https:"
      ? new Https.Agent({ ...pool, ...ca, proxyEnv })
      : new Http.Agent({ ...pool, proxyEnv })
    agents.proxied.set(key, agent)
    return agent
  }

  const oneUse = (url: URL): Http.Agent =>
    url.protocol === "https:" ? new Https.Agent({ keepAlive: false, ...ca }) : new Http.Agent({ keepAlive: false })

  const isOwn = (address: string): boolean =>
    addressKind(address) === "loopback" || address === "0.0.0.0" || address === "::" ||
    Object.values(Os.networkInterfaces()).some((list) => list?.some((i) => i.address === address) === true)

  const resolveName = (url: URL): Effect.Effect<ReadonlyArray<PinnedAddress>, OutboundFailed> => {
    const host = hostOf(url)
    const family = Net.isIP(host)
    if (family !== 0) return Effect.succeed([{ address: host, family: family === 6 ? 6 : 4 }])
    return Effect.mapError(resolve(host.replace(/\.$/, "")), ({ code }) =>
      new OutboundFailed({
        target: url.origin,
        issue: code === "ENOTFOUND" ? "there is no such host" : "its name could not be resolved",
        transient: code === "EAI_AGAIN",
        sent: false
      }))
  }

  /** The addresses that a connection may use, or why there are none. */
  const judge = (
    url: URL,
    addresses: ReadonlyArray<PinnedAddress>,
    granted: boolean
  ): Result.Result<ReadonlyArray<PinnedAddress>, OutboundRefused> => {
    const literal = Net.isIP(hostOf(url)) !== 0
    const refuse = (issue: string, hint: string) =>
      Result.fail(new OutboundRefused({ target: url.origin, issue, hint }))
    if (reserved.has(portOf(url)) && addresses.some(({ address }) => isOwn(address))) {
      return refuse("Kiwi itself serves that port", "Call Kiwi's tools through your MCP client")
    }
    // A grant of a name allows private addresses but no link-local ones: those must be granted by address.
    const may = addresses.filter(({ address }) => {
      const kind = addressKind(address)
      return kind === "public" || (granted && (literal || kind === "loopback" || kind === "private"))
    })
    if (may.length > 0) return Result.succeed(may)
    const bad = addresses[0]
    return refuse(
      bad === undefined ? "its name has no address" : `${bad.address} ${explain[addressKind(bad.address)]}`,
      `If the tool is meant to go there, add private_hosts: ["${hostPort(url)}"] to its config and sign it again`
    )
  }

  const route = Effect.fnUntraced(function*(url: URL, granted: boolean) {
    const proxy = granted ? undefined : proxyFor(url, proxies)
    if (proxy === undefined) {
      const addresses = yield* Effect.fromResult(judge(url, yield* resolveName(url), granted))
      const isPublic = addresses.every(({ address }) => addressKind(address) === "public")
      const kept = url.protocol === "https:" ? agents["https:"] : agents["http:"]
      return { addresses, agent: isPublic ? kept : oneUse(url) }
    }
    // The proxy resolves the name and connects. Addresses that are known here are checked too; a name that only the
    // proxy can resolve is left to the proxy.
    const known = yield* Effect.option(resolveName(url))
    if (Option.isSome(known)) yield* Effect.fromResult(judge(url, known.value, false))
    const address = proxyAddress(proxy)
    const agent = address === undefined
      ? Option.none()
      : yield* Effect.option(Effect.try(() => proxyAgent(url, address)))
    if (Option.isNone(agent)) {
      return yield* new OutboundRefused({
        target: url.origin,
        issue: "the proxy that the environment names for it is not an http or https proxy",
        hint: `Correct ${
          url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY"
        } (or ALL_PROXY), or name the host in NO_PROXY`
      })
    }
    return { addresses: undefined, agent: agent.value }
  })

  const send = Effect.fn("Outbound.send")(
    function*(request: OutboundRequest): Effect.fn.Return<OutboundResponse, OutboundError, Scope.Scope> {
      let url = yield* Effect.fromResult(parseUrl(request.url, undefined))
      let granted = request.privateHosts.includes(hostPort(url))
      let method = request.method
      let body = request.body
      let headers: Readonly<Record<string, string>> = {
        "accept-encoding": "gzip, br",
        "user-agent": "kiwi-mcp",
        ...request.headers
      }
      const outer = yield* Effect.scope
      for (let redirects = 0;; redirects++) {
        const { addresses, agent } = yield* route(url, granted)
        const scope = yield* Scope.fork(outer)
        const answer = yield* exchange({
          url,
          method,
          headers: body === undefined ? headers : { ...headers, "content-length": String(body.length) },
          body,
          addresses,
          agent,
          maxBytes: request.maxBytes
        }).pipe(Scope.provide(scope))
        const location = answer.headers.get("location")
        if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) {
          return { ...answer, origin: url.origin }
        }
        yield* Scope.close(scope, Exit.void)
        const refused = (issue: string) =>
          new OutboundRefused({
            target: url.origin,
            issue,
            hint: "Let the tool name the final address itself"
          })
        if (redirects === maxRedirects) return yield* refused(`it redirects more than ${maxRedirects} times`)
        const next = yield* Effect.fromResult(parseUrl(location, url))
        if (answer.status === 303 ? method !== "HEAD" : answer.status < 303 && method === "POST") {
          method = "GET"
          body = undefined
          headers = withHeaders(headers, (name) => !name.startsWith("content-"))
        }
        const { mayRedirect } = request
        if (mayRedirect !== undefined && hostPort(next) !== hostPort(url)) {
          const host = hostOf(next).toLowerCase()
          const standing = yield* mayRedirect(host, portOf(next))
          if (standing !== "allowed") {
            return yield* new OutboundRefused({
              target: url.origin,
              ...(standing === "denied"
                ? {
                  issue: `it redirects to ${next.origin}, which a rule denies`,
                  hint: "Do not try another way; a person may change the rule: kiwi permissions list"
                }
                : {
                  issue: `it redirects to ${next.origin}, which this call may not reach without being asked for`,
                  hint: `If it is meant, call ${next.origin} itself`
                })
            })
          }
        }
        if (next.origin !== url.origin) {
          if (body !== undefined) return yield* refused(`it redirects the request's body to ${next.origin}`)
          headers = withHeaders(headers, (name) => harmless.has(name))
        }
        // A grant is for the tool, not for a server that redirects it: only a granted host may redirect to a granted
        // one.
        granted = granted && request.privateHosts.includes(hostPort(next))
        url = next
      }
    }
  )

  const reserve = (port: number) =>
    Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() => reserved.set(port, (reserved.get(port) ?? 0) + 1)),
      () =>
        Effect.sync(() => {
          const left = (reserved.get(port) ?? 1) - 1
          if (left === 0) reserved.delete(port)
          else reserved.set(port, left)
        })
    ))

  return Outbound.of({ send, reserve })
})

const maxCertificates = 16 * 1_048_576

/** Proxy and certificates from the environment, read once. Node reads NODE_EXTRA_CA_CERTS by itself. */
export const layer = Layer.effect(
  Outbound,
  Effect.gen(function*() {
    const proxy = yield* proxyFromEnvironment
    const file = yield* variable("SSL_CERT_FILE")
    const ca = Option.isNone(file)
      ? undefined
      : yield* Effect.sync(() => readText(file.value, { maxBytes: maxCertificates, follow: true }))
    if (Option.isSome(file) && ca === undefined) {
      yield* Effect.logWarning("SSL_CERT_FILE names a file that cannot be read; its certificates are not used")
    }
    return yield* make({ proxy, ...(ca === undefined ? {} : { ca }) })
  })
)
