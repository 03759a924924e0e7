// Tools that a project has closed for a while: nobody runs them until they are open again.
import { Context, type Effect, Schema } from "effect"

/** `.ai/config/closed.yaml`. */
export const ClosedFile = Schema.Struct({
  tools: Schema.Record(Schema.String, Schema.NonEmptyString)
})

export class Closings extends Context.Service<Closings, {
  /** Why each tool is closed, by its id. Empty where the file is missing, or is not as a person accepted it. */
  readonly closed: Effect.Effect<ReadonlyMap<string, string>>
}>()("kiwi/services/closing/Closings") {}
