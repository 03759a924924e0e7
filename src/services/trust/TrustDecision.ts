// A person's decision about a project, as stored in `trust.json` below $KIWI_HOME. It names the project itself, so that
// a decision moved to another project's place has no effect there.
import { Schema } from "effect"
import { ShownProgram } from "./ShownProgram.ts"

export const AcceptedFile = Schema.Struct({
  /** Relative to the project, forward slashes. */
  path: Schema.String,
  /** sha256 hex. */
  digest: Schema.String.check(Schema.isPattern(/^[0-9a-f]{64}$/)),
  /** In a `.env*`: the names it sets. Its values are not stored. */
  names: Schema.optionalKey(Schema.Array(Schema.String))
})
export type AcceptedFile = typeof AcceptedFile.Type

export const TrustDecision = Schema.Struct({
  version: Schema.Literal(1),
  /** Real path of the project. */
  root: Schema.String,
  /** The folder's identity; see layers/trust/projectFolder.ts. */
  folder: Schema.String,
  /** SHA-256, in hex, of the secret left in the folder, which identifies it when inodes and times of birth change. */
  mark: Schema.optionalKey(Schema.String),
  /** What was wrong with owners and modes, and was shown to the person. */
  seen: Schema.Array(Schema.String),
  time: Schema.String,
  by: Schema.Literals(["terminal", "elicitation", "passphrase", "embedder", "approver", "init"]),
  files: Schema.Array(AcceptedFile),
  /** Interpreters that existed and that the person was shown. Absent in older decisions: none. */
  interpreters: Schema.optionalKey(Schema.Array(ShownProgram))
})
export type TrustDecision = typeof TrustDecision.Type

export const trustDecisionJson = Schema.fromJsonString(TrustDecision)

const environment = /^(?:\.ai\/)?\.env[^/]*$/

/** A `.env*` file in the project or in `.ai`. */
export const isEnvironmentFile = (path: string): boolean => environment.test(path)

/** A control file: anything under `.ai/config/`, `.ai/extractors/`, and `.env*`. */
export const isControlPath = (path: string): boolean =>
  isEnvironmentFile(path) ||
  ((path.startsWith(".ai/config/") || path.startsWith(".ai/extractors/")) &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== ".."))
