// Under which hosts a request may name this server. A web page can lead any name of its own to this machine (DNS
// rebinding), so only names that are this server's, or that a person allowed, are answered.
import { isIP } from "node:net"

export const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host)

/** Every address of the machine, loopback among them. */
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

/** `host`, and its name alone where the port is one that clients leave out. */
const asSent = (host: string, port: 80 | 443): ReadonlyArray<string> =>
  host.endsWith(`:${port}`) ? [host.slice(0, -`:${port}`.length), host] : [host]

interface Named {
  /** As a Host header has them. */
  readonly hosts: ReadonlySet<string>
  /** As a browser sends them. */
  readonly origins: ReadonlySet<string>
}

/**
 * Under which names a request may reach this server at its own port. A name that a person allows without a port counts
 * alone too, as a proxy hands it on from a standard port. Kiwi speaks no TLS; a proxy before it may, under a name that a
 * person allowed.
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
 * Whether a request may name this server so. A name that a person allows without a port counts at every port: a container
 * or a proxy listens at one that the server does not know, and it is the name that another page cannot have.
 */
export const answersTo = (hosts: ReadonlySet<string>, allowed: ReadonlyArray<string>) => (header: string): boolean => {
  const host = parseAllowedHost(header)
  return host === header.toLowerCase() && (hosts.has(host) || allowed.includes(host.replace(/:\d+$/, "")))
}
