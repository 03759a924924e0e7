// The two entries of a call: one before anything else happens, one when it is over, however it ended.
import { Clock, Effect } from "effect"
import type { Exit } from "effect"
import { AuditLog } from "../../services/audit/AuditLog.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import { outcomeOf } from "../../services/proxy/callOutcome.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import type { Begun, Done } from "./Step.ts"

export const make = Effect.gen(function*() {
  const audit = yield* AuditLog

  const auditRequest = Effect.fnUntraced(function*({ call }: Begun) {
    yield* audit.append({
      kind: "request",
      call: call.callId,
      caller: call.caller,
      operation: "run",
      subject: { type: "tool", item: call.item, ...(call.tier === undefined ? {} : { tier: call.tier }) },
      parameters: call.parameters,
      ...(call.dryRun ? { dry_run: true } : {})
    })
  })

  const auditResult = Effect.fnUntraced(function*(
    run: Begun & Partial<Done>,
    exit: Exit.Exit<unknown, ToolCallError>,
    startedAt: number
  ) {
    const { chain } = run
    const tool = chain?.leaf.tool
    yield* audit.append({
      kind: "result",
      call: run.call.callId,
      subject: {
        type: "tool",
        item: run.call.item,
        ...(tool === undefined ? {} : { version: tool.version, tier: tool.location.tier, digest: tool.digest }),
        ...(chain === undefined ? {} : { chain: chainIds(chain.links), chain_digest: chain.digest })
      },
      ...outcomeOf(exit),
      ...(run.rule === undefined ? {} : { rule: run.rule }),
      ...(run.isolation === undefined ? {} : { isolation: run.isolation }),
      duration_ms: (yield* Clock.currentTimeMillis) - startedAt
    }, run.secrets)
  })

  return { auditRequest, auditResult }
})
