// Which Host headers the server accepts. A web page can point a name of its own at this machine (DNS rebinding), so
// only the server's own names, and names that a person allowed, are accepted.
import { isIP } from "node:net"

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)

/** Every address of the machine, including loopback. */
export const isEveryAddress = (host: string): boolean => host === "0.0.0.0" || host === "::"

export const bracketed = (name: string): string => isIP(name) === 6 ? `[${name}]` : name

/** What a person may allow: `name`, `name:port`, an IPv4 address, `::1` or `[::1]:port`, as a Host header has it; `undefined` for anything else. */
export const parseAllowedHost = (given: string): string | undefined => {
  const host = bracketed(given.toLowerCase())
  const [, name, address, port] =
    /^(?:([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)|\[([0-9a-f:.]+)\])(?::([1-9]\d{0,4}))?$/.exec(host) ?? []
  const isHost = host.length <= 260 && (name !== undefined || (address !== undefined && isIP(address) === 6))
  return isHost && Number(port ?? 1) <= 65_535 ? host : undefined
}

const hasPort = (host: string): boolean => /:\d+$/.test(host)

/** `host`, and its name alone if the port is one that clients leave out. */
const asSent = (host: string, port: 80 | 443): ReadonlyArray<string> =>
  host.endsWith(`:${port}`) ? [host.slice(0, -`:${port}`.length), host] : [host]

interface Named {
  /** In the form of a Host header. */
  readonly hosts: ReadonlySet<string>
  /** In the form of an Origin header. */
  readonly origins: ReadonlySet<string>
}

/**
 * The hosts and origins that this server accepts at its own port. A name that a person allows without a port is also
 * accepted without one, since a proxy at a standard port sends it so. Kiwi has no TLS, but a proxy in front of it may,
 * so https origins of allowed names are accepted.
 */
export const namesOf = (host: string, port: number, allowed: ReadonlyArray<string>): Named => {
  const names = isLoopback(host) || isEveryAddress(host) ? [host, "127.0.0.1", "localhost", "::1"] : [host]
  const atPort = (name: string) => asSent(`${name}:${port}`, 80)
  const own = names.map(bracketed).flatMap(atPort)
  const plain = allowed.flatMap((name) => hasPort(name) ? asSent(name, 80) : [name, ...atPort(name)])
  const secure = allowed.flatMap((name) => asSent(name, 443))
  return {
    hosts: new Set([...own, ...plain, ...secure]),
    origins: new Set([
      ...[...own, ...plain].map((one) => `http://${one}`),
      ...secure.map((one) => `https://${one}`)
    ])
  }
}

/**
 * Whether the server accepts this Host. A name that a person allows without a port is accepted at every port: a
 * container or a proxy may listen at a port that the server does not know, and another web page cannot have the name.
 */
export const answersTo = (hosts: ReadonlySet<string>, allowed: ReadonlyArray<string>) => (header: string): boolean => {
  const host = parseAllowedHost(header)
  return host === header.toLowerCase() && (hosts.has(host) || allowed.includes(host.replace(/:\d+$/, "")))
}
