// Who calls, on every surface. The same for the permission gate, the audit and a call.
import { Schema } from "effect"

export const Surface = Schema.Literals(["mcp", "cli", "embed"])
export type Surface = typeof Surface.Type

/** Who calls. The surface sets every field, except `label`, which is the caller's own. */
export const Caller = Schema.Struct({
  surface: Surface,
  /** The name for rules: `serve --client NAME`, else the operating-system user. */
  client: Schema.String,
  /** The client's own name: shown, but not trusted. */
  label: Schema.optionalKey(Schema.String),
  /** The profile that its surface was started with: it sees and runs only what is in it. */
  profile: Schema.optionalKey(Schema.String),
  /** Identifies one connection, one command or one embedded runtime. */
  session: Schema.String
})
export type Caller = typeof Caller.Type
