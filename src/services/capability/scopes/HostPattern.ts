// Servers: `api.github.com`, `*.github.com` (everything below it, at any depth, but not itself), `*`, each with a port
// or for every port: `localhost:8080`, `[::1]:8080`.
import { Result } from "effect"

export interface HostPattern {
  readonly text: string
  /** In lower case, without brackets. With a leading dot: everything below it. "" for every host. */
  readonly host: string
  readonly port: number | undefined
}

const form = /^(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?$/

/** The host as URLs show it. Undefined if no URL can have it. */
const canonical = (host: string): string | undefined =>
  Result.getOrUndefined(Result.try(() => new URL(`http://${host}/`).hostname))

/** Fails with what is wrong, as a sentence without a subject: "has a path". */
export const parse = (written: string): Result.Result<HostPattern, string> => {
  const [, name, digits] = form.exec(written.toLowerCase()) ?? []
  if (name === undefined) return Result.fail("is not a host: write api.example.com, *.example.com or localhost:8080")
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > 65_535)) return Result.fail("has a port that does not exist")
  const shownPort = port === undefined ? "" : `:${port}`
  if (name === "*") return Result.succeed({ text: `*${shownPort}`, host: "", port })
  const below = name.startsWith("*.")
  const exact = (below ? name.slice(2) : name).replace(/\.$/, "")
  const isAddress = /^[\d.]+$|^\[/.test(exact)
  if (exact.includes("*") || (below && isAddress)) {
    return Result.fail("has a * in the middle: it can only stand before the first dot of a name")
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

export const matches = (pattern: HostPattern, host: string, port: number): boolean =>
  isHostWithin(host.replace(/\.$/, ""), pattern.host) && (pattern.port === undefined || pattern.port === port)

export const isWithin = (patterns: ReadonlyArray<HostPattern>, parent: HostPattern): boolean =>
  patterns.some(({ host }) => isHostWithin(host, parent.host)) &&
  (parent.port === undefined || patterns.some(({ port }) => port === parent.port))

/** Two names have a host in common only if one contains the other. */
const areApart = (a: HostPattern, b: HostPattern): boolean =>
  (a.port !== undefined && b.port !== undefined && a.port !== b.port) ||
  (!isHostWithin(a.host, b.host) && !isHostWithin(b.host, a.host))

export const isEmpty = (patterns: ReadonlyArray<HostPattern>): boolean =>
  patterns.some((a, i) => patterns.slice(i + 1).some((b) => areApart(a, b)))
