// The packages that a chain declares: there, or named together with everything else that is missing. They are never
// installed by a call. Where they are there, they are what the tool runs with.
import { Effect, Result } from "effect"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { Dependencies } from "../../services/dependency/Dependencies.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import { failedIn } from "./links.ts"
import type { Facts } from "./Step.ts"

/** Where the copy of a tool has to lie so that Node finds the environment's packages from it. */
export const copiesBelow = (set: InstalledSet | undefined): string | undefined =>
  set?.ecosystem === "node" ? `envs/${set.digest}/copies` : undefined

export const make = Effect.gen(function*() {
  const dependencies = yield* Dependencies
  const lockfiles = yield* Lockfiles

  const linkOf = (chain: Chain, id: string | undefined): ChainLink =>
    chain.links.find((link) => link.tool.location.id === id) ?? chain.leaf

  /** For a chain that declares nothing: one look into a map. What is missing is told with everything else. */
  const findPackages = Effect.fnUntraced(function*(facts: Facts<"call" | "chain" | "interpreter" | "lockMode">) {
    const { call, chain, interpreter, lockMode } = facts
    const plan = yield* dependencies.declared(chain).pipe(
      Effect.mapError((reason) => failedIn(facts, linkOf(chain, reason.link), reason))
    )
    if (plan === undefined) return { packages: undefined }
    const pins = lockMode === "off" ? undefined : yield* lockfiles.packagesOf(chain)
    const path = interpreter._tag === "Found" ? interpreter.interpreter.path : undefined
    const link = linkOf(chain, plan.links[0])
    const found = yield* Effect.result(dependencies.installed({ chain, interpreter: path, pins }))
    if (Result.isFailure(found)) {
      const reason = found.failure
      if (reason._tag !== "DependenciesMissing") return yield* failedIn(facts, link, reason)
      return { packages: { _tag: "Missing" as const, reason, link } }
    }
    const set = found.success
    if (set === undefined) return { packages: undefined }
    if (!call.dryRun) yield* dependencies.used(set)
    return { packages: { _tag: "Installed" as const, set } }
  })

  return { findPackages }
})
