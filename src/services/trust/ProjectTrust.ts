// Whether a person has accepted this project, and at which bytes of its control files. The decision is stored in
// $KIWI_HOME: nothing in the project can make it.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { HumanAct, HumanRequest, HumanRequired } from "./HumanAct.ts"
import type { ProgramFile } from "./ShownProgram.ts"

/** The reason in a kernel without a project. */
export const noProject = "there is no project"

/** No person has accepted this project as it is now, so nothing in it runs and its control files do not count. */
export class ProjectRestricted extends Schema.TaggedError<ProjectRestricted>()("ProjectRestricted", {
  /** One sentence. */
  reason: Schema.String,
  /** What to do, if trusting the project would not help. */
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
   * `seen`: the places where a person was shown an interpreter (".venv/bin/python", ".nvmrc"); no other place is used.
   * Absent if nobody can be shown them: all places are used.
   */
  | { readonly _tag: "Trusted"; readonly seen?: ReadonlyArray<string> }
  /**
   * `unsafe`: the owner or mode of the folder, `.ai` or `$KIWI_HOME` is wrong. `remedy`: if trusting would not help.
   */
  | { readonly _tag: "Restricted"; readonly reason: string; readonly unsafe: boolean; readonly remedy?: string }

/** `program`: the file that the place resolves to, if that is known. `issue`: the end of a sentence about the place. */
export type InterpreterStanding =
  | { readonly _tag: "Shown"; readonly program: ProgramFile | undefined }
  | { readonly _tag: "New" | "Changed"; readonly issue: string }
  /** No person can accept it. */
  | { readonly _tag: "Refused"; readonly issue: string }

/** A control file: anything under `.ai/config/`, `.ai/extractors/`, and `.env*`. */
export interface ControlFile {
  /** Relative to the project, forward slashes. */
  readonly path: string
  /** SHA-256, in hex, of its current bytes; of the accepted bytes for `removed`; "" for `refused`. */
  readonly digest: string
  /**
   * A `refused` file (a link, a device, too large, unreadable) is never used and cannot be accepted; `issue` says why.
   */
  readonly state: "accepted" | "new" | "changed" | "removed" | "refused"
  readonly issue?: string
}

/** What trusting this project would enable, for a person to read. */
export interface TrustProposal {
  readonly request: HumanRequest
  readonly controlFiles: ReadonlyArray<ControlFile>
  /** Plain sentences: signers, interpreters, `.env` names, extractors… */
  readonly effects: ReadonlyArray<string>
}

export class ProjectTrust extends Context.Service<ProjectTrust, {
  /** Cheap (a few stats); read on every call. */
  readonly state: Effect.Effect<TrustState>
  /** Succeeds if items of the project tier may be used, else `ProjectRestricted`. */
  readonly require: Effect.Effect<void, ProjectRestricted>
  readonly controlFiles: Effect.Effect<ReadonlyArray<ControlFile>>
  /**
   * Interpreters that no person was shown, or that have changed or disappeared since. For messages only: a call uses
   * `interpreter`.
   */
  readonly unseen: Effect.Effect<ReadonlyArray<string>>
  /**
   * Whether the content of an interpreter's place is what a person was shown there. Cached while the file does not
   * change. Checked before a call and, with `afresh` (by the bytes, without the cache), right before its process
   * starts.
   */
  readonly interpreter: (place: string, afresh?: boolean) => Effect.Effect<InterpreterStanding>
  /**
   * The bytes of a control file, if the project is trusted and a person accepted exactly these bytes. Undefined if the
   * file does not exist, is not accepted, or the project is restricted.
   */
  readonly readControl: (path: string) => Effect.Effect<Uint8Array | undefined>
  /**
   * For files that can also restrict (rules that deny, stricter settings): every text, besides `readControl`'s, whose
   * restrictions hold. For a file that was changed or removed since it was accepted: the accepted text and the current
   * one. For a restricted project: the current one. So nobody can lift a rule by deleting it. What these texts grant
   * never counts. Fails if a text that restricts cannot be read.
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
   * For `kiwi init`: runs an effect that makes a new `.ai`, then trusts the project. Does not trust a folder that had
   * an `.ai` before (even a broken link) or is unsafe, nor any control file or interpreter: nobody was shown one.
   */
  readonly trustNew: <A, E, R>(
    create: Effect.Effect<A, E, R>
  ) => Effect.Effect<{ readonly value: A; readonly trusted: boolean }, E | WriteRefused | LockError, R>
  /**
   * Renews the acceptance after one of Kiwi's own commands, typed by a person, edited a control file of a trusted
   * project. `before`: the bytes that the edit started from; `after`: the bytes that it wrote; undefined for no file.
   * Renews only if `before` was accepted, so that an edit cannot include a stranger's change. Returns whether it did.
   */
  readonly renew: (
    path: string,
    edit: { readonly before: Uint8Array | undefined; readonly after: Uint8Array | undefined }
  ) => Effect.Effect<boolean, WriteRefused | LockError>
}>()("kiwi/services/trust/ProjectTrust") {}
