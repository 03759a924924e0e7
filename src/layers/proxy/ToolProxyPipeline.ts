// The only way to run a tool. Each step is a named function of what earlier steps have found. The list is the order,
// and nothing outside of it runs. Only `ToolProxy.call` is a span, since steps are on the hot path.
import { Effect, Layer, Option, Result } from "effect"
import type { Ending, Request } from "../../services/audit/audited.ts"
import { audited, resultLost } from "../../services/audit/audited.ts"
import { AuditLog } from "../../services/audit/AuditLog.ts"
import { CapabilityTokens } from "../../services/capability/CapabilityTokens.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import type { FoundItem } from "../../services/item/ItemStore.ts"
import type { ToolCall, ToolResult } from "../../services/proxy/ToolCall.ts"
import type { Trace } from "../../services/proxy/ToolProxy.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ToolProxy } from "../../services/proxy/ToolProxy.ts"
import { type AskedFacts, requireApproval } from "../approval/approvalSteps.ts"
import { auditAsked } from "../approval/auditAsked.ts"
import { redactError } from "../call/secrets.ts"
import type { SoFar } from "../call/Step.ts"
import { begin, end, Steps, take, takeAll } from "../call/Step.ts"
import { grantCalls } from "../capability/callSteps.ts"
import { authenticateToken } from "../capability/capabilitySteps.ts"
import { acceptChildren, resolveChain } from "../chain/chainSteps.ts"
import { findPackages } from "../dependency/dependencySteps.ts"
import { findInterpreter, resolveEnvironment } from "../env/envSteps.ts"
import { resolveSecrets } from "../identity/secretSteps.ts"
import { pinCopies, refuseGoingBack, refuseHiding, verifyLinks } from "../integrity/integritySteps.ts"
import { limitRate } from "../limit/limitSteps.ts"
import { guardLoop, watchOutcome } from "../limit/loopSteps.ts"
import { checkLock, chooseLockMode } from "../lockfile/lockSteps.ts"
import { findAccesses, permit, permitSecrets } from "../permission/permissionSteps.ts"
import { renderConfig, validateConfig } from "../primitive/steps/configSteps.ts"
import { runPrimitive, shapeResult } from "../primitive/steps/effectSteps.ts"
import { isolate } from "../primitive/steps/isolationSteps.ts"
import { validateParameters } from "../primitive/steps/parameterSteps.ts"
import { requireTrustedProject } from "../trust/trustSteps.ts"

const parentOf = (within: ToolCall["within"]) => {
  const parent = within?.at(-1)?.call
  return parent === undefined ? {} : { parent }
}

/** `jti`: of the token, if it is valid. */
const requestOf = (
  { callId, caller, dryRun, item, parameters, thread, tier, within }: ToolCall,
  jti: string | undefined
): Request => ({
  call: callId,
  caller,
  operation: "run",
  ...(thread === undefined ? {} : { thread }),
  ...(jti === undefined ? {} : { jti }),
  ...parentOf(within),
  subject: { type: "tool", item, ...(tier === undefined ? {} : { tier }) },
  parameters,
  ...(dryRun ? { dry_run: true } : {})
})

const endingOf = (
  { approval, asks = [], call, chain, claims, isolation, rule, secrets, settled = [] }: SoFar
): Ending => {
  const subject = { type: "tool", item: call.item }
  const jti = claims?.jti
  if (chain === undefined) return { subject, jti, secrets }
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
    approval,
    asked: auditAsked(asks, settled),
    jti,
    isolation,
    secrets
  }
}

/** The tool has run, and that cannot be undone. */
const warn = (result: ToolResult) => Effect.succeed({ ...result, warnings: [...result.warnings, resultLost] })

/** What runs the call. Before it, and as a dry run, what a person is shown that it would do. */
const last = Steps.after<AskedFacts | "approval">()
  .called("pinCopies", pinCopies)
  .called("renderConfig", renderConfig)
  .called("validateConfig", validateConfig)
  .called("runPrimitive", runPrimitive)

/** Between the audit's two entries. */
const steps = Steps.from
  .called("watchOutcome", watchOutcome)
  .called("authenticateToken", authenticateToken)
  .traced("chooseLockMode", chooseLockMode)
  .traced("resolveChain", resolveChain, "everything that it is built on is there")
  .traced("requireTrustedProject", requireTrustedProject, "the project is trusted")
  .traced(
    "verifyLinks",
    verifyLinks,
    "it and all that it is built on are what was signed, or approved, by a trusted signer"
  )
  .traced("refuseGoingBack", refuseGoingBack, "it is not older than what ran before")
  .traced("refuseHiding", refuseHiding, "it hides no other item without consent")
  .traced("acceptChildren", acceptChildren, "each runtime runs such a tool")
  .called("validateParameters", validateParameters)
  .called("findAccesses", findAccesses)
  .traced("permit", permit, "a rule lets you run it")
  .called("grantCalls", grantCalls)
  .traced("findInterpreter", findInterpreter)
  .traced("findPackages", findPackages)
  .traced(
    "resolveEnvironment",
    resolveEnvironment,
    "its interpreter, packages, commands and variables are there"
  )
  .traced("checkLock", checkLock, "its lockfile does not refuse it")
  .traced("isolate", isolate, "nobody but its signer chooses what it runs")
  .traced("permitSecrets", permitSecrets)
  .called("limitRate", limitRate)
  .called("guardLoop", guardLoop)
  .called("requireApproval", requireApproval(last.make))
  .called("resolveSecrets", resolveSecrets)
  .followedBy(last)
  .called("shapeResult", shapeResult)

export const make = Effect.gen(function*() {
  const audit = yield* AuditLog
  const made = yield* steps.make

  const { verify } = yield* CapabilityTokens

  const recorded = (request: ToolCall, found: FoundItem | undefined, jti: string | undefined) => {
    const facts = begin(request, call, found)
    const done = audited(
      audit,
      requestOf(request, jti),
      { ending: () => endingOf(facts), ended: (exit, now) => end(facts, exit, now), lost: warn },
      takeAll(made, facts).pipe(Effect.mapBoth({
        onFailure: (error) => redactError(error, facts.secrets),
        onSuccess: ({ result }) => result
      }))
    )
    return done
  }

  const call = (request: ToolCall, found?: FoundItem): Effect.Effect<ToolResult, ToolCallError> => {
    const { thread = "", token } = request
    const done = token === undefined
      ? recorded(request, found, undefined)
      // A call that does not end has no other entry that could name its token. What is wrong with one, a step says.
      : Effect.flatMap(
        Effect.option(verify(token, { thread })),
        (claims) => recorded(request, found, Option.getOrUndefined(claims)?.jti)
      )
    // A stack for each call would take longer than all of its checks of permission.
    return Effect.withSpan(done, "ToolProxy.call", { captureStackTrace: false })
  }

  const traced = made.list.filter(({ isTraced }) => isTraced)

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
    }, call)
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
    const { asks = [], dependencies, env, isolation, resolved, rule, verified = [], warnings } = facts
    return {
      passed,
      blocked,
      resolved,
      verified,
      rule,
      asks,
      env,
      dependencies,
      isolation,
      warnings
    } satisfies Trace as Trace
  })

  return ToolProxy.of({
    call,
    trace,
    checks: new Map(made.list.flatMap(({ name, says }) => says === undefined ? [] : [[name, says]])),
    steps: ["auditRequest", ...made.list.map((step) => step.name), "auditResult"]
  })
})

export const layer = Layer.effect(ToolProxy, make)
