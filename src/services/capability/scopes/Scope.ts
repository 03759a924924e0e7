// What the scope of a capability means: paths, commands, hosts or names. Every scope is a list of patterns, and an access
// is inside if all of them match it, so that the intersection of two scopes is exact.
import { Result } from "effect"
import { BoundedMap } from "../../cache/BoundedMap.ts"
import type { Access } from "../Access.ts"
import { asCommand } from "../command/asCommand.ts"
import * as CommandPattern from "../command/CommandPattern.ts"
import { withoutContained } from "../withoutContained.ts"
import * as HostPattern from "./HostPattern.ts"
import * as NamePattern from "./NamePattern.ts"
import * as PathPattern from "./PathPattern.ts"

export type ScopeKind = "path" | "command" | "host" | "name" | "place"

/** A kind of patterns. `matches` and `reaches` answer undefined if the access does not say enough. */
interface Kind<P> {
  readonly parse: (text: string) => Result.Result<P & { readonly text: string }, string>
  readonly matches: (pattern: P, access: Access) => boolean | undefined
  /** For a pattern that denies. */
  readonly reaches?: (pattern: P, access: Access) => boolean | undefined
  /** Whether it is proved that what all patterns match, the parent matches too. */
  readonly isWithin: (patterns: ReadonlyArray<P>, parent: P) => boolean
  /** Whether it is proved that no access matches all of them. */
  readonly isEmpty: (patterns: ReadonlyArray<P>) => boolean
}

const paths = {
  // A grant is of no person, so it has no home.
  parse: (text: string) =>
    text.startsWith("~")
      ? Result.fail("must be inside of the project, or begin with /")
      : PathPattern.parse(text),
  isWithin: PathPattern.isWithin,
  isEmpty: PathPattern.isEmpty
}

const kinds: {
  readonly path: Kind<PathPattern.PathPattern>
  readonly command: Kind<{ readonly pattern: CommandPattern.CommandPattern }>
  readonly host: Kind<HostPattern.HostPattern>
  readonly name: Kind<NamePattern.NamePattern>
  readonly place: Kind<PathPattern.PathPattern>
} = {
  path: {
    ...paths,
    matches: (pattern, access) =>
      access._tag === "Path" &&
      (access.below === true ? PathPattern.matchesBelow : PathPattern.matches)(pattern, access.path),
    reaches: (pattern, access) =>
      access._tag === "Path" &&
      (access.below === true ? PathPattern.reachesBelow : PathPattern.matches)(pattern, access.path)
  },
  command: {
    parse: (text) =>
      Result.map(
        CommandPattern.parsePattern(text),
        (pattern) => ({ pattern, text: CommandPattern.showPattern(pattern) })
      ),
    matches: ({ pattern }, access) => {
      const command = access._tag === "Command" ? asCommand(access) : undefined
      return command !== undefined && CommandPattern.matchesCommand(pattern, command) &&
        (access._tag !== "Command" || access.unread !== true || CommandPattern.isExact(pattern))
    },
    reaches: ({ pattern }, access) => {
      if (access._tag !== "Command") return false
      const command = asCommand(access)
      return command === undefined ? undefined : CommandPattern.reachesCommand(pattern, command)
    },
    isWithin: (patterns, { pattern: parent }) =>
      patterns.some(({ pattern }) => CommandPattern.patternWithin(pattern, parent)),
    isEmpty: (patterns) =>
      patterns.some(({ pattern }, i) =>
        patterns.slice(i + 1).some((other) => CommandPattern.intersectPatterns(pattern, other.pattern) === undefined)
      )
  },
  host: {
    ...HostPattern,
    matches: (pattern, access) => access._tag === "Host" && HostPattern.matches(pattern, access.host, access.port)
  },
  name: {
    ...NamePattern,
    matches: (pattern, access) => {
      const name = nameOf(access)
      return name === undefined ? undefined : NamePattern.matches(pattern, name)
    }
  },
  place: {
    ...paths,
    matches: (pattern, access) =>
      access._tag !== "Plain"
        ? false
        : access.about === undefined
        ? undefined
        : PathPattern.matches(pattern, access.about)
  }
}

/** The server and the tool of an upstream's tool. */
export const upstreamOf = (id: string): { readonly server: string; readonly tool: string } | undefined => {
  const at = id.indexOf("/")
  return at === -1 ? undefined : { server: id.slice(0, at), tool: id.slice(at + 1) }
}

const nameOf = (access: Access): string | undefined =>
  access._tag === "Secret"
    ? access.name
    : access._tag === "Tool"
    ? upstreamOf(access.id)?.tool ?? access.toolType
    : access._tag === "Plain"
    ? access.about
    : undefined

const byResource: Readonly<Record<string, ScopeKind>> = {
  fs: "path",
  process: "command",
  net: "host",
  secret: "name",
  env: "name",
  python: "name",
  tool: "name",
  mcp: "name"
}

/** What the scope of a capability is about. */
export const kindOf = (capability: string): ScopeKind => {
  const resource = capability.slice(0, capability.indexOf("."))
  return (Object.hasOwn(byResource, resource) ? byResource[resource] : undefined) ?? "place"
}

/** Patterns of a scope, as their texts. */
export type Scope = ReadonlyArray<string>

interface Parsed {
  readonly kind: Kind<unknown>
  readonly pattern: unknown
  readonly text: string
}

const parsed = new BoundedMap<string, Result.Result<Parsed, string>>(4_000)

const parsePattern = (kind: ScopeKind, text: string): Result.Result<Parsed, string> => {
  const key = `${kind}:${text}`
  const known = parsed.get(key)
  if (known !== undefined) return known
  // Patterns are only given to the functions of their own kind.
  const functions = kinds[kind] as Kind<unknown>
  const found = Result.map(functions.parse(text), (pattern) => ({ kind: functions, pattern, text: pattern.text }))
  parsed.set(key, found)
  return found
}

/** One pattern in its only spelling. Fails with what is wrong: "has `..`". */
export const parse = (kind: ScopeKind, text: string): Result.Result<string, string> =>
  Result.map(parsePattern(kind, text), (pattern) => pattern.text)

/** Undefined if a pattern is not valid: such a scope contains nothing, and is inside of nothing. */
const parseAll = (kind: ScopeKind, scope: Scope): ReadonlyArray<Parsed> | undefined => {
  const all: Array<Parsed> = []
  for (const text of scope) {
    const found = parsePattern(kind, text)
    if (Result.isFailure(found)) return undefined
    all.push(found.success)
  }
  return all
}

/** Whether all patterns match. */
export const contains = (kind: ScopeKind, scope: Scope, access: Access): boolean =>
  parseAll(kind, scope)?.every((one) => one.kind.matches(one.pattern, access) === true) ?? false

/** Whether a scope that denies reaches the access. True unless a pattern is known not to match. */
export const reaches = (kind: ScopeKind, scope: Scope, access: Access): boolean =>
  parseAll(kind, scope)?.every((one) => (one.kind.reaches ?? one.kind.matches)(one.pattern, access) !== false) ?? true

export const isWithin = (kind: ScopeKind, child: Scope, parent: Scope): boolean => {
  const [inner, outer] = [parseAll(kind, child), parseAll(kind, parent)]
  if (inner === undefined || outer === undefined) return false
  const patterns = inner.map((one) => one.pattern)
  return outer.every((one) => patterns.length > 0 && one.kind.isWithin(patterns, one.pattern))
}

/** Whether it is proved that nothing is inside of the scope. */
export const isEmpty = (kind: ScopeKind, scope: Scope): boolean => {
  const all = parseAll(kind, scope)
  const [first] = all ?? []
  return all === undefined || (first !== undefined && first.kind.isEmpty(all.map((one) => one.pattern)))
}

/** Whether it is proved that what `denied` reaches is outside of `scope`. */
export const isApart = (kind: ScopeKind, scope: Scope, denied: Scope): boolean => {
  // A denied command also reaches commands that start it.
  if (kind === "command") return false
  const [inner, outer] = [parseAll(kind, scope), parseAll(kind, denied)]
  return inner !== undefined && outer !== undefined && inner.length > 0 && isEmpty(kind, [...scope, ...denied])
}

/** Both scopes at once, without patterns that others imply. */
export const intersect = (kind: ScopeKind, a: Scope, b: Scope): Scope =>
  withoutContained([...new Set([...a, ...b])], (one, other) => isWithin(kind, [other], [one])).toSorted()
