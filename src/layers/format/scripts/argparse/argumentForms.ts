// How a config passes the parameters of a script that uses argparse: `options` for those that are not `--name=value`.
import type { Schema } from "effect"
import type { ArgumentForm } from "../../../../services/primitive/argumentForms.ts"
import { isJsonObject } from "../../../../services/schema/json.ts"
import type { Argparse } from "./readArgparse.ts"
import type { ScriptArgument } from "./readArgument.ts"

/** The config's `options` for parameters that argparse needs in another form. */
export const argparseOptions = (argparse: Argparse): Readonly<Record<string, ArgumentForm>> =>
  Object.fromEntries(argparse.arguments.flatMap(({ form, name }) => form === undefined ? [] : [[name, form]]))

const bareName = (name: string): string => name.replaceAll("_", "-")

/** The script's arguments in order, each with the declared parameter that matches one of its names. */
export const declaredArguments = (
  argparse: Argparse,
  properties: Schema.Json | undefined
): ReadonlyArray<readonly [argument: ScriptArgument, name: string | undefined]> => {
  const known = new Map<string, ScriptArgument>()
  for (const argument of argparse.arguments) {
    for (const name of [argument.name, ...argument.aliases]) {
      if (!known.has(bareName(name))) known.set(bareName(name), argument)
    }
  }
  const names = isJsonObject(properties) ? Object.keys(properties) : []
  return argparse.arguments.map((argument) =>
    [argument, names.find((one) => known.get(bareName(one)) === argument)] as const
  )
}

/** The same for a script that declares its own parameter schema. */
export const optionsFor = (
  argparse: Argparse,
  properties: Schema.JsonObject
): Readonly<Record<string, ArgumentForm>> => {
  const forms: Record<string, ArgumentForm> = {}
  const place = (name: string, argument: ScriptArgument): void => {
    const property = properties[name]
    const type = typeof property === "object" && property !== null && !Array.isArray(property)
      ? (property as Schema.JsonObject)["type"]
      : undefined
    const isPositional = argument.form?.as === "positional"
    const { as, ...rest } = argument.form ?? {}
    const takesOne = as === undefined && argument.schema["type"] !== "array" && argument.schema["type"] !== "boolean"
    const form: ArgumentForm = {
      ...(isPositional || argument.name === name ? {} : { option: `--${argument.name}` }),
      ...rest,
      // A text that the script parses as JSON is JSON already. A list for an option with one value is passed as JSON.
      ...(as === undefined || (as === "json" && type === "string")
        ? takesOne && (type === "array" || type === "object") ? { as: "json" } : {}
        : { as })
    }
    if (Object.keys(form).length > 0) forms[name] = form
  }
  // Positionals in the script's order.
  for (const [argument, name] of declaredArguments(argparse, properties)) {
    if (name !== undefined) place(name, argument)
  }
  return forms
}
