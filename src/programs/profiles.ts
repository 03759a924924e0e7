// Profiles: what there is, what one of them holds, and which of its tools a client would see listed by name.
import { Effect } from "effect"
import type { ProjectKey } from "../layers/Projects.ts"
import { Projects } from "../layers/Projects.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { ItemType, Tier } from "../services/item/ItemId.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { isListed, lockModeOf, type Profile, type ProfileText } from "../services/permission/profile/Profile.ts"
import { Profiles, ProfileUnknown } from "../services/permission/profile/Profiles.ts"
import { showRule } from "../services/permission/rule/Rule.ts"
import { type ExposedTool, exposedTools, type LeftOutTool } from "./exposedTools.ts"
import { tools as ownTools } from "./mcp/tools.ts"

export const findProfile = Effect.fnUntraced(function*(name: string) {
  const profiles = yield* (yield* Profiles).current
  return profiles.get(name) ?? (yield* new ProfileUnknown({ name, known: [...profiles.keys()] }))
})

/** Fails unless the project or its user has this profile. A server asks this before it starts. */
export const requireProfile = Effect.fnUntraced(function*(project: ProjectKey, name: string) {
  const projects = yield* Projects
  yield* projects.use(project)(findProfile(name))
})

/** The tools that a server with this profile lists by name, after Kiwi's own. */
export const exposedBy = (profile: Profile, caller: Caller) =>
  exposedTools(profile, { ...caller, profile: profile.name }, ownTools.map(({ name }) => name))

export interface ListedProfile {
  readonly name: string
  readonly description?: string
  /** "user:config/profiles.yaml:4" */
  readonly places: ReadonlyArray<string>
  /** Those that nobody has accepted as they are: what they restrict counts, and they allow and list nothing. */
  readonly not_accepted?: ReadonlyArray<string>
}

const listed = ({ name, texts }: Profile): ListedProfile => {
  const description = texts.find(({ entry, rules }) => entry.description !== undefined && !rules.narrows)?.entry
    .description
  const placeOf = ({ file, line }: ProfileText) => `${file}:${line}`
  const unaccepted = texts.filter(({ rules }) => rules.narrows)
  return {
    name,
    ...(description === undefined ? {} : { description }),
    places: texts.map(placeOf),
    ...(unaccepted.length === 0 ? {} : { not_accepted: unaccepted.map(placeOf) })
  }
}

export const listProfiles = Effect.fn("listProfiles")(function*() {
  const profiles = yield* (yield* Profiles).current
  return { profiles: [...profiles.values()].map(listed) }
})

export interface ProfileProblem {
  readonly profile: string
  readonly tool: LeftOutTool
}

/** The tools that profiles name and that no client would see listed. */
export const profileProblems = Effect.fnUntraced(function*(caller: Caller) {
  const profiles = yield* (yield* Profiles).current
  return (yield* Effect.forEach(profiles.values(), (profile) =>
    Effect.map(
      exposedBy(profile, caller),
      ({ leftOut }) => leftOut.map((tool): ProfileProblem => ({ profile: profile.name, tool }))
    ))).flat()
})

export interface ShownProfile extends ListedProfile {
  readonly lockfile_mode?: string
  readonly rules: ReadonlyArray<{ readonly place: string; readonly rule: string }>
  /** How many of its rules that allow do not count, since nobody has accepted the file as it is. */
  readonly ignored: number
  readonly items: ReadonlyArray<{ readonly type: ItemType; readonly id: string; readonly tier: Tier }>
  readonly exposed: ReadonlyArray<{ readonly name: string; readonly id: string; readonly tier: Tier }>
  readonly left_out: ReadonlyArray<LeftOutTool>
}

const shown = ({ location, name }: ExposedTool) => ({ name, id: qualifiedId(location), tier: location.tier })

export const showProfile = Effect.fn("showProfile")(function*(name: string, caller: Caller) {
  const profile = yield* findProfile(name)
  const store = yield* ItemStore
  const { exposed, leftOut } = yield* exposedBy(profile, caller)
  const mode = lockModeOf(profile)
  return {
    ...listed(profile),
    ...(mode === undefined ? {} : { lockfile_mode: mode }),
    rules: profile.texts.flatMap(({ rules: { rules } }) =>
      rules.rules.map(({ file, line, rule }) => ({ place: `${file}:${line}`, rule: showRule(rule) }))
    ),
    ignored: profile.texts.reduce((sum, { rules }) => sum + rules.ignored, 0),
    items: (yield* store.list()).filter((one) => isListed(profile, one)).map((one) => ({
      type: one.type,
      id: qualifiedId(one),
      tier: one.tier
    })),
    exposed: exposed.map(shown),
    left_out: leftOut
  } satisfies ShownProfile as ShownProfile
})
