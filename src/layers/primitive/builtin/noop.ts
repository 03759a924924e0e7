// Does nothing: measures the cost of a call itself.
import { Effect } from "effect"
import type { BuiltinHandlers } from "../../../services/primitive/Builtins.ts"

export const handlers: BuiltinHandlers = {
  noop: () => Effect.succeed({ data: null, metadata: {} })
}
