// The rules of `config/permissions.yaml` in the user space and of `.ai/config/permissions.yaml` in the project. The user's
// file may be a link, as dotfiles often are; the project's is read only through ProjectTrust. A changed file counts from
// the next call; a project that was trusted or restricted meanwhile, within a second.
import { Clock, Effect, Layer, Option, Result } from "effect"
import { join } from "node:path"
import type { RuleSource } from "../../services/permission/PermissionRules.ts"
import { PermissionRules } from "../../services/permission/PermissionRules.ts"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { maxControlBytes } from "../../services/workspace/controlYaml.ts"
import { KiwiHome } from "../../services/workspace/KiwiHome.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { Readings, statOf } from "../files/believe.ts"
import { readRegular, type Unread } from "../files/readRegular.ts"
import {
  makeReadSource,
  projectRulesPath,
  readProjectRules,
  unreadable,
  userRulesFile,
  userRulesPath
} from "./ruleSources.ts"

/** In milliseconds: how long what the project's trust says is believed. */
const trustedFor = 1_000

const wrong: Record<Exclude<Unread, "absent">, string> = {
  "not-a-file": "it is not a regular file that only you can write",
  "too-large": "it is too large",
  unreadable: "it cannot be read"
}

interface Project {
  readonly sources: ReadonlyArray<RuleSource>
  /** The file's state, as a value of its own. */
  readonly state: object | undefined
  readonly at: number
}

export const make = Effect.gen(function*() {
  const { userHome, userSpace } = yield* KiwiHome
  const { project } = yield* Workspace
  const trust = yield* ProjectTrust
  const read = makeReadSource({ home: userHome })
  const userFile = join(userSpace, userRulesPath)
  const projectFile = Option.map(project, ({ root }) => join(root, projectRulesPath))
  const users = new Readings<RuleSource | undefined>({ follow: true })
  const states = new Readings<object>()
  let known: Project | undefined
  let together: ReadonlyArray<RuleSource> = []

  const readUser = Effect.suspend(() => {
    const bytes = readRegular(userFile, { maxBytes: maxControlBytes, follow: true, own: true })
    return Result.isSuccess(bytes)
      ? read("user", bytes.success, userRulesFile, false)
      : Effect.succeed(bytes.failure === "absent" ? undefined : unreadable(userRulesFile, wrong[bytes.failure]))
  })

  const userSource = Effect.map(
    users.getEffect(userFile, readUser),
    (source) =>
      source === undefined && statOf(userFile) !== undefined
        ? unreadable(userRulesFile, "it is a link that leads nowhere")
        : source
  )

  const projectSources = Effect.fnUntraced(function*(file: string) {
    const at = yield* Clock.currentTimeMillis
    const state = states.get(file, at, () => ({}))
    if (known !== undefined && known.state === state && at - known.at < trustedFor && at >= known.at) {
      return known.sources
    }
    const sources = yield* readProjectRules(trust, read)
    known = { sources, state, at }
    return sources
  })

  const current = Effect.gen(function*() {
    const user = yield* userSource
    const ofProject = Option.isNone(projectFile) ? [] : yield* projectSources(projectFile.value)
    const changed = together.length !== ofProject.length + (user === undefined ? 0 : 1) ||
      (user !== undefined && together[0] !== user) ||
      ofProject.some((source, index) => source !== together[index + (user === undefined ? 0 : 1)])
    if (changed) together = user === undefined ? ofProject : [user, ...ofProject]
    return together
  })

  return PermissionRules.of({ current })
})

export const layer = Layer.effect(PermissionRules, make)
