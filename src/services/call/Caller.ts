// Who acts, on every surface: the same for the permission gate, the audit and a call.
import { Schema } from "effect"

export const Surface = Schema.Literals(["mcp", "cli", "embed"])
export type Surface = typeof Surface.Type

/** Who calls. Every field is set by the surface, never by the caller's own words, but `label`. */
export const Caller = Schema.Struct({
  surface: Surface,
  /** Name that policy knows: `serve --client NAME`, else the operating-system user. */
  client: Schema.String,
  /** What the client calls itself: shown, never believed. */
  label: Schema.optionalKey(Schema.String),
  /** One connection, one command, one embedded runtime. */
  session: Schema.String
})
export type Caller = typeof Caller.Type
