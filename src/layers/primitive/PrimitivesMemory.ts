// The table of primitives without processes: programs are functions. What surrounds them – arguments, timeouts, caps,
// output formats, errors – is the real thing, so a test of a tool's config means something. The network is whatever
// Outbound is provided.
import { Effect, Layer, Option, Result } from "effect"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { Primitives } from "../../services/primitive/Primitive.ts"
import * as PrimitivesTable from "./PrimitivesTable.ts"
import * as SubprocessNode from "./SubprocessNode.ts"

export interface ProgramStart {
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | undefined
}

export interface ProgramEnd {
  readonly stdout?: string
  readonly stderr?: string
  /** Default 0. */
  readonly code?: number
}

export type Program = (start: ProgramStart) => Effect.Effect<ProgramEnd>

/** `programs` by the command's name as the config names it; any other command is not found. */
export const make = Effect.fnUntraced(function*(programs: ReadonlyMap<string, Program>) {
  const { defaults } = PrimitivesTable
  const subprocess = yield* SubprocessNode.makeWith({
    folder: (root) => Result.succeed(root),
    program: ({ command }) => Result.succeed(command),
    limited: (argv) => Result.succeed({ argv, refusal: "" }),
    run: Effect.fnUntraced(function*(spec, sinks, within) {
      const program = programs.get(spec.argv[0] ?? "")
      if (program === undefined) return yield* Effect.fail({ _tag: "SpawnFailure" as const, code: "ENOENT" })
      const end = yield* Effect.timeoutOrElse(program(spec), {
        duration: within.millis,
        orElse: () => Effect.fail(within.expired())
      })
      yield* sinks.stdout(Buffer.from(end.stdout ?? "")) ?? Effect.void
      yield* sinks.stderr(Buffer.from(end.stderr ?? "")) ?? Effect.void
      return { code: end.code ?? 0, signal: null }
    })
  }, { ...defaults.output, grace: defaults.grace, timeout: defaults.timeout.subprocess })
  const files = yield* Effect.serviceOption(SafeFiles)
  return yield* PrimitivesTable.makeWith(subprocess, defaults, Option.getOrUndefined(files)?.read)
})

export const layerWith = (programs: ReadonlyMap<string, Program>) => Layer.effect(Primitives, make(programs))
export const layer = layerWith(new Map())
