// Who started this process: it, its parent, and so on upwards. What a process is called comes from the process itself
// and from whoever started it, never from what it started: a command cannot rename the agent above it.
import { Context, type Effect } from "effect"

export interface ProcessInfo {
  readonly pid: number
  /** The kernel's name for it; "" where it is not known. */
  readonly name: string
  /** Path of the program file; `undefined` where it is not known, as of another user's process. */
  readonly program: string | undefined
  /** All of its arguments, its own name first. */
  readonly argv: ReadonlyArray<string>
  /** What may be the script that an interpreter runs, in the order of its arguments: real paths where they are known. */
  readonly scripts?: ReadonlyArray<string>
  /** `undefined` where the system does not tell, as macOS. */
  readonly session: number | undefined
  readonly group: number
  /** Which stdin and stdout it has, for a comparison; `undefined` where they cannot be seen. */
  readonly stdio?: string | undefined
  /** Of the first process: who leads its sessions and groups and those of its ancestors and is none of them, and who is above. */
  readonly leaders?: ReadonlyArray<ProcessInfo>
}

export class Lineage extends Context.Service<Lineage, {
  /** This process first, the oldest ancestor last. `undefined` where it cannot be read as a whole. */
  readonly read: Effect.Effect<ReadonlyArray<ProcessInfo> | undefined>
}>()("kiwi/services/presence/Lineage") {}
