// The table of primitives, with a limit on how many calls of each run at once. Durations are measured inside that
// limit.
import { Duration, Effect, Layer, Semaphore } from "effect"
import type { Schema } from "effect"
import type { Access } from "../../services/capability/Access.ts"
import { SafeFiles } from "../../services/files/SafeFiles.ts"
import { configAccesses } from "../../services/primitive/configAccesses.ts"
import {
  type AccessInput,
  type NeededLevel,
  type PrimitiveHandler,
  type PrimitiveInput,
  Primitives
} from "../../services/primitive/Primitive.ts"
import { type PrimitiveError, PrimitiveUnknown } from "../../services/primitive/PrimitiveErrors.ts"
import type { ProcessLimits } from "../../services/primitive/SubprocessConfig.ts"
import { maxNesting } from "../../services/proxy/nesting.ts"
import * as BuiltinRegistry from "./BuiltinRegistry.ts"
import type { CaptureLimits } from "./captureOutput.ts"
import * as HttpClientNode from "./HttpClientNode.ts"
import * as SubprocessNode from "./SubprocessNode.ts"

export interface PrimitivesOptions {
  readonly output: Pick<CaptureLimits, "inline" | "spill">
  /** Milliseconds between TERM and KILL. */
  readonly grace: number
  /** The limits for every program. */
  readonly limits?: ProcessLimits
  /** In milliseconds; for tools without their own. */
  readonly timeout: { readonly subprocess: number; readonly http_client: number }
  readonly concurrency: { readonly subprocess: number; readonly http_client: number }
}

export const defaults: PrimitivesOptions = {
  output: { inline: 1_048_576, spill: 268_435_456 },
  grace: 2_000,
  timeout: { subprocess: 300_000, http_client: 30_000 },
  concurrency: { subprocess: 16, http_client: 16 }
}

type Subprocess = Effect.Success<ReturnType<typeof SubprocessNode.make>>

interface Entry {
  readonly run: PrimitiveHandler
  readonly plan: (input: PrimitiveInput) => Effect.Effect<Schema.JsonObject, PrimitiveError>
  readonly accesses?: (input: AccessInput) => Effect.Effect<ReadonlyArray<Access>, PrimitiveError>
  readonly needs?: (config: Schema.JsonObject) => NeededLevel | undefined
}

const touchesNothing = Effect.succeed([])

const timed = (run: PrimitiveHandler): PrimitiveHandler => (input) =>
  Effect.map(Effect.timed(run(input)), ([duration, result]) => ({
    ...result,
    metadata: { ...result.metadata, duration_ms: Math.round(Duration.toMillis(duration)) }
  }))

/** First come, first served. A waiting caller gets a progress event; one that is interrupted leaves the queue. */
const inTurnAtDepth = (permits: number, run: PrimitiveHandler): PrimitiveHandler => {
  const turns = Semaphore.makeUnsafe(permits)
  const measured = timed(run)
  let present = 0
  return (input) =>
    Effect.acquireUseRelease(
      Effect.sync(() => ++present - permits),
      (ahead) => {
        const turn = turns.withPermit(measured(input))
        if (ahead <= 0) return turn
        const message = `waiting: ${permits} calls run already, and ${ahead - 1} wait before this one`
        // A slow listener does not lose its place in the queue.
        return Effect.andThen(Effect.forkChild(input.emit({ _tag: "Progress", message })), turn)
      },
      () =>
        Effect.sync(() => {
          present--
        })
    )
}

/** A call that a tool makes waits only for others at its depth, and so never for the call that waits for it. */
const inTurn = (permits: number, run: PrimitiveHandler): PrimitiveHandler => {
  const queues = Array.from({ length: maxNesting + 1 }, () => inTurnAtDepth(permits, run))
  return (input) => queues[Math.min(input.depth ?? 0, maxNesting)]!(input)
}

/** What the signed config says: the program, or the server. */
const ofConfig = (primitive: "subprocess" | "http_client") => (input: AccessInput) =>
  Effect.sync(() => configAccesses(primitive, input))

export const makeWith = Effect.fnUntraced(function*(
  subprocess: Subprocess,
  options: PrimitivesOptions,
  /** Reads the files that requests send. Without it, none can be sent. */
  read?: SafeFiles["Service"]["read"]
) {
  const http = yield* HttpClientNode.make({
    ...options.output,
    timeout: options.timeout.http_client,
    ...(read === undefined ? {} : { read })
  })
  const builtin = yield* BuiltinRegistry.make(options.output)
  const table = new Map<string, Entry>([
    ["subprocess", {
      run: inTurn(options.concurrency.subprocess, subprocess.run),
      accesses: ofConfig("subprocess"),
      plan: (input) =>
        Effect.map(Effect.fromResult(subprocess.plan(input)), (plan) => ({
          primitive: "subprocess",
          argv: [...plan.argv],
          environment: [...new Set([...input.env.keys(), ...plan.env.keys()])].toSorted()
        }))
    }],
    ["http_client", {
      run: inTurn(options.concurrency.http_client, http.run),
      accesses: ofConfig("http_client"),
      plan: (input) =>
        Effect.map(Effect.fromResult(http.plan(input)), (plan) => ({
          primitive: "http_client",
          request: { method: plan.method, url: plan.url },
          environment: []
        }))
    }],
    ["builtin", {
      run: timed(builtin.run),
      plan: (input) => Effect.as(builtin.find(input), { primitive: "builtin", environment: [] }),
      accesses: builtin.accesses,
      needs: builtin.needs
    }]
  ])
  const known = [...table.keys()]
  const entry = (primitive: string): Effect.Effect<Entry, PrimitiveUnknown> => {
    const found = table.get(primitive)
    return found === undefined ? Effect.fail(new PrimitiveUnknown({ primitive, known })) : Effect.succeed(found)
  }
  return Primitives.of({
    run: (primitive, input) => Effect.flatMapEager(entry(primitive), ({ run }) => run(input)),
    plan: (primitive, input) => Effect.flatMap(entry(primitive), ({ plan }) => plan(input)),
    needs: (primitive, config) => table.get(primitive)?.needs?.(config),
    accesses: (primitive, input) => table.get(primitive)?.accesses?.(input) ?? touchesNothing,
    preview: (primitive, input, mayRead) =>
      primitive === "builtin" ? builtin.preview({ ...input, mayRead }) : Effect.undefined,
    known
  })
})

export const make = Effect.fnUntraced(function*(options: PrimitivesOptions) {
  const subprocess = yield* SubprocessNode.make({
    ...options.output,
    grace: options.grace,
    timeout: options.timeout.subprocess,
    limits: options.limits ?? {}
  })
  const files = yield* SafeFiles
  return yield* makeWith(subprocess, options, files.read)
})

export const layerWith = (options: PrimitivesOptions) => Layer.effect(Primitives, make(options))
export const layer = layerWith(defaults)
