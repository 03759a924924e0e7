// What a person decided about a project, as it is kept in `trust.json` below $KIWI_HOME. It names the project itself,
// so that a decision that was moved to another project's place says nothing there.
import { Schema } from "effect"
import { ShownProgram } from "./ShownProgram.ts"

export const AcceptedFile = Schema.Struct({
  /** Relative to the project, forward slashes. */
  path: Schema.String,
  /** sha256 hex. */
  digest: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)),
  /** Of a `.env*`: the names it sets. Its values are kept nowhere. */
  names: Schema.optionalKey(Schema.Array(Schema.String))
})
export type AcceptedFile = typeof AcceptedFile.Type

export const TrustDecision = Schema.Struct({
  version: Schema.Literal(1),
  /** Real path of the project. */
  root: Schema.String,
  /** Which folder that was; see layers/trust/projectFolder.ts. */
  folder: Schema.String,
  /** sha256 hex of the secret that was left in the folder, by which it is known where inodes and times of birth change. */
  mark: Schema.optionalKey(Schema.String),
  /** What was wrong with owners and modes, and seen by the person. */
  seen: Schema.Array(Schema.String),
  time: Schema.String,
  by: Schema.Literals(["terminal", "elicitation", "passphrase", "embedder", "init"]),
  files: Schema.Array(AcceptedFile),
  /** Interpreters that were there and that the person was shown; none in decisions that do not say. */
  interpreters: Schema.optionalKey(Schema.Array(ShownProgram))
})
export type TrustDecision = typeof TrustDecision.Type

export const trustDecisionJson = Schema.fromJsonString(TrustDecision)

const environment = /^(?:\.ai\/)?\.env[^/]*$/

/** `.env*` of the project or of `.ai`. */
export const isEnvironmentFile = (path: string): boolean => environment.test(path)

/** A control file: anything under `.ai/config/`, `.ai/extractors/`, and `.env*`. */
export const isControlPath = (path: string): boolean =>
  isEnvironmentFile(path) ||
  ((path.startsWith(".ai/config/") || path.startsWith(".ai/extractors/")) &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== ".."))
