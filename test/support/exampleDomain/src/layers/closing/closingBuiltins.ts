import { Effect } from "effect"
import { Closings } from "../../services/closing/Closings.ts"
import type { BuiltinHandlers } from "../../services/primitive/Builtins.ts"

export const handlers: BuiltinHandlers<Closings> = {
  closings: () =>
    Effect.gen(function*() {
      const { closed } = yield* Closings
      return { data: Object.fromEntries(yield* closed), metadata: {} }
    })
}
