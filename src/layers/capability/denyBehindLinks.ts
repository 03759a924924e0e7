// What a grant denies, also where its paths lead over links: as rules that deny, and what it grants follows no link.
import type { Grant, GrantSet } from "../../services/capability/Grant.ts"
import { behindLinks } from "../files/behindLinks.ts"

const follow = (pattern: string, root: string): string => {
  const segments = pattern.split("/").filter((name) => name !== "" && name !== ".")
  const found = behindLinks({ absolute: pattern.startsWith("/"), segments }, root)
  return found === undefined ? pattern : `${found.absolute ? "/" : ""}${found.segments.join("/") || "."}`
}

/** `root`: the real path of the project's root. */
export const denyBehindLinks = (grants: GrantSet, root: string): GrantSet => {
  if (grants.deny.length === 0) return grants
  const behind = grants.deny.flatMap((grant): ReadonlyArray<Grant> => {
    if (grant.scope === undefined || !grant.capability.startsWith("fs.")) return []
    const scope = grant.scope.map((pattern) => follow(pattern, root))
    return scope.some((pattern, index) => pattern !== grant.scope?.[index]) ? [{ ...grant, scope }] : []
  })
  return behind.length === 0 ? grants : { ...grants, deny: [...grants.deny, ...behind] }
}
