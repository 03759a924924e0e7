// Whether the chain is the one that was locked. Asked when the environment is known, since a lock is also about the
// interpreter; nothing has run by then.
import { Effect } from "effect"
import { codeOf } from "../../services/error/KiwiError.ts"
import { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import { stricter } from "../../services/lockfile/LockMode.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { blame } from "./blame.ts"
import type { Facts } from "./Step.ts"

export const make = Effect.gen(function*() {
  const lockfiles = yield* Lockfiles
  const settings = yield* Settings

  /** The setting, or what the call asks for where that is stricter. */
  const chooseLockMode = ({ call }: Facts<"call">) =>
    Effect.map(settings.current, (current) => ({ lockMode: stricter(current.lockfileMode, call.lockfileMode) }))

  const checkLock = Effect.fnUntraced(
    function*(facts: Facts<"chain" | "dependencies" | "env" | "lockMode" | "warnings">) {
      const { chain, dependencies, env, lockMode, warnings } = facts
      if (lockMode === "off") return
      const found = yield* lockfiles.check(chain, env, dependencies)
      if (found._tag !== "Problem") return
      const { problem } = found
      if (lockMode === "strict") return yield* blame(chain, problem)
      return {
        warnings: [...warnings, { code: codeOf(problem), message: `${problem.message}. ${problem.remediation}` }]
      }
    }
  )

  return { chooseLockMode, checkLock }
})
