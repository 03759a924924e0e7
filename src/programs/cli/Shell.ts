// What a command gets from its process. The bin or a test provides it; nothing else in this folder reads the process.
import { Context, type Effect } from "effect"
import type { Readable, Writable } from "node:stream"

/** One of the two streams that a command writes to. */
export interface Pipe {
  readonly isTerminal: boolean
  /** Width of the terminal; 80 if there is none. */
  readonly columns: number
  /** Succeeds when the text was written, and also when the stream is closed. */
  readonly write: (data: string | Uint8Array) => Effect.Effect<void>
}

export class Shell extends Context.Service<Shell, {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Absolute. */
  readonly cwd: string
  /** The operating-system user: the caller's name in policy. */
  readonly user: string
  readonly platform: string
  /** Version of Node: `24.1.0`. */
  readonly node: string
  /** The program and the script of this process: another process can start this Kiwi by them. */
  readonly started: { readonly node: string; readonly script: string }
  readonly stdin: { readonly isTerminal: boolean }
  /** For the answer. */
  readonly stdout: Pipe
  /** For everything else. */
  readonly stderr: Pipe
  /** Reserves stdin and stdout for the protocol: from then on nothing else reaches stdout. */
  readonly protocol: Effect.Effect<{ readonly input: Readable; readonly output: Writable }>
}>()("kiwi/programs/cli/Shell") {}

/** A variable that is set and not empty. */
export const variable = (env: Shell["Service"]["env"], name: string): string | undefined => {
  const value = Object.hasOwn(env, name) ? env[name] : undefined
  return value === undefined || value === "" ? undefined : value
}
