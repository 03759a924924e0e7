// Patterns of servers: "api.github.com", "*.github.com" (not github.com itself), "localhost:8080", "[::1]:*".
import { Result } from "effect"

export interface HostPattern {
  /** As written. */
  readonly text: string
  /** In lower case. Without the `*.` of a wildcard. */
  readonly host: string
  /** `any`: every server. `below`: every name that ends with `.host`. */
  readonly match: "exact" | "below" | "any"
  /** Undefined: 80 and 443 for a rule that allows, every port for one that restricts. */
  readonly port: number | "any" | undefined
}

const name = /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
const address = /^[0-9a-f:.]{2,45}$/

/** Fails with the issue. */
export const parseHostPattern = (text: string): Result.Result<HostPattern, string> => {
  if (text.length > 256) return Result.fail("is longer than 256 characters")
  const lower = text.toLowerCase()
  if (/[/@\s?#]/.test(lower)) return Result.fail("must be a host such as api.github.com, without a scheme or a path")
  const parts = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d{1,5}|\*))?$/.exec(lower)
  if (parts === null) return Result.fail("must be a host, with a port after a colon; an IPv6 address needs brackets")
  const [, v6, plain = "", written] = parts
  const port = written === undefined ? undefined : written === "*" ? "any" as const : Number(written)
  if (typeof port === "number" && (port < 1 || port > 65_535)) return Result.fail("must have a port from 1 to 65535")
  if (v6 !== undefined) {
    return address.test(v6)
      ? Result.succeed({ text, host: v6, match: "exact", port })
      : Result.fail("must have an IPv6 address between its brackets")
  }
  if (plain === "*") return Result.succeed({ text, host: "", match: "any", port })
  const below = plain.startsWith("*.")
  const host = below ? plain.slice(2) : plain
  if (!name.test(host)) {
    return Result.fail("must be a host name of ASCII letters, digits and hyphens; the only wildcard is a first *.")
  }
  if (below && !host.includes(".")) return Result.fail("must have at least two names after *.")
  return Result.succeed({ text, host, match: below ? "below" : "exact", port })
}

const isDefaultPort = (port: number): boolean => port === 80 || port === 443

/** `strict`: for a rule that restricts. */
export const matchesHost = (pattern: HostPattern, given: string, port: number, strict: boolean): boolean => {
  const host = given.toLowerCase().replace(/\.$/, "")
  const portFits = pattern.port === "any" ||
    (pattern.port === undefined ? strict || isDefaultPort(port) : pattern.port === port)
  if (!portFits) return false
  switch (pattern.match) {
    case "any":
      return true
    case "exact":
      return host === pattern.host
    case "below":
      return host.endsWith(`.${pattern.host}`)
  }
}

/** A server as a pattern that matches it alone. */
export const hostAsPattern = (host: string, port: number): string => {
  const named = host.includes(":") ? `[${host}]` : host
  return port === 443 ? named : `${named}:${port}`
}
