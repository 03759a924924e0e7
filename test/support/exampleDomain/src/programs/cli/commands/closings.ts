import { Effect } from "effect"
import * as Command from "effect/cli/Command"
import { Closings } from "../../../services/closing/Closings.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import { Output } from "../Output.ts"
import { inProject } from "../root.ts"

export const closingsCommand = Command.make("closings", {}, () =>
  Effect.gen(function*() {
    const output = yield* Output
    const closed = yield* inProject(() => Effect.flatMap(Closings, (closings) => closings.closed))
    yield* output.answer(
      Object.fromEntries(closed),
      () => [...closed].map(([tool, why]) => `${safeLine(tool)}: ${safeLine(why)}`).join("\n")
    )
  })).pipe(Command.withDescription("List the tools that are closed, and why"))
