// Chains that were frozen, made up.
import { sha256 } from "../../../src/layers/identity/sha256.ts"
import { chainHashText } from "../../../src/services/lockfile/Lockfile.ts"
import type { Frozen, LockedLink, Lockfile } from "../../../src/services/lockfile/Lockfile.ts"
import { printLockfile } from "../../../src/services/lockfile/lockfileText.ts"

export interface Made {
  readonly id?: string
  readonly version?: string
  readonly category?: string
  /** What the leaf's integrity is made from: another text, another chain. */
  readonly content?: string
  /** Ids of the links after the leaf. */
  readonly executors?: ReadonlyArray<string>
}

/** A chain of links as given, with what follows from them. */
export const frozenOf = (
  links: readonly [LockedLink, ...ReadonlyArray<LockedLink>],
  more: Partial<Pick<Frozen, "runtime" | "dependencies">> & { readonly category?: string } = {}
): Frozen => ({
  root: {
    tool_id: links[0].tool_id,
    version: links[0].version,
    integrity: links[0].integrity,
    category: more.category ?? "math"
  },
  resolved_chain: links,
  chain_hash: sha256(chainHashText(links)).slice(0, 12),
  runtime: more.runtime ?? {
    interpreter: { variable: "KIWI_PYTHON", kind: "system", version: "3.13.1" },
    commands: ["git"],
    variables: ["API_URL"]
  },
  dependencies: more.dependencies ?? null
})

export const frozen = (
  { category = "math", content = "a", executors = ["python_runtime", "subprocess"], id = "add", version = "1.0.0" }:
    Made = {}
): Frozen => {
  const ids = [id, ...executors]
  const [leaf, ...rest] = ids.map((tool_id, i): LockedLink => ({
    tool_id,
    version: i === 0 ? version : "2.0.0",
    integrity: sha256(i === 0 ? content : tool_id),
    executor: ids[i + 1] ?? null,
    tier: i === 0 ? "project" : "system",
    path: i === 0 ? `${category}/${id}.py` : `runtimes/${tool_id}.yaml`
  }))
  return frozenOf([leaf!, ...rest], { category })
}

export const lockfile = (made: Made = {}, generatedAt = "2026-11-22T09:00:00.000Z"): Lockfile => ({
  lockfile_version: 1,
  generated_at: generatedAt,
  ...frozen(made),
  registry: null
})

export const lockText = (made: Made = {}, generatedAt?: string): string => printLockfile(lockfile(made, generatedAt))
