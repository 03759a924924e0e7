// The only way to start a process: a tool's, or one of Kiwi's own. Effect's `ChildProcessSpawner` has no levels of
// isolation and leaves processes that left the group, so nothing uses it. One process starts before any kernel:
// `bin/kiwi.cjs` may re-execute with a newer Node.
import { Context, Effect } from "effect"
import type { Isolation } from "../sandbox/Isolation.ts"
import { SandboxUnavailable } from "../sandbox/Isolation.ts"

/**
 * Takes a chunk. Returns an effect only if no more may be read until it is done. If the effect fails, the child is
 * ended.
 */
export type TakeChunk<E> = (chunk: Uint8Array) => Effect.Effect<void, E> | undefined

/** One end of a connection. */
export interface Connection {
  /** The next bytes. Undefined once the other end is closed. Until then, what the other end writes has to wait. */
  readonly read: Effect.Effect<Uint8Array | undefined>
  /** Done when all of it is on its way. What is written to a closed end is dropped. */
  readonly write: (text: string) => Effect.Effect<void>
}

export interface ChildRequest<E, X> {
  /** For messages: the tool's id, or the name of Kiwi's own program. */
  readonly name: string
  readonly isolation: Isolation
  /** The first element is an absolute path: engines do not look programs up. */
  readonly argv: ReadonlyArray<string>
  /** The program's own name (argv[0]), if it differs from the file. */
  readonly as?: string | undefined
  readonly cwd: string
  /** The child's whole environment, except its mark. */
  readonly env: Readonly<Record<string, string>>
  /** The variable, with a value unique to this child, by which processes that it started are recognized. */
  readonly mark: "KIWI_CALL" | "KIWI_CHILD"
  /** Default: empty. */
  readonly stdin?: string | Uint8Array | undefined
  readonly stdout: TakeChunk<E>
  readonly stderr: TakeChunk<E>
  /**
   * Serves a connection that the child inherits as its file descriptor 3, and that no other process gets from Kiwi. It is
   * interrupted when the child has exited or is ended, and closed when it is done. Absent: the child has no descriptor 3.
   */
  readonly serve?: ((connection: Connection) => Effect.Effect<void>) | undefined
  /** The time limit, and the error when it is exceeded. */
  readonly within: { readonly millis: number; readonly expired: () => X }
  /** Milliseconds between TERM and KILL. */
  readonly grace: number
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: string | null
}

/** The operating system could not start it. */
export interface SpawnFailure {
  readonly _tag: "SpawnFailure"
  /** The system's code: "ENOENT". */
  readonly code: string
}

/** Starts processes at one or more levels. */
export type Engine = <E, X>(request: ChildRequest<E, X>) => Effect.Effect<ChildExit, SpawnFailure | E | X>

export class ChildProcesses extends Context.Service<ChildProcesses, {
  /** The levels that have an engine. */
  readonly levels: ReadonlySet<Isolation>
  /**
   * Runs a child until it has exited and its output is read. Interruption, and the time limit, first end the child and
   * everything that it started. So does the exit of this process.
   */
  readonly run: <E, X>(
    request: ChildRequest<E, X>
  ) => Effect.Effect<ChildExit, SandboxUnavailable | SpawnFailure | E | X>
}>()("kiwi/services/process/ChildProcesses") {
  /** A level without an engine is refused before anything starts. */
  static readonly fromEngines = (engines: ReadonlyMap<Isolation, Engine>): ChildProcesses["Service"] =>
    ChildProcesses.of({
      levels: new Set(engines.keys()),
      run: (request) =>
        engines.get(request.isolation)?.(request) ??
          Effect.fail(new SandboxUnavailable({ tool: request.name, level: request.isolation }))
    })
}
