// Capabilities as data: items of the system tier with `tool_type: capability` define which there are, what their scopes
// are about, and which only system directives may ask for.
import { Result, Schema } from "effect"
import { nearest } from "../schema/schemaIssues.ts"
import type { Grant } from "./Grant.ts"
import type { Request } from "./Request.ts"

const ScopeKind = Schema.Literals(["path", "command", "host", "name", "place"])

/** The part of a capability module that is its own. */
export const CapabilityModule = Schema.Struct({
  scope: ScopeKind,
  capabilities: Schema.Array(Schema.Struct({
    /** `tool.*` stands for every name that begins with `tool.`. */
    name: Schema.String,
    description: Schema.String,
    system_only: Schema.optionalKey(Schema.Boolean)
  }))
})
export type CapabilityModule = typeof CapabilityModule.Type

const decodeModule = Schema.decodeUnknownResult(CapabilityModule)

export interface Capability {
  readonly name: string
  readonly description: string
  readonly scope: CapabilityModule["scope"]
  readonly systemOnly: boolean
}

export type Capabilities = ReadonlyMap<string, Capability>

const capabilitiesOf = (modules: ReadonlyArray<CapabilityModule>): Capabilities =>
  new Map(
    modules.flatMap(({ capabilities, scope }) =>
      capabilities.map(({ description, name, system_only: systemOnly = false }) =>
        [name, { name, description, scope, systemOnly }] as const
      )
    )
  )

/** The definition of a capability. Undefined if there is none. */
export const findCapability = (all: Capabilities, name: string): Capability | undefined =>
  all.get(name) ?? all.get(`${name.slice(0, name.indexOf("."))}.*`)

const reachesOutside = ({ capability, scope = [] }: Grant): boolean =>
  capability.startsWith("fs.") && scope.some((pattern) => pattern.startsWith("/"))

/**
 * What keeps a directive from asking: a capability that does not exist, or that only system directives may ask for.
 * Undefined if nothing does.
 */
export const refusalOf = (all: Capabilities, { allow, deny }: Request, isSystem: boolean): string | undefined => {
  for (const { capability } of [...allow, ...deny]) {
    if (findCapability(all, capability) !== undefined) continue
    const meant = nearest(capability, all.keys())
    return `there is no capability ${capability}${meant === undefined ? "" : `; ${meant} is there`}`
  }
  if (isSystem) return undefined
  const own = allow.find((grant) => findCapability(all, grant.capability)?.systemOnly === true || reachesOutside(grant))
  return own === undefined ?
    undefined :
    `only system directives may ask for ${
      reachesOutside(own) ? `paths outside of the project, as ${own.capability}(${own.scope?.join()})` : own.capability
    }`
}

/** Fails with the first module that is not valid. */
export const readModules = (
  modules: ReadonlyArray<Schema.JsonObject>
): Result.Result<Capabilities, Schema.SchemaError> =>
  Result.map(Result.all(modules.map((module) => decodeModule(module))), capabilitiesOf)
