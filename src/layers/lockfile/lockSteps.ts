// The steps of a call that are about locks. The chain is compared once the environment is known, since a lock also fixes
// the interpreter; nothing has run by then.
import { Effect } from "effect"
import { codeOf } from "../../services/error/KiwiError.ts"
import { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import { stricter } from "../../services/lockfile/LockMode.ts"
import { profileOf } from "../../services/permission/profile/callerProfile.ts"
import { lockModeOf } from "../../services/permission/profile/Profile.ts"
import { Profiles } from "../../services/permission/profile/Profiles.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

/** The settings of this call, and its lock mode: the strictest of the setting, the caller's profile and the call. */
export const chooseLockMode = Effect.gen(function*() {
  const settings = yield* Settings
  const profiles = yield* Profiles

  return ({ call }: Facts<"call">) => {
    const chosen = Effect.map(settings.current, (current) => ({
      settings: current,
      lockMode: stricter(current.lockfileMode, call.lockfileMode)
    }))
    return call.caller.profile === undefined
      ? chosen
      : Effect.zipWith(
        chosen,
        Effect.provideService(profileOf(call.caller), Profiles, profiles),
        ({ lockMode, ...rest }, profile) => ({
          ...rest,
          lockMode: stricter(lockMode, profile && lockModeOf(profile))
        })
      )
  }
})

export const checkLock = Effect.gen(function*() {
  const lockfiles = yield* Lockfiles

  return Effect.fnUntracedEager(
    function*(facts: Facts<"call" | "chain" | "dependencies" | "env" | "lockMode" | "warnings">) {
      const { call, chain, dependencies, env, lockMode, warnings } = facts
      if (lockMode === "off") return
      const found = yield* lockfiles.check(chain, env, dependencies)
      if (found._tag === "Locked" && !call.dryRun) yield* lockfiles.markValidated(found.lock)
      if (found._tag !== "Problem") return
      const { problem } = found
      if (lockMode === "strict") return yield* blame(chain, problem)
      return {
        warnings: [...warnings, { code: codeOf(problem), message: `${problem.message}. ${problem.remediation}` }]
      }
    }
  )
})
