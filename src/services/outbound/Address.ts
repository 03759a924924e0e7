// Classifies IP addresses. Only `public` ones may be connected to without a grant, and an unknown range is not public.
// An address that embeds an IPv4 address (mapped, NAT64, 6to4) is classified by that one.

export type AddressKind =
  | "public"
  | "loopback"
  | "private"
  | "link-local"
  | "metadata"
  | "multicast"
  | "reserved"
  | "invalid"

type Range = readonly [network: string, bits: number, kind: AddressKind]

/**
 * The first match counts: metadata services, which hand out a machine's credentials, precede the ranges that contain
 * them.
 */
const ranges4: ReadonlyArray<Range> = [
  ["100.100.100.200", 32, "metadata"],
  ["168.63.129.16", 32, "metadata"],
  ["192.0.0.192", 32, "metadata"],
  ["0.0.0.0", 8, "reserved"],
  ["10.0.0.0", 8, "private"],
  ["100.64.0.0", 10, "private"],
  ["127.0.0.0", 8, "loopback"],
  ["169.254.0.0", 16, "link-local"],
  ["172.16.0.0", 12, "private"],
  ["192.0.0.0", 24, "reserved"],
  ["192.0.2.0", 24, "reserved"],
  ["192.88.99.0", 24, "reserved"],
  ["192.168.0.0", 16, "private"],
  ["198.18.0.0", 15, "reserved"],
  ["198.51.100.0", 24, "reserved"],
  ["203.0.113.0", 24, "reserved"],
  ["224.0.0.0", 4, "multicast"],
  ["240.0.0.0", 4, "reserved"]
]

/** Ranges in 2000::/3, the only global unicast range, that are not public. */
const ranges6: ReadonlyArray<Range> = [
  ["fd00:ec2::", 32, "metadata"],
  ["fd20:ce::254", 128, "metadata"],
  ["::1", 128, "loopback"],
  ["::", 128, "reserved"],
  ["fc00::", 7, "private"],
  ["fe80::", 10, "link-local"],
  ["fec0::", 10, "private"],
  ["ff00::", 8, "multicast"],
  ["2001::", 23, "reserved"],
  ["2001:db8::", 32, "reserved"],
  ["3fff::", 20, "reserved"]
]

/** Prefixes that embed an IPv4 address, and the group at which it begins. */
const carriers: ReadonlyArray<readonly [network: string, bits: number, group: number]> = [
  ["::ffff:0:0", 96, 6],
  ["::ffff:0:0:0", 96, 6],
  ["64:ff9b::", 96, 6],
  ["2002::", 16, 1]
]

const parse4 = (text: string): ReadonlyArray<number> | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4 || !parts.every((p) => /^(?:0|[1-9][0-9]{0,2})$/.test(p))) return undefined
  const bytes = parts.map(Number)
  if (bytes.some((b) => b > 255)) return undefined
  return [bytes[0]! * 256 + bytes[1]!, bytes[2]! * 256 + bytes[3]!]
}

const parseGroups = (text: string): ReadonlyArray<number> | undefined => {
  if (text === "") return []
  const groups: Array<number> = []
  const parts = text.split(":")
  for (const [index, part] of parts.entries()) {
    if (index === parts.length - 1 && part.includes(".")) {
      const tail = parse4(part)
      if (tail === undefined) return undefined
      groups.push(...tail)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return undefined
  }
  return groups
}

const parse6 = (text: string): ReadonlyArray<number> | undefined => {
  const halves = text.split("::")
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0] ?? "")
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 8 ? head : undefined
  const tail = parseGroups(halves[1] ?? "")
  if (tail === undefined || head.length + tail.length > 7) return undefined
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}

const within = (groups: ReadonlyArray<number>, network: ReadonlyArray<number>, bits: number): boolean => {
  for (let i = 0; i * 16 < bits; i++) {
    const shift = Math.max(0, 16 - (bits - i * 16))
    if ((groups[i] ?? 0) >> shift !== (network[i] ?? 0) >> shift) return false
  }
  return true
}

const table4 = ranges4.map(([network, bits, kind]) => ({ network: parse4(network) ?? [], bits, kind }))
const table6 = ranges6.map(([network, bits, kind]) => ({ network: parse6(network) ?? [], bits, kind }))
const tableCarriers = carriers.map(([network, bits, group]) => ({ network: parse6(network) ?? [], bits, group }))

const kind4 = (groups: ReadonlyArray<number>): AddressKind =>
  table4.find((r) => within(groups, r.network, r.bits))?.kind ?? "public"

export const addressKind = (address: string): AddressKind => {
  const v4 = parse4(address)
  if (v4 !== undefined) return kind4(v4)
  const zone = address.indexOf("%")
  const v6 = parse6(zone === -1 ? address : address.slice(0, zone))
  if (v6 === undefined) return "invalid"
  const carrier = tableCarriers.find((c) => within(v6, c.network, c.bits))
  if (carrier !== undefined) return kind4(v6.slice(carrier.group, carrier.group + 2))
  const special = table6.find((r) => within(v6, r.network, r.bits))
  if (special !== undefined) return special.kind
  return (v6[0] ?? 0) >> 13 === 1 ? "public" : "reserved"
}

const bitsOf = (text: string, most: number): number | undefined =>
  /^(?:0|[1-9][0-9]{0,2})$/.test(text) && Number(text) <= most ? Number(text) : undefined

/** Whether an address is in a network such as `10.0.0.0/8` or `fd00::/8`. False if either is invalid. */
export const isInNetwork = (address: string, network: string): boolean => {
  const [base = "", length = "", more] = network.split("/")
  if (more !== undefined) return false
  const [groups4, base4, bits4] = [parse4(address), parse4(base), bitsOf(length, 32)]
  if (groups4 !== undefined && base4 !== undefined && bits4 !== undefined) return within(groups4, base4, bits4)
  const [groups6, base6, bits6] = [parse6(address), parse6(base), bitsOf(length, 128)]
  return groups6 !== undefined && base6 !== undefined && bits6 !== undefined && within(groups6, base6, bits6)
}
