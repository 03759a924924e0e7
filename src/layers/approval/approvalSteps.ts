// Asks a person last, over everything that the call would do, as a dry run shows it. Free if nothing is asked.
import { Clock, Effect } from "effect"
import type { Approved } from "../../services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import type { Caller } from "../../services/call/Caller.ts"
import { namesSecret } from "../../services/env/secretVariables.ts"
import type { SignedBy } from "../../services/integrity/Verifier.ts"
import { showLocation } from "../../services/item/Item.ts"
import { ruleFor } from "../../services/permission/offeredRule.ts"
import type { Ask } from "../../services/permission/PermissionGate.ts"
import { RememberedRules } from "../../services/permission/RememberedRules.ts"
import { Primitives } from "../../services/primitive/Primitive.ts"
import { blame } from "../call/blame.ts"
import { type Done, type Facts, type MadeSteps, type Prepared, type SoFar, take } from "../call/Step.ts"
import { threadOf } from "../capability/callSteps.ts"
import { sha256 } from "../identity/sha256.ts"
import { shownName } from "../identity/shownName.ts"
import { makeMayAlso } from "../permission/mayAlso.ts"
import { requestText } from "./requestText.ts"

/** What is known of a call that a person may have to agree to. */
export type AskedFacts = Exclude<keyof Prepared, "approval" | "toolFile" | "config" | "shownConfig" | "placed">
type Asked = Facts<AskedFacts>

const whose = (by: SignedBy | undefined): string => {
  switch (by?._tag) {
    case undefined:
      return "not signed"
    case "System":
      return "comes with Kiwi"
    case "Source":
      return `approved in the source "${shownName(by.name)}"`
    case "Signer": {
      const { kind, standing, time } = by
      const who = standing._tag === "You"
        ? "you"
        : standing._tag === "Trusted"
        ? `"${shownName(standing.signer.name)}"`
        : "an unknown key"
      return `signed by ${kind === "agent" ? `an agent of ${who}` : who} at ${time}`
    }
  }
}

const notAsked = { approval: undefined }

/** `last`: the steps that run the call. As a dry run they tell what it would do. */
export const requireApproval = Effect.fnUntraced(function*<R>(last: Effect.Effect<MadeSteps<never>, never, R>) {
  const approvals = yield* ApprovalStore
  const remembered = yield* RememberedRules
  const { list: steps } = yield* last
  const primitives = yield* Primitives
  const mayAlso = yield* makeMayAlso

  /** What a builtin would do. Nothing is shown of a file that the caller may not read. */
  const previewOf = (facts: Asked) => {
    const { call: { caller }, chain, parameters } = facts
    const mayRead = (path: string) =>
      Effect.map(mayAlso(facts, { _tag: "Path", capability: "fs.read", path }), (standing) => standing === "allowed")
    const input = { tool: chain.leaf.tool.location.id, caller, config: chain.config, parameters }
    return Effect.mapError(
      primitives.preview(chain.primitive.tool.location.id, input, mayRead),
      (reason) => blame(chain, reason)
    )
  }

  /** For rules about what is new. If it cannot be kept, the person is asked again next time. */
  const rememberRuns = (asks: ReadonlyArray<Ask>, { client }: Caller, { by, id }: Approved) => {
    const runs = asks.flatMap(({ access, ran }) => ran === undefined ? [] : [{ access, ran }])
    if (runs.length === 0) return Effect.void
    return Clock.currentTimeMillis.pipe(
      Effect.flatMap((now) =>
        remembered.add(runs.map(({ access, ran }) => ({
          id: `${id}-ran`,
          rule: `allow: ${ruleFor(access) ?? ran.tool}`,
          client,
          at: new Date(now).toISOString(),
          by,
          ran,
          approval: id
        })))
      ),
      Effect.catch((error) => Effect.logWarning(`It will be asked about again: ${error.message}`))
    )
  }

  /** The call as a dry run, before any secret is read. */
  const planOf = Effect.fnUntraced(function*(facts: Asked) {
    const known: SoFar = { ...facts, approval: undefined, call: { ...facts.call, dryRun: true } }
    for (const step of steps) yield* take(step, known)
    const { config, primitive, secrets, shownConfig } = known as Done
    return { config: shownConfig ?? config, plan: primitive.data, secrets }
  })

  return Effect.fnUntracedEager(function*(facts: Asked) {
    const { asks, call, chain, claims, env, isolation, parameters, verified } = facts
    const { within = [] } = call
    if (asks.length === 0 || call.dryRun) return notAsked
    const { config, plan, secrets } = yield* planOf(facts)
    const { location, version } = chain.leaf.tool
    const shownTool = { name: showLocation(location), version, signer: whose(verified[0]?.by) }
    const named = [...env.declared.keys()].filter((name) => namesSecret(env, name))
    const { brief, details, unreadable } = requestText({
      caller: call.caller,
      about: [
        ["Tool", `${shownTool.name}, version ${version}, ${shownTool.signer}`],
        // What comes with Kiwi, and the usual level, say nothing that decides.
        ...chain.links.slice(1).flatMap(({ tool }, index) => {
          const by = verified[index + 1]?.by
          return by?._tag === "System"
            ? []
            : [["Built on", `${tool.location.id} ${tool.version}, ${whose(by)}`] as const]
        }),
        ...(isolation === "standard" ? [] : [["Isolation", isolation] as const]),
        ...(within.length === 0 ? [] : [["Called by", within.map(({ tool }) => tool).join(" > ")] as const]),
        ...(named.length === 0 ? [] : [["Secrets", named.join(", ")] as const])
      ],
      asks,
      parameters,
      plan,
      preview: yield* previewOf(facts),
      secrets
    })
    const approved = yield* approvals.require({
      callId: call.callId,
      caller: call.caller,
      what: `run tool ${location.id}`,
      tool: shownTool,
      asks,
      details,
      ...(brief === undefined ? {} : { brief }),
      unreadable,
      digest: sha256(JSON.stringify([
        "kiwi-call-1",
        chain.digest,
        parameters,
        config,
        isolation,
        // The same call by a tool, in a thread or for a directive is another one.
        ...(within.length === 0 ? [] : [within.map(({ tool }) => tool)]),
        ...(claims === undefined ? [] : [{
          directive: claims.act,
          // A thread that was made for one call has another name when the call is repeated.
          ...(within.some((one) => claims.sub === threadOf(one.call)) ? {} : { thread: claims.sub })
        }])
      ]))
    })
    yield* rememberRuns(asks, call.caller, approved)
    const { answer, by, id, rule } = approved
    return { rule, approval: { id, by, answer } }
  })
})
