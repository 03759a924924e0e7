// Servers, in rules and in grants: `api.github.com`, `*.github.com` (everything below it, at any depth, but not itself),
// `*`, each with a port or for every port: `localhost:8080`, `[::1]:*`.
import { Result } from "effect"

export interface HostPattern {
  readonly text: string
  /** In lower case, without brackets. With a leading dot: everything below it. "" for every host. */
  readonly host: string
  /** Undefined if none is written: what that means depends on who asks. */
  readonly port: number | "any" | undefined
}

const form = /^(\[[0-9a-f:.]+\]|[^\s:/@[\]?#]+)(?::(\d{1,5}|\*))?$/
const name = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const maxLength = 256

/** The host as URLs show it. Undefined if no URL can have it. */
const canonical = (host: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => new URL(`http://${host}/`).hostname))

/** Fails with what is wrong, as a sentence without a subject: "must have a port from 1 to 65535". */
export const parse = (written: string): Result.Result<HostPattern, string> => {
  if (written.length > maxLength) return Result.fail(`is longer than ${maxLength} characters`)
  const [, given, digits] = form.exec(written.toLowerCase()) ?? []
  if (given === undefined) {
    return Result.fail(
      "is not a host: write api.github.com, *.github.com, localhost:8080 or [::1]:80, without a scheme or a path"
    )
  }
  const port = digits === undefined ? undefined : digits === "*" ? "any" as const : Number(digits)
  if (typeof port === "number" && (port < 1 || port > 65_535)) return Result.fail("must have a port from 1 to 65535")
  const shownPort = digits === undefined ? "" : `:${port === "any" ? "*" : port}`
  if (given === "*") return Result.succeed({ text: `*${shownPort}`, host: "", port })
  const below = given.startsWith("*.")
  const exact = (below ? given.slice(2) : given).replace(/\.$/, "")
  const isAddress = /^[\d.]+$|^\[/.test(exact)
  if ((!exact.startsWith("[") && !name.test(exact)) || (below && isAddress)) {
    return Result.fail("must be a host name of ASCII letters, digits and hyphens; the only wildcard is a first *.")
  }
  const shown = canonical(exact)
  if (shown === undefined) return Result.fail("is not a host")
  if (shown !== exact) return Result.fail(`is written as ${shown} in URLs: write that`)
  return Result.succeed({
    text: `${below ? "*." : ""}${exact}${shownPort}`,
    host: `${below ? "." : ""}${exact.replace(/^\[|\]$/g, "")}`,
    port
  })
}

/** Also for one host as `child`. */
const isHostWithin = (child: string, parent: string): boolean =>
  parent === "" || child === parent || (parent.startsWith(".") && child.endsWith(parent))

const isWebPort = (port: number): boolean => port === 80 || port === 443

/** `webOnly`: a pattern without a port is about 80 and 443. Default: it is about every port. */
export const matches = (pattern: HostPattern, host: string, port: number, webOnly = false): boolean =>
  isHostWithin(host.toLowerCase().replace(/\.$/, ""), pattern.host) &&
  (typeof pattern.port === "number" ? pattern.port === port : pattern.port === "any" || !webOnly || isWebPort(port))

/** Whether it is proved that what all of `patterns` match, `parent` matches too. No port means every port. */
export const isWithin = (patterns: ReadonlyArray<HostPattern>, parent: HostPattern): boolean =>
  patterns.some(({ host }) => isHostWithin(host, parent.host)) &&
  (typeof parent.port !== "number" || patterns.some(({ port }) => port === parent.port))

/** Two names have a host in common only if one contains the other. */
const areApart = (a: HostPattern, b: HostPattern): boolean =>
  (typeof a.port === "number" && typeof b.port === "number" && a.port !== b.port) ||
  (!isHostWithin(a.host, b.host) && !isHostWithin(b.host, a.host))

export const isEmpty = (patterns: ReadonlyArray<HostPattern>): boolean =>
  patterns.some((a, i) => patterns.slice(i + 1).some((b) => areApart(a, b)))

/** A server as a pattern that matches it alone. */
export const asPattern = (host: string, port: number): string => {
  const named = host.includes(":") ? `[${host}]` : host
  return port === 443 ? named : `${named}:${port}`
}
