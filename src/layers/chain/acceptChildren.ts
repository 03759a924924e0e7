// Checks whether each parent of a chain runs the child that names it. A primitive accepts every child. The result is
// cached by chain object, which is immutable: a changed link makes a new chain.
import { Effect, Option } from "effect"
import type { Chain, ChainLink } from "../../services/chain/Chain.ts"
import { chainIds } from "../../services/chain/Chain.ts"
import {
  childLink,
  type ChildRefused,
  childRefused,
  ChildSchemasMissing,
  fits
} from "../../services/chain/ChildLink.ts"
import { showLocation } from "../../services/item/Item.ts"
import { SchemaUnusable, SchemaValidator } from "../../services/schema/SchemaValidator.ts"

export interface Acceptance {
  /** The first link that is refused: a child by its parent, or a parent whose schema cannot be used. */
  readonly refused: { readonly link: ChainLink; readonly reason: ChildRefused | SchemaUnusable } | undefined
  /** Parents that do not declare which tools they run. */
  readonly silent: ReadonlyArray<ChildSchemasMissing>
}

const named = ({ tool: { location } }: ChainLink) => ({ id: location.id, path: showLocation(location) })

export const make = Effect.gen(function*() {
  const schemas = yield* SchemaValidator
  const known = new WeakMap<Chain, Acceptance>()

  /** The chain's links are verified here, since their schemas are compiled. */
  const judge = Effect.fnUntraced(function*(chain: Chain, child: ChainLink, parent: ChainLink) {
    const entries = parent.tool.childSchemas ?? []
    const link = childLink(child.tool)
    const index = entries.findIndex((entry) => fits(entry, link))
    const entry = entries[index]
    const refuse = (about: typeof entries, issues: ChildRefused["issues"]) =>
      childRefused({ chain: chainIds(chain.links), child: named(child), parent: named(parent), entries: about, issues })
    if (entry === undefined) return Option.some(refuse(entries, []))
    if (entry.schema === undefined) return Option.none()
    const { issues } = yield* schemas.validate({
      schema: entry.schema,
      what: `children of ${parent.tool.location.id} (child_schemas[${index}])`,
      value: link,
      closed: false,
      origin: { _tag: "verified", digest: parent.tool.digest }
    })
    return issues.length === 0 ? Option.none() : Option.some(refuse([entry], [...issues]))
  })

  const checkChildren = Effect.fnUntraced(function*(chain: Chain) {
    const silent: Array<ChildSchemasMissing> = []
    for (const [index, child] of chain.links.entries()) {
      const parent = chain.links[index + 1]
      if (parent === undefined || parent.tool.toolType === "primitive") continue
      if (parent.tool.childSchemas === undefined) {
        const { id, path } = named(parent)
        silent.push(new ChildSchemasMissing({ chain: chainIds(chain.links), parent: id, parentPath: path }))
        continue
      }
      const judged = yield* Effect.result(judge(chain, child, parent))
      if (judged._tag === "Failure") return { refused: { link: parent, reason: judged.failure }, silent }
      if (Option.isSome(judged.success)) return { refused: { link: child, reason: judged.success.value }, silent }
    }
    return { refused: undefined, silent }
  })

  return (chain: Chain): Effect.Effect<Acceptance> => {
    const before = known.get(chain)
    return before !== undefined ? Effect.succeed(before) : Effect.map(checkChildren(chain), (found) => {
      known.set(chain, found)
      return found
    })
  }
})
