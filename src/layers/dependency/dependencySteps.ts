// Finds the packages that a chain declares, or reports them with everything else that is missing. A call never installs
// them. If they are installed, the tool runs with them.
import { Effect, Result } from "effect"
import { Dependencies } from "../../services/dependency/Dependencies.ts"
import type { InstalledSet } from "../../services/dependency/InstalledPackage.ts"
import { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

/** Where a tool's copy must be for Node to find the environment's packages from it. */
export const copiesBelow = (set: InstalledSet | undefined): string | undefined =>
  set?.ecosystem === "node" ? `envs/${set.digest}/copies` : undefined

/** For a chain that declares nothing this costs one map lookup. Missing packages are reported with everything else. */
export const findPackages = Effect.gen(function*() {
  const dependencies = yield* Dependencies
  const lockfiles = yield* Lockfiles

  return Effect.fnUntracedEager(function*(facts: Facts<"call" | "chain" | "interpreter" | "lockMode">) {
    const { call, chain, interpreter, lockMode } = facts
    const plan = yield* dependencies.declared(chain).pipe(
      Effect.mapErrorEager((reason) => blame(chain, reason))
    )
    if (plan === undefined) return { packages: undefined }
    const pins = lockMode === "off" ? undefined : yield* lockfiles.packagesOf(chain)
    const path = interpreter._tag === "Found" ? interpreter.interpreter.path : undefined
    const found = yield* Effect.result(dependencies.installed({ chain, interpreter: path, pins }))
    if (Result.isFailure(found)) {
      const reason = found.failure
      if (reason._tag !== "DependenciesMissing") return yield* blame(chain, reason)
      return { packages: { _tag: "Missing" as const, reason } }
    }
    const set = found.success
    if (set === undefined) return { packages: undefined }
    if (!call.dryRun) yield* dependencies.used(set)
    return { packages: { _tag: "Installed" as const, set } }
  })
})
