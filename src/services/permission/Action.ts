// What a caller asks to do: the input of PermissionGate's decisions. For running and following, it contains what was
// verified; for reading, what was asked for.
import type { Access } from "../capability/Access.ts"
import type { Chain } from "../chain/Chain.ts"
import type { Verified } from "../integrity/Verifier.ts"
import type { ItemLocation } from "../item/Item.ts"
import { qualifiedId } from "../item/ItemPath.ts"
import type { SearchQuery } from "../search/ItemIndex.ts"

/** A chain, and what was verified of each of its links. */
interface Proved {
  readonly chain: Chain
  readonly verified: ReadonlyArray<Verified>
}

export type Action =
  /** `accesses`: what the call would touch, beginning with the tool itself. */
  | { readonly _tag: "Run"; readonly accesses: ReadonlyArray<Access> } & Proved
  /** The chain's tool receives the secret with this name: the capability `secret.use{name}`. */
  | { readonly _tag: "UseSecret"; readonly name: string } & Proved
  /** A directive's steps or a knowledge entry are returned, to act on. */
  | { readonly _tag: "Follow"; readonly location: ItemLocation; readonly verified: Verified }
  | { readonly _tag: "Search"; readonly query: SearchQuery }
  /** `item` may be unsigned, and is shown as unsigned. */
  | { readonly _tag: "Load"; readonly item: ItemLocation }
  /** An item is copied into another tier: `to`. */
  | { readonly _tag: "Copy"; readonly to: ItemLocation; readonly verified: Verified }
  /** A range of a tool's kept output is returned. */
  | { readonly _tag: "ReadOutput"; readonly id: string }
  | { readonly _tag: "Help"; readonly topic: string }
  /** A person is asked to sign these. */
  | { readonly _tag: "Sign"; readonly items: ReadonlyArray<ItemLocation> }
  /** The packages that the chain declares are installed. */
  | { readonly _tag: "SyncPackages" } & Proved
  /** `tools`: those whose locks are written or removed, as `category/id`. */
  | {
    readonly _tag: "ChangeLocks"
    readonly change: "freeze" | "update" | "prune"
    readonly tools: ReadonlyArray<string>
  }

const shownAtMost = 3

const several = (names: ReadonlyArray<string>): string =>
  names.length <= shownAtMost
    ? names.join(", ")
    : `${names.slice(0, shownAtMost).join(", ")} and ${names.length - shownAtMost} more`

/** "run tool add": the action in the message of a refusal. */
export const showAction = (action: Action): string => {
  switch (action._tag) {
    case "Run":
      return `run tool ${action.chain.leaf.tool.location.id}`
    case "UseSecret":
      return `give the secret ${action.name} to ${action.chain.leaf.tool.location.id}`
    case "Follow":
      return `follow ${action.location.type} ${action.location.id}`
    case "Search":
      return "search"
    case "Load":
      return `load ${action.item.type} ${action.item.id}`
    case "Copy":
      return `copy ${action.to.type} ${action.to.id} to the ${action.to.tier} tier`
    case "ReadOutput":
      return `read the output ${action.id}`
    case "Help":
      return `read the help on ${action.topic}`
    case "Sign":
      return `sign ${several(action.items.map(qualifiedId))}`
    case "SyncPackages":
      return `install the packages of ${action.chain.leaf.tool.location.id}`
    case "ChangeLocks":
      return `${action.change} the locks of ${several(action.tools)}`
  }
}
