// The one way to run a tool. Each step is a named function over one call's state; the list is the order, and nothing
// runs that is not in it. Only `ToolProxy.call` is a span: steps are on the hot path.
import { Clock, Effect, Exit, Layer, Result } from "effect"
import type { CallWarning, ToolCall } from "../../services/proxy/ToolCall.ts"
import type { Trace } from "../../services/proxy/ToolProxy.ts"
import { ToolProxy } from "../../services/proxy/ToolProxy.ts"
import * as AuditSteps from "./auditSteps.ts"
import * as EffectSteps from "./effectSteps.ts"
import * as InputSteps from "./inputSteps.ts"
import * as LockSteps from "./lockSteps.ts"
import { begin } from "./Run.ts"
import type { Run, Step } from "./Run.ts"
import { redactError } from "./secrets.ts"
import * as TrustSteps from "./trustSteps.ts"

const resultLost: CallWarning = {
  code: "AUDIT_RESULT_LOST",
  message: "The tool ran, but what came of it could not be recorded: the audit has the request and no result"
}

const runSteps = Effect.fnUntraced(function*(steps: ReadonlyArray<Step>, run: Run) {
  for (const step of steps) yield* step.run(run)
})

export const make = Effect.gen(function*() {
  const { auditRequest, auditResult } = yield* AuditSteps.make
  const trust = yield* TrustSteps.make
  const input = yield* InputSteps.make
  const lock = yield* LockSteps.make
  const effect = yield* EffectSteps.make

  /** Between the audit's two entries. */
  const steps: ReadonlyArray<Step> = [
    { name: "resolveChain", says: "everything that it is built on is there", run: trust.resolveChain },
    { name: "requireTrustedProject", says: "the project is trusted", run: trust.requireTrustedProject },
    {
      name: "verifyLinks",
      says: "it and all that it is built on are what was signed, by somebody who counts",
      run: trust.verifyLinks
    },
    { name: "refuseGoingBack", says: "it is not older than what ran before", run: trust.refuseGoingBack },
    { name: "refuseHiding", says: "it hides no other item unasked", run: trust.refuseHiding },
    { name: "permit", says: "a rule lets you run it", run: trust.permit },
    { name: "acceptChildren", says: "each runtime runs such a tool", run: trust.acceptChildren },
    { name: "isolate", says: "nobody but its signer chooses what it runs", run: trust.isolate },
    { name: "validateParameters", run: input.validateParameters },
    {
      name: "resolveEnvironment",
      says: "its interpreter, commands and variables are there",
      run: input.resolveEnvironment
    },
    { name: "requireDependencies", says: "the packages that it needs are installed", run: input.requireDependencies },
    { name: "checkLock", says: "its lockfile does not refuse it", run: lock.checkLock },
    { name: "resolveSecrets", run: input.resolveSecrets },
    { name: "pinCopies", run: input.pinCopies },
    { name: "renderConfig", run: input.renderConfig },
    { name: "validateConfig", run: input.validateConfig },
    { name: "runPrimitive", run: effect.runPrimitive },
    { name: "shapeResult", run: effect.shapeResult }
  ]

  // Once the request stands, nothing but a failing disk or a killed process keeps its result out of the audit.
  const call = Effect.fn("ToolProxy.call")(function*(request: ToolCall) {
    const run = begin(request, yield* lock.modeOf(request.lockfileMode), yield* Clock.currentTimeMillis)
    return yield* Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
      yield* auditRequest(run)
      const exit = yield* restore(runSteps(steps, run)).pipe(
        Effect.mapError((error) => redactError(error, run.secrets)),
        Effect.exit
      )
      const isLost = Result.isFailure(yield* Effect.result(auditResult(run, exit)))
      if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
      if (run.result === undefined) return yield* Effect.die(new Error("a call that passed every step has a result"))
      return isLost ? { ...run.result, warnings: [...run.result.warnings, resultLost] } : run.result
    }))
  })

  const traced = steps.filter(({ says }) => says !== undefined)

  const trace = Effect.fnUntraced(function*(
    caller: ToolCall["caller"],
    query: { readonly item: string; readonly tier?: ToolCall["tier"] | undefined }
  ) {
    const run = begin(
      {
        callId: "",
        caller,
        item: query.item,
        ...(query.tier === undefined ? {} : { tier: query.tier }),
        parameters: {},
        dryRun: true
      },
      yield* lock.modeOf(undefined),
      0
    )
    const passed: Array<string> = []
    let blocked: Trace["blocked"]
    for (const step of traced) {
      const outcome = yield* Effect.result(step.run(run))
      if (Result.isFailure(outcome)) {
        blocked = { step: step.name, error: redactError(outcome.failure, run.secrets) }
        break
      }
      passed.push(step.name)
    }
    return {
      passed,
      blocked,
      resolved: run.resolved,
      verified: run.verified,
      rule: run.rule,
      env: run.env,
      dependencies: run.dependencies,
      isolation: run.isolation,
      warnings: run.warnings
    } satisfies Trace as Trace
  })

  return ToolProxy.of({
    call,
    trace,
    checks: new Map(steps.flatMap(({ name, says }) => says === undefined ? [] : [[name, says]])),
    steps: ["auditRequest", ...steps.map((step) => step.name), "auditResult"]
  })
})

export const layer = Layer.effect(ToolProxy, make)
