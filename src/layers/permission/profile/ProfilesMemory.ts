// The user's profiles as text, and the project's as ProjectTrust has them.
import { Effect, Layer } from "effect"
import { Profiles } from "../../../services/permission/profile/Profiles.ts"
import { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../../services/workspace/KiwiHome.ts"
import { makeReadTexts, profilesOf, readProjectProfiles, userProfilesFile } from "./profileTexts.ts"

export const make = Effect.fnUntraced(function*(user: string | undefined) {
  const { userHome } = yield* KiwiHome
  const trust = yield* ProjectTrust
  const read = makeReadTexts({ home: userHome })
  return Profiles.of({
    current: Effect.gen(function*() {
      const own = user === undefined
        ? []
        : [yield* read("user", new TextEncoder().encode(user), userProfilesFile, false)]
      return profilesOf([...own, ...yield* readProjectProfiles(trust, read)])
    })
  })
})

/** `user`: the text of the user's `profiles.yaml`. */
export const layerWith = (user: string | undefined) => Layer.effect(Profiles, make(user))

/** Without profiles of the user. */
export const layer = layerWith(undefined)
