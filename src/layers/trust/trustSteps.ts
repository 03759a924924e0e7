// Stops a call to a tool of a project that no person has trusted.
import { Effect } from "effect"
import { ProjectTrust } from "../../services/trust/ProjectTrust.ts"
import type { Facts } from "../call/Step.ts"

export const requireTrustedProject = Effect.gen(function*() {
  const trust = yield* ProjectTrust

  return ({ chain }: Facts<"chain">) =>
    chain.links.some((link) => link.tool.location.tier === "project") ? trust.require : Effect.void
})
