// Which parameters of a call stand in an argument list by their place. One that is left out drops its element, so that
// what comes behind it would be taken for it: a file for the name of another one. Pure, over the config before any data
// is in it: for a tool that is signed, and for each call.
import type { Schema } from "effect"
import type { Tool } from "../item/Item.ts"
import { isJsonArray, isJsonObject, own, propertiesIn } from "../schema/json.ts"
import { compile } from "../template/Template.ts"
import { parseTemplate } from "../template/templateText.ts"

export interface ArgumentPlace {
  /** The keys of the config that lead to it: `["args", "1"]`. */
  readonly path: ReadonlyArray<string>
  /** As it stands in the config. */
  readonly text: string
  /** The parameter that is the whole of it. */
  readonly parameter: string | undefined
}

/** A parameter that is left out, between two others or behind an option that waits for it. */
export interface Shift {
  readonly parameter: string
  /** The option word directly before it, which would take the next argument for its value. */
  readonly option: ArgumentPlace | undefined
  /** What would take its place; absent where nothing stands behind it. */
  readonly next: ArgumentPlace | undefined
}

const isPositional = (form: Schema.Json | undefined): boolean => isJsonObject(form) && form["as"] === "positional"

const elementsOf = (config: Schema.JsonObject, key: string): ReadonlyArray<ArgumentPlace> => {
  const list = config[key]
  return !Array.isArray(list) ? [] : list.map((element: Schema.Json, at) => {
    const text = typeof element === "string" ? element : JSON.stringify(element)
    const [first, ...more] = parseTemplate(text)
    const parameter = typeof first === "object" && first._tag === "Parameter" && more.length === 0
      ? first.name
      : undefined
    return { path: [key, String(at)], text, parameter }
  })
}

/** `-o`, `--out`, `-x{a}`: what may wait for a value. `--out=a` has its own, and `--` ends the options. */
const isOptionWord = ({ parameter, text }: ArgumentPlace): boolean =>
  parameter === undefined && /^-[^-]|^--[^=]+$/.test(text)

/** The argument list in its order, without the options that are appended as `--name=value`. */
export const argumentPlaces = (config: Schema.JsonObject): ReadonlyArray<ArgumentPlace> => {
  const listed = [...elementsOf(config, "runtime_args"), ...elementsOf(config, "args")]
  const options = config["options"]
  if ((config["input"] ?? "args") !== "args" || !isJsonObject(options)) return listed
  const placed = compile(config, []).parameters
  const positionals = Object.keys(options).filter((name) => !placed.has(name) && isPositional(own(options, name)))
  return [
    ...listed,
    ...positionals.map((name) => ({ path: ["options", name], text: `{${name}}`, parameter: name }))
  ]
}

type Says = (parameter: string, place: ArgumentPlace) => boolean

const shiftsIn = (
  places: ReadonlyArray<ArgumentPlace>,
  { positionals }: Pick<Tool, "positionals">,
  mayBeAbsent: Says,
  mayBeGiven: Says
): ReadonlyArray<Shift> =>
  places.flatMap((place, at) => {
    const { parameter, path } = place
    const isLeftToParser = path[0] === "options" && positionals === "argparse"
    if (parameter === undefined || isLeftToParser || !mayBeAbsent(parameter, place)) return []
    const next = places.slice(at + 1).find((one) => one.parameter === undefined || mayBeGiven(one.parameter, one))
    const before = places[at - 1]
    const option = before !== undefined && isOptionWord(before) ? before : undefined
    return next === undefined && option === undefined ? [] : [{ parameter, option, next }]
  })

/** Parameters that a call may leave out: declared, not required, and without a default. */
export const optionalParameters = (tool: Pick<Tool, "parameters">): ReadonlySet<string> => {
  const { required } = tool.parameters
  return new Set(
    Object.entries(propertiesIn(tool.parameters)).flatMap(([name, property]) => {
      const hasDefault = isJsonObject(property) && Object.hasOwn(property, "default")
      return hasDefault || (Array.isArray(required) && required.includes(name)) ? [] : [name]
    })
  )
}

/** Where a call of the tool could shift an argument. */
export const possibleShifts = (tool: Pick<Tool, "config" | "parameters" | "positionals">): ReadonlyArray<Shift> => {
  const optional = optionalParameters(tool)
  return shiftsIn(argumentPlaces(tool.config), tool, (name) => optional.has(name), () => true)
}

/** Where this call does: `parameters` with their defaults, `places` of the whole chain's config. */
export const shiftsOf = (
  places: ReadonlyArray<ArgumentPlace>,
  tool: Pick<Tool, "parameters" | "positionals">,
  parameters: Schema.JsonObject
): ReadonlyArray<Shift> => {
  const declared = propertiesIn(tool.parameters)
  // As `options` hands them over, `null` and an empty list are no argument.
  const isGiven: Says = (name, { path: [key] }) => {
    const value = own(parameters, name)
    return value !== undefined && !(key === "options" && (value === null || isJsonArray(value) && value.length === 0))
  }
  return shiftsIn(places, tool, (name, place) => Object.hasOwn(declared, name) && !isGiven(name, place), isGiven)
}
