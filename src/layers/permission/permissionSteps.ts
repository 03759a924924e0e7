// What a call would touch, and whether a rule allows it, denies it, or asks a person.
import { Effect } from "effect"
import type { Access } from "../../services/capability/Access.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { Primitives } from "../../services/primitive/Primitive.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"
import { requireGranted, requireSecret } from "../capability/capabilitySteps.ts"
import { toolAccess } from "./ruleQuery.ts"

/** What the accesses are, and what commands among them open. */
const unfolded = (accesses: ReadonlyArray<Access>): ReadonlyArray<Access> =>
  accesses.some((access) => access._tag === "Command" && access.opens !== undefined)
    ? accesses.flatMap((access) => access._tag === "Command" ? [access, ...access.opens ?? []] : [access])
    : accesses

/**
 * The tool itself, and what its primitive says that it touches with these parameters. Rules and grants decide about the
 * same accesses.
 */
export const findAccesses = Effect.gen(function*() {
  const primitives = yield* Primitives

  return ({ call, chain, parameters }: Facts<"call" | "chain" | "parameters">) => {
    const own = toolAccess(chain, parameters)
    const of = primitives.accesses(chain.primitive.tool.location.id, {
      tool: chain.leaf.tool.location.id,
      caller: call.caller,
      config: chain.config,
      parameters
    })
    return Effect.mapBothEager(of, {
      onFailure: (reason) => blame(chain, reason),
      onSuccess: (touched) => ({ accesses: touched.length === 0 ? [own] : [own, ...unfolded(touched)] })
    })
  }
})

export const permit = Effect.gen(function*() {
  const gate = yield* PermissionGate

  return (facts: Facts<"call" | "chain" | "verified"> & Partial<Facts<"accesses" | "claims">>) => {
    const { call, chain, claims, verified } = facts
    // `trace` has no parameters, and so knows only the tool.
    const accesses = facts.accesses ?? [toolAccess(chain, undefined)]
    const decision = gate.decide(call.caller, { _tag: "Run", chain, verified, accesses })
    return claims === undefined ? decision : Effect.andThen(requireGranted(claims, chain, accesses), decision)
  }
})

/** The secrets that the environment refers to: the question about them is put together with the others. */
export const permitSecrets = Effect.gen(function*() {
  const gate = yield* PermissionGate

  return (
    facts: Facts<"asks" | "call" | "chain" | "env" | "rule" | "verified"> & Partial<Facts<"claims" | "settled">>
  ) => {
    const { asks, call, chain, claims, env, rule, settled = [], verified } = facts
    const { references } = env
    if (references === undefined || references.size === 0) return Effect.void
    const decide = (name: string) => {
      const decision = gate.decide(call.caller, { _tag: "UseSecret", chain, verified, name })
      return claims === undefined
        ? decision
        : Effect.andThen(requireSecret(claims, chain, name), decision)
    }
    return Effect.map(
      Effect.forEach(references, decide),
      (decisions) => ({
        rule: [...new Set([rule, ...decisions.map((one) => one.rule)])].join(", "),
        asks: [...asks, ...decisions.flatMap((decision) => decision.asks)],
        settled: [...settled, ...decisions.flatMap((decision) => decision.settled ?? [])]
      })
    )
  }
})
