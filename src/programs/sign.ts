// Signing as a use case of every surface: plan, ask a person, sign exactly what was shown, record it.
import { Effect } from "effect"
import { Signatures } from "../services/integrity/Signatures.ts"
import type { SigningPlan } from "../services/integrity/Signatures.ts"
import { showLocation } from "../services/item/Item.ts"
import type { ItemType, Tier } from "../services/item/ItemId.ts"
import type { Caller } from "../services/proxy/ToolCall.ts"
import { asHuman } from "./humanAct.ts"

export interface SignInput {
  /** An id, `category/id`, or a glob over them. */
  readonly id: string
  readonly type?: ItemType | undefined
  readonly tier?: Exclude<Tier, "system"> | undefined
  readonly category?: string | undefined
  /** Leaves out what is already signed by you. */
  readonly changedOnly?: boolean | undefined
}

export interface Signed {
  readonly signed: ReadonlyArray<{
    readonly id: string
    readonly type: string
    readonly path: string
    readonly version: string
    readonly digest: string
    readonly key_id: string
    readonly time: string
  }>
  /** Items of a glob that cannot be signed. */
  readonly refused: ReadonlyArray<{ readonly path: string; readonly error: string; readonly remediation?: string }>
}

const refusals = (plan: SigningPlan): Signed["refused"] =>
  plan.refused.map(({ error, item }) => ({ path: item, error: error.message, remediation: error.remediation }))

/** Asks the person behind the surface's HumanGate. A plan without items is not asked about. */
export const sign = Effect.fn("sign")(function*(input: SignInput, caller: Caller) {
  const signatures = yield* Signatures
  const plan = yield* signatures.plan(input)
  if (plan.items.length === 0) return { signed: [], refused: refusals(plan) } satisfies Signed as Signed
  const signed = yield* asHuman(plan.request, caller, (act) => signatures.sign(plan, act))
  return {
    signed: signed.map((s) => ({
      id: s.location.id,
      type: s.location.type,
      path: showLocation(s.location),
      version: s.version,
      digest: s.digest,
      key_id: s.keyId,
      time: s.time
    })),
    refused: refusals(plan)
  } satisfies Signed as Signed
})
