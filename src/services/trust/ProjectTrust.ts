// Whether a person has accepted this project, and at which bytes of its control files. The decision lives in
// $KIWI_HOME; nothing in the project can make it.
import { Context, type Effect, Schema } from "effect"
import type { LockTimeout } from "../workspace/ProcessLock.ts"
import type { WriteRefused } from "../workspace/SafeFiles.ts"
import type { HumanAct, HumanRequest } from "./HumanAct.ts"

export class ProjectRestricted extends Schema.TaggedError<ProjectRestricted>()("ProjectRestricted", {
  /** Why, in one sentence. */
  reason: Schema.String
}) {
  override get message() {
    return `Nothing of this project runs: ${this.reason}`
  }
  get remediation() {
    return "kiwi trust project"
  }
}

export type TrustState =
  /** There is no project: only the user and system tiers. */
  | { readonly _tag: "NoProject" }
  | { readonly _tag: "Trusted" }
  /** `unsafe`: owner or mode of the folder, `.ai` or `$KIWI_HOME` is wrong. */
  | { readonly _tag: "Restricted"; readonly reason: string; readonly unsafe: boolean }

/** A control file: anything under `.ai/config/`, `.ai/extractors/`, and `.env*`. */
export interface ControlFile {
  /** Relative to the project, forward slashes. */
  readonly path: string
  readonly digest: string
  readonly state: "accepted" | "new" | "changed" | "removed"
}

/** What trusting this project would switch on, for a person to read. */
export interface TrustProposal {
  readonly request: HumanRequest
  readonly controlFiles: ReadonlyArray<ControlFile>
  /** Plain sentences: signers, interpreters, `.env` names, extractors… */
  readonly effects: ReadonlyArray<string>
}

export class ProjectTrust extends Context.Service<ProjectTrust, {
  /** Cheap (a few stats); asked on every call. */
  readonly state: Effect.Effect<TrustState>
  /** Succeeds when things of the project tier may be used, else `ProjectRestricted`. */
  readonly require: Effect.Effect<void, ProjectRestricted>
  readonly controlFiles: Effect.Effect<ReadonlyArray<ControlFile>>
  /**
   * The bytes of a control file, if the project is trusted and a person accepted exactly these bytes; `undefined`
   * if it does not exist, is not accepted, or the project is restricted.
   */
  readonly readControl: (path: string) => Effect.Effect<Uint8Array | undefined>
  readonly propose: Effect.Effect<TrustProposal>
  /** Accepts what `propose` showed. Fails as `ProjectRestricted` if anything has changed since. */
  readonly accept: (
    proposal: TrustProposal,
    act: HumanAct
  ) => Effect.Effect<void, ProjectRestricted | WriteRefused | LockTimeout>
  readonly revoke: Effect.Effect<void, WriteRefused | LockTimeout>
  /** After one of Kiwi's own commands, typed by a person, edited a control file of a trusted project. */
  readonly renew: (path: string) => Effect.Effect<void, WriteRefused | LockTimeout>
}>()("kiwi/services/trust/ProjectTrust") {}
