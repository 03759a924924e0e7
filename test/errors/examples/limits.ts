// What is refused since it comes too often, too many at once, or again and again.
import { Effect, Fiber } from "effect"
import { call } from "../../layers/proxy/calls.ts"
import { failing } from "../Example.ts"
import type { Examples } from "../Example.ts"

const waits = {
  ".ai/tools/wait.sh": `#!/usr/bin/env bash
# kiwi:
#   version: 1.0.0
#   executor_id: bash_runtime
#   description: Waits
sleep 5
`
}

/** Settings of the project, which a person accepts with it. */
const settings = (text: string) => ({ ".ai/config/kiwi.yaml": text })

export const examples: Examples = {
  RateLimited: {
    when: "A tool is called twice, and the project allows one call of it a minute",
    produce: failing(
      settings("limits.rate: {tools: {\"ping\": 1/m}}\n"),
      "trusted",
      () => Effect.andThen(call("ping"), call("ping"))
    )
  },
  ConcurrencyLimited: {
    when: "A second tool is called while the first is still running, and the project allows one at once",
    produce: failing(
      { ...settings("limits.concurrency: {caller: 1}\n"), ...waits },
      "signed",
      () =>
        Effect.gen(function*() {
          const running = yield* Effect.forkChild(call("wait"))
          yield* Effect.sleep("1 second")
          return yield* Effect.ensuring(call("wait"), Fiber.interrupt(running))
        })
    )
  },
  LoopDetected: {
    when: "A tool that fails is called an eleventh time, with nothing changed",
    produce: failing(
      {
        ".ai/tools/broken.sh": `#!/usr/bin/env bash
# kiwi:
#   version: 1.0.0
#   executor_id: bash_runtime
#   description: Fails
exit 1
`
      },
      "signed",
      () =>
        Effect.andThen(Effect.forEach(Array.from({ length: 10 }), () => Effect.exit(call("broken"))), call("broken"))
    )
  }
}
