// Finds arguments that a call could shift: an optional parameter that is followed by another argument.
import type { Schema } from "effect"
import { cut, problem } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import {
  type ArgumentPlace,
  argumentPlaces,
  possibleShifts,
  type Shift
} from "../../../../services/primitive/argumentPlaces.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import { parseTemplate } from "../../../../services/template/templateText.ts"
import { type Code, configAs, declaredAt } from "../arguments/checkPassed.ts"
import { inputOf, propertiesOf } from "../arguments/declared.ts"

const list = (names: ReadonlyArray<string>): string =>
  names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`

const isPlain = (text: string): boolean => parseTemplate(text).every((part) => typeof part === "string")

/**
 * The same arguments as `options`, which omits an option together with its value. Undefined if the positions mean more
 * than that: a word between parameters, an option that `options` cannot express, a parameter used twice.
 */
const asOptions = (tool: Tool): Schema.JsonObject | undefined => {
  const args: Array<string> = []
  const options: Record<string, Schema.JsonObject> = {}
  let waiting: string | undefined
  for (const { parameter, path: [key], text } of argumentPlaces(tool.config)) {
    if (key !== "args") continue
    if (parameter === undefined) {
      if (waiting !== undefined) args.push(waiting)
      waiting = undefined
      if (text === "--") continue
      if (/^-[A-Za-z0-9]$|^--[A-Za-z][A-Za-z0-9_-]*$/.test(text)) waiting = text
      else if (Object.keys(options).length > 0 && !text.startsWith("-")) return undefined
      else if (isPlain(text)) args.push(text)
      else return undefined
    } else if (Object.hasOwn(options, parameter)) return undefined
    else {
      options[parameter] = waiting === undefined ? { as: "positional" } : { option: waiting }
      waiting = undefined
    }
  }
  if (waiting !== undefined) args.push(waiting)
  const isEnv = inputOf(tool) === "env"
  if (isEnv && propertiesOf(tool).some((name) => !Object.hasOwn(options, name))) return undefined
  const own = isJsonObject(tool.config["options"]) ? tool.config["options"] : {}
  return {
    ...(isEnv ? { input: "args" } : {}),
    ...(args.length > 0 ? { args } : {}),
    options: { ...options, ...own }
  }
}

const shown = (place: ArgumentPlace): string => cut(JSON.stringify(place.text), 60)

const issueOf = ({ next, option, parameter }: Shift): string => {
  const name = `the parameter ${cut(parameter, 40)} may be left out`
  if (option === undefined) return `${name}, and ${shown(next!)} would then take its place among the arguments`
  return next === undefined
    ? `${name}, and the ${shown(option)} before it would then have no value`
    : `${name}, and the ${shown(option)} before it would then take ${shown(next)} for its value`
}

const hintFor = (tool: Tool, shifts: ReadonlyArray<Shift>, code: Code): string => {
  const names = list([...new Set(shifts.map(({ parameter }) => cut(parameter, 40)))])
  const require = `Require ${names}, or give ${shifts.length === 1 ? "it a default" : "each a default"}`
  const isLast = shifts.every(({ next, option }) => option !== undefined && next === undefined)
  const options = shifts.some(({ option }) => option !== undefined) ? asOptions(tool) : undefined
  return [
    require,
    ...(options === undefined
      ? []
      : [`An option that is left out with its value is written in place of args: ${configAs(tool, code, options)}`]),
    ...(isLast ? [`Where the option takes no value, write "--" behind it`] : [])
  ].join(". ")
}

/**
 * Refuses a tool if a call could shift its arguments. Arguments that a user's own runtime adds are checked in the call.
 * `text`: the item's own, which declares its parameters.
 */
export const checkShift = (tool: Tool, text: string, code: Code): Problem | undefined => {
  if (tool.toolType === "runtime" || /(?:^|\/)http_client$/.test(tool.executorId ?? "")) return undefined
  const shifts = possibleShifts(tool)
  const [first] = shifts
  if (first === undefined) return undefined
  return { ...problem(issueOf(first), hintFor(tool, shifts, code)), ...declaredAt(text, first.parameter) }
}
