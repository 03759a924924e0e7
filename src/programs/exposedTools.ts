// The tools that a profile lists by name: which of them can be listed now, and how they are described to a client.
import { Effect, Result, Schema } from "effect"
import { sha256 } from "../layers/identity/sha256.ts"
import type { Caller } from "../services/call/Caller.ts"
import type { KiwiError } from "../services/error/KiwiError.ts"
import { safeLine } from "../services/error/safeText.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import type { ItemLocation, Tool } from "../services/item/Item.ts"
import { qualifiedId } from "../services/item/ItemPath.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { findListed } from "../services/permission/profile/callerProfile.ts"
import { exposedBy, type ExposedRef, exposedUnaccepted, type Profile } from "../services/permission/profile/Profile.ts"
import { checkReadiness } from "./itemState.ts"

export interface ExposedTool {
  /** `[A-Za-z0-9_-]{1,48}`, and no other tool's name. */
  readonly name: string
  readonly location: ItemLocation
  readonly description: string
  readonly inputSchema: Schema.JsonObject
  readonly annotations: typeof Annotations.Type
}

export interface LeftOutTool {
  /** As the profile names it. */
  readonly id: string
  readonly why: string
  readonly remedy?: string
}

const hint = Schema.optionalKey(Schema.Boolean)
/** What a tool's metadata says to clients, under `annotations`. Further keys are skipped. */
const Annotations = Schema.Struct({
  readOnlyHint: hint,
  destructiveHint: hint,
  idempotentHint: hint,
  openWorldHint: hint
})
const decodeAnnotations = Schema.decodeUnknownResult(Annotations)

/** As of `execute`, where the tool says nothing: Kiwi decides what may be done. */
const annotationsOf = ({ extra, mutatesState }: Tool): typeof Annotations.Type => ({
  readOnlyHint: false,
  destructiveHint: mutatesState,
  openWorldHint: true,
  ...Result.getOrElse(decodeAnnotations(extra["annotations"]), () => ({}))
})

const longestName = 48
const longestDescription = 1_000
/** In characters of JSON: a client sends it to its model on every turn. */
const longestSchema = 16_000

const plainName = ({ id, source }: ItemLocation): string =>
  (source === undefined ? id : `${source.name}_${id}`).replaceAll(/[^A-Za-z0-9_-]/g, "_")

const hashedName = (location: ItemLocation): string => {
  const hash = sha256(`${location.tier}:${qualifiedId(location)}`).slice(0, 10)
  return `${plainName(location).slice(0, longestName - hash.length - 1)}_${hash}`
}

/**
 * A name for each tool, in the same order, whatever the others' order is. Undefined for one whose name is taken even
 * with its hash. `reserved`: names that no tool gets.
 */
export const namesFor = (
  locations: ReadonlyArray<ItemLocation>,
  reserved: ReadonlyArray<string>
): ReadonlyArray<string | undefined> => {
  const plain = locations.map(plainName)
  const hashed = locations.map(hashedName)
  // Clients may compare names without case. A name that is like another's with its hash gets one too.
  const taken = [...plain, ...hashed, ...reserved].map((name) => name.toLowerCase())
  const used = new Set<string>()
  return locations.map((_, at) => {
    const own = plain[at]!
    const isFree = own.length <= longestName && taken.filter((name) => name === own.toLowerCase()).length === 1
    const name = isFree ? own : hashed[at]!
    if (used.has(name.toLowerCase())) return undefined
    used.add(name.toLowerCase())
    return name
  })
}

/** The author's sentences in a schema, shown as all text of others is; everything else as it is. */
const withSafeTexts = (schema: Schema.Json): Schema.Json => {
  if (Array.isArray(schema)) return schema.map(withSafeTexts)
  if (typeof schema !== "object" || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      typeof value === "string" && (key === "description" || key === "title")
        ? safeLine(value, longestDescription)
        : withSafeTexts(value)
    ])
  )
}

const leftOut = (id: string, { message, remediation }: Pick<KiwiError, "message" | "remediation">): LeftOutTool => ({
  id,
  why: safeLine(message, 400),
  ...(remediation === undefined ? {} : { remedy: safeLine(remediation, 400) })
})

/** Only what could run now is listed: text of an item that nobody has signed never reaches a client's list. */
const describe = Effect.fnUntraced(function*({ id, tier }: ExposedRef, caller: Caller) {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const { location } = yield* findListed(caller, { id, type: "tool", tier })
  const snapshot = yield* store.read(location)
  const { error, verified } = yield* checkReadiness(snapshot, caller)
  if (error !== undefined) return leftOut(id, error)
  const tool = yield* parser.parse(snapshot)
  if (verified === undefined || tool._tag !== "tool") return leftOut(id, { message: "it is not a verified tool" })
  const inputSchema = withSafeTexts(tool.parameters) as Schema.JsonObject
  return JSON.stringify(inputSchema).length > longestSchema
    ? leftOut(id, { message: `the schema of its parameters has more than ${longestSchema} characters` })
    : {
      location,
      description: safeLine(tool.description || tool.title || `Run ${tool.location.id}`, longestDescription),
      inputSchema,
      annotations: annotationsOf(tool)
    }
})

/** `caller`: with this profile. `reserved`: names that no tool gets. */
export const exposedTools = Effect.fn("exposedTools")(function*(
  profile: Profile,
  caller: Caller,
  reserved: ReadonlyArray<string>
) {
  const out: Array<LeftOutTool> = exposedUnaccepted(profile).map(({ file, id }) =>
    leftOut(id, { message: `${file} is not accepted yet as it is`, remediation: "kiwi trust project" })
  )
  const found = new Map<string, Omit<ExposedTool, "name">>()
  for (const ref of exposedBy(profile)) {
    const one = yield* describe(ref, caller).pipe(Effect.catch((error) => Effect.succeed(leftOut(ref.id, error))))
    if ("why" in one) out.push(one)
    else found.set(one.location.file, one)
  }
  const tools = [...found.values()]
  const names = namesFor(tools.map(({ location }) => location), reserved)
  const exposed: Array<ExposedTool> = []
  for (const [at, tool] of tools.entries()) {
    const name = names[at]
    if (name === undefined) out.push(leftOut(tool.location.id, { message: "another tool has its name" }))
    else exposed.push({ name, ...tool })
  }
  return { exposed, leftOut: out }
})
