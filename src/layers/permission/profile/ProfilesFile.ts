// The profiles of `config/profiles.yaml` in the user space and of `.ai/config/profiles.yaml` in the project, read by the
// same rules as `permissions.yaml`. Read on first use: without `--profile` no file is opened.
import { Effect, Layer, Option, Result } from "effect"
import type { BigIntStats } from "node:fs"
import { join } from "node:path"
import { Profiles, ProfilesInvalid } from "../../../services/permission/profile/Profiles.ts"
import { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../../services/workspace/Workspace.ts"
import { makeControlPair, nowhere } from "../../workspace/controlPair.ts"
import { type ControlUnusable, readUserControl } from "../../workspace/userControl.ts"
import {
  makeReadTexts,
  profilesOf,
  projectProfilesPath,
  readProjectProfiles,
  userProfilesFile,
  userProfilesPath
} from "./profileTexts.ts"

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const { userHome, userSpace } = home
  const { project } = yield* Workspace
  const trust = yield* ProjectTrust
  const read = makeReadTexts({ home: userHome })
  const userFile = join(userSpace, userProfilesPath)
  const projectFile = Option.getOrUndefined(Option.map(project, ({ root }) => join(root, projectProfilesPath)))

  const readUser = Effect.fnUntraced(function*(stat: BigIntStats | undefined) {
    const invalid = ({ hint, issue }: ControlUnusable) =>
      new ProfilesInvalid({ file: userProfilesFile, line: 1, column: 1, issue, hint })
    const bytes = yield* Effect.fromResult(Result.mapError(readUserControl(home, userProfilesPath), invalid))
    if (bytes !== undefined) return [yield* read("user", bytes, userProfilesFile, false)]
    return stat === undefined ? [] : yield* invalid(nowhere)
  })

  const current = makeControlPair(
    { user: userFile, project: projectFile },
    Effect.fnUntraced(function*(stat) {
      const ofUser = yield* readUser(stat)
      return profilesOf([...ofUser, ...projectFile === undefined ? [] : yield* readProjectProfiles(trust, read)])
    })
  )

  return Profiles.of({ current })
})

export const layer = Layer.effect(Profiles, make)
