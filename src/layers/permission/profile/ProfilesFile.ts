// The profiles of `config/profiles.yaml` in the user space and of `.ai/config/profiles.yaml` in the project, read by the
// same rules as `permissions.yaml`. Read on first use: without `--profile` no file is opened.
import { Effect, Layer, Option, Result } from "effect"
import type { BigIntStats } from "node:fs"
import { join } from "node:path"
import type { Profile } from "../../../services/permission/profile/Profile.ts"
import { Profiles, ProfilesInvalid } from "../../../services/permission/profile/Profiles.ts"
import { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { maxControlBytes } from "../../../services/workspace/controlYaml.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../../services/workspace/Workspace.ts"
import { statOf } from "../../files/believe.ts"
import { readRegular } from "../../files/readRegular.ts"
import { isUnchanged, trustedFor, wrong } from "../PermissionRulesFile.ts"
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
  const { userHome, userSpace } = yield* KiwiHome
  const { project } = yield* Workspace
  const trust = yield* ProjectTrust
  const read = makeReadTexts({ home: userHome })
  const userFile = join(userSpace, userProfilesPath)
  const projectFile = Option.getOrUndefined(Option.map(project, ({ root }) => join(root, projectProfilesPath)))
  let known: Known | undefined

  const readUser = Effect.fnUntraced(function*(stat: BigIntStats | undefined) {
    const bytes = readRegular(userFile, { maxBytes: maxControlBytes, follow: true, own: true })
    if (Result.isSuccess(bytes)) return [yield* read(bytes.success, userProfilesFile, false)]
    if (bytes.failure === "absent" && stat === undefined) return []
    const issue = bytes.failure === "absent" ? "it is a link that leads nowhere" : wrong[bytes.failure]
    return yield* new ProfilesInvalid({ file: userProfilesFile, line: 1, column: 1, issue })
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
