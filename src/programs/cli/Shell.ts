// What a command gets from the process that it runs in. Filled in by the bin, or by a test; nothing else in this folder
// looks at the process.
import { Context, type Effect } from "effect"
import type { Readable, Writable } from "node:stream"

/** One of the two streams that a command writes to. */
export interface Pipe {
  readonly isTerminal: boolean
  /** Width of the terminal; 80 where there is none. */
  readonly columns: number
  /** Succeeds when the text was handed over, and also when nobody reads any more. */
  readonly write: (data: string | Uint8Array) => Effect.Effect<void>
}

export class Shell extends Context.Service<Shell, {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute. */
  readonly cwd: string
  /** The operating-system user: the name that policy knows the caller by. */
  readonly user: string
  readonly platform: string
  /** Version of Node: `24.1.0`. */
  readonly node: string
  /** The program and the script that were started: how another process can start this Kiwi again. */
  readonly started: { readonly node: string; readonly script: string }
  readonly stdin: { readonly isTerminal: boolean }
  /** Data. */
  readonly stdout: Pipe
  /** Talk. */
  readonly stderr: Pipe
  /** Stdin and stdout as the protocol's own: from then on nothing else reaches stdout. */
  readonly protocol: Effect.Effect<{ readonly input: Readable; readonly output: Writable }>
}>()("kiwi/programs/cli/Shell") {}

/** A variable that is set to something. */
export const variable = (env: Shell["Service"]["env"], name: string): string | undefined => {
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  return value === undefined || value === "" ? undefined : value
}
