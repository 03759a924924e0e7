// Answers with nothing at all: what a call costs without what it does.
import { Effect } from "effect"
import type { BuiltinHandlers } from "../../../services/primitive/Builtins.ts"

export const handlers: BuiltinHandlers = {
  noop: () => Effect.succeed({ data: null, metadata: {} })
}
