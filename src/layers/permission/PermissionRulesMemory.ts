// The user's rules as text, and the project's as ProjectTrust has them.
import { Effect, Layer } from "effect"
import { PermissionRules } from "../../services/permission/PermissionRules.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { makeReadSource, readProjectRules, userRulesFile } from "./ruleSources.ts"

export const make = Effect.fnUntraced(function*(user: string | undefined) {
  const { userHome } = yield* KiwiHome
  const trust = yield* ProjectTrust
  const read = makeReadSource({ home: userHome })
  const bytes = user === undefined ? undefined : new TextEncoder().encode(user)
  return PermissionRules.of({
    current: Effect.gen(function*() {
      const own = bytes === undefined ? [] : [yield* read("user", bytes, userRulesFile, false)]
      return [...own, ...yield* readProjectRules(trust, read)]
    })
  })
})

/** `user`: the text of the user's `permissions.yaml`. */
export const layerWith = (user: string | undefined) => Layer.effect(PermissionRules, make(user))

/** Without rules of the user. */
export const layer = layerWith(undefined)
