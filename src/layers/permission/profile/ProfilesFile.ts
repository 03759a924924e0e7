// The profiles of `config/profiles.yaml` in the user space and of `.ai/config/profiles.yaml` in the project, read by the
// same rules as `permissions.yaml`. Read on first use: without `--profile` no file is opened.
import { Effect, Layer, Option, Result } from "effect"
import type { BigIntStats } from "node:fs"
import { join } from "node:path"
import type { Profile } from "../../../services/permission/profile/Profile.ts"
import { Profiles, ProfilesInvalid } from "../../../services/permission/profile/Profiles.ts"
import { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../../services/workspace/Workspace.ts"
import { statOf } from "../../files/believe.ts"
import { type ControlUnusable, readUserControl } from "../../workspace/userControl.ts"
import { isUnchanged, nowhere, trustedFor } from "../PermissionRulesFile.ts"
import {
  makeReadTexts,
  profilesOf,
  projectProfilesPath,
  readProjectProfiles,
  userProfilesFile,
  userProfilesPath
} from "./profileTexts.ts"

/** What was read, and the files' states before. */
interface Known {
  readonly profiles: ReadonlyMap<string, Profile>
  readonly user: BigIntStats | undefined
  readonly project: BigIntStats | undefined
  /** In milliseconds. */
  readonly at: number
}

export const make = Effect.gen(function*() {
  const home = yield* KiwiHome
  const { userHome, userSpace } = home
  const { project } = yield* Workspace
  const trust = yield* ProjectTrust
  const read = makeReadTexts({ home: userHome })
  const userFile = join(userSpace, userProfilesPath)
  const projectFile = Option.getOrUndefined(Option.map(project, ({ root }) => join(root, projectProfilesPath)))
  let known: Known | undefined

  const readUser = Effect.fnUntraced(function*(stat: BigIntStats | undefined) {
    const invalid = ({ hint, issue }: ControlUnusable) =>
      new ProfilesInvalid({ file: userProfilesFile, line: 1, column: 1, issue, hint })
    const bytes = yield* Effect.fromResult(Result.mapError(readUserControl(home, userProfilesPath), invalid))
    if (bytes !== undefined) return [yield* read(bytes, userProfilesFile, false)]
    return stat === undefined ? [] : yield* invalid(nowhere)
  })

  const current = Effect.clockWith(Effect.fnUntraced(function*(clock) {
    const at = clock.currentTimeMillisUnsafe()
    const user = statOf(userFile)
    const ofProject = projectFile === undefined ? undefined : statOf(projectFile)
    if (
      known !== undefined && at >= known.at && at - known.at < trustedFor &&
      isUnchanged(known.user, user, known.at) && isUnchanged(known.project, ofProject, known.at)
    ) {
      return known.profiles
    }
    const texts = [
      ...yield* readUser(user),
      ...projectFile === undefined ? [] : yield* readProjectProfiles(trust, read)
    ]
    known = { profiles: profilesOf(texts), user, project: ofProject, at }
    return known.profiles
  }))

  return Profiles.of({ current })
})

export const layer = Layer.effect(Profiles, make)
