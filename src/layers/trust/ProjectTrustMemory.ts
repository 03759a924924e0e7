// A project's trust in memory: trusted or not, with control files that count as accepted.
import { Effect, Layer, Ref } from "effect"
import { type HumanAct, requireAct } from "../../services/trust/HumanAct.ts"
import type { ControlFile, TrustProposal, TrustState } from "../../services/trust/ProjectTrust.ts"
import { ProjectRestricted, ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import { sha256 } from "../identity/sha256.ts"

export interface ProjectTrustMemoryOptions {
  readonly state?: TrustState
  /** By path relative to the project: `.ai/config/kiwi.yaml`. */
  readonly files?: ReadonlyMap<string, string | Uint8Array>
}

const trusted: TrustState = { _tag: "Trusted" }
const restricted: TrustState = { _tag: "Restricted", reason: "nobody has trusted it yet", unsafe: false }

export const make = Effect.fnUntraced(function*(options: ProjectTrustMemoryOptions) {
  const state = yield* Ref.make(options.state ?? trusted)
  const files = new Map(
    [...options.files ?? []].map(([path, text]): readonly [string, Uint8Array] => [
      path,
      typeof text === "string" ? new TextEncoder().encode(text) : text
    ])
  )

  const requireTrusted = Effect.flatMap(Ref.get(state), (now) =>
    now._tag === "Trusted"
      ? Effect.void
      : Effect.fail(
        new ProjectRestricted({ reason: now._tag === "Restricted" ? now.reason : "there is no project" })
      ))

  const controlFiles = Effect.map(Ref.get(state), (now) =>
    [...files].map(([path, bytes]): ControlFile => ({
      path,
      digest: sha256(bytes),
      state: now._tag === "Trusted" ? "accepted" : "new"
    })))

  const propose = Effect.map(controlFiles, (found): TrustProposal => ({
    request: {
      kind: "trust-project",
      title: "Trust the project",
      details: found.map((file) => `${file.state} ${file.path}`).join("\n"),
      digest: sha256(JSON.stringify(found)),
      command: "kiwi trust project"
    },
    controlFiles: found,
    effects: []
  }))

  const accept = Effect.fnUntraced(function*(_: TrustProposal, act: HumanAct) {
    const { request } = yield* propose
    yield* requireAct(request, act)
    yield* Ref.set(state, trusted)
  })

  return ProjectTrust.of({
    state: Ref.get(state),
    require: requireTrusted,
    controlFiles,
    unseen: Effect.succeed([]),
    interpreter: () => Effect.succeed({ _tag: "Shown", program: undefined }),
    readControl: (path) =>
      Effect.map(Ref.get(state), (now) => now._tag === "Trusted" ? files.get(path)?.slice() : undefined),
    readNarrowing: (path) =>
      Effect.map(Ref.get(state), (now) => {
        const bytes = files.get(path)
        return now._tag === "Trusted" || bytes === undefined ? [] : [bytes.slice()]
      }),
    propose,
    accept,
    revoke: Ref.set(state, restricted),
    trustNew: (create) => Effect.map(create, (value) => ({ value, trusted: false })),
    renew: (path, { after }) =>
      Effect.sync(() => {
        if (after === undefined) files.delete(path)
        else files.set(path, after.slice())
        return true
      })
  })
})

export const layerWith = (options: ProjectTrustMemoryOptions) => Layer.effect(ProjectTrust, make(options))

/** Trusted, without control files. */
export const layer = layerWith({})
