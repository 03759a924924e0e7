// Kiwi for programs that are not written in Effect: promises over one runtime. A promise rejects with the same typed
// errors that the Effect API has. The caller brings the kernel: the real one, or one in memory.
import { Cause, Effect, Exit, ManagedRuntime, Option, Record, Schema } from "effect"
import type { Layer } from "effect"
import type { FreezeLocksInput, PruneLocksInput, UpdateLocksInput } from "../layers/lockfile/uses/changeLocks.ts"
import type { OutdatedLocksInput, ValidateLocksInput } from "../layers/lockfile/uses/checkLocks.ts"
import { listLocks, outdatedLocks, validateLocks, verifyLocks } from "../layers/lockfile/uses/checkLocks.ts"
import type { DiffLockInput, LockDifference } from "../layers/lockfile/uses/diffLock.ts"
import { diffLock } from "../layers/lockfile/uses/diffLock.ts"
import type { ProjectServices } from "../layers/projectGraph.ts"
import type { CallEvent } from "../services/call/CallEvents.ts"
import { CallEvents } from "../services/call/CallEvents.ts"
import { newCallId } from "../services/call/callId.ts"
import type { ChainQuery } from "../services/chain/ChainResolver.ts"
import type { SecretStore } from "../services/identity/SecretStore.ts"
import type { Tier } from "../services/item/ItemId.ts"
import type { ItemQuery } from "../services/item/ItemStore.ts"
import type { LockFilter } from "../services/lockfile/LockfileStore.ts"
import type { LockMode } from "../services/lockfile/LockMode.ts"
import type {
  FrozenLocks,
  ListedLocks,
  OutdatedLocks,
  PrunedLocks,
  ValidatedLocks,
  VerifiedLocks
} from "../services/lockfile/lockReport.ts"
import type { ToolResult } from "../services/proxy/ToolCall.ts"
import type { SearchQuery } from "../services/search/ItemIndex.ts"
import type { HumanGate } from "../services/trust/HumanAct.ts"
import { withApproval } from "./approvals.ts"
import type { DrawnChain } from "./chain.ts"
import { chain } from "./chain.ts"
import type { EnvExplanation } from "./envExplain.ts"
import { explainEnv } from "./envExplain.ts"
import { findToExecute } from "./execute.ts"
import type { Explanation } from "./explain.ts"
import { explain } from "./explain.ts"
import type { Followed } from "./follow.ts"
import { follow } from "./follow.ts"
import { argumentIssue, type KiwiMethod } from "./kiwiArguments.ts"
import type { Loaded } from "./load.ts"
import { load } from "./load.ts"
import { freezeLocks, pruneLocks, updateLocks } from "./lockfile.ts"
import { embedder, runTool } from "./runTool.ts"
import type { SearchHit } from "./search.ts"
import { search } from "./search.ts"
import type { Signed, SignInput } from "./sign.ts"
import { sign } from "./sign.ts"
import { trustProject } from "./trust.ts"

/** This Kiwi was closed, before the call or while it ran. */
export class KiwiClosed extends Schema.TaggedError<KiwiClosed>()("KiwiClosed", {}) {
  override get message() {
    return "This Kiwi is closed"
  }
  get remediation() {
    return "Open a new one with makeKiwi, and close it after the last call"
  }
}

/** The methods for a program that embeds Kiwi. */
export type KiwiServices = ProjectServices | HumanGate | SecretStore

export interface CallOptions {
  /** Aborting stops the call and every process that it started; the promise rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export interface RunToolOptions extends CallOptions {
  /** Default: the project's tool of this name, else the user's, else the system's. */
  readonly tier?: Tier | undefined
  /** Checks everything and returns what would run. */
  readonly dryRun?: boolean | undefined
  /** Used if it is stricter than the setting `lockfile.mode`. */
  readonly lockfileMode?: LockMode | undefined
  /** Progress and chunks of output while the tool runs. A callback that throws does not stop the call. */
  readonly onEvent?: ((event: CallEvent) => void) | undefined
}

export interface Kiwi extends AsyncDisposable {
  readonly run: (tool: string, parameters?: Schema.JsonObject, options?: RunToolOptions) => Promise<ToolResult>
  readonly search: (query: SearchQuery, options?: CallOptions) => Promise<ReadonlyArray<SearchHit>>
  readonly load: (query: ItemQuery, options?: CallOptions) => Promise<Loaded>
  readonly follow: (directive: string, inputs?: Schema.JsonObject, options?: CallOptions) => Promise<Followed>
  readonly explain: (query: ItemQuery, parameters?: Schema.JsonObject, options?: CallOptions) => Promise<Explanation>
  /** The tool's chain, and which link set each value of its config. A broken chain is returned up to the break. */
  readonly chain: (query: ChainQuery, options?: CallOptions) => Promise<DrawnChain>
  /** A tool's interpreter and every variable, with its origin and the values that it overrides. Secrets are masked. */
  readonly explainEnv: (tool: ItemQuery, options?: CallOptions) => Promise<EnvExplanation>
  readonly sign: (input: SignInput, options?: CallOptions) => Promise<Signed>
  readonly trustProject: (options?: CallOptions) => Promise<void>
  /** Lockfiles. Replacing or weakening one asks the person, as signing does. */
  readonly lockfile: {
    readonly freeze: (input: FreezeLocksInput, options?: CallOptions) => Promise<FrozenLocks>
    readonly update: (input?: UpdateLocksInput, options?: CallOptions) => Promise<FrozenLocks>
    readonly validate: (input: ValidateLocksInput, options?: CallOptions) => Promise<ValidatedLocks>
    readonly list: (filter?: LockFilter, options?: CallOptions) => Promise<ListedLocks>
    readonly prune: (input?: PruneLocksInput, options?: CallOptions) => Promise<PrunedLocks>
    readonly diff: (input: DiffLockInput, options?: CallOptions) => Promise<LockDifference>
    readonly verify: (filter?: LockFilter, options?: CallOptions) => Promise<VerifiedLocks>
    readonly outdated: (input?: OutdatedLocksInput, options?: CallOptions) => Promise<OutdatedLocks>
  }
  /** Runs any Effect over the kernel's services. */
  readonly runPromise: <A, E>(
    effect: Effect.Effect<A, E, KiwiServices>,
    options?: CallOptions
  ) => Promise<A>
  /** Stops running calls, writes the end of the audit and releases everything. `await using` calls it too. */
  readonly close: () => Promise<void>
}

const listen = (onEvent: (event: CallEvent) => void) => ({
  emit: (event: CallEvent) =>
    Effect.sync(() => onEvent(event)).pipe(
      Effect.catchCause((cause) => Effect.logWarning("onEvent threw an error", cause))
    )
})

/** What a promise rejects with: the typed error, the signal's reason, or `KiwiClosed`. */
const rejectionOf = (cause: Cause.Cause<unknown>, signal: AbortSignal | undefined): unknown => {
  const failure = Cause.findErrorOption(cause)
  if (Option.isSome(failure)) return failure.value
  if (!Cause.hasInterruptsOnly(cause)) return Cause.squash(cause)
  return signal?.aborted === true ? signal.reason : new KiwiClosed()
}

type Method = (...given: ReadonlyArray<never>) => Promise<unknown>

/** Methods that reject invalid arguments before they do anything. */
const checked = <Methods extends object>(prefix: "" | "lockfile.", methods: Methods): Methods =>
  Record.map(methods as Readonly<Record<string, Method>>, (method, name): Method => (...given) => {
    const issue = argumentIssue(`${prefix}${name}` as KiwiMethod, given)
    return issue === undefined ? method(...given) : Promise.reject(issue)
  }) as Methods

/** Promises over a given kernel. */
export const makeKiwiOver = <E>(
  layer: Layer.Layer<KiwiServices, E>,
  client: string | undefined,
  profile?: string
): Kiwi => {
  const runtime = ManagedRuntime.make(layer)
  let closed = false
  let session: string | undefined
  const opened = Effect.map(newCallId, (id) => session ??= id)

  const run = <A, E2>(effect: Effect.Effect<A, E2, KiwiServices>, options?: CallOptions): Promise<A> => {
    if (closed) return Promise.reject(new KiwiClosed())
    const signal = options?.signal
    return runtime.runPromiseExit(effect, signal === undefined ? undefined : { signal }).then((exit) =>
      Exit.isSuccess(exit) ? exit.value : Promise.reject(rejectionOf(exit.cause, signal))
    )
  }
  /** If a person has to agree, they are asked, and the call is made again. */
  const runAs = <A, E2 extends { readonly _tag: string }>(
    use: (by: {
      readonly caller: ReturnType<typeof embedder>
      readonly callId: string
    }) => Effect.Effect<A, E2, KiwiServices>,
    options: CallOptions | undefined
  ) =>
    run(
      Effect.flatMap(opened, (id) => {
        const caller = embedder(client, id, profile)
        return withApproval(Effect.flatMap(newCallId, (callId) => use({ caller, callId })), caller, 0)
      }),
      options
    )
  const close = () => {
    closed = true
    return runtime.dispose()
  }

  const methods: Omit<Kiwi, "lockfile" | "close" | typeof Symbol.asyncDispose> = {
    run: (tool, parameters = {}, options = {}) => {
      const { onEvent, ...rest } = options
      return runAs(({ caller }) => {
        const effect = runTool(tool, parameters, { ...rest, client, profile, session: caller.session })
        return onEvent === undefined ? effect : Effect.provideService(effect, CallEvents, listen(onEvent))
      }, options)
    },
    search: (query, options) => runAs(({ caller }) => search(query, caller), options),
    load: (query, options) => runAs(({ caller }) => load(query, caller), options),
    follow: (directive, inputs = {}, options) =>
      runAs((by) =>
        Effect.flatMap(
          findToExecute({ id: directive, type: "directive" }, { ...by, parameters: inputs }),
          ({ location }) => follow(location, inputs, by)
        ), options),
    explain: (query, parameters, options) =>
      runAs(({ callId, caller }) => explain(query, parameters, callId, caller), options),
    chain: (query, options) => run(chain(query), options),
    explainEnv: (tool, options) => runAs(({ caller }) => explainEnv(tool, caller), options),
    sign: (input, options) => runAs(({ caller }) => sign(input, caller), options),
    trustProject: (options) => runAs(({ caller }) => Effect.asVoid(trustProject(caller)), options),
    runPromise: run
  }
  const lockfile: Kiwi["lockfile"] = {
    freeze: (input, options) => runAs(({ caller }) => freezeLocks(input, caller), options),
    update: (input = {}, options) => runAs(({ caller }) => updateLocks(input, caller), options),
    validate: (input, options) => run(validateLocks(input), options),
    list: (filter = {}, options) => run(listLocks(filter), options),
    prune: (input = {}, options) => runAs(({ caller }) => pruneLocks(input, caller), options),
    diff: (input, options) => run(diffLock(input), options),
    verify: (filter = {}, options) => run(verifyLocks(filter), options),
    outdated: (input = {}, options) => run(outdatedLocks(input), options)
  }
  return { ...checked("", methods), lockfile: checked("lockfile.", lockfile), close, [Symbol.asyncDispose]: close }
}
