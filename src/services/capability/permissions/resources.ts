// The resources that `<read>`, `<write>`, `<execute>` and `<deny>` name, each with the attributes that its dialects use,
// and the capabilities that they mean.
import { Result, Schema } from "effect"
import { CapabilityName } from "../Grant.ts"
import type { Grant } from "../Grant.ts"
import * as Scope from "../scopes/Scope.ts"
import { attribute, listOf, meantBy, onlyAttributes, type Read, refuse } from "./element.ts"
import type { Element } from "./element.ts"

/** `deny`: what `<execute>` would grant, and without a scope everything. */
export type Verb = "read" | "write" | "execute" | "deny"

interface Resource {
  readonly attributes: ReadonlyArray<string>
  /** `<param>` elements constrain its parameters. */
  readonly hasParameters?: true
  readonly read: (element: Element, verb: Verb) => Read<ReadonlyArray<Grant>>
}

const isCapability: (text: string) => boolean = Schema.is(CapabilityName)

/** One grant for each pattern. `write`: how to write it, if there is none. */
const scoped = (
  element: Element,
  verb: Verb,
  capability: string,
  patterns: ReadonlyArray<string>,
  write: string
): Read<ReadonlyArray<Grant>> =>
  Result.gen(function*() {
    if (!isCapability(capability)) {
      return yield* refuse(element, `"${capability.slice(0, 80)}" is no capability`, `Write ${write}`)
    }
    if (patterns.length === 0) {
      return verb === "deny"
        ? [{ capability }]
        : yield* refuse(element, `<${element.tag}> does not say what it is about`, `Write ${write}`)
    }
    const grants: Array<Grant> = []
    for (const pattern of patterns) {
      const kind = Scope.kindOf(capability)
      if (pattern === "*" && kind !== "path") {
        grants.push({ capability })
        continue
      }
      const parsed = Scope.parse(kind, pattern)
      if (Result.isFailure(parsed)) {
        return yield* refuse(element, `"${pattern.slice(0, 80)}" ${parsed.failure}`, `Write ${write}`)
      }
      grants.push({ capability, scope: [parsed.success] })
    }
    return grants
  })

/** The capabilities `<prefix>.<action>`, of the actions that the element names. */
const actions = (
  prefix: string,
  known: ReadonlyArray<string>,
  ofVerb: Partial<Record<Verb, string>> = {}
): Resource => ({
  attributes: ["action", "actions"],
  read: (element, verb) =>
    Result.gen(function*() {
      const named = listOf(attribute(element, "action", "actions") ?? ofVerb[verb])
      const hint = `Write action="${known[0]}"; actions are ${known.join(", ")}`
      if (named.length === 0) return yield* refuse(element, `<${element.tag}> names no action`, hint)
      const unknown = named.find((action) => !known.includes(action))
      if (unknown !== undefined) {
        return yield* refuse(element, `${prefix} has no action "${unknown.slice(0, 40)}"`, hint)
      }
      return named.map((action) => ({ capability: `${prefix}.${action}` }))
    })
})

const filesystem: Resource = {
  attributes: ["path", "action", "actions"],
  read: (element, verb) =>
    Result.gen(function*() {
      const path = attribute(element, "path")
      const write = `<${element.tag} resource="filesystem" path="src/**"/>; <execute …action="delete"/> is for deleting`
      const named = listOf(attribute(element, "action", "actions"))
      const all = named.length > 0
        ? named
        : verb === "deny"
        ? ["read", "write", "delete", "execute"]
        : [verb]
      if ((verb === "read" || verb === "write") && all.some((action) => action !== verb)) {
        return yield* refuse(element, `<${verb}> has another action`, `Write ${write}`)
      }
      const unknown = all.find((action) => !["read", "write", "delete", "execute"].includes(action))
      if (unknown !== undefined) {
        return yield* refuse(element, `filesystem has no action "${unknown.slice(0, 40)}"`, `Write ${write}`)
      }
      const found: Array<Grant> = []
      for (const action of all) {
        const capability = action === "execute" ? "fs.exec" : `fs.${action}`
        found.push(...yield* scoped(element, verb, capability, path === undefined ? [] : [path], write))
      }
      return found
    })
}

/** An endpoint is a host, or a URL that is only a host. */
const hostOf = (endpoint: string): string => {
  const [, scheme, host = ""] = /^(https?):\/\/([^/?#]+)\/?$/i.exec(endpoint) ?? []
  if (scheme === undefined) return endpoint
  return /:\d+$/.test(host) ? host : `${host}:${scheme.toLowerCase() === "https" ? 443 : 80}`
}

const network: Resource = {
  attributes: ["endpoint", "host"],
  read: (element, verb) =>
    scoped(
      element,
      verb,
      "net.http",
      listOf(attribute(element, "endpoint", "host")).map(hostOf),
      `endpoint="api.example.com": a host, not a path on it`
    )
}

/** `git` is git with any words; what has more words than one is exactly that, unless it ends in `*`. */
const commandOf = (command: string): string => command === "*" || /\s/.test(command) ? command : `${command} *`

const shell: Resource = {
  attributes: ["command", "commands", "action"],
  read: (element, verb) =>
    scoped(
      element,
      verb,
      "process.exec",
      listOf(attribute(element, "commands", "command", "action")).map(commandOf),
      `commands="git status, npm test", or command="*"`
    )
}

const tool: Resource = {
  attributes: ["id", "tool_id", "action", "tool_type"],
  hasParameters: true,
  read: (element, verb) =>
    Result.gen(function*() {
      const type = attribute(element, "tool_type")
      const ids = listOf(attribute(element, "id", "tool_id", "action"))
      const write = `<execute resource="tool" id="run_tests"/>, with at most one * at the end`
      const all = ids.length > 0 ? ids : type !== undefined || verb === "deny" ? ["*"] : []
      if (all.length === 0) return yield* refuse(element, `<${element.tag}> names no tool`, `Write ${write}`)
      const found: Array<Grant> = []
      for (const id of all) {
        found.push(...yield* scoped(element, verb, `tool.${id}`, type === undefined ? ["*"] : listOf(type), write))
      }
      return found
    })
}

const server = (name: string | undefined): Resource => ({
  attributes: ["name", "server", "action", "actions", "tool", "tools"],
  hasParameters: true,
  read: (element, verb) => {
    const write = `<execute resource="mcp" name="github" actions="create_issue, list_*"/>`
    const which = name ?? attribute(element, "name", "server")
    return which === undefined
      ? refuse(element, `<${element.tag}> names no server`, `Write ${write}`)
      : scoped(
        element,
        verb,
        `mcp.${which}`,
        listOf(attribute(element, "actions", "action", "tools", "tool")),
        write
      )
  }
})

const kiwi: Resource = {
  attributes: ["action", "actions", "item_type"],
  read: (element, verb) =>
    Result.flatMap(kiwiActions.read(element, verb), (grants) => {
      const types = listOf(attribute(element, "item_type"))
      const unknown = types.find((type) => !["directive", "tool", "knowledge"].includes(type))
      if (unknown !== undefined) {
        return refuse(element, `there is no item type "${unknown.slice(0, 40)}"`, "Write directive, tool or knowledge")
      }
      return Result.succeed(
        types.length === 0
          ? grants
          : grants.flatMap(({ capability }) => types.map((type) => ({ capability, scope: [`${type}/**`] })))
      )
    })
}

const kiwiActions = actions("kiwi", ["search", "load", "help", "execute", "sign", "write", "all", "*"])

const withAll = ({ capability, ...rest }: Grant): Grant => ({
  ...rest,
  capability: capability === "kiwi.*" ? "kiwi.all" : capability
})

const named = (capability: string, name: string, example: string): Resource => ({
  attributes: [name],
  read: (element, verb) => scoped(element, verb, capability, listOf(attribute(element, name)), `${name}="${example}"`)
})

const byName: Readonly<Record<string, Resource>> = {
  filesystem,
  network,
  shell,
  tool,
  mcp: server(undefined),
  "kiwi-mcp": kiwi,
  kiwi,
  env: named("env.read", "var", "CI"),
  python: named("python.import", "module", "requests"),
  secret: named("secret.use", "name", "GITHUB_TOKEN"),
  registry: actions("registry", ["read", "write"], { read: "read", write: "write" }),
  spawn: actions("spawn", ["thread", "process"]),
  git: actions("git", ["read", "push"], { read: "read", write: "push" }),
  db: actions("db", ["query", "migrate"], { read: "query", write: "migrate" })
}

const names = Object.keys(byName)

interface Found {
  readonly element: Element
  readonly resource: Resource
}

/** Finds the resource of an element. Any other name with an action is the name of an MCP server. */
export const findResource = (element: Element): Read<Found> => {
  const name = attribute(element, "resource")
  if (name === undefined) {
    return refuse(
      element,
      `<${element.tag}> names no resource`,
      `Write <${element.tag} resource="filesystem" path="…"/>`
    )
  }
  if (name.startsWith("mcp:")) return Result.succeed({ element, resource: server(name.slice(4)) })
  if (Object.hasOwn(byName, name)) return Result.succeed({ element, resource: byName[name]! })
  const meant = meantBy(name, names)
  const isServer = meant === undefined && attribute(element, "action", "actions") !== undefined
  return isServer ? Result.succeed({ element, resource: server(name) }) : refuse(
    element,
    `the resource "${name.slice(0, 40)}" is unknown`,
    meant === undefined
      ? `Resources are ${names.join(", ")}, and MCP servers with the actions that they offer`
      : `Write resource="${meant}"`
  )
}

/** The grants that an element means. `more`: attributes that it may have beside those of its resource. */
export const readResource = (
  { element, resource }: Found,
  verb: Verb,
  more: ReadonlyArray<string>
): Read<ReadonlyArray<Grant>> =>
  Result.gen(function*() {
    yield* onlyAttributes(element, ["resource", ...resource.attributes, ...more])
    return (yield* resource.read(element, verb)).map(withAll)
  })

/** The older `<allow type="fs.read" scope="src/**"/>`. */
export const readTyped = (element: Element, verb: Verb): Read<ReadonlyArray<Grant>> =>
  Result.flatMap(onlyAttributes(element, ["type", "scope", ...(verb === "deny" ? [] : ["optional"])]), () => {
    const capability = attribute(element, "type") ?? ""
    const scope = attribute(element, "scope")
    const needsScope = ["path", "command", "host", "name"].includes(Scope.kindOf(capability))
    return scoped(
      element,
      verb,
      capability,
      scope === undefined ? needsScope && !capability.startsWith("tool.") ? [] : ["*"] : [scope],
      `<${element.tag} type="fs.read" scope="src/**"/>`
    )
  })
