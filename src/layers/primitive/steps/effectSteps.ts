// Runs the primitive, and shapes the result for the caller. No secret leaves here.
import { Effect, Option } from "effect"
import { redactText, redactValue } from "../../../services/audit/redaction.ts"
import { CallEvents } from "../../../services/call/CallEvents.ts"
import { chainIds } from "../../../services/chain/Chain.ts"
import { ItemHistory } from "../../../services/integrity/ItemHistory.ts"
import { isSignable } from "../../../services/item/Item.ts"
import type { PrimitiveInput } from "../../../services/primitive/Primitive.ts"
import { Primitives } from "../../../services/primitive/Primitive.ts"
import type { PrimitiveError } from "../../../services/primitive/PrimitiveErrors.ts"
import type { CallMetadata } from "../../../services/proxy/ToolCall.ts"
import { ProjectTrust } from "../../../services/trust/ProjectTrust.ts"
import { makeItALink } from "../../../services/trust/ShownProgram.ts"
import { Workspace } from "../../../services/workspace/Workspace.ts"
import { blame } from "../../call/blame.ts"
import type { Secrets } from "../../call/secrets.ts"
import type { Done, Facts, Prepared } from "../../call/Step.ts"
import { makeMayAlso } from "../../permission/mayAlso.ts"
import { redactedEvents } from "./redactedEvents.ts"
import { serveCalls } from "./serveCalls.ts"

/** How much of stderr a result includes, in bytes. */
const stderrTail = 4_096

const shownHeaders = (headers: Readonly<Record<string, string>>, secrets: Secrets) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, redactText(value, secrets)]))

export const runPrimitive = Effect.gen(function*() {
  const history = yield* ItemHistory
  const mayAlso = yield* makeMayAlso
  const primitives = yield* Primitives
  const trust = yield* ProjectTrust
  const workspace = yield* Workspace

  /**
   * Checked again, since time has passed since the environment was resolved: in a queue, or while packages were
   * checked.
   */
  const confirmOf = ({ env }: Prepared): PrimitiveInput["confirm"] => {
    const place = env.interpreter?.place
    return place === undefined ? undefined : Effect.map(
      trust.interpreter(place, true),
      (standing) =>
        standing._tag === "Shown"
          ? undefined
          : `${place} ${standing.issue}: ${standing._tag === "Refused" ? makeItALink : "kiwi trust project accepts it"}`
    )
  }

  const inputOf = (run: Prepared, emit: PrimitiveInput["emit"]): PrimitiveInput => ({
    tool: run.chain.leaf.tool.location.id,
    caller: run.call.caller,
    config: run.config,
    signed: run.chain.config,
    parameters: run.parameters,
    placed: run.placed,
    env: run.env.child,
    secrets: run.secrets,
    toolFile: run.toolFile,
    cwd: workspace.cwd,
    isolation: run.isolation,
    confirm: confirmOf(run),
    accesses: run.accesses,
    mayAlso: (access) => mayAlso(run, access),
    depth: run.call.within?.length ?? 0,
    serve: run.callGrant === undefined ? undefined : serveCalls(run, run.callGrant),
    emit
  })

  /** Every check uses the real config. What is shown comes from one that only names secrets. */
  const planPrimitive = Effect.fnUntraced(
    function*({ shownConfig }: Facts<"shownConfig">, id: string, input: PrimitiveInput) {
      const plan = yield* primitives.plan(id, input)
      if (shownConfig === undefined) return plan
      const shown = yield* Effect.option(primitives.plan(id, { ...input, config: shownConfig }))
      return Option.getOrElse(shown, () => plan)
    }
  )

  return Effect.fnUntraced(function*(run: Prepared) {
    const { chain } = run
    const events = redactedEvents((yield* CallEvents).emit, run.secrets)
    const input = inputOf(run, events.emit)
    const id = chain.primitive.tool.location.id
    const failed = (reason: PrimitiveError) => blame(chain, reason)
    if (run.call.dryRun) {
      const data = yield* Effect.mapError(planPrimitive(run, id, input), failed)
      return { primitive: { data, metadata: {} } }
    }
    for (const [index, link] of chain.links.entries()) {
      if (!isSignable(link.tool.location)) continue
      const by = run.verified[index]?.by
      const keyId = by?._tag === "Signer" && by.standing._tag !== "Unknown" ? by.standing.signer.keyId : undefined
      yield* Effect.mapError(
        history.ran(link.tool.location, link.tool.version, link.tool.digest, keyId),
        (reason) => blame(chain, reason, link)
      )
    }
    return { primitive: yield* Effect.mapError(events.finishing(primitives.run(id, input)), failed) }
  })
})

export const shapeResult = Effect.succeed((run: Omit<Done, "result">) =>
  Effect.sync((): Facts<"result"> => {
    const { chain } = run
    const { tool } = chain.leaf
    const { data, metadata } = run.primitive
    const { secrets } = run
    const spilled = metadata.body ?? metadata.stdout
    const stderr = redactText(metadata.stderr?.text ?? "", secrets).slice(-stderrTail).toWellFormed()
    const shaped: CallMetadata = {
      call_id: run.call.callId,
      duration_ms: metadata.duration_ms ?? 0,
      tool: { id: tool.location.id, version: tool.version, tier: tool.location.tier, digest: tool.digest },
      chain: chainIds(chain.links),
      chain_digest: chain.digest,
      isolation: run.isolation,
      ...(metadata.exit_code === undefined ? {} : { exit_code: metadata.exit_code }),
      ...(metadata.status_code === undefined ? {} : { status_code: metadata.status_code }),
      ...(metadata.attempts === undefined ? {} : { attempts: metadata.attempts }),
      ...(stderr === "" ? {} : { stderr }),
      ...(metadata.headers === undefined ? {} : { headers: shownHeaders(metadata.headers, secrets) }),
      ...(spilled?.spilled === undefined ? {} : {
        output: {
          uri: spilled.spilled,
          bytes: spilled.bytes,
          ...(spilled.binary === true ? { binary: true as const } : {})
        }
      })
    }
    return {
      result: {
        status: run.call.dryRun ? "validation_passed" : "success",
        data: redactValue(data, secrets),
        metadata: shaped,
        warnings: run.warnings
      }
    }
  })
)
