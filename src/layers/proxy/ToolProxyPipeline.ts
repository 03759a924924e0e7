// The one way to run a tool. Each step is a named function over what those before it have found out; the list is the
// order, and nothing runs that is not in it. Only `ToolProxy.call` is a span: steps are on the hot path.
import { Effect, Layer, Result } from "effect"
import type { Ending, Request } from "../../services/audit/audited.ts"
import { audited, resultLost } from "../../services/audit/audited.ts"
import { AuditLog } from "../../services/audit/AuditLog.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { FoundItem } from "../../services/item/ItemStore.ts"
import type { ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { Trace } from "../../services/proxy/ToolProxy.ts"
import { ToolProxy } from "../../services/proxy/ToolProxy.ts"
import * as DependencySteps from "./dependencySteps.ts"
import * as EffectSteps from "./effectSteps.ts"
import * as InputSteps from "./inputSteps.ts"
import * as LockSteps from "./lockSteps.ts"
import { redactError } from "./secrets.ts"
import type { SoFar } from "./Step.ts"
import { begin, Steps, take, takeAll } from "./Step.ts"
import * as TrustSteps from "./trustSteps.ts"

const requestOf = ({ callId, caller, dryRun, item, parameters, tier }: ToolCall): Request => ({
  call: callId,
  caller,
  operation: "run",
  subject: { type: "tool", item, ...(tier === undefined ? {} : { tier }) },
  parameters,
  ...(dryRun ? { dry_run: true } : {})
})

const endingOf = ({ call, chain, isolation, rule, secrets }: SoFar): Ending => {
  const subject = { type: "tool", item: call.item }
  if (chain === undefined) return { subject, secrets }
  const { digest, location, version } = chain.leaf.tool
  return {
    subject: {
      ...subject,
      version,
      tier: location.tier,
      digest,
      chain: chainIds(chain.links),
      chain_digest: chain.digest
    },
    rule,
    isolation,
    secrets
  }
}

/** The tool has run, and nothing undoes that. */
const warn = (result: ToolResult) => Effect.succeed({ ...result, warnings: [...result.warnings, resultLost] })

export const make = Effect.gen(function*() {
  const audit = yield* AuditLog
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

  const call = Effect.fn("ToolProxy.call")((request: ToolCall, found?: FoundItem) => {
    const facts = begin(request, found)
    return audited(
      audit,
      requestOf(request),
      { ending: () => endingOf(facts), lost: warn },
      takeAll(steps, facts).pipe(Effect.mapBoth({
        onFailure: (error) => redactError(error, facts.secrets),
        onSuccess: ({ result }) => result
      }))
    )
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
