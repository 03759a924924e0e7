// What rules need to know of an action.
import type { Caller } from "../../services/call/Caller.ts"
import type { Access, PlainCapability, ToolAccess } from "../../services/capability/Access.ts"
import type { Chain } from "../../services/chain/Chain.ts"
import type { Verified } from "../../services/integrity/Verifier.ts"
import type { ItemLocation } from "../../services/item/Item.ts"
import { qualifiedId } from "../../services/item/ItemPath.ts"
import type { Action } from "../../services/permission/Action.ts"
import { foremostOf, type RuleItem, type RuleQuery } from "../../services/permission/rule/matchRule.ts"
import type { ActionName } from "../../services/permission/rule/Rule.ts"

interface Named {
  readonly action: ActionName
  /** Of an action that has no other accesses. */
  readonly capability?: PlainCapability
}

const names: { readonly [Tag in Action["_tag"]]: Named } = {
  Run: { action: "run" },
  UseSecret: { action: "use-secret" },
  Follow: { action: "follow", capability: "kiwi.follow" },
  Search: { action: "search", capability: "kiwi.search" },
  Load: { action: "load", capability: "kiwi.load" },
  Copy: { action: "copy", capability: "kiwi.write" },
  ReadOutput: { action: "read-output", capability: "kiwi.output" },
  Help: { action: "help", capability: "kiwi.help" },
  SignalHelp: { action: "help", capability: "kiwi.help" },
  Sign: { action: "sign", capability: "kiwi.sign" },
  SyncPackages: { action: "sync-packages", capability: "kiwi.sync" },
  ChangeLocks: { action: "change-locks", capability: "kiwi.lock" }
}

/** The item that an action is about, if it is about one: `directive/ops/deploy`. */
const aboutOf = (action: Action): string | undefined => {
  const item = action._tag === "Follow"
    ? action.location
    : action._tag === "Load"
    ? action.item
    : action._tag === "Copy"
    ? action.to
    : undefined
  return item && `${item.type}/${qualifiedId(item)}`
}

const plain = new Map(
  Object.entries(names).map(([tag, { capability }]): readonly [string, ReadonlyArray<Access>] => [
    tag,
    capability === undefined ? [] : [{ _tag: "Plain", capability }]
  ])
)

/** Running the tool of a chain. `parameters`: undefined if they are not known. A source's tool has its name in front. */
export const toolAccess = ({ leaf: { tool } }: Chain, parameters: ToolAccess["parameters"]): ToolAccess => {
  const { id: own, source } = tool.location
  const id = source === undefined ? own : `${source.name}/${own}`
  return { _tag: "Tool", capability: `tool.${id}`, id, toolType: tool.toolType, parameters }
}

/** Never empty: for running a tool, the tool itself is the first. */
export const accessesOf = (action: Action): ReadonlyArray<Access> => {
  if (action._tag === "UseSecret") return [{ _tag: "Secret", capability: "secret.use", name: action.name }]
  if (action._tag !== "Run") {
    const about = aboutOf(action)
    const accesses = plain.get(action._tag) ?? []
    return about === undefined ? accesses : accesses.map((access) => Object.assign({}, access, { about }))
  }
  const { accesses } = action
  return accesses[0]?._tag === "Tool" ? accesses : [toolAccess(action.chain, undefined), ...accesses]
}

const placed = ({ category, id, source, tier }: ItemLocation) => ({
  id,
  name: source === undefined ? category === "" ? id : `${category}/${id}` : `${source.name}/${id}`,
  source: source?.name,
  tier
})

const ofChain = (
  { chain, verified }: { readonly chain: Chain; readonly verified: ReadonlyArray<Verified> }
): RuleItem => ({
  ...placed(chain.leaf.tool.location),
  digests: [chain.leaf.snapshot.digest, chain.digest],
  by: chain.links.map((_, index) => verified[index]?.by)
})

const itemOf = (action: Action): RuleItem | undefined => {
  switch (action._tag) {
    case "Run":
    case "UseSecret":
    case "SyncPackages":
      return ofChain(action)
    case "Follow":
      return { ...placed(action.location), digests: [action.verified.snapshot.digest], by: [action.verified.by] }
    case "Load":
      return { ...placed(action.item), digests: [], by: [] }
    default:
      return undefined
  }
}

export const queryOf = (
  { client }: Caller,
  action: Action,
  accesses: ReadonlyArray<Access>,
  root: string
): RuleQuery => ({
  client,
  action: names[action._tag].action,
  item: itemOf(action),
  foremost: foremostOf(accesses),
  root
})
