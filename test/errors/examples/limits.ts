// What is refused since it comes too often, too many at once, or again and again.
import { Effect, Fiber } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { signalHelp } from "../../../src/programs/helpSignals.ts"
import { call, caller } from "../../layers/proxy/calls.ts"
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

const selfCalling = {
  ".ai/tools/again.sh": `#!/usr/bin/env bash
# kiwi:
#   version: 1.0.0
#   executor_id: bash_runtime
#   description: Calls itself
#   config: {calls: [tool.again]}
echo '{"jsonrpc": "2.0", "id": 1, "method": "execute", "params": {"item_id": "again"}}' >&3
read -r answer <&3
echo "$answer"
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
  CallsTooDeep: {
    when: "A tool that may call other tools calls itself, and that call does the same",
    produce: failing(selfCalling, "signed", () =>
      Effect.gen(function*() {
        yield* call("again")
        const within = Array.from({ length: 5 }, (_, at) => ({ call: `call-${at}`, tool: "again" }))
        return yield* call("again", {}, { within })
      }))
  },
  InterventionsFull: {
    when: "A caller leaves a twenty-first decision to a person who has not looked yet",
    produce: failing({}, "trusted", () =>
      Effect.forEach(
        Array.from({ length: 21 }, (_, at) => at),
        (at) => signalHelp({ action: "escalate", reason: `Which of the two? (${at})` }, caller)
      ))
  },
  InterventionsUnavailable: {
    when: "A caller leaves a decision to a person, and the file that such requests are kept in is a folder",
    produce: failing({}, "trusted", ({ home }) => {
      const id = fs.readdirSync(join(home, "projects")).find((name) => name !== "index")
      fs.mkdirSync(join(home, "projects", id!, "interventions.json"))
      return signalHelp({ action: "escalate", reason: "Which of the two?" }, caller)
    })
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
