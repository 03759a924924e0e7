// The rules of `config/permissions.yaml` in the user space and of `.ai/config/permissions.yaml` in the project. The user's
// file may be a link, as dotfiles often are; the project's is read only through ProjectTrust. A changed file counts from
// the next call; a project that was trusted or restricted meanwhile, within a second.
import { Effect, Layer, Option, Result } from "effect"
import type { BigIntStats } from "node:fs"
import { join } from "node:path"
import type { RuleSource } from "../../services/permission/PermissionRules.ts"
import { PermissionRules } from "../../services/permission/PermissionRules.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { isSameState, isSettled, statOf } from "../files/believe.ts"
import { readUserControl } from "../workspace/userControl.ts"
import {
  makeReadSource,
  projectRulesPath,
  readProjectRules,
  unreadable,
  userRulesFile,
  userRulesPath
} from "./ruleSources.ts"

/** In milliseconds: how long what the project's trust says is believed. */
export const trustedFor = 1_000

export const nowhere = {
  issue: "it is a link that leads nowhere",
  hint: "Make it a file that you can read, or remove it"
}

/** What was read, and the files' states before. */
interface Known {
  readonly sources: ReadonlyArray<RuleSource>
  readonly user: BigIntStats | undefined
  readonly project: BigIntStats | undefined
  /** In milliseconds. */
  readonly at: number
}

/** Whether the file is in the state in which it was read, and a change since would be seen. A link's target may change. */
export const isUnchanged = (known: BigIntStats | undefined, now: BigIntStats | undefined, readAt: number): boolean =>
  known === undefined || now === undefined
    ? known === now
    : isSameState(known, now) && isSettled(known, readAt) && !now.isSymbolicLink()

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const { userHome, userSpace } = home
  const { project } = yield* Workspace
  const trust = yield* ProjectTrust
  const read = makeReadSource({ home: userHome })
  const userFile = join(userSpace, userRulesPath)
  const projectFile = Option.getOrUndefined(Option.map(project, ({ root }) => join(root, projectRulesPath)))
  let known: Known | undefined

  const readUser = (stat: BigIntStats | undefined) =>
    Effect.suspend((): Effect.Effect<RuleSource | undefined> => {
      const bytes = readUserControl(home, userRulesPath)
      if (Result.isFailure(bytes)) return Effect.succeed(unreadable(userRulesFile, bytes.failure))
      if (bytes.success !== undefined) return read("user", bytes.success, userRulesFile, false)
      return Effect.succeed(stat === undefined ? undefined : unreadable(userRulesFile, nowhere))
    })

  const load = Effect.fnUntraced(
    function*(at: number, userStat: BigIntStats | undefined, projectStat: BigIntStats | undefined) {
      const user = yield* readUser(userStat)
      const ofProject = projectFile === undefined ? [] : yield* readProjectRules(trust, read)
      const sources = user === undefined ? ofProject : [user, ...ofProject]
      known = { sources, user: userStat, project: projectStat, at }
      return sources
    }
  )

  const current = Effect.clockWith((clock) => {
    const now = clock.currentTimeMillisUnsafe()
    const user = statOf(userFile)
    const ofProject = projectFile === undefined ? undefined : statOf(projectFile)
    return known !== undefined && now >= known.at && now - known.at < trustedFor &&
        isUnchanged(known.user, user, known.at) && isUnchanged(known.project, ofProject, known.at)
      ? Effect.succeed(known.sources)
      : load(now, user, ofProject)
  })

  return PermissionRules.of({ current })
})

export const layer = Layer.effect(PermissionRules, make)
