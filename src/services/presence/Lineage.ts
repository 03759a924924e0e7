// Who started this process: the process, its parent, and so on. A process's name comes from the process itself or from
// the one that started it, never from its children: a command cannot rename the agent above it.
import { Context, type Effect } from "effect"

export interface ProcessInfo {
  readonly pid: number
  /** The kernel's name for it; "" if unknown. */
  readonly name: string
  /** Path of the program file. Undefined if unknown, as for another user's process. */
  readonly program: string | undefined
  /** All of its arguments, its own name first. */
  readonly argv: ReadonlyArray<string>
  /** Candidates for the script that an interpreter runs, in the order of the arguments. Real paths where known. */
  readonly scripts?: ReadonlyArray<string>
  /** Undefined if the system does not provide it, as macOS. */
  readonly session: number | undefined
  readonly group: number
  /** Identifies its stdin and stdout, for comparison. Undefined if they cannot be read. */
  readonly stdio?: string | undefined
  /**
   * Only on the first process: leaders of its and its ancestors' sessions and groups that are not ancestors, with their
   * ancestors.
   */
  readonly leaders?: ReadonlyArray<ProcessInfo>
}

export class Lineage extends Context.Service<Lineage, {
  /** This process first, the oldest ancestor last. Undefined if any part cannot be read. */
  readonly read: Effect.Effect<ReadonlyArray<ProcessInfo> | undefined>
}>()("kiwi/services/presence/Lineage") {}
