// Whether the chain is the one that was locked. Asked when the environment is known, since a lock is also about the
// interpreter; nothing has run by then.
import { Effect } from "effect"
import { codeOf } from "../../services/error/KiwiError.ts"
import { Lockfiles } from "../../services/lockfile/Lockfiles.ts"
import type { LockMode } from "../../services/lockfile/LockMode.ts"
import { stricter } from "../../services/lockfile/LockMode.ts"
import { Settings } from "../../services/settings/Settings.ts"
import { blame } from "./blame.ts"
import type { Run } from "./Run.ts"
import { chainOf } from "./Run.ts"

export const make = Effect.gen(function*() {
  const lockfiles = yield* Lockfiles
  const settings = yield* Settings

  /** The setting, or what the call asks for where that is stricter. */
  const modeOf = (asked: LockMode | undefined) =>
    Effect.map(settings.current, ({ lockfileMode }) => stricter(lockfileMode, asked))

  const checkLock = Effect.fnUntraced(function*(run: Run) {
    if (run.lockMode === "off") return
    const found = yield* lockfiles.check(chainOf(run), run.env, run.dependencies)
    if (found._tag !== "Problem") return
    const { problem } = found
    if (run.lockMode === "strict") return yield* blame(chainOf(run), problem)
    run.warnings = [...run.warnings, { code: codeOf(problem), message: `${problem.message}. ${problem.remediation}` }]
  })

  return { modeOf, checkLock }
})
