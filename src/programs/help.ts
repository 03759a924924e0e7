// Help: guides from the system tier's knowledge, and what this kernel can and cannot do now.
import { Effect, Option } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import { agentRemedy } from "../services/error/agentRemedy.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import type { ItemAmbiguous, ItemInvalid, ItemUnreadable } from "../services/item/ItemErrors.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { Workspace } from "../services/workspace/Workspace.ts"
import { governRead } from "./govern.ts"
import type { Topic } from "./helpTopics.ts"

interface Helped {
  readonly topic: Topic
  readonly guide: string
  readonly state: {
    /** The project's folder; absent without a project. */
    readonly project?: string
    readonly trust: "trusted" | "restricted" | "no project"
    /** What is off, and what to do about it. */
    readonly off: ReadonlyArray<string>
  }
}

export const isOfProject = (problem: ItemInvalid | ItemUnreadable | ItemAmbiguous): boolean =>
  (problem._tag === "ItemAmbiguous" ? problem.candidates : [problem.item]).some((place) => place.startsWith("project:"))

const off = Effect.fnUntraced(function*({ profile }: Caller) {
  const trust = yield* ProjectTrust
  const store = yield* ItemStore
  const state = yield* trust.state
  const all = yield* store.problems
  // Names of files are text of the project too, and text of a restricted project is not repeated. A file that is no item
  // is in no profile.
  const problems = profile !== undefined
    ? []
    : state._tag === "Restricted"
    ? all.filter((p) => !isOfProject(p))
    : all
  const unnamed = all.length - problems.length
  const controls = state._tag === "Trusted" ? yield* trust.controlFiles : []
  return [
    ...(state._tag === "Restricted"
      ? [`Nothing of the project runs: ${state.reason}. ${agentRemedy(state.remedy ?? "kiwi trust project")}`]
      : []),
    ...(state._tag === "NoProject" ? [`There is no project here. ${agentRemedy("kiwi init")}`] : []),
    ...controls
      .filter((c) => c.state !== "accepted")
      .map((c) => `${c.path} is ${c.state} and not used until it is accepted. ${agentRemedy("kiwi trust project")}`),
    ...(unnamed === 0
      ? []
      : [
        `${unnamed} ${profile === undefined ? "of the project's files" : "files"} are not items. ${
          agentRemedy("kiwi doctor")
        }`
      ]),
    ...problems.slice(0, 10).map((p) => p.message),
    ...(problems.length > 10
      ? [`… and ${problems.length - 10} more files that are not items. ${agentRemedy("kiwi doctor")}`]
      : [])
  ]
})

export const help = Effect.fn("help")((topic: Topic, caller: Caller) =>
  governRead(
    { caller, operation: "help", query: topic, shown: () => [] },
    Effect.succeed({ action: { _tag: "Help", topic } as const }),
    () => read(topic, caller)
  )
)

const read = Effect.fnUntraced(function*(topic: Topic, caller: Caller) {
  const parser = yield* ItemParser
  const store = yield* ItemStore
  const trust = yield* ProjectTrust
  const verifier = yield* Verifier
  const workspace = yield* Workspace
  const { location } = yield* store.find({ id: `help/${topic}`, type: "knowledge", tier: "system" })
  const snapshot = yield* store.read(location)
  yield* verifier.verify(snapshot)
  const item = yield* parser.parse(snapshot)
  const state = yield* trust.state
  return {
    topic,
    guide: item._tag === "knowledge" ? item.body.trim() : "",
    state: {
      ...Option.match(workspace.project, { onNone: () => ({}), onSome: (p) => ({ project: p.root }) }),
      trust: state._tag === "Trusted" ? "trusted" : state._tag === "Restricted" ? "restricted" : "no project",
      off: yield* off(caller)
    }
  } satisfies Helped as Helped
})
