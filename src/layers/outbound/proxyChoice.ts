// Chooses the proxy for a request: HTTP_PROXY, HTTPS_PROXY and NO_PROXY, with curl's rules. A person set them, so the
// proxy itself may have any address.
import { Effect, Option } from "effect"
import { addressKind, isInNetwork } from "../../services/outbound/Address.ts"
import { variable } from "../process/variable.ts"

export interface ProxySettings {
  readonly http: string | undefined
  readonly https: string | undefined
  /** Hosts that are reached directly: `host`, `.domain`, `host:port`, `10.0.0.0/8`, `[::1]:80`, `*`. */
  readonly except: ReadonlyArray<string>
}

export const noProxy: ProxySettings = { http: undefined, https: undefined, except: [] }

const either = (name: string) =>
  Effect.gen(function*() {
    const lower = yield* variable(name.toLowerCase())
    return Option.getOrUndefined(Option.isSome(lower) ? lower : yield* variable(name))
  })

export const proxyFromEnvironment: Effect.Effect<ProxySettings> = Effect.gen(function*() {
  const all = yield* either("ALL_PROXY")
  const except = yield* either("NO_PROXY")
  return {
    http: (yield* either("HTTP_PROXY")) ?? all,
    https: (yield* either("HTTPS_PROXY")) ?? all,
    except: (except ?? "").split(/[\s,]+/).filter((entry) => entry !== "").map((entry) => entry.toLowerCase())
  }
})

export const portOf = (url: URL): number => url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port)

export const proxyFor = (url: URL, settings: ProxySettings): string | undefined => {
  const proxy = url.protocol === "https:" ? settings.https : settings.http
  if (proxy === undefined) return undefined
  const host = url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "")
  const isAddress = addressKind(host) !== "invalid"
  const direct = settings.except.some((entry) => {
    if (entry === "*") return true
    if (isAddress && (isInNetwork(host, entry) || host === entry)) return true
    const [, bracketed, bare, port] = /^(?:\[([^\]]*)\]|([^:]*))(?::([0-9]+))?$/.exec(entry) ?? []
    const name = bracketed ?? bare
    if (name === undefined || (port !== undefined && Number(port) !== portOf(url))) return false
    const domain = name.replace(/^\*?\./, "").replace(/\.$/, "")
    return domain !== "" && (host === domain || (!isAddress && host.endsWith(`.${domain}`)))
  })
  return direct ? undefined : proxy
}

/** A proxy's address in the form that Node's agents accept, or nothing. Without a scheme it is http, as in curl. */
export const proxyAddress = (proxy: string): string | undefined => {
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`
  const url = URL.parse(text)
  return url === null || url.hostname === "" || !["http:", "https:"].includes(url.protocol) ? undefined : text
}
