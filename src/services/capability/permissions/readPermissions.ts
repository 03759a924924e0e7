// Reads a directive's `<permissions>`, in every dialect that directives are written in, into one request. Nothing is
// ignored: an unknown tag, resource or attribute is an error, since a scope that is dropped would widen what is asked
// for.
import { Result } from "effect"
import { defined } from "../../schema/defined.ts"
import { refusalOf } from "../CapabilityModule.ts"
import type { Grant } from "../Grant.ts"
import type { Request, RequestedGrant } from "../Request.ts"
import { attribute, onlyChildren, type Read, readFlag, refuse } from "./element.ts"
import type { Element, PermissionIssue } from "./element.ts"
import { readCategories, readOrchestration } from "./readCategories.ts"
import { readParameters } from "./readParameters.ts"
import { findResource, readResource, readTyped } from "./resources.ts"
import type { Verb } from "./resources.ts"

const maxGrants = 128

const allowed = (element: Element, grants: ReadonlyArray<Grant>): Read<Request> =>
  Result.map(readFlag(element, "optional"), (optional) => ({
    allow: optional ? grants.map((grant): RequestedGrant => ({ ...grant, optional: true })) : grants,
    deny: []
  }))

const readGrant = (element: Element, verb: Verb): Read<Request> =>
  Result.gen(function*() {
    const found = yield* findResource(element)
    yield* onlyChildren(element, found.resource.hasParameters ? ["param"] : [])
    const grants = yield* readResource(found, verb, ["optional"])
    const parameters = yield* readParameters(element)
    return yield* allowed(
      element,
      parameters === undefined
        ? grants
        : grants.map(({ capability, scope }) => defined({ capability, scope, parameters }))
    )
  })

const readDenial = (element: Element): Read<Request> =>
  Result.gen(function*() {
    yield* onlyChildren(element, [])
    const deny = attribute(element, "type") === undefined
      ? yield* readResource(yield* findResource(element), "deny", [])
      : yield* readTyped(element, "deny")
    return { allow: [], deny }
  })

const readElement = (element: Element): Read<Request> => {
  switch (element.tag) {
    case "read":
    case "write":
    case "execute":
      return readGrant(element, element.tag)
    case "mcp":
      return readGrant({ ...element, attributes: { resource: "mcp", ...element.attributes } }, "execute")
    case "allow":
      return Result.gen(function*() {
        yield* onlyChildren(element, [])
        return yield* allowed(element, yield* readTyped(element, "execute"))
      })
    case "deny":
      return readDenial(element)
    case "orchestration":
      return readOrchestration(element)
    case "knowledge":
    case "directives":
      return readCategories(element)
    default:
      return refuse(
        element,
        `<${element.tag.slice(0, 40)}> is no permission`,
        "Permissions are <read>, <write>, <execute>, <deny>, <mcp>, <orchestration>, <knowledge> and <directives>"
      )
  }
}

/** What a directive asks for. `elements`: those inside of `<permissions>`. `isSystem`: it is an item of Kiwi's own. */
export const readPermissions = <E extends Element>(
  elements: ReadonlyArray<E>,
  isSystem: boolean
): Result.Result<Request, PermissionIssue<E>> => {
  const allow: Array<RequestedGrant> = []
  const deny: Array<Grant> = []
  for (const element of elements) {
    const read = readElement(element)
    // An issue is about this element, one below it, or a copy of it.
    if (Result.isFailure(read)) return Result.fail(read.failure as PermissionIssue<E>)
    const issue = refusalOf(read.success, isSystem)
    if (issue !== undefined) return Result.fail({ element, issue, hint: "docs/capabilities.md lists what there is" })
    allow.push(...read.success.allow)
    deny.push(...read.success.deny)
    if (allow.length + deny.length > maxGrants) {
      return Result.fail({
        element,
        issue: `the directive asks for more than ${maxGrants} permissions`,
        hint: "Ask for folders rather than for each file"
      })
    }
  }
  return Result.succeed({ allow, deny })
}
