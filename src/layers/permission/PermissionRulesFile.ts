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
import { makeControlPair, nowhere } from "../workspace/controlPair.ts"
import { readUserControl } from "../workspace/userControl.ts"
import {
  makeReadSource,
  projectRulesPath,
  readProjectRules,
  unreadable,
  userRulesFile,
  userRulesPath
} from "./ruleSources.ts"

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const { userHome, userSpace } = home
  const { project } = yield* Workspace
  const trust = yield* ProjectTrust
  const read = makeReadSource({ home: userHome })
  const userFile = join(userSpace, userRulesPath)
  const projectFile = Option.getOrUndefined(Option.map(project, ({ root }) => join(root, projectRulesPath)))

  const readUser = (stat: BigIntStats | undefined) =>
    Effect.suspend((): Effect.Effect<RuleSource | undefined> => {
      const bytes = readUserControl(home, userRulesPath)
      if (Result.isFailure(bytes)) return Effect.succeed(unreadable(userRulesFile, bytes.failure))
      if (bytes.success !== undefined) return read("user", bytes.success, userRulesFile, false)
      return Effect.succeed(stat === undefined ? undefined : unreadable(userRulesFile, nowhere))
    })

  const current = makeControlPair(
    { user: userFile, project: projectFile },
    Effect.fnUntraced(function*(stat) {
      const user = yield* readUser(stat)
      const ofProject = projectFile === undefined ? [] : yield* readProjectRules(trust, read)
      return user === undefined ? ofProject : [user, ...ofProject]
    })
  )

  return PermissionRules.of({ current })
})

export const layer = Layer.effect(PermissionRules, make)
