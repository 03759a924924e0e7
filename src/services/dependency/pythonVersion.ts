// Checks an interpreter's version against `requires-python`: the part of PEP 440 that applies to release versions.
import { Result } from "effect"

interface Clause {
  readonly operator: string
  readonly release: ReadonlyArray<number>
  readonly wildcard: boolean
}

const clause = /^(===|~=|==|!=|<=|>=|<|>)[ \t]*([0-9]{1,6}(?:\.[0-9]{1,6}){0,4})(\.\*)?$/

const readClause = (text: string): Clause | undefined => {
  const match = clause.exec(text)
  if (match === null) return undefined
  const operator = match[1]!
  const wildcard = match[3] !== undefined
  if (wildcard && operator !== "==" && operator !== "!=") return undefined
  const release = match[2]!.split(".").map(Number)
  return operator === "~=" && release.length < 2 ? undefined : { operator, release, wildcard }
}

const readClauses = (range: string): Result.Result<ReadonlyArray<Clause>, string> => {
  const clauses: Array<Clause> = []
  for (const part of range.split(",").map((p) => p.trim()).filter((p) => p !== "")) {
    const read = readClause(part)
    if (read === undefined) return Result.fail(`"${part}" is not a range of Python versions`)
    clauses.push(read)
  }
  return Result.succeed(clauses)
}

/** What is wrong with the range, or undefined. */
export const pythonRangeProblem = (range: string): string | undefined => {
  const read = range.length > 200 ? Result.fail("it is too long") : readClauses(range)
  return Result.isFailure(read) ? read.failure : undefined
}

const compare = (a: ReadonlyArray<number>, b: ReadonlyArray<number>): number => {
  for (let at = 0; at < Math.max(a.length, b.length); at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

const begins = (version: ReadonlyArray<number>, release: ReadonlyArray<number>): boolean =>
  release.every((part, at) => (version[at] ?? 0) === part)

const isInClause = (version: ReadonlyArray<number>, { operator, release, wildcard }: Clause): boolean => {
  const order = compare(version, release)
  switch (operator) {
    case "~=":
      return order >= 0 && begins(version, release.slice(0, -1))
    case "==":
      return wildcard ? begins(version, release) : order === 0
    case "!=":
      return wildcard ? !begins(version, release) : order !== 0
    case "<=":
      return order <= 0
    case ">=":
      return order >= 0
    case "<":
      return order < 0
    case ">":
      return order > 0
    default:
      return order === 0
  }
}

/** Whether a version such as `3.12.4` is in the range. An invalid range includes no version. */
export const isInPythonRange = (version: string, range: string): boolean => {
  const release = /^[0-9]{1,6}(?:\.[0-9]{1,6}){0,4}/.exec(version)?.[0].split(".").map(Number)
  const clauses = readClauses(range)
  return release !== undefined && Result.isSuccess(clauses) && clauses.success.every((c) => isInClause(release, c))
}
