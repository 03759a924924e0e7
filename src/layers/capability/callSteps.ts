// The grant of the calls that a tool makes: what its signed config asks for, within what its own caller has. It is a
// token of its own, so that each of these calls is checked as any call with a token is. Rules apply beside it.
import { Duration, Effect, Result } from "effect"
import { calledGrants } from "../../services/capability/calledGrants.ts"
import { CapabilityTokens, PermissionEscalation } from "../../services/capability/CapabilityTokens.ts"
import type { Grant } from "../../services/capability/Grant.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ConfigInvalid } from "../../services/proxy/ToolProxy.ts"
import { blame, setterOf } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

const none = { callGrant: undefined }

/** No tool runs longer, and no token lives longer. It ends with the tool, which never has it. */
const life = Duration.days(1)

/** What the chain's config asks for, as signed: no parameter can provide a part of it. Undefined if it asks for none. */
const askedIn = (chain: Chain): Result.Result<ReadonlyArray<Grant> | undefined, ConfigInvalid> => {
  const { calls } = chain.config
  if (calls === undefined || chain.primitive.tool.location.id !== "subprocess") return Result.succeed(undefined)
  const { grants, issues } = calledGrants(calls, chain.leaf.tool.location.tier === "system")
  return issues.length === 0
    ? Result.succeed(grants)
    : Result.fail(new ConfigInvalid({ link: setterOf(chain, "/calls", chain.leaf).tool.location.id, issues }))
}

/** Of the calls that a tool makes, if it was not called in a thread. */
export const threadOf = (call: string): string => `call ${call}`

export const grantCalls = Effect.gen(function*() {
  const tokens = yield* CapabilityTokens

  const grant = Effect.fnUntraced(
    function*({ call, chain, claims }: Facts<"call" | "chain" | "claims">, allow: ReadonlyArray<Grant>) {
      const request = { allow, deny: [] }
      const { thread, token } = call
      if (claims === undefined || thread === undefined || token === undefined) {
        const own = { thread: threadOf(call.callId), directive: chain.digest }
        return { thread: own.thread, token: yield* tokens.mint({ ...own, life, grants: request }) }
      }
      const made = yield* tokens.attenuate(token, { thread }, { thread, directive: claims.act, life, request }).pipe(
        Effect.catchTag(
          "PermissionEscalation",
          ({ exceeding }) =>
            Effect.fail(new PermissionEscalation({ thread, tool: chain.leaf.tool.location.id, exceeding }))
        )
      )
      return { thread, token: made }
    },
    // The config's grants have been checked.
    Effect.catchTag("CapabilityInvalid", Effect.die)
  )

  return (facts: Facts<"call" | "chain" | "claims">): Effect.Effect<Facts<"callGrant">, ToolCallError> => {
    const asked = askedIn(facts.chain)
    if (Result.isFailure(asked)) return Effect.fail(blame(facts.chain, asked.failure))
    return asked.success === undefined || facts.call.dryRun
      ? Effect.succeed(none)
      : Effect.map(grant(facts, asked.success), (callGrant) => ({ callGrant }))
  }
})
