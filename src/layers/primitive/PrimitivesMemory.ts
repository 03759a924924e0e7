// The table of primitives without a disk: every command is its own path, and every folder exists. Everything around a
// program (arguments, timeouts, limits, output formats, errors) is real, so a test of a tool's config is meaningful.
// ChildProcesses decides what programs do, and Outbound what the network answers.
import { Effect, Layer, Option, Result } from "effect"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { Primitives } from "../../services/primitive/Primitive.ts"
import * as PrimitivesTable from "./PrimitivesTable.ts"
import * as SubprocessNode from "./SubprocessNode.ts"

export const make = Effect.gen(function*() {
  const { defaults } = PrimitivesTable
  const subprocess = yield* SubprocessNode.makeWith({
    folder: (root) => Result.succeed(root),
    program: ({ command }) => Result.succeed(command),
    limited: (argv) => Result.succeed({ argv, refusal: "" })
  }, { ...defaults.output, grace: defaults.grace, timeout: defaults.timeout.subprocess })
  const files = yield* Effect.serviceOption(SafeFiles)
  return yield* PrimitivesTable.makeWith(subprocess, defaults, Option.getOrUndefined(files)?.read)
})

export const layer = Layer.effect(Primitives, make)
