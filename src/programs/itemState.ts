// Whether an item can be believed and used right now, in one word: what search, load and explain show.
import { Effect } from "effect"
import type { KiwiError } from "../services/error/KiwiError.ts"
import { codeOf, innermost } from "../services/error/KiwiError.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import type { Verified } from "../services/integrity/Verifier.ts"
import type { ItemSnapshot } from "../services/item/Item.ts"
import type { Caller } from "../services/proxy/ToolCall.ts"
import { ToolProxy } from "../services/proxy/ToolProxy.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"

/** `ok`: it can run or be followed now. `invalid`: it or its chain is not well formed. */
export type ItemState =
  | "ok"
  | "unsigned"
  | "untrusted"
  | "tampered"
  | "restricted"
  | "denied"
  | "missing_command"
  | "invalid"

const states: ReadonlyMap<string, ItemState> = new Map<string, ItemState>([
  ["UNSIGNED", "unsigned"],
  ["SIGNER_UNTRUSTED", "untrusted"],
  ["TAMPERED", "tampered"],
  ["SIGNATURE_MALFORMED", "tampered"],
  ["SYSTEM_ITEM_ALTERED", "tampered"],
  ["PROJECT_RESTRICTED", "restricted"],
  ["PERMISSION_DENIED", "denied"],
  ["GOES_BACK", "denied"],
  ["HISTORY_DAMAGED", "denied"],
  ["HIDES_ITEM", "denied"],
  ["REQUIREMENTS_MISSING", "missing_command"],
  ["DEPENDENCIES_MISSING", "missing_command"]
])

/** The state that an error of verifying or tracing stands for. */
export const stateOf = (error: KiwiError): ItemState => states.get(codeOf(innermost(error))) ?? "invalid"

export interface Standing {
  readonly state: ItemState
  /** Why it is not `ok`. */
  readonly error: KiwiError | undefined
  /** Whether the bytes are those of a signer who counts, in a project that may be believed. */
  readonly believed: Verified | undefined
}

/** Whether an item's words may be shown as they are: signed by somebody who counts, and not in a restricted project. */
export const standingOf = Effect.fnUntraced(function*(snapshot: ItemSnapshot) {
  const verifier = yield* Verifier
  const trust = yield* ProjectTrust
  return yield* (snapshot.location.tier === "project" ? trust.require : Effect.void).pipe(
    Effect.andThen(verifier.verify(snapshot)),
    Effect.map((believed): Standing => ({ state: "ok", error: undefined, believed })),
    Effect.catch((error) => Effect.succeed<Standing>({ state: stateOf(error), error, believed: undefined }))
  )
})

/** Like `standingOf`; for a tool, whether its whole chain could run now. */
export const readinessOf = Effect.fnUntraced(function*(snapshot: ItemSnapshot, caller: Caller) {
  const standing = yield* standingOf(snapshot)
  if (standing.state !== "ok" || snapshot.location.type !== "tool") return standing
  const proxy = yield* ToolProxy
  const { category, id, tier } = snapshot.location
  const trace = yield* proxy.trace(caller, { item: category === "" ? id : `${category}/${id}`, tier })
  if (trace.blocked === undefined) return standing
  const { error } = trace.blocked
  return { ...standing, state: stateOf(error), error } satisfies Standing as Standing
})
