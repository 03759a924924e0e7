// How what is there now differs from what was locked. Everything is collected; the order is the chain's.
import type { InstalledPackage } from "../dependency/InstalledPackage.ts"
import { type InterpreterFile, isSameProgram } from "../env/ResolvedInterpreter.ts"
import type { Frozen, LockedDependencies, LockedLink, LockedRuntime } from "./Lockfile.ts"

/** One difference. `locked` and `now` are short texts for people; hashes are cut to 12 digits. */
export interface LockFinding {
  /** Index of the link, leaf first; undefined for what concerns no single one. */
  readonly link: number | undefined
  readonly field:
    | "chain-length"
    | "tool_id"
    | "version"
    | "integrity"
    | "executor"
    | "tier"
    | "path"
    | "category"
    | "interpreter"
    | "commands"
    | "variables"
    | "dependencies"
  readonly tool: string
  readonly locked: string
  readonly now: string
}

const short = (hash: string): string => hash.slice(0, 12)

const linkFields = ["tool_id", "version", "integrity", "executor", "tier", "path"] as const

const compareLink = (locked: LockedLink, now: LockedLink, link: number): ReadonlyArray<LockFinding> =>
  linkFields.filter((field) => locked[field] !== now[field]).map((field) => ({
    link,
    field,
    tool: now.tool_id,
    locked: field === "integrity" ? short(locked.integrity) : String(locked[field] ?? "none"),
    now: field === "integrity" ? short(now.integrity) : String(now[field] ?? "none")
  }))

const compareRuntime = (locked: LockedRuntime, now: LockedRuntime, tool: string): ReadonlyArray<LockFinding> => {
  const findings: Array<LockFinding> = []
  const add = (field: LockFinding["field"], before: string, after: string) =>
    findings.push({ link: undefined, field, tool, locked: before, now: after })
  const [a, b] = [locked.interpreter, now.interpreter]
  if (a !== null && b !== null) {
    const isOther = a.variable !== b.variable || a.kind !== b.kind ||
      (a.version !== null && b.version !== null && a.version !== b.version) || isOtherProgram(a.program, b.program)
    if (isOther) add("interpreter", showInterpreter(a), showInterpreter(b))
  }
  for (const field of ["commands", "variables"] as const) {
    const isSame = locked[field].length === now[field].length &&
      locked[field].every((name, i) => name === now[field][i])
    if (!isSame) add(field, showNames(locked[field]), showNames(now[field]))
  }
  return findings
}

const isOtherProgram = (a: InterpreterFile | undefined, b: InterpreterFile | undefined): boolean =>
  a !== undefined && b !== undefined && !isSameProgram(a, b)

const showProgram = (program: InterpreterFile | undefined): string =>
  typeof program === "object" ? ` (${program.path} ${short(program.sha256)})` : ""

const showInterpreter = (i: NonNullable<LockedRuntime["interpreter"]>): string =>
  `${i.variable} from ${i.kind}${i.version === null ? "" : ` ${i.version}`}${showProgram(i.program)}`

/** More would be a text of its own. */
const most = 8

const firstOf = (names: ReadonlyArray<string>): string =>
  names.slice(0, most).join(", ") + (names.length > most ? ` and ${names.length - most} more` : "")

const showNames = (names: ReadonlyArray<string>): string => names.length === 0 ? "none" : firstOf(names)

type Packages = ReadonlyArray<InstalledPackage>

/** Under one name there may be several, nested in each other. */
const byName = ({ ecosystem, packages }: LockedDependencies): ReadonlyMap<string, Packages> => {
  const sorted = packages.toSorted((a, b) => byText(a.version, b.version) || byText(a.hash ?? "", b.hash ?? ""))
  return Map.groupBy(sorted, ({ name }) => `${ecosystem} ${name}`)
}

const byText = (a: string, b: string): -1 | 0 | 1 => a < b ? -1 : a > b ? 1 : 0

const isSameHash = (a: string | null, b: string | null): boolean => a === null || b === null || a === b

const showPackages = (packages: Packages, withHash: boolean): string =>
  packages.length === 0
    ? "none"
    : `${packages[0]!.name} ${
      firstOf(
        packages.map(({ hash, version }) => withHash && hash !== null ? `${version} (${hash.slice(0, 20)})` : version)
      )
    }`

const compareDependencies = (
  locked: LockedDependencies | null,
  now: LockedDependencies | null,
  tool: string
): ReadonlyArray<LockFinding> => {
  if (locked === null || now === null) return []
  const [before, after] = [byName(locked), byName(now)]
  return [...new Set([...before.keys(), ...after.keys()])].toSorted().flatMap((key): ReadonlyArray<LockFinding> => {
    const [a, b] = [before.get(key) ?? [], after.get(key) ?? []]
    const sameVersions = a.length === b.length && a.every(({ version }, i) => version === b[i]!.version)
    return sameVersions && a.every(({ hash }, i) => isSameHash(hash, b[i]!.hash)) ? [] : [{
      link: undefined,
      field: "dependencies",
      tool,
      locked: showPackages(a, sameVersions),
      now: showPackages(b, sameVersions)
    }]
  })
}

/** Empty when the chain, its runtime and its packages are as they were locked. */
export const compareLock = (locked: Frozen, now: Frozen): ReadonlyArray<LockFinding> => {
  const tool = now.root.tool_id
  const [a, b] = [locked.resolved_chain, now.resolved_chain]
  if (a.length !== b.length) {
    return [{ link: undefined, field: "chain-length", tool, locked: `${a.length} links`, now: `${b.length} links` }]
  }
  return [
    ...(locked.root.category === now.root.category
      ? []
      : [{ link: 0, field: "category" as const, tool, locked: locked.root.category, now: now.root.category }]),
    ...b.flatMap((link, index) => compareLink(a[index]!, link, index)),
    ...compareRuntime(locked.runtime, now.runtime, tool),
    ...compareDependencies(locked.dependencies, now.dependencies, tool)
  ]
}

/**
 * What a lock says and one of what is there now would no longer say, since it could not be told here. A call is not held
 * against what is not known; a lock in the place of another would forget it for everybody.
 */
export const lockLosses = (locked: Frozen, now: Frozen): ReadonlyArray<LockFinding> => {
  const tool = now.root.tool_id
  const losses: Array<LockFinding> = []
  const add = (field: LockFinding["field"], before: string, after: string) =>
    losses.push({ link: undefined, field, tool, locked: before, now: after })
  const [was, is] = [locked.runtime.interpreter, now.runtime.interpreter]
  const isLess = was !== null && (is === null || (was.version !== null && is.version === null) ||
    (was.program !== undefined && is.program === undefined))
  if (isLess) {
    add("interpreter", showInterpreter(was), is === null ? "none" : showInterpreter(is))
  }
  if (locked.dependencies !== null && now.dependencies === null) {
    for (const packages of byName(locked.dependencies).values()) {
      add("dependencies", showPackages(packages, false), "none")
    }
  }
  return losses
}

/** All of them in one text, of which the first are told. */
export const showFindings = (findings: ReadonlyArray<LockFinding>): string => {
  const shown = findings.slice(0, most).map(showFinding).join("; ")
  return findings.length > most ? `${shown}; and ${findings.length - most} more differences` : shown
}

/** One line: "python_runtime: version 2.0.0 was locked, 2.1.0 is there". */
export const showFinding = ({ field, locked, now, tool }: LockFinding): string => {
  if (field !== "dependencies") return `${tool}: ${field} ${locked} was locked, ${now} is there`
  if (now === "none") return `${tool}: the package ${locked} was locked and is not installed`
  if (locked === "none") return `${tool}: the package ${now} is installed and was not locked`
  return `${tool}: the package ${locked} was locked, ${now} is installed`
}
