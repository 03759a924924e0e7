// How a list of remembered rules changes, in every backend.
import type { RememberedRule } from "../../services/permission/RememberedRules.ts"

/**
 * A rule with a known id replaces that one, and what has been run replaces what was run before. What was for a session goes
 * with its process.
 */
export const withAdded = (
  known: ReadonlyArray<RememberedRule>,
  added: ReadonlyArray<RememberedRule>,
  isRunning: (pid: number) => boolean = () => true
): ReadonlyArray<RememberedRule> => {
  const isOver = ({ client, pid, ran }: RememberedRule): boolean =>
    (ran !== undefined && added.some((rule) => rule.client === client && rule.ran?.tool === ran.tool)) ||
    (pid !== undefined && !isRunning(pid))
  const byId = new Map(known.filter((rule) => !isOver(rule)).map((rule) => [rule.id, rule]))
  for (const rule of added) {
    byId.delete(rule.id)
    byId.set(rule.id, rule)
  }
  return [...byId.values()]
}

export const splitRemoved = (known: ReadonlyArray<RememberedRule>, ids: ReadonlyArray<string>) => {
  const gone = new Set(ids)
  return { kept: known.filter(({ id }) => !gone.has(id)), removed: known.filter(({ id }) => gone.has(id)) }
}
