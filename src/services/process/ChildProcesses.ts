// The one way to start a process: a tool's, and Kiwi's own. Effect's `ChildProcessSpawner` has no levels of isolation, and
// leaves behind what left the group; nothing asks it. Before any kernel there is one start: `bin/kiwi.cjs` hands over to
// a newer Node.
import { Context, Effect } from "effect"
import type { Isolation } from "../sandbox/Isolation.ts"
import { SandboxUnavailable } from "../sandbox/Isolation.ts"

/** Takes a chunk; returns an effect only where no more may be read until it is done. If it fails, the child is ended. */
export type TakeChunk<E> = (chunk: Uint8Array) => Effect.Effect<void, E> | undefined

export interface ChildRequest<E, X> {
  /** For messages: the tool's id, or the name of Kiwi's own program. */
  readonly name: string
  readonly isolation: Isolation
  /** The first one is an absolute path: no engine looks a program up. */
  readonly argv: ReadonlyArray<string>
  /** What the program is told as its own name, where that is not the file. */
  readonly as?: string | undefined
  readonly cwd: string
  /** All that the child gets, but for its mark. */
  readonly env: Readonly<Record<string, string>>
  /** The variable, with a value of this child alone, by which what it started is known for its own. */
  readonly mark: "KIWI_CALL" | "KIWI_CHILD"
  /** Default: nothing to read. */
  readonly stdin?: string | Uint8Array | undefined
  readonly stdout: TakeChunk<E>
  readonly stderr: TakeChunk<E>
  /** How long it may take in all, and what is wrong when that is over. */
  readonly within: { readonly millis: number; readonly expired: () => X }
  /** Milliseconds between TERM and KILL. */
  readonly grace: number
}

export interface ChildExit {
  readonly code: number | null
  readonly signal: string | null
}

/** The operating system did not start it. */
export interface SpawnFailure {
  readonly _tag: "SpawnFailure"
  /** The system's code: "ENOENT". */
  readonly code: string
}

/** What starts processes at one level, or several. */
export type Engine = <E, X>(request: ChildRequest<E, X>) => Effect.Effect<ChildExit, SpawnFailure | E | X>

export class ChildProcesses extends Context.Service<ChildProcesses, {
  /** Those that there is an engine for. */
  readonly levels: ReadonlySet<Isolation>
  /**
   * Runs a child until it has exited and its output is read. Interruption, and the end of its time, end the child and all
   * that it started before this goes on; so does the exit of this process.
   */
  readonly run: <E, X>(
    request: ChildRequest<E, X>
  ) => Effect.Effect<ChildExit, SandboxUnavailable | SpawnFailure | E | X>
}>()("kiwi/services/process/ChildProcesses") {
  /** A level that is not in the map is refused before anything starts. */
  static readonly fromEngines = (engines: ReadonlyMap<Isolation, Engine>): ChildProcesses["Service"] =>
    ChildProcesses.of({
      levels: new Set(engines.keys()),
      run: (request) =>
        engines.get(request.isolation)?.(request) ??
          Effect.fail(new SandboxUnavailable({ tool: request.name, level: request.isolation }))
    })
}
