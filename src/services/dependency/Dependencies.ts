// Packages of other people that a tool needs: what it declares, where it is installed, and the one act that installs.
// Nothing is installed by a call: a tool whose packages are not there says so, and which command puts them there.
import { Context, type Effect } from "effect"
import type { Chain } from "../chain/Chain.ts"
import type { WriteRefused } from "../files/SafeFiles.ts"
import type { LockError } from "../workspace/ProcessLock.ts"
import type { Declared } from "./declaredDependencies.ts"
import type {
  DependenciesInvalid,
  DependenciesMissing,
  InstallerMissing,
  InstallFailed,
  InterpreterUnsuitable,
  PinsDiffer
} from "./DependencyErrors.ts"
import type { InstalledPackage, InstalledSet } from "./InstalledPackage.ts"

export type SyncError =
  | DependenciesInvalid
  | InstallerMissing
  | InstallFailed
  | InterpreterUnsuitable
  | PinsDiffer
  | WriteRefused
  | LockError

/** What an environment belongs to. */
export interface EnvironmentQuery {
  readonly chain: Chain
  /** What EnvResolver found for the chain's runtime; `undefined` where it declares none. */
  readonly interpreter: string | undefined
  /** Versions and hashes that a lock names. */
  readonly pins?: ReadonlyArray<InstalledPackage> | undefined
}

export interface SyncRequest extends EnvironmentQuery {
  /** Resolve versions anew, although there is an environment, and whatever the pins say. */
  readonly upgrade?: boolean | undefined
  /** Let packages run code of theirs while they are installed: build steps of Python, scripts of npm. */
  readonly allowBuild?: boolean | undefined
  /** What is being done, in a few words. */
  readonly progress?: ((what: string) => Effect.Effect<void>) | undefined
}

export interface SyncOutcome {
  readonly set: InstalledSet
  readonly state: "installed" | "up-to-date"
  /** `uv 0.5.1`; of the one that made the environment. */
  readonly installer: string
}

export class Dependencies extends Context.Service<Dependencies, {
  /** What a chain declares, worked out once per chain from its verified bytes; `undefined` where that is nothing. */
  readonly declared: (chain: Chain) => Effect.Effect<Declared | undefined, DependenciesInvalid>
  /**
   * The chain's environment, if it is complete and as it was made; `undefined` where the chain declares nothing. A few
   * stats once it is known. With pins, an environment with exactly these packages comes before any other.
   */
  readonly installed: (
    query: EnvironmentQuery
  ) => Effect.Effect<InstalledSet | undefined, DependenciesInvalid | DependenciesMissing>
  /** Notes that an environment is in use: at most once a day on disk. Never fails. */
  readonly used: (set: InstalledSet) => Effect.Effect<void>
  /**
   * Makes the chain's environment what it should be; `undefined` where it declares nothing. With pins exactly these
   * packages, or `PinsDiffer`. Reads every file of an environment that is already there. Of several at once, one
   * installs. The chain has to be verified before.
   */
  readonly sync: (request: SyncRequest) => Effect.Effect<SyncOutcome | undefined, SyncError>
  /** Digest of the environment that the chain would have. */
  readonly digest: (query: EnvironmentQuery) => Effect.Effect<string | undefined, DependenciesInvalid>
  /** Removes environments that were last used before `before` (epoch milliseconds), but for those to keep. */
  readonly prune: (options: {
    readonly before: number
    readonly keep: ReadonlySet<string>
  }) => Effect.Effect<ReadonlyArray<string>, WriteRefused | LockError>
}>()("kiwi/services/dependency/Dependencies") {}
