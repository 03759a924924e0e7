// How what is there now differs from what was locked. Everything is collected; the order is the chain's.
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
      (a.version !== null && b.version !== null && a.version !== b.version)
    if (isOther) add("interpreter", showInterpreter(a), showInterpreter(b))
  }
  for (const field of ["commands", "variables"] as const) {
    const [before, after] = [locked[field].join(", "), now[field].join(", ")]
    if (before !== after) add(field, before === "" ? "none" : before, after === "" ? "none" : after)
  }
  return findings
}

const showInterpreter = (i: NonNullable<LockedRuntime["interpreter"]>): string =>
  `${i.variable} from ${i.kind}${i.version === null ? "" : ` ${i.version}`}`

const compareDependencies = (
  locked: LockedDependencies | null,
  now: LockedDependencies | null,
  tool: string
): ReadonlyArray<LockFinding> => {
  if (locked === null || now === null) return []
  const keyed = (d: LockedDependencies) =>
    new Map(d.packages.map((p) => [`${d.ecosystem} ${p.name}@${p.version}`, p.hash]))
  const [a, b] = [keyed(locked), keyed(now)]
  return [...new Set([...a.keys(), ...b.keys()])].toSorted().flatMap((name): ReadonlyArray<LockFinding> => {
    const [before, after] = [a.get(name), b.get(name)]
    const isSame = before !== undefined && after !== undefined &&
      (before === null || after === null || before === after)
    return isSame ? [] : [{
      link: undefined,
      field: "dependencies",
      tool,
      locked: before === undefined ? "none" : before ?? name,
      now: after === undefined ? "none" : after ?? name
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

/** One line: "python_runtime: version 2.0.0 was locked, 2.1.0 is there". */
export const showFinding = (f: LockFinding): string =>
  f.field === "dependencies" && f.now === "none"
    ? `${f.tool}: the package ${f.locked} was locked and is not installed`
    : `${f.tool}: ${f.field} ${f.locked} was locked, ${f.now} is there`
