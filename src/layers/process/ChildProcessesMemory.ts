// ChildProcesses without processes: programs are functions, by the path of their executable. Any other program is not
// found. Supports every level except those of a sandbox.
import { Effect, Fiber, Layer, Queue } from "effect"
import { ChildProcesses, type Connection, type Engine } from "../../services/process/ChildProcesses.ts"
import type { Isolation } from "../../services/sandbox/Isolation.ts"

export interface ProgramStart {
  readonly argv: ReadonlyArray<string>
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | undefined
  /** The program's end of its connection. Undefined if it was not given one. */
  readonly connection: Connection | undefined
}

export interface ProgramEnd {
  readonly stdout?: string
  readonly stderr?: string
  /** Default 0. */
  readonly code?: number
}

export type Program = (start: ProgramStart) => Effect.Effect<ProgramEnd>

/** The two ends of a connection. */
const connect = Effect.map(
  Effect.all([Queue.unbounded<string>(), Queue.unbounded<string>()]),
  ([there, back]) => {
    const encoder = new TextEncoder()
    const end = (from: Queue.Queue<string>, to: Queue.Queue<string>): Connection => ({
      read: Effect.map(Queue.take(from), (text) => encoder.encode(text)),
      write: (text) => Effect.asVoid(Queue.offer(to, text))
    })
    return { own: end(there, back), childs: end(back, there) }
  }
)

const makeEngine = (programs: ReadonlyMap<string, Program>): Engine =>
  Effect.fnUntraced(function*({ argv, env, serve, stderr, stdin, stdout, within }) {
    const program = programs.get(argv[0] ?? "")
    if (program === undefined) return yield* Effect.fail({ _tag: "SpawnFailure" as const, code: "ENOENT" })
    const given = stdin instanceof Uint8Array ? new TextDecoder().decode(stdin) : stdin
    const ends = serve === undefined ? undefined : yield* connect
    const served = ends === undefined || serve === undefined ? undefined : yield* Effect.forkChild(serve(ends.own))
    const end = yield* Effect.timeoutOrElse(program({ argv, env, stdin: given, connection: ends?.childs }), {
      duration: within.millis,
      orElse: () => Effect.fail(within.expired())
    }).pipe(Effect.ensuring(served === undefined ? Effect.void : Fiber.interrupt(served)))
    const encoder = new TextEncoder()
    yield* stdout(encoder.encode(end.stdout)) ?? Effect.void
    yield* stderr(encoder.encode(end.stderr)) ?? Effect.void
    return { code: end.code ?? 0, signal: null }
  })

/** `levels`: those with an engine. Default: `trusted` and `standard`. */
export const make = (
  programs: ReadonlyMap<string, Program>,
  levels: ReadonlyArray<Isolation> = ["trusted", "standard"]
) => {
  const engine = makeEngine(programs)
  return ChildProcesses.fromEngines(new Map(levels.map((level) => [level, engine])))
}

export const layerWith = (...given: Parameters<typeof make>) => Layer.succeed(ChildProcesses, make(...given))
export const layer = layerWith(new Map())
