// Chain: what a tool is built on, link by link, and which link set each value of its config. A broken chain is drawn up
// to the break. Text of a link that no trusted signer signed is not repeated.
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import { shownName } from "../layers/identity/shownName.ts"
import type { ChainLink } from "../services/chain/Chain.ts"
import { isDeeperThan, maxConfigDepth } from "../services/chain/Chain.ts"
import type { ChainQuery } from "../services/chain/ChainResolver.ts"
import { ChainResolver } from "../services/chain/ChainResolver.ts"
import { configOrigins } from "../services/chain/configOrigins.ts"
import type { ErrorObject } from "../services/error/KiwiError.ts"
import { toErrorObject } from "../services/error/KiwiError.ts"
import type { SignedBy } from "../services/integrity/Verifier.ts"
import { showExecutor, showLocation } from "../services/item/Item.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import type { ItemState } from "./itemState.ts"
import { checkSignature } from "./itemState.ts"
import { withoutQuotes } from "./withoutQuotes.ts"

export interface DrawnLink {
  readonly id: string
  readonly version: string
  readonly tool_type: string
  readonly tier: string
  /** `tier:folder/path`. */
  readonly path: string
  readonly digest: string
  /** Whether a trusted signer signed these bytes. */
  readonly state: ItemState
  readonly signer?: string
  /** How the link before names it, with the accepted versions: "python_runtime@^2.0". */
  readonly asked_as?: string
}

interface SetValue {
  /** Id of the link that set it. */
  readonly by: string
  /** Absent if no trusted signer signed that link. */
  readonly value?: Schema.Json
}

export interface DrawnValue extends SetValue {
  /** "timeout", "env.PYTHONPATH". */
  readonly field: string
  /** The values that it overrode, the last one first. */
  readonly overrode?: ReadonlyArray<SetValue>
}

export interface DrawnChain {
  /** Leaf first. */
  readonly links: ReadonlyArray<DrawnLink>
  /** Whether the chain is complete: it ends at a primitive. */
  readonly whole: boolean
  readonly hides: ReadonlyArray<string>
  /** The merged config, before placeholders are filled in. */
  readonly config: ReadonlyArray<DrawnValue>
  /** Why an incomplete chain stops. */
  readonly stopped?: ErrorObject
}

/** Who signed something, in a few words. */
export const signerName = (by: SignedBy): string =>
  by._tag === "System"
    ? "Kiwi (system item)"
    : by._tag === "Source"
    ? `nobody; its source ${by.name} approves it as it is`
    : by.standing._tag === "You"
    ? `you (${by.standing.signer.keyId})`
    : by.standing._tag === "Trusted"
    ? `"${shownName(by.standing.signer.name)}" (${by.standing.signer.keyId})`
    : "somebody unknown"

export const chain = Effect.fn("chain")(function*(query: ChainQuery) {
  const resolver = yield* ChainResolver
  const trust = yield* ProjectTrust
  const { hides, links, stopped } = yield* Effect.mapError(resolver.partial(query), yield* withoutQuotes)
  const isRestricted = (yield* trust.state)._tag === "Restricted"
  /** Text of a restricted project is not repeated, not even the names of its fields. */
  const isQuiet = ({ tool }: ChainLink) => isRestricted && tool.location.tier === "project"
  const verified = new Set<ChainLink>()
  const drawn: Array<DrawnLink> = []
  for (const [index, link] of links.entries()) {
    const { snapshot, tool } = link
    const checked = yield* checkSignature(snapshot)
    if (checked.verified !== undefined) verified.add(link)
    const child = links[index - 1]
    drawn.push({
      id: tool.location.id,
      version: isQuiet(link) && !/^\d{1,9}\.\d{1,9}\.\d{1,9}$/.test(tool.version) ? "not shown" : tool.version,
      tool_type: isQuiet(link) && !/^[a-z_]{1,16}$/.test(tool.toolType) ? "not shown" : tool.toolType,
      tier: tool.location.tier,
      path: showLocation(tool.location),
      digest: tool.digest,
      state: checked.state,
      ...(checked.verified === undefined ? {} : { signer: signerName(checked.verified.by) }),
      ...(child === undefined || isQuiet(child) ? {} : { asked_as: showExecutor(child.tool) })
    })
  }
  const set = ({ link, value }: { readonly link: ChainLink; readonly value: Schema.Json }): SetValue => ({
    by: link.tool.location.id,
    ...(verified.has(link) ? { value } : {})
  })
  const config: Array<DrawnValue> = []
  // A config that nests too deep stops the chain. It is not shown either.
  const isBounded = links.every((link) => !isDeeperThan(link.tool.config, maxConfigDepth))
  for (const origin of isBounded ? configOrigins(links) : []) {
    if (isQuiet(origin.link)) continue
    const overrode = origin.overrode.map(set)
    config.push({ field: origin.field, ...set(origin), ...(overrode.length === 0 ? {} : { overrode }) })
  }
  // The error may quote the file, and text of a restricted project is not repeated.
  const restricted = stopped?.failedAt.configPath.startsWith("project:") === true
    ? yield* Effect.result(trust.require)
    : undefined
  const error = restricted !== undefined && Result.isFailure(restricted) ? restricted.failure : stopped
  return {
    links: drawn,
    whole: stopped === undefined,
    hides: hides.map(showLocation),
    config,
    ...(error === undefined ? {} : { stopped: toErrorObject(error) })
  } satisfies DrawnChain as DrawnChain
})
