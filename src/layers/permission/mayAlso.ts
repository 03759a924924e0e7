// Whether a call may touch something beyond the accesses that were decided on: what a tool finds while it runs, and what
// a person is shown of a file before it does.
import { Effect } from "effect"
import type { Access, Standing } from "../../services/capability/Access.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import type { Facts } from "../call/Step.ts"
import { coversAccess } from "../capability/coversAccess.ts"

export const makeMayAlso = Effect.map(PermissionGate, (gate) =>
  Effect.fnUntraced(function*(
    { call, chain, claims, verified }: Facts<"call" | "chain" | "claims" | "verified">,
    access: Access
  ): Effect.fn.Return<Standing> {
    if (claims !== undefined && !(yield* coversAccess(claims.caps, access))) return "denied"
    return yield* Effect.match(gate.decide(call.caller, { _tag: "Run", chain, verified, accesses: [access] }), {
      onFailure: () => "denied" as const,
      // What is asked about the tool itself is a question of its own.
      onSuccess: ({ asks }) => asks.some((ask) => ask.access === access) ? "asked" : "allowed"
    })
  }))
