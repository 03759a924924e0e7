// The profiles of `profiles.yaml` of user and project, as they are on disk now.
import { Context, type Effect, Schema } from "effect"
import { nearest } from "../../schema/schemaIssues.ts"
import type { Profile } from "./Profile.ts"

/** A server was to start with a profile that no file has. */
export class ProfileUnknown extends Schema.TaggedError<ProfileUnknown>()("ProfileUnknown", {
  /** As somebody typed it. Code that prints it escapes it. */
  name: Schema.String,
  /** The names that there are. */
  known: Schema.Array(Schema.String)
}) {
  override get message() {
    return `There is no profile "${this.name}"${
      this.known.length === 0 ? ", nor any other" : `; there are: ${this.known.join(", ")}`
    }`
  }
  get remediation() {
    const meant = nearest(this.name, this.known)
    return meant === undefined
      ? "Profiles are in ~/.ai/config/profiles.yaml and the project's .ai/config/profiles.yaml: kiwi profile list"
      : `Did you mean "${meant}"? kiwi profile show ${meant}`
  }
}

/** A `profiles.yaml` is not valid, so none of its profiles can be used. */
export class ProfilesInvalid extends Schema.TaggedError<ProfilesInvalid>()("ProfilesInvalid", {
  /** "user:config/profiles.yaml" */
  file: Schema.String,
  line: Schema.Int,
  column: Schema.Int,
  issue: Schema.String,
  hint: Schema.optional(Schema.String)
}) {
  override get message() {
    return `${this.file}, line ${this.line}, column ${this.column}: ${this.issue}`
  }
  get remediation() {
    return this.hint ?? "Correct the file with an editor; kiwi profile list says whether it can be used"
  }
}

export class Profiles extends Context.Service<Profiles, {
  /** Every profile, by name. Read anew when a file changed. */
  readonly current: Effect.Effect<ReadonlyMap<string, Profile>, ProfilesInvalid>
}>()("kiwi/services/permission/profile/Profiles") {}
