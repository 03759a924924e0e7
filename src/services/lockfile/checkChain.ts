// Whether a chain is as one of its locks says. Of several locks of a version, one that agrees is enough.
import type { Chain } from "../chain/Chain.ts"
import { showLocation } from "../item/Item.ts"
import { compareLock, type LockFinding } from "./compareLock.ts"
import type { Frozen } from "./Lockfile.ts"
import { LockMismatch } from "./Lockfiles.ts"
import type { StoredLock } from "./LockfileStore.ts"
import { showLock } from "./lockName.ts"

/** The lock that holds, or how the most similar one differs; undefined if there are no locks. `now`: the chain frozen. */
export const checkChain = (
  chain: Chain,
  now: Frozen,
  locks: ReadonlyArray<StoredLock>
): StoredLock | LockMismatch | undefined => {
  let nearest: { readonly lock: StoredLock; readonly findings: ReadonlyArray<LockFinding> } | undefined
  for (const lock of locks) {
    const findings = compareLock(lock.lockfile, now)
    if (findings.length === 0) return lock
    if (nearest === undefined || findings.length < nearest.findings.length) nearest = { lock, findings }
  }
  return nearest && new LockMismatch({
    tool: now.root.tool_id,
    lockfile: showLock(nearest.lock),
    configPath: showLocation((chain.links[nearest.findings[0]?.link ?? 0] ?? chain.leaf).tool.location),
    findings: nearest.findings
  })
}
