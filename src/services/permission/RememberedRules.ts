// Rules that a person's answers made. They settle what would be asked, and never what is denied. Kept outside of the
// project, in `$KIWI_HOME/projects/<id>/`.
import { Context, type Effect, Schema } from "effect"
import type { WriteRefused } from "../files/SafeFiles.ts"

export const RememberedRule = Schema.Struct({
  id: Schema.String,
  /** One line, as in `permissions.yaml`: "allow: fs.write(src/**)". `deny` is the answer `never`. */
  rule: Schema.String,
  /** Whose calls it settles: `Caller.client`. */
  client: Schema.String,
  /** Only calls of this session. Absent: all of the client's in this project. */
  session: Schema.optionalKey(Schema.String),
  /** The process that the session ends with. */
  pid: Schema.optionalKey(Schema.Int),
  /** When the person answered, ISO 8601. */
  at: Schema.String,
  /** How the person was reached: "answered at /dev/pts/3". */
  by: Schema.String,
  /** The rules that had asked, see `askersOf`: it answers no other. Absent: all. */
  answers: Schema.optionalKey(Schema.Array(Schema.String)),
  /**
   * It settles nothing: it is what the client may have run, with the person's agreement. `print` stands for its whole
   * chain and its signers. Rules with `when` compare with the latest of each tool.
   */
  ran: Schema.optionalKey(Schema.Struct({ tool: Schema.String, print: Schema.String })),
  /** The request that was answered. */
  approval: Schema.String
})
export type RememberedRule = typeof RememberedRule.Type

export class RememberedRules extends Context.Service<RememberedRules, {
  /** In the order of their making. Read anew when another process changed them. */
  readonly current: Effect.Effect<ReadonlyArray<RememberedRule>>
  /** Also drops the rules of sessions that have ended with their process. */
  readonly add: (rules: ReadonlyArray<RememberedRule>) => Effect.Effect<void, WriteRefused>
  /** The rules that were removed. Unknown ids are skipped. */
  readonly remove: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<RememberedRule>, WriteRefused>
}>()("kiwi/services/permission/RememberedRules") {}
