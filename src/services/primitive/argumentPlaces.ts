// Finds parameters whose position in an argument list matters. An omitted one drops its element, so that the program
// would read the next argument in its place, such as one file for another. Pure, on the config before data is inserted:
// used when a tool is signed, and for each call.
import type { Schema } from "effect"
import type { Tool } from "../item/Item.ts"
import { isJsonArray, isJsonObject, own, propertiesIn } from "../schema/json.ts"
import { compile } from "../template/Template.ts"
import { parseTemplate } from "../template/templateText.ts"

export interface ArgumentPlace {
  /** The path of keys in the config: `["args", "1"]`. */
  readonly path: ReadonlyArray<string>
  /** As written in the config. */
  readonly text: string
  /** The parameter, if it is the whole argument. */
  readonly parameter: string | undefined
}

/** An omitted parameter between two others, or after an option that needs its value. */
export interface Shift {
  readonly parameter: string
  /** The option directly before it, which would read the next argument as its value. */
  readonly option: ArgumentPlace | undefined
  /** The argument that would take its place. Absent if it is the last one. */
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

/** `-o`, `--out`, `-x{a}`: options that may need a value. `--out=a` has its own, and `--` ends the options. */
const isOptionWord = ({ parameter, text }: ArgumentPlace): boolean =>
  parameter === undefined && /^-[^-]|^--[^=]+$/.test(text)

/** The arguments in order, without the options that are appended as `--name=value`. */
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

/** Parameters that a call may omit: declared, not required, and without a default. */
export const optionalParameters = (tool: Pick<Tool, "parameters">): ReadonlySet<string> => {
  const { required } = tool.parameters
  return new Set(
    Object.entries(propertiesIn(tool.parameters)).flatMap(([name, property]) => {
      const hasDefault = isJsonObject(property) && Object.hasOwn(property, "default")
      return hasDefault || (Array.isArray(required) && required.includes(name)) ? [] : [name]
    })
  )
}

/** Where some call of the tool could shift an argument. */
export const possibleShifts = (tool: Pick<Tool, "config" | "parameters" | "positionals">): ReadonlyArray<Shift> => {
  const optional = optionalParameters(tool)
  return shiftsIn(argumentPlaces(tool.config), tool, (name) => optional.has(name), () => true)
}

/**
 * Where this call shifts an argument. `parameters` include their defaults; `places` are of the whole chain's config.
 */
export const shiftsOf = (
  places: ReadonlyArray<ArgumentPlace>,
  tool: Pick<Tool, "parameters" | "positionals">,
  parameters: Schema.JsonObject
): ReadonlyArray<Shift> => {
  const declared = propertiesIn(tool.parameters)
  // As with `options`, `null` and an empty list are not passed.
  const isGiven: Says = (name, { path: [key] }) => {
    const value = own(parameters, name)
    return value !== undefined && !(key === "options" && (value === null || isJsonArray(value) && value.length === 0))
  }
  return shiftsIn(places, tool, (name, place) => Object.hasOwn(declared, name) && !isGiven(name, place), isGiven)
}
