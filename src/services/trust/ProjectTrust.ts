// Whether a person has accepted this project, and at which bytes of its control files. The decision lives in
// $KIWI_HOME; nothing in the project can make it.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "./HumanAct.ts"
import type { ProgramFile } from "./ShownProgram.ts"

/** The reason where there is nothing to trust. */
export const noProject = "there is no project"

/** No person has accepted this project as it is now, so nothing of it runs and nothing of it is believed. */
export class ProjectRestricted extends Schema.TaggedError<ProjectRestricted>()("ProjectRestricted", {
  /** Why, in one sentence. */
  reason: Schema.String,
  /** What to do, where trusting would not help. */
  remedy: Schema.optionalKey(Schema.String)
}) {
  override get message() {
    return this.reason === noProject
      ? "There is no project here: neither this folder nor one above it has a folder .ai"
      : `Nothing of this project runs: ${this.reason}`
  }
  get remediation() {
    return this.remedy ?? "kiwi trust project"
  }
  get refusal() {
    return "restricted" as const
  }
}

export type TrustState =
  /** There is no project: only the user and system tiers. */
  | { readonly _tag: "NoProject" }
  /**
   * `seen`: where a person was shown an interpreter (".venv/bin/python", ".nvmrc"); no other place is used. Absent
   * where there is nobody to show them to: all of them.
   */
  | { readonly _tag: "Trusted"; readonly seen?: ReadonlyArray<string> }
  /** `unsafe`: owner or mode of the folder, `.ai` or `$KIWI_HOME` is wrong. `remedy`: where trusting would not help. */
  | { readonly _tag: "Restricted"; readonly reason: string; readonly unsafe: boolean; readonly remedy?: string }

/**
 * `program`: the file that it comes down to, where that can be told. `issue`: the end of a sentence about the place.
 */
export type InterpreterStanding =
  | { readonly _tag: "Shown"; readonly program: ProgramFile | undefined }
  | { readonly _tag: "New" | "Changed"; readonly issue: string }
  /** No person can accept it. */
  | { readonly _tag: "Refused"; readonly issue: string }

/** A control file: anything under `.ai/config/`, `.ai/extractors/`, and `.env*`. */
export interface ControlFile {
  /** Relative to the project, forward slashes. */
  readonly path: string
  /** sha256 hex of its bytes now; for `removed` of those that were accepted; "" for `refused`. */
  readonly digest: string
  /** `refused` (a link, a device, too large, unreadable) is never used and cannot be accepted; `issue` says why. */
  readonly state: "accepted" | "new" | "changed" | "removed" | "refused"
  readonly issue?: string
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
   * Interpreters that nobody has been shown, or that have changed or gone since. For messages: a call asks
   * `interpreter`.
   */
  readonly unseen: Effect.Effect<ReadonlyArray<string>>
  /**
   * Whether what lies at a place of an interpreter is what a person was shown there. Reads a file once for as long as
   * it does not change; asked before a call, and `afresh`, by the bytes in any case, right before its process starts.
   */
  readonly interpreter: (place: string, afresh?: boolean) => Effect.Effect<InterpreterStanding>
  /**
   * The bytes of a control file, if the project is trusted and a person accepted exactly these bytes; `undefined`
   * if it does not exist, is not accepted, or the project is restricted.
   */
  readonly readControl: (path: string) => Effect.Effect<Uint8Array | undefined>
  /**
   * For files that can also take away (rules that deny, settings that tighten): every text besides `readControl`'s
   * whose restrictions hold. Of a file that was changed or removed since it was accepted: what was accepted, and what
   * is there now. Of a restricted project: what is there. Nobody gets rid of a rule by deleting it. Their grants never
   * count. Fails where a text that restricts cannot be read.
   */
  readonly readNarrowing: (path: string) => Effect.Effect<ReadonlyArray<Uint8Array>, ProjectRestricted>
  readonly propose: Effect.Effect<TrustProposal>
  /** Accepts what `propose` showed. Fails as `HumanRequired` if anything has changed since. */
  readonly accept: (
    proposal: TrustProposal,
    act: HumanAct
  ) => Effect.Effect<void, ProjectRestricted | HumanRequired | WriteRefused | LockError>
  readonly revoke: Effect.Effect<void, WriteRefused | LockError>
  /**
   * Runs what makes a new `.ai`, then trusts the project. A folder that had an `.ai` before (even a broken link), or is
   * unsafe, is not trusted by this; nor is any control file or interpreter: nobody was shown one. For `kiwi init`.
   */
  readonly trustNew: <A, E, R>(
    create: Effect.Effect<A, E, R>
  ) => Effect.Effect<{ readonly value: A; readonly trusted: boolean }, E | WriteRefused | LockError, R>
  /**
   * After one of Kiwi's own commands, typed by a person, edited a control file of a trusted project. `before` are the
   * bytes that the edit started from, `after` those that it wrote; `undefined` for none. Renews only if `before` was
   * accepted, so that an edit cannot carry a stranger's change along; says whether it did.
   */
  readonly renew: (
    path: string,
    edit: { readonly before: Uint8Array | undefined; readonly after: Uint8Array | undefined }
  ) => Effect.Effect<boolean, WriteRefused | LockError>
}>()("kiwi/services/trust/ProjectTrust") {}
