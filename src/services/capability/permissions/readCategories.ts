// `<orchestration>`: which directives may be started as threads. `<knowledge>` and `<directives>`: which entries may be
// loaded. Places are `type/category/id`.
import { Result } from "effect"
import type { Grant } from "../Grant.ts"
import type { Request } from "../Request.ts"
import * as Scope from "../scopes/Scope.ts"
import { attribute, listOf, onlyAttributes, onlyChildren, type Read, readFlag, refuse } from "./element.ts"
import type { Element } from "./element.ts"

const inCategory = (type: string) => (category: string) => `${type}/${category}/**`
/** `deploy_*` by its id alone, `ops/deploy_*` with its category. */
const named = (type: string) => (id: string) => id.includes("/") ? `${type}/${id}` : `${type}/**/${id}`

/** The places that a child element or an attribute lists. */
const places = (element: Element, name: string, placeOf: (text: string) => string): Read<ReadonlyArray<string>> =>
  Result.gen(function*() {
    const child = element.children.find(({ tag }) => tag === name)
    if (child !== undefined) yield* onlyAttributes(child, [])
    const found: Array<string> = []
    for (const text of listOf(child?.text ?? attribute(element, name))) {
      const parsed = Scope.parse("place", placeOf(text))
      if (Result.isFailure(parsed)) {
        return yield* refuse(
          child ?? element,
          `"${text.slice(0, 80)}" ${parsed.failure}`,
          `Write <${name}>ops, docs</${name}>`
        )
      }
      found.push(parsed.success)
    }
    return found
  })

const lists = ["allow_categories", "deny_categories", "allow_directives", "deny_directives"]

/** What is allowed is in a listed category, and has a listed name, if either is listed. */
const read = (element: Element, type: string, capabilities: ReadonlyArray<string>, more: ReadonlyArray<string>) =>
  Result.gen(function*() {
    yield* onlyAttributes(element, [...more, ...lists])
    yield* onlyChildren(element, lists)
    const categories = yield* places(element, "allow_categories", inCategory(type))
    const ids = yield* places(element, "allow_directives", named(type))
    const denied = [
      ...yield* places(element, "deny_categories", inCategory(type)),
      ...yield* places(element, "deny_directives", named(type))
    ]
    const everywhere = `${type}/**`
    const scopes = (categories.length === 0 ? [everywhere] : categories).flatMap((category) =>
      (ids.length === 0 ? [category] : ids).map((id) => Scope.intersect("place", [category], [id]))
    )
    return {
      allow: capabilities.flatMap((capability) => scopes.map((scope): Grant => ({ capability, scope }))),
      deny: capabilities.flatMap((capability) => denied.map((place): Grant => ({ capability, scope: [place] })))
    }
  })

export const readOrchestration = (element: Element): Read<Request> =>
  Result.gen(function*() {
    const found = yield* read(element, "directive", ["spawn.thread"], ["enabled"])
    return (yield* readFlag(element, "enabled")) ? found : { allow: [], deny: [{ capability: "spawn.thread" }] }
  })

export const readCategories = (element: Element): Read<Request> =>
  element.tag === "knowledge"
    ? read(element, "knowledge", ["kiwi.load"], [])
    : read(element, "directive", ["kiwi.load", "kiwi.execute"], [])
