// The capability token of a call: verified before anything else is read, and asked beside the rules.
import { Effect } from "effect"
import type { Access } from "../../services/capability/Access.ts"
import { isSigned, showAccess } from "../../services/capability/Access.ts"
import { CapabilityTokens, TokenMissing } from "../../services/capability/CapabilityTokens.ts"
import type { Claims, TokenError } from "../../services/capability/CapabilityTokens.ts"
import { denies, holds, isBound } from "../../services/capability/Grant.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import { PermissionDenied } from "../../services/permission/PermissionGate.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import type { Facts } from "../call/Step.ts"
import { coversAccess } from "./coversAccess.ts"
import { denyBehindLinks } from "./denyBehindLinks.ts"

/** A call without a thread and without a token is one of a caller whom the rules know. */
export const authenticateToken = Effect.gen(function*() {
  const tokens = yield* CapabilityTokens
  const { cwd } = yield* Workspace

  return (
    { call: { thread, token } }: Facts<"call">
  ): Effect.Effect<Facts<"claims">, TokenMissing | TokenError> =>
    token !== undefined
      ? Effect.map(
        tokens.verify(token, { thread: thread ?? "" }),
        (claims) => ({ claims: { ...claims, caps: denyBehindLinks(claims.caps, cwd) } })
      )
      : thread !== undefined
      ? Effect.fail(new TokenMissing({ thread }))
      : Effect.succeed({ claims: undefined })
})

/**
 * A system tool that says what it touches needs no grant of its own beside those for that. It must not be denied, and
 * has to fit a grant that constrains its parameters.
 */
const isFree = ({ caps }: Claims, { leaf }: Chain, accesses: ReadonlyArray<Access>): boolean => {
  const [own, ...touched] = accesses
  return own !== undefined && leaf.tool.location.tier === "system" && touched.some((access) => !isSigned(access)) &&
    !isBound(caps, own) && !denies(caps, own)
}

const denied = ({ jti }: Claims, chain: Chain, missing: ReadonlyArray<string>, hint: string) =>
  new PermissionDenied({
    what: `run tool ${chain.leaf.tool.location.id}`,
    rule: "token",
    reason: `the capability token ${jti} does not include ${missing.join(", ")}`,
    hint,
    chain: chainIds(chain.links)
  })

/** Where a capability is asked for. */
const where = "in the directive's <permissions>, or under `calls` in the config of the tool that makes the call"

const requireCovered = Effect.fnUntracedEager(function*(claims: Claims, chain: Chain, accesses: ReadonlyArray<Access>) {
  const uncovered: Array<string> = []
  for (const access of accesses) {
    if (!(yield* coversAccess(claims.caps, access))) uncovered.push(showAccess(access))
  }
  if (uncovered.length > 0) {
    const hint = `Do without it, or ask for it ${where}`
    return yield* denied(claims, chain, uncovered, hint)
  }
})

/** Fails unless the token covers all accesses, and has the capabilities that the chain's tools require. */
export const requireGranted = Effect.fnUntracedEager(function*(
  claims: Claims,
  chain: Chain,
  accesses: ReadonlyArray<Access>
) {
  for (const { tool } of chain.links) {
    const missing = tool.requires.capabilities.filter((capability) => !holds(claims.caps, capability))
    if (missing.length > 0) {
      const hint = `${tool.location.id} requires ${missing.join(", ")}: ask for it ${where}`
      return yield* denied(claims, chain, missing, hint)
    }
  }
  yield* requireCovered(claims, chain, isFree(claims, chain, accesses) ? accesses.slice(1) : accesses)
})

export const requireSecret = (claims: Claims, chain: Chain, name: string) =>
  requireCovered(claims, chain, [{ _tag: "Secret", capability: "secret.use", name }])
