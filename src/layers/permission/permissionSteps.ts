// Checks whether a rule allows the caller to run the chain.
import { Effect } from "effect"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import type { Facts } from "../call/Step.ts"

export const permit = Effect.gen(function*() {
  const gate = yield* PermissionGate

  return ({ call, chain, verified }: Facts<"call" | "chain" | "verified">) =>
    gate.allow(call.caller, { _tag: "Run", chain, verified })
})
