// Which link set each value of a merged config, and which values it replaced. The same merge as `mergeConfig`, with
// origins; a test checks that the two agree.
import type { Schema } from "effect"
import { isJsonObject } from "../schema/json.ts"
import type { ChainLink } from "./Chain.ts"

interface Setting {
  readonly value: Schema.Json
  readonly link: ChainLink
}

export interface ConfigOrigin extends Setting {
  /** Dotted, as in validation issues: "timeout", "env.PYTHONPATH". A list is one value. */
  readonly field: string
  /** The replaced values, from links nearer to the primitive; the last one replaced comes first. */
  readonly overrode: ReadonlyArray<Setting>
}

type Node =
  | {
    readonly _tag: "Value"
    readonly value: Schema.Json
    readonly link: ChainLink
    readonly overrode: ReadonlyArray<Setting>
  }
  | {
    readonly _tag: "Object"
    readonly members: Map<string, Node>
    readonly link: ChainLink
    readonly overrode: ReadonlyArray<Setting>
  }

const valueOf = (node: Node): Schema.Json =>
  node._tag === "Value"
    ? node.value
    : Object.fromEntries(Array.from(node.members, ([name, member]) => [name, valueOf(member)] as const))

const replaced = (node: Node | undefined): ReadonlyArray<Setting> =>
  node === undefined ? [] : [{ value: valueOf(node), link: node.link }, ...node.overrode]

const over = (node: Node | undefined, value: Schema.Json, link: ChainLink): Node => {
  if (!isJsonObject(value)) return { _tag: "Value", value, link, overrode: replaced(node) }
  const object: Node = node?._tag === "Object"
    ? node
    : { _tag: "Object", members: new Map(), link, overrode: replaced(node) }
  for (const [name, member] of Object.entries(value)) {
    object.members.set(name, over(object.members.get(name), member, link))
  }
  return object
}

const collect = (node: Node, field: string, into: Array<ConfigOrigin>): void => {
  if (node._tag === "Value" || node.members.size === 0 || node.overrode.length > 0) {
    into.push({ field, value: valueOf(node), link: node.link, overrode: node.overrode })
  }
  if (node._tag === "Value") return
  for (const [name, member] of node.members) collect(member, field === "" ? name : `${field}.${name}`, into)
}

/** Takes valid links, leaf first. Configs that are too deep never get here. */
export const configOrigins = (links: ReadonlyArray<ChainLink>): ReadonlyArray<ConfigOrigin> => {
  const members = new Map<string, Node>()
  for (const link of links.toReversed()) {
    for (const [name, value] of Object.entries(link.tool.config)) {
      members.set(name, over(members.get(name), value, link))
    }
  }
  const found: Array<ConfigOrigin> = []
  for (const [name, node] of members) collect(node, name, found)
  return found
}
