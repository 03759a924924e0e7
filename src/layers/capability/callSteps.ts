// The grant of the calls that a tool makes: what its signed config asks for, within what its own caller has. It is a
// token of its own, so that each of these calls is checked as any call with a token is. Rules apply beside it.
import { Duration, Effect, Result } from "effect"
import { refusalOf } from "../../services/capability/CapabilityModule.ts"
import { CapabilityTokens, PermissionEscalation } from "../../services/capability/CapabilityTokens.ts"
import type { Grant } from "../../services/capability/Grant.ts"
import { parseGrants } from "../../services/capability/grantText.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { ConfigInvalid } from "../../services/proxy/ToolProxy.ts"
import { isJsonArray } from "../../services/schema/json.ts"
import { blame, setterOf } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

const none = { callGrant: undefined }

/** No tool runs longer, and no token lives longer. It ends with the tool, which never has it. */
const life = Duration.days(1)

/** What the chain's config asks for, as signed: no parameter can provide a part of it. Undefined if it asks for none. */
const askedIn = (chain: Chain): Result.Result<ReadonlyArray<Grant> | undefined, ConfigInvalid> => {
  const { calls } = chain.config
  if (calls === undefined || chain.primitive.tool.location.id !== "subprocess") return Result.succeed(undefined)
  const grants: Array<Grant> = []
  for (const [index, text] of (isJsonArray(calls) ? calls : [calls]).entries()) {
    const parsed = (typeof text === "string" ? parseGrants(text) : Result.fail("is not a text")).pipe(
      Result.flatMap((found) => {
        const issue = refusalOf({ allow: found, deny: [] }, chain.leaf.tool.location.tier === "system")
        return issue === undefined ? Result.succeed(found) : Result.fail(issue)
      })
    )
    if (Result.isFailure(parsed)) {
      const setter = setterOf(chain, "/calls", chain.leaf)
      return Result.fail(
        new ConfigInvalid({
          link: setter.tool.location.id,
          issues: [{ field: `calls/${index}`, error: parsed.failure }]
        })
      )
    }
    grants.push(...parsed.success)
  }
  return Result.succeed(grants)
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
