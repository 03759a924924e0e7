// Whether grants cover an access. The engine for patterns is loaded when a grant first needs it.
import { Effect, Result } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Access } from "../../services/capability/Access.ts"
import { isBeside } from "../../services/capability/Access.ts"
import { covers, denies, hasPatterns } from "../../services/capability/Grant.ts"
import type { GrantSet } from "../../services/capability/Grant.ts"

const engine = Effect.promise(() => import("../schema/linearPatterns.ts"))

const compiled = new BoundedMap<string, (text: string) => boolean>(1_000)

const never = () => false

/** A pattern that cannot be run in linear time matches nothing. */
const loadPatterns = Effect.map(engine, ({ linearPattern }) => (pattern: string, text: string): boolean => {
  const known = compiled.get(pattern)
  if (known !== undefined) return known(text)
  const made = Result.getOrElse(linearPattern(pattern), () => never)
  compiled.set(pattern, made)
  return made(text)
})

/** What the tool's signer chose needs no grant beside that for the tool, nor what a command names; neither may be denied. */
export const coversAccess = (grants: GrantSet, access: Access): Effect.Effect<boolean> =>
  isBeside(access)
    ? Effect.sync(() => !denies(grants, access))
    : access._tag === "Tool" && hasPatterns(grants)
    ? Effect.map(loadPatterns, (matches) => covers(grants, access, matches))
    : Effect.succeed(covers(grants, access))
