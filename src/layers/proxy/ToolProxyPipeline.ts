// The one way to run a tool. Each step is a named function over what those before it have found out; the list is the
// order, and nothing runs that is not in it. Only `ToolProxy.call` is a span: steps are on the hot path.
import { Clock, Effect, Exit, Layer, Result } from "effect"
import type { CallWarning, ToolCall } from "../../services/proxy/ToolCall.ts"
import type { Trace } from "../../services/proxy/ToolProxy.ts"
import { ToolProxy } from "../../services/proxy/ToolProxy.ts"
import * as AuditSteps from "./auditSteps.ts"
import * as DependencySteps from "./dependencySteps.ts"
import * as EffectSteps from "./effectSteps.ts"
import * as InputSteps from "./inputSteps.ts"
import * as LockSteps from "./lockSteps.ts"
import { redactError } from "./secrets.ts"
import { begin, Steps, take, takeAll } from "./Step.ts"
import * as TrustSteps from "./trustSteps.ts"

const resultLost: CallWarning = {
  code: "AUDIT_RESULT_LOST",
  message: "The tool ran, but what came of it could not be recorded: the audit has the request and no result"
}

export const make = Effect.gen(function*() {
  const { auditRequest, auditResult } = yield* AuditSteps.make
  const trust = yield* TrustSteps.make
  const input = yield* InputSteps.make
  const dependency = yield* DependencySteps.make
  const lock = yield* LockSteps.make
  const effect = yield* EffectSteps.make

  /** Between the audit's two entries. */
  const steps = Steps.from
    .traced("chooseLockMode", lock.chooseLockMode)
    .traced("resolveChain", trust.resolveChain, "everything that it is built on is there")
    .traced("requireTrustedProject", trust.requireTrustedProject, "the project is trusted")
    .traced(
      "verifyLinks",
      trust.verifyLinks,
      "it and all that it is built on are what was signed, or approved, by somebody who counts"
    )
    .traced("refuseGoingBack", trust.refuseGoingBack, "it is not older than what ran before")
    .traced("refuseHiding", trust.refuseHiding, "it hides no other item unasked")
    .traced("acceptChildren", trust.acceptChildren, "each runtime runs such a tool")
    .called("validateParameters", input.validateParameters)
    .traced("permit", trust.permit, "a rule lets you run it")
    .traced("findInterpreter", input.findInterpreter)
    .traced("findPackages", dependency.findPackages)
    .traced(
      "resolveEnvironment",
      input.resolveEnvironment,
      "its interpreter, packages, commands and variables are there"
    )
    .traced("checkLock", lock.checkLock, "its lockfile does not refuse it")
    .traced("isolate", trust.isolate, "nobody but its signer chooses what it runs")
    .called("resolveSecrets", input.resolveSecrets)
    .called("pinCopies", input.pinCopies)
    .called("renderConfig", input.renderConfig)
    .called("validateConfig", input.validateConfig)
    .called("runPrimitive", effect.runPrimitive)
    .called("shapeResult", effect.shapeResult)

  // Once the request stands, nothing but a failing disk or a killed process keeps its result out of the audit.
  const call = Effect.fn("ToolProxy.call")(function*(request: ToolCall) {
    const startedAt = yield* Clock.currentTimeMillis
    const facts = begin(request)
    return yield* Effect.uninterruptibleMask(Effect.fnUntraced(function*(restore) {
      yield* auditRequest(facts)
      const exit = yield* restore(takeAll(steps, facts)).pipe(
        Effect.mapError((error) => redactError(error, facts.secrets)),
        Effect.exit
      )
      const isLost = Result.isFailure(yield* Effect.result(auditResult(facts, exit, startedAt)))
      if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
      const { result } = exit.value
      return isLost ? { ...result, warnings: [...result.warnings, resultLost] } : result
    }))
  })

  const traced = steps.list.filter(({ isTraced }) => isTraced)

  const trace = Effect.fnUntraced(function*(
    caller: ToolCall["caller"],
    query: { readonly item: string; readonly tier?: ToolCall["tier"] | undefined }
  ) {
    const facts = begin({
      callId: "",
      caller,
      item: query.item,
      ...(query.tier === undefined ? {} : { tier: query.tier }),
      parameters: {},
      dryRun: true
    })
    const passed: Array<string> = []
    let blocked: Trace["blocked"]
    for (const step of traced) {
      const outcome = yield* Effect.result(take(step, facts))
      if (Result.isFailure(outcome)) {
        blocked = { step: step.name, error: redactError(outcome.failure, facts.secrets) }
        break
      }
      if (step.says !== undefined) passed.push(step.name)
    }
    const { dependencies, env, isolation, resolved, rule, verified = [], warnings } = facts
    return {
      passed,
      blocked,
      resolved,
      verified,
      rule,
      env,
      dependencies,
      isolation,
      warnings
    } satisfies Trace as Trace
  })

  return ToolProxy.of({
    call,
    trace,
    checks: new Map(steps.list.flatMap(({ name, says }) => says === undefined ? [] : [[name, says]])),
    steps: ["auditRequest", ...steps.list.map((step) => step.name), "auditResult"]
  })
})

export const layer = Layer.effect(ToolProxy, make)
