// Whether an item's signature is trusted and the item can be used now, in one word for search, load and explain.
import { Effect } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import type { KiwiError } from "../services/error/KiwiError.ts"
import { stateOf } from "../services/error/KiwiError.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import type { Verified } from "../services/integrity/Verifier.ts"
import type { ItemSnapshot } from "../services/item/Item.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"

/** `ok` means that it can run or be followed now. */
export type ItemState = "ok" | ReturnType<typeof stateOf>

export interface ItemCheck {
  readonly state: ItemState
  /** Why it is not `ok`. */
  readonly error: KiwiError | undefined
  /** The verified signature, if a trusted signer signed the bytes and the project is not restricted. */
  readonly verified: Verified | undefined
}

/** An item's text may be shown as it is only if a trusted signer signed it and its project is not restricted. */
export const checkSignature = Effect.fnUntraced(function*(snapshot: ItemSnapshot) {
  const verifier = yield* Verifier
  const trust = yield* ProjectTrust
  return yield* (snapshot.location.tier === "project" ? trust.require : Effect.void).pipe(
    Effect.andThen(verifier.verify(snapshot)),
    Effect.map((verified): ItemCheck => ({ state: "ok", error: undefined, verified })),
    Effect.catch((error) => Effect.succeed<ItemCheck>({ state: stateOf(error), error, verified: undefined }))
  )
})

/** Like `checkSignature`; for a tool, whether its whole chain could run now. */
export const checkReadiness = Effect.fnUntraced(function*(snapshot: ItemSnapshot, caller: Caller) {
  const checked = yield* checkSignature(snapshot)
  if (checked.state !== "ok" || snapshot.location.type !== "tool") return checked
  const proxy = yield* ToolProxy
  const trace = yield* proxy.trace(caller, {
    item: qualifiedId(snapshot.location),
    tier: snapshot.location.tier
  })
  if (trace.blocked === undefined) return checked
  const { error } = trace.blocked
  return { ...checked, state: stateOf(error), error } satisfies ItemCheck as ItemCheck
})
