// What a call would touch, and whether a rule allows it, denies it, or asks a person.
import { Effect } from "effect"
import type { Access } from "../../services/capability/Access.ts"
import { PermissionGate } from "../../services/permission/PermissionGate.ts"
import { Primitives } from "../../services/primitive/Primitive.ts"
import { blame } from "../call/blame.ts"
import type { Facts } from "../call/Step.ts"

/** The tool itself, and what its primitive says that it touches with these parameters. */
export const findAccesses = Effect.gen(function*() {
  const primitives = yield* Primitives

  return ({ call, chain, parameters }: Facts<"call" | "chain" | "parameters">) => {
    const { id } = chain.leaf.tool.location
    const own: Access = { _tag: "Tool", capability: `tool.${id}`, id, parameters }
    const of = primitives.accesses(chain.primitive.tool.location.id, {
      tool: id,
      caller: call.caller,
      config: chain.config,
      parameters
    })
    return Effect.mapBoth(of, {
      onFailure: (reason) => blame(chain, reason),
      onSuccess: (touched) => ({ accesses: touched.length === 0 ? [own] : [own, ...touched] })
    })
  }
})

export const permit = Effect.gen(function*() {
  const gate = yield* PermissionGate

  return (facts: Facts<"call" | "chain" | "verified"> & Partial<Facts<"accesses">>) => {
    const { call, chain, verified } = facts
    const { id } = chain.leaf.tool.location
    // `trace` has no parameters, and so knows only the tool.
    const own: Access = { _tag: "Tool", capability: `tool.${id}`, id, parameters: undefined }
    return gate.decide(call.caller, { _tag: "Run", chain, verified, accesses: facts.accesses ?? [own] })
  }
})

/** The secrets that the environment refers to: the question about them is put together with the others. */
export const permitSecrets = Effect.gen(function*() {
  const gate = yield* PermissionGate

  return (facts: Facts<"asks" | "call" | "chain" | "env" | "verified">) => {
    const { asks, call, chain, env, verified } = facts
    const { references } = env
    if (references === undefined || references.size === 0) return Effect.void
    return Effect.map(
      Effect.forEach(references, (name) => gate.decide(call.caller, { _tag: "UseSecret", chain, verified, name })),
      (decisions) => ({ asks: [...asks, ...decisions.flatMap((decision) => decision.asks)] })
    )
  }
})
