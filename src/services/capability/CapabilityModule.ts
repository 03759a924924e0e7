// Capabilities as data: items of the system tier with `tool_type: capability` define which there are, what their scopes
// are about, and which only system items may ask for. A build writes them into `shippedModules.generated.ts`, so that a
// request, a tool's `requires` and a new token are checked without reading a file.
import { nearest } from "../schema/schemaIssues.ts"
import type { Grant } from "./Grant.ts"
import type { Request } from "./Request.ts"
import * as Scope from "./scopes/Scope.ts"
import { shippedModules } from "./shippedModules.generated.ts"

/** The part of a capability module that is its own. */
interface CapabilityModule {
  readonly scope: Scope.ScopeKind
  readonly capabilities: ReadonlyArray<{
    /** `tool.*` stands for every name that begins with `tool.`. */
    readonly name: string
    readonly description: string
    readonly system_only?: boolean
  }>
}

export interface Capability {
  readonly name: string
  readonly description: string
  readonly scope: Scope.ScopeKind
  readonly systemOnly: boolean
}

const modules: ReadonlyArray<CapabilityModule> = shippedModules

/** Every capability that there is, by name. */
export const capabilities: ReadonlyMap<string, Capability> = new Map(
  modules.flatMap(({ capabilities: all, scope }) =>
    all.map(({ description, name, system_only: systemOnly = false }) =>
      [name, { name, description, scope, systemOnly }] as const
    )
  )
)

/** The definition of a capability. Undefined if there is none. */
export const findCapability = (name: string): Capability | undefined =>
  capabilities.get(name) ?? capabilities.get(`${name.slice(0, name.indexOf("."))}.*`)

/** Why there is no such capability, with the nearest that there is: a sentence. Undefined if there is one. */
const nameIssue = (name: string): string | undefined => {
  if (findCapability(name) !== undefined) return undefined
  const meant = nearest(name, capabilities.keys())
  return `there is no capability ${name.slice(0, 80)}${meant === undefined ? "" : `; ${meant} is there`}`
}

/** What is wrong with a grant, whoever asks for it: its name, or a pattern that is not about what it is about. */
const grantIssue = ({ capability, parameters, scope = [] }: Grant): string | undefined => {
  const found = findCapability(capability)
  if (found === undefined) return nameIssue(capability)
  for (const pattern of scope) {
    const parsed = Scope.parse(found.scope, pattern)
    if (parsed._tag === "Failure") return `"${pattern.slice(0, 80)}" in ${capability} ${parsed.failure}`
  }
  return parameters === undefined || found.name === "tool.*" || found.name === "mcp.*"
    ? undefined
    : `${capability} has no parameters that could be constrained`
}

const reachesOutside = ({ capability, scope = [] }: Grant): boolean =>
  capability.startsWith("fs.") && scope.some((pattern) => pattern.startsWith("/"))

const systemOnlyIssue = (grant: Grant): string | undefined =>
  reachesOutside(grant)
    ? `only system items may ask for paths outside of the project, as ${grant.capability}(${grant.scope?.join()})`
    : findCapability(grant.capability)?.systemOnly === true
    ? `only system items may ask for ${grant.capability}`
    : undefined

/** The first reason of several, or undefined. */
const first = <A>(all: ReadonlyArray<A>, issueOf: (one: A) => string | undefined): string | undefined => {
  for (const one of all) {
    const issue = issueOf(one)
    if (issue !== undefined) return issue
  }
  return undefined
}

/** Why an item may not ask for this. A denial is never too much. Undefined if it may. */
export const refusalOf = ({ allow, deny }: Request, isSystem: boolean): string | undefined =>
  first([...allow, ...deny], grantIssue) ?? (isSystem ? undefined : first(allow, systemOnlyIssue))
