// The differences between what was locked and what is there now: all of them, in the order of the chain.
import { Order, Schema } from "effect"
import type { InstalledPackage } from "../dependency/InstalledPackage.ts"
import { type InterpreterFile, isSameProgram } from "../env/ResolvedInterpreter.ts"
import type { Frozen, LockedDependencies, LockedLink, LockedRuntime } from "./Lockfile.ts"
import { type Quote, quoteKnown } from "./lockQuote.ts"

/**
 * One difference. `locked` and `now` are short texts; hashes are cut to 12 digits. A text of a lock that may not be quoted
 * is replaced by "another path", "another version".
 */
export const LockFinding = Schema.Struct({
  /** Index of the link, leaf first; undefined if the difference is not of a single link. */
  link: Schema.UndefinedOr(Schema.Int),
  field: Schema.Literals([
    "chain-length",
    "tool_id",
    "version",
    "integrity",
    "executor",
    "tier",
    "path",
    "category",
    "interpreter",
    "commands",
    "variables",
    "dependencies"
  ]),
  tool: Schema.String,
  locked: Schema.String,
  now: Schema.String
})
export type LockFinding = typeof LockFinding.Type

const short = (hash: string): string => hash.slice(0, 12)

const linkFields = ["tool_id", "version", "integrity", "executor", "tier", "path"] as const

const showField = (link: LockedLink, field: (typeof linkFields)[number], quote: Quote): string => {
  const text = link[field]
  if (text === null) return "none"
  return field === "integrity" ? short(text) : field === "tier" ? text : quote(text, field)
}

const compareLink = (
  locked: LockedLink,
  now: LockedLink,
  link: number,
  quote: Quote
): ReadonlyArray<LockFinding> =>
  linkFields.filter((field) => locked[field] !== now[field]).map((field) => ({
    link,
    field,
    tool: quote(now.tool_id, "tool"),
    locked: showField(locked, field, quote),
    now: showField(now, field, quote)
  }))

const compareRuntime = (
  locked: LockedRuntime,
  now: LockedRuntime,
  tool: string,
  quote: Quote
): ReadonlyArray<LockFinding> => {
  const findings: Array<LockFinding> = []
  const add = (field: LockFinding["field"], before: string, after: string) =>
    findings.push({ link: undefined, field, tool, locked: before, now: after })
  const [a, b] = [locked.interpreter, now.interpreter]
  if (a !== null && b !== null) {
    const isOther = a.variable !== b.variable || a.kind !== b.kind ||
      (a.version !== null && b.version !== null && a.version !== b.version) || isOtherProgram(a.program, b.program)
    if (isOther) add("interpreter", showInterpreter(a, quote), showInterpreter(b, quote))
  }
  for (const field of ["commands", "variables"] as const) {
    const isSame = locked[field].length === now[field].length &&
      locked[field].every((name, i) => name === now[field][i])
    if (!isSame) add(field, showNames(locked[field], quote), showNames(now[field], quote))
  }
  return findings
}

const isOtherProgram = (a: InterpreterFile | undefined, b: InterpreterFile | undefined): boolean =>
  a !== undefined && b !== undefined && !isSameProgram(a, b)

const showProgram = (program: InterpreterFile | undefined, quote: Quote): string =>
  typeof program === "object" ? ` (${quote(program.path, "file")} ${short(program.sha256)})` : ""

const showInterpreter = (
  { kind, program, variable, version }: NonNullable<LockedRuntime["interpreter"]>,
  quote: Quote
): string =>
  `${quote(variable, "variable")} from ${kind}${version === null ? "" : ` ${quote(version, "version")}`}${
    showProgram(program, quote)
  }`

/** The most differences, names or versions that a message lists. */
const most = 8

const firstOf = (names: ReadonlyArray<string>): string =>
  names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "")

/** The names that may be quoted, and the number of the others. */
const showNames = (names: ReadonlyArray<string>, quote: Quote): string => {
  const quoted = names.filter((name) => quote(name, "name") === name)
  const others = names.length - quoted.length
  const shown = others === 0 ? quoted : [...quoted.slice(0, most - 1), `${others} other${others === 1 ? "" : "s"}`]
  return shown.length === 0 ? "none" : firstOf(shown)
}

type Packages = ReadonlyArray<InstalledPackage>

const byVersion = Order.combineAll<InstalledPackage>([
  Order.mapInput(Order.String, ({ version }) => version),
  Order.mapInput(Order.String, ({ hash }) => hash ?? "")
])

/** There may be several versions of a package, nested in each other. */
const byName = ({ ecosystem, packages }: LockedDependencies): ReadonlyMap<string, Packages> => {
  return Map.groupBy(packages.toSorted(byVersion), ({ name }) => `${ecosystem} ${name}`)
}

const isSameHash = (a: string | null, b: string | null): boolean => a === null || b === null || a === b

const showPackages = (packages: Packages, withHash: boolean, quote: Quote): string => {
  if (packages.length === 0) return "none"
  const { name } = packages[0]!
  const versions = packages.map(({ hash, version }) =>
    `${quote(version, "version")}${withHash && hash !== null ? ` (${quote(hash.slice(0, 20), "hash")})` : ""}`
  )
  return `${quote(name, "package")} ${firstOf(versions)}`
}

/** Packages that are gone: by name if it may be quoted, else only their number. */
const goneFrom = (
  gone: ReadonlyArray<Packages>,
  tool: string,
  quote: Quote
): ReadonlyArray<LockFinding> => {
  const quoted = gone.filter(([one]) => one !== undefined && quote(one.name, "package") === one.name)
  const others = gone.length - quoted.length
  return [
    ...quoted.map((packages) => showPackages(packages, false, quote)),
    ...(others === 0 ? [] : [`${others} ${others === 1 ? "package" : "packages"} not named here`])
  ].map((locked) => ({ link: undefined, field: "dependencies", tool, locked, now: "none" }))
}

const compareDependencies = (
  locked: LockedDependencies | null,
  now: LockedDependencies | null,
  tool: string,
  quote: Quote
): ReadonlyArray<LockFinding> => {
  if (locked === null || now === null) return []
  const [before, after] = [byName(locked), byName(now)]
  const gone = [...before].filter(([key]) => !after.has(key)).toSorted(([a], [b]) => Order.String(a, b))
  const others = [...after.keys()].toSorted().flatMap((key): ReadonlyArray<LockFinding> => {
    const [a, b] = [before.get(key) ?? [], after.get(key) ?? []]
    const sameVersions = a.length === b.length && a.every(({ version }, i) => version === b[i]!.version)
    return sameVersions && a.every(({ hash }, i) => isSameHash(hash, b[i]!.hash)) ? [] : [{
      link: undefined,
      field: "dependencies",
      tool,
      locked: showPackages(a, sameVersions, quote),
      now: showPackages(b, sameVersions, quote)
    }]
  })
  return [...goneFrom(gone.map(([, packages]) => packages), tool, quote), ...others]
}

/** Empty when the chain, its runtime and its packages are as they were locked. */
export const compareLock = (locked: Frozen, now: Frozen, quote = quoteKnown(now)): ReadonlyArray<LockFinding> => {
  const tool = quote(now.root.tool_id, "tool")
  const [a, b] = [locked.resolved_chain, now.resolved_chain]
  if (a.length !== b.length) {
    return [{ link: undefined, field: "chain-length", tool, locked: `${a.length} links`, now: `${b.length} links` }]
  }
  return [
    ...(locked.root.category === now.root.category
      ? []
      : [{
        link: 0,
        field: "category" as const,
        tool,
        locked: quote(locked.root.category, "category"),
        now: quote(now.root.category, "category")
      }]),
    ...b.flatMap((link, index) => compareLink(a[index]!, link, index, quote)),
    ...compareRuntime(locked.runtime, now.runtime, tool, quote),
    ...compareDependencies(locked.dependencies, now.dependencies, tool, quote)
  ]
}

/**
 * What a lock says and a new one would no longer say, since it could not be found out here. A call is not compared with
 * what is unknown, but a lock that replaces another would forget it for everybody.
 */
export const lockLosses = (locked: Frozen, now: Frozen, quote = quoteKnown(now)): ReadonlyArray<LockFinding> => {
  const tool = quote(now.root.tool_id, "tool")
  const losses: Array<LockFinding> = []
  const [was, is] = [locked.runtime.interpreter, now.runtime.interpreter]
  const isLess = was !== null && (is === null || (was.version !== null && is.version === null) ||
    (was.program !== undefined && is.program === undefined))
  if (isLess) {
    losses.push({
      link: undefined,
      field: "interpreter",
      tool,
      locked: showInterpreter(was, quote),
      now: is === null ? "none" : showInterpreter(is, quote)
    })
  }
  if (locked.dependencies !== null && now.dependencies === null) {
    losses.push(...goneFrom([...byName(locked.dependencies).values()], tool, quote))
  }
  return losses
}

/** The differences if a lock of `now` replaced this one. */
export const compareReplaced = (locked: Frozen, now: Frozen, quote?: Quote): ReadonlyArray<LockFinding> => [
  ...compareLock(locked, now, quote),
  ...lockLosses(locked, now, quote)
]

/** In one text, of which only the first are listed. */
export const showFindings = (findings: ReadonlyArray<LockFinding>): string => {
  const shown = findings.slice(0, most).map(showFinding).join("; ")
  return findings.length > most ? `${shown}; and ${findings.length - most} more differences` : shown
}

/** One line: "python_runtime: version 2.0.0 was locked, 2.1.0 is there". */
export const showFinding = ({ field, locked, now, tool }: LockFinding): string => {
  if (field !== "dependencies") {
    return `${tool}: ${locked === `another ${field}` ? "" : `${field} `}${locked} was locked, ${now} is there`
  }
  if (now === "none") return `${tool}: locked and not installed: ${locked}`
  if (locked === "none") return `${tool}: the package ${now} is installed and was not locked`
  return `${tool}: the package ${locked} was locked, ${now} is installed`
}
