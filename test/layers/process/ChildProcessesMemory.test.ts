import { Effect, Ref } from "effect"
import * as ChildProcessesMemory from "../../../src/layers/process/ChildProcessesMemory.ts"
import { contract } from "../../services/process/ChildProcesses.contract.ts"

contract(
  "ChildProcessesMemory",
  Effect.map(Ref.make(false), (started) => {
    const start = Ref.set(started, true)
    const programs = {
      echo: ({ stdin = "" }) => Effect.succeed({ stdout: stdin }),
      word: ({ env }) => Effect.succeed({ stdout: env["WORD"] ?? "" }),
      refuse: () => Effect.succeed({ stderr: "no", code: 3 }),
      hang: () => Effect.andThen(start, Effect.never),
      mark: () => Effect.as(start, {})
    } satisfies Record<string, ChildProcessesMemory.Program>
    return {
      programs: { echo: "echo", word: "word", refuse: "refuse", hang: "hang", mark: "mark", none: "none" },
      started: Ref.get(started),
      layer: ChildProcessesMemory.layerWith(new Map(Object.entries(programs)))
    }
  })
)
