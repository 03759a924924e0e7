// Kiwi for programs that are not written in Effect: promises over one runtime. A call's promise rejects with the same
// typed errors that the Effect API has.
import { Effect, Layer, ManagedRuntime } from "effect"
import type { Schema } from "effect"
import type { KernelOptions } from "../layers/Kernel.ts"
import * as Kernel from "../layers/Kernel.ts"
import type { ProjectServices } from "../layers/Projects.ts"
import type { AskPerson } from "../layers/trust/HumanGateEmbedder.ts"
import * as HumanGateEmbedder from "../layers/trust/HumanGateEmbedder.ts"
import * as HumanGateNone from "../layers/trust/HumanGateNone.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import type { ItemQuery } from "../services/item/ItemStore.ts"
import type { CallEvent, ToolResult } from "../services/proxy/ToolCall.ts"
import { CallEvents } from "../services/proxy/ToolCall.ts"
import type { SearchQuery } from "../services/search/ItemIndex.ts"
import type { HumanGate } from "../services/trust/HumanAct.ts"
import type { ProjectNotFound } from "../services/workspace/Workspace.ts"
import { newCallId } from "./callId.ts"
import type { Explanation } from "./explain.ts"
import { explain } from "./explain.ts"
import type { Followed } from "./follow.ts"
import { follow } from "./follow.ts"
import type { Loaded } from "./load.ts"
import { load } from "./load.ts"
import { embedder, runTool } from "./runTool.ts"
import type { SearchHit } from "./search.ts"
import { search } from "./search.ts"
import type { Signed, SignInput } from "./sign.ts"
import { sign } from "./sign.ts"
import { trustProject } from "./trust.ts"

export interface KiwiOptions extends KernelOptions {
  /** Name under which policy and audit know this program. Default: "embedder". */
  readonly client?: string | undefined
  /** Asks the person about a human act. Without it, signing and trusting fail as `HumanRequired`. */
  readonly askPerson?: AskPerson | undefined
}

export interface CallOptions {
  /** Aborting stops the tool with everything that it started. */
  readonly signal?: AbortSignal | undefined
}

export interface RunToolOptions extends CallOptions {
  readonly dryRun?: boolean | undefined
  /** Progress and chunks of output while the tool runs. */
  readonly onEvent?: ((event: CallEvent) => void) | undefined
}

export interface Kiwi extends AsyncDisposable {
  readonly run: (tool: string, parameters?: Schema.JsonObject, options?: RunToolOptions) => Promise<ToolResult>
  readonly search: (query: SearchQuery, options?: CallOptions) => Promise<ReadonlyArray<SearchHit>>
  readonly load: (query: ItemQuery, options?: CallOptions) => Promise<Loaded>
  readonly follow: (directive: string, inputs?: Schema.JsonObject, options?: CallOptions) => Promise<Followed>
  readonly explain: (query: ItemQuery, parameters?: Schema.JsonObject, options?: CallOptions) => Promise<Explanation>
  readonly sign: (input: SignInput, options?: CallOptions) => Promise<Signed>
  readonly trustProject: (options?: CallOptions) => Promise<void>
  /** Runs any Effect over the kernel's services. */
  readonly runPromise: <A, E>(
    effect: Effect.Effect<A, E, ProjectServices | HumanGate>,
    options?: CallOptions
  ) => Promise<A>
  /** Writes the audit's end and lets go of everything. Also called by `await using`. */
  readonly close: () => Promise<void>
}

const signalOf = (options: CallOptions | undefined) =>
  options?.signal === undefined ? undefined : { signal: options.signal }

/** Promises over a kernel that somebody else composed: `makeKiwi` for the real one, tests for one in memory. */
export const makeKiwiOver = <E>(
  layer: Layer.Layer<ProjectServices | HumanGate, E>,
  client: string | undefined
): Kiwi => {
  const runtime = ManagedRuntime.make(layer)
  const caller = embedder(client, "embedded")
  const run = <A, E2>(effect: Effect.Effect<A, E2, ProjectServices | HumanGate>, options?: CallOptions): Promise<A> =>
    runtime.runPromise(effect, signalOf(options))
  return {
    run: (tool, parameters = {}, options = {}) => {
      const { onEvent } = options
      const effect = runTool(tool, parameters, { dryRun: options.dryRun, client })
      return run(
        onEvent === undefined
          ? effect
          : Effect.provideService(effect, CallEvents, { emit: (event) => Effect.sync(() => onEvent(event)) }),
        options
      )
    },
    search: (query, options) => run(search(query, caller), options),
    load: (query, options) => run(load(query, caller), options),
    follow: (directive, inputs = {}, options) =>
      run(
        Effect.gen(function*() {
          const store = yield* ItemStore
          const { location } = yield* store.find({ id: directive, type: "directive" })
          return yield* follow(location, inputs, { callId: yield* newCallId, caller })
        }),
        options
      ),
    explain: (query, parameters, options) =>
      run(Effect.flatMap(newCallId, (callId) => explain(query, parameters, callId, caller)), options),
    sign: (input, options) => run(sign(input, caller), options),
    trustProject: (options) => run(Effect.asVoid(trustProject(caller)), options),
    runPromise: run,
    close: () => runtime.dispose(),
    [Symbol.asyncDispose]: () => runtime.dispose()
  }
}

/** Opens a kernel. The first call builds it; rejects with `ProjectNotFound` where the folder is none. */
export const makeKiwi = (options: KiwiOptions = {}): Kiwi => {
  const gate = options.askPerson === undefined ? HumanGateNone.layer : HumanGateEmbedder.layer(options.askPerson)
  const layer: Layer.Layer<ProjectServices | HumanGate, ProjectNotFound> = Layer.merge(
    Kernel.layer(options),
    gate
  )
  return makeKiwiOver(layer, options.client)
}
