// Capabilities that are granted or denied, each with a scope, and tools with constraints on their parameters. What is
// denied beats what is granted. Where something cannot be decided, a grant does not cover it, and a denial reaches it.
import { Schema } from "effect"
import type { Access } from "./Access.ts"
import * as Constraint from "./Constraint.ts"
import type { PatternMatch } from "./Constraint.ts"
import { noPattern } from "./Constraint.ts"
import { denied, granted, hasName, type Names } from "./impliedNames.ts"
import * as Scope from "./scopes/Scope.ts"
import { withoutContained } from "./withoutContained.ts"

/** A capability, or with a `*` at its end all tools whose ids begin so: "tool.github_*". */
export const CapabilityName = Schema.String.check(
  Schema.isMaxLength(200),
  Schema.isPattern(/^(?:[a-z][a-z0-9_-]*\.[\w.-]+|tool\.[\w.-]*\*)$/)
)

const ParameterName = Schema.String.check(Schema.isPattern(/^(?!__proto__$)[A-Za-z_][\w.-]{0,63}$/))

export const Grant = Schema.Struct({
  capability: CapabilityName,
  /** Patterns that all have to match. Absent: everything. See `Scope.kindOf` for what they are about. */
  scope: Schema.optionalKey(Schema.Array(Schema.String).check(Schema.isMaxLength(64))),
  /** By parameter. Only for tools. */
  parameters: Schema.optionalKey(Schema.Record(ParameterName, Constraint.Constraint))
})
export type Grant = typeof Grant.Type

/** What may be done, and what may not although a grant covers it. */
export const GrantSet = Schema.Struct({
  allow: Schema.Array(Grant).check(Schema.isMaxLength(256)),
  deny: Schema.Array(Grant).check(Schema.isMaxLength(256)),
  /** Tools that an ancestor's grant constrains, and no grant here: see `isBound`. Absent: none. */
  bound: Schema.optionalKey(Schema.Array(Grant).check(Schema.isMaxLength(256)))
})
export type GrantSet = typeof GrantSet.Type

const areNamesWithin = (child: Names, parent: Names): boolean =>
  child.exact.every((name) => hasName(parent, name)) &&
  (child.start === undefined || (parent.start !== undefined && child.start.startsWith(parent.start)))

const doNamesMeet = (a: Names, b: Names): boolean =>
  a.exact.some((name) => hasName(b, name)) ||
  b.exact.some((name) => hasName(a, name)) ||
  (a.start !== undefined && b.start !== undefined && (a.start.startsWith(b.start) || b.start.startsWith(a.start)))

/** The capability that an access needs: `mcp.<server>` for a tool of a server. */
const neededFor = (access: Access): string => {
  const upstream = access._tag === "Tool" ? Scope.upstreamOf(access.id) : undefined
  return upstream === undefined ? access.capability : `mcp.${upstream.server}`
}

const coversWith = (grant: Grant, access: Access, matches: PatternMatch): boolean => {
  const { capability, parameters, scope } = grant
  if (!hasName(granted(capability), neededFor(access))) return false
  if (scope !== undefined && !Scope.contains(Scope.kindOf(capability), scope, access)) return false
  if (parameters === undefined) return true
  if (access._tag !== "Tool") return false
  // Without parameters, only the tool is asked about.
  return access.parameters === undefined || Constraint.fitAll(parameters, access.parameters, matches)
}

const reaches = ({ capability, scope }: Grant, access: Access): boolean =>
  hasName(denied(capability), neededFor(access)) &&
  (scope === undefined || Scope.reaches(Scope.kindOf(capability), scope, access))

/** Whether the access is granted and not denied. Without `matches` no constraint with a pattern is fulfilled. */
export const covers = (
  { allow, deny }: GrantSet,
  access: Access,
  matches: PatternMatch = noPattern
): boolean => allow.some((grant) => coversWith(grant, access, matches)) && !deny.some((grant) => reaches(grant, access))

/** Whether a denial reaches the access. */
export const denies = ({ deny }: GrantSet, access: Access): boolean => deny.some((grant) => reaches(grant, access))

/** The tools that may only run as a grant for them says: one constrains their parameters, and no other grant frees them. */
const boundTools = ({ allow, bound = [] }: Omit<GrantSet, "deny">): ReadonlyArray<Grant> => {
  const constrained = allow.flatMap(({ parameters, ...tool }) => parameters === undefined ? [] : [tool])
  const free = allow.filter(({ parameters }) => parameters === undefined)
  const own = constrained.filter((tool) => !free.some((grant) => isGrantWithin(tool, grant)))
  return own.length === 0 ? bound : [...own, ...bound]
}

/** Whether the tool needs a grant of its own, even if it would need none as a tool of Kiwi. */
export const isBound = (grants: GrantSet, access: Access): boolean =>
  boundTools(grants).some(({ capability, scope }) =>
    hasName(granted(capability), neededFor(access)) &&
    (scope === undefined || Scope.reaches(Scope.kindOf(capability), scope, access))
  )

/** Whether a capability is granted for at least one scope: what `requires` of a tool asks. */
export const holds = ({ allow, deny }: GrantSet, capability: string): boolean =>
  allow.some((grant) => hasName(granted(grant.capability), capability)) &&
  !deny.some((grant) => grant.scope === undefined && hasName(denied(grant.capability), capability))

/** Whether a constraint of the grants needs an engine for patterns. */
export const hasPatterns = ({ allow }: GrantSet): boolean =>
  allow.some(({ parameters }) =>
    parameters !== undefined && Object.values(parameters).some(({ pattern }) => pattern !== undefined)
  )

/** Whether the parent covers everything that the child covers, as far as that can be proved. */
const isGrantWithin = (child: Grant, parent: Grant): boolean =>
  areNamesWithin(granted(child.capability), granted(parent.capability)) &&
  (parent.scope === undefined ||
    (child.scope !== undefined && Scope.isWithin(Scope.kindOf(parent.capability), child.scope, parent.scope))) &&
  (parent.parameters === undefined || Constraint.areAllWithin(child.parameters ?? {}, parent.parameters))

/** Whether everything that `inner` denies, `outer` denies too. */
const isDenialWithin = (inner: Grant, outer: Grant): boolean =>
  areNamesWithin(denied(inner.capability), denied(outer.capability)) &&
  (outer.scope === undefined ||
    (inner.scope !== undefined &&
      (inner.scope.join() === outer.scope.join() ||
        // A denied command reaches more than its pattern matches.
        (Scope.kindOf(outer.capability) !== "command" &&
          Scope.isWithin(Scope.kindOf(outer.capability), inner.scope, outer.scope)))))

/** Whether it is proved that the denial reaches nothing that the grant covers. */
const isApart = (grant: Grant, denial: Grant): boolean =>
  !doNamesMeet(granted(grant.capability), denied(denial.capability)) ||
  (grant.scope !== undefined && denial.scope !== undefined &&
    Scope.isApart(Scope.kindOf(grant.capability), grant.scope, denial.scope))

/** The grants of the child that no grant of the parent contains. */
export const exceeding = <G extends Grant>(
  child: { readonly allow: ReadonlyArray<G> },
  parent: GrantSet
): ReadonlyArray<G> => child.allow.filter((grant) => !parent.allow.some((one) => isGrantWithin(grant, one)))

/** Whether the parent covers everything that the child covers, as far as that can be proved. */
export const isWithin = (child: GrantSet, parent: GrantSet): boolean =>
  exceeding(child, parent).length === 0 &&
  parent.deny.every((denial) =>
    child.deny.some((own) => isDenialWithin(denial, own)) || child.allow.every((grant) => isApart(grant, denial))
  )

const intersectGrants = (a: Grant, b: Grant): Grant | undefined => {
  const [namesA, namesB] = [granted(a.capability), granted(b.capability)]
  const capability = areNamesWithin(namesA, namesB)
    ? a.capability
    : areNamesWithin(namesB, namesA)
    ? b.capability
    : undefined
  if (capability === undefined) return undefined
  const kind = Scope.kindOf(capability)
  const scope = a.scope === undefined
    ? b.scope
    : b.scope === undefined
    ? a.scope
    : Scope.intersect(kind, a.scope, b.scope)
  if (scope !== undefined && Scope.isEmpty(kind, scope)) return undefined
  const parameters = Constraint.intersectAll(a.parameters ?? {}, b.parameters ?? {})
  if (parameters === undefined) return undefined
  return {
    capability,
    ...(scope === undefined ? {} : { scope }),
    ...(Object.keys(parameters).length === 0 ? {} : { parameters })
  }
}

/** What both cover: exactly that, since scopes and constraints are lists that all have to be fulfilled. */
export const intersect = (a: GrantSet, b: GrantSet): GrantSet => {
  const allow = withoutContained(
    a.allow.flatMap((one) => b.allow.flatMap((other) => intersectGrants(one, other) ?? [])),
    isGrantWithin
  )
  const own = boundTools({ allow })
  const bound = withoutContained([...boundTools(a), ...boundTools(b)], isGrantWithin)
    .filter((tool) => !own.some((one) => isGrantWithin(tool, one)))
  return {
    allow,
    deny: withoutContained([...a.deny, ...b.deny], isDenialWithin),
    ...(bound.length === 0 ? {} : { bound })
  }
}

/** `fs.read(src/**)`, `tool.send_money(recipient)`: a grant as rules and messages write it. */
export const showGrant = ({ capability, parameters, scope }: Grant): string => {
  const shown = [
    ...(scope ?? []),
    ...Object.entries(parameters ?? {}).map(([name, constraint]) => `${name}: ${JSON.stringify(constraint)}`)
  ]
  return shown.length === 0 ? capability : `${capability}(${shown.join(" and ")})`
}
