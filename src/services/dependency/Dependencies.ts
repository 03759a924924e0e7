// Packages that a tool needs: what it declares, where they are installed, and the only operation that installs. A call
// never installs: a tool whose packages are missing fails with the command that installs them.
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

/** Identifies an environment. */
export interface EnvironmentQuery {
  readonly chain: Chain
  /** The interpreter that EnvResolver found for the chain's runtime. Undefined if the runtime declares none. */
  readonly interpreter: string | undefined
  /** Versions and hashes from a lock. */
  readonly pins?: ReadonlyArray<InstalledPackage> | undefined
}

export interface SyncRequest extends EnvironmentQuery {
  /** Resolve versions again, even if there is an environment, and ignore the pins. */
  readonly upgrade?: boolean | undefined
  /** Allow packages to run code during installation: build steps in Python, scripts in npm. */
  readonly allowBuild?: boolean | undefined
  /** Called with what is being done, in a few words. */
  readonly progress?: ((what: string) => Effect.Effect<void>) | undefined
}

export interface SyncOutcome {
  readonly set: InstalledSet
  readonly state: "installed" | "up-to-date"
  /** The installer that made the environment: `uv 0.5.1`. */
  readonly installer: string
}

export class Dependencies extends Context.Service<Dependencies, {
  /** What a chain declares, computed once for each chain from its verified bytes. Undefined if it declares nothing. */
  readonly declared: (chain: Chain) => Effect.Effect<Declared | undefined, DependenciesInvalid>
  /**
   * The chain's environment, if it is complete and unchanged. Undefined if the chain declares nothing. A few stats once
   * it is cached. With pins, an environment with exactly these packages takes precedence.
   */
  readonly installed: (
    query: EnvironmentQuery
  ) => Effect.Effect<InstalledSet | undefined, DependenciesInvalid | DependenciesMissing>
  /** Records that an environment is in use, on disk at most once a day. Never fails. */
  readonly used: (set: InstalledSet) => Effect.Effect<void>
  /**
   * Makes the chain's environment, or brings it up to date. Undefined if the chain declares nothing. With pins: exactly
   * these packages, or `PinsDiffer`. Reads every file of an existing environment. Of several concurrent calls, one
   * installs. The chain must be verified before.
   */
  readonly sync: (request: SyncRequest) => Effect.Effect<SyncOutcome | undefined, SyncError>
  /** Digest of the environment that the chain would use. */
  readonly digest: (query: EnvironmentQuery) => Effect.Effect<string | undefined, DependenciesInvalid>
  /** Removes environments last used before `before` (epoch milliseconds), except those to keep. */
  readonly prune: (options: {
    readonly before: number
    readonly keep: ReadonlySet<string>
  }) => Effect.Effect<ReadonlyArray<string>, WriteRefused | LockError>
}>()("kiwi/services/dependency/Dependencies") {}
