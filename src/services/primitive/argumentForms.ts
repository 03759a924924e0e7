// How parameters become a program's arguments. The default is `--name=value` for each; `options` in the config lists
// those that the program expects in another form.
import { Schema } from "effect"

/** An option is `--name`, `-n`, or another form that a program uses (`+n`, `/n`). */
const spelling = /^[^\sA-Za-z0-9={}]{1,2}[A-Za-z][A-Za-z0-9_-]*$/
const optionName = /^[A-Za-z][A-Za-z0-9_-]*$/

/** How one parameter is passed. */
export const ArgumentForm = Schema.Struct({
  /** The option as the program spells it. Default: `--` and the parameter's name. */
  option: Schema.optionalKey(Schema.String.check(Schema.isPattern(spelling))),
  as: Schema.optionalKey(Schema.Literals([
    /**
     * `--name=value`, also for `true` and `false`; a one-letter option is `-n value`, or `-n-1` if the value begins
     * with `-`.
     */
    "value",
    /** `--name=a --name=b`: the default for lists. */
    "repeat",
    /** `--name a b`; a list of lists is `--name a b --name c d`. */
    "words",
    /** `--name=JSON`, with strings quoted. */
    "json",
    /** `--name --name` for 2. */
    "count",
    /** `--name` or `--no-name`. */
    "on_off",
    /** The values without options, after all options and `--`, in the order of `options`. */
    "positional"
  ]))
})
export type ArgumentForm = typeof ArgumentForm.Type

/** `remedy`: what to do about this issue. */
export type Unpassable = { readonly field: string; readonly error: string; readonly remedy?: string }

/** The limit of repetitions of an option. */
export const maxCount = 100

/** Whole numbers are written in plain digits: `int("1e+21")` is an error in Python. */
export const asText = (value: Schema.Json): string =>
  typeof value === "string"
    ? value
    : typeof value === "number" && Number.isInteger(value)
    ? BigInt(value).toString()
    : JSON.stringify(value)

const listOf = (value: Schema.Json): ReadonlyArray<Schema.Json> =>
  Array.isArray(value) ? value as ReadonlyArray<Schema.Json> : [value]

/**
 * Negative numbers that option parsers distinguish from options: `-1` and `-1.5`, but not `-1e-7`. A leading blank is
 * not allowed.
 */
const plainNegative = /^-(?:[0-9]+|[0-9]*\.[0-9]+)$/

const asWord = (value: Schema.Json): string => {
  const text = asText(value)
  return typeof value === "number" && value < 0 && !plainNegative.test(text) ? ` ${text}` : text
}

const short = /^-[A-Za-z0-9]$/

/** `--name=value`, but `-n value`, since getopts and most C programs treat the `=` as part of the value. */
const withValue = (option: string, text: string): ReadonlyArray<string> =>
  !short.test(option) ? [`${option}=${text}`] : text.startsWith("-") ? [`${option}${text}`] : [option, text]

const dashed = (option: string): string => `has a value that begins with "-", and ${option} reads it as another option`

/** A value that is one word with its option cannot be read as another option. */
const withoutWords = (name: string, option: string, isList: boolean): string =>
  isList
    ? `Leave out of ${name} what begins with "-", or let the tool read its input from stdin (CONFIG input: stdin)`
    : `Write options: {${name}: {option: ${option}}} into the tool's config, without as: words: it is then passed as ${
      short.test(option) ? `${option}VALUE` : `${option}=VALUE, where the program reads that`
    }`

/** The arguments of one parameter, or what is wrong with it. */
const argumentsOf = (option: string, value: Schema.Json, as: ArgumentForm["as"]): ReadonlyArray<string> | string => {
  switch (as) {
    case undefined:
      if (typeof value === "boolean") return value ? [option] : []
      return Array.isArray(value) ? argumentsOf(option, value, "repeat") : withValue(option, asText(value))
    case "value":
      return withValue(option, asText(value))
    case "repeat":
      return listOf(value).flatMap((one) => withValue(option, asText(one)))
    case "words": {
      const values = listOf(value)
      const lists = values.length > 0 && values.every(Array.isArray) ? values.map(listOf) : [values]
      return lists.flat().some((one) => typeof one === "string" && one.startsWith("-"))
        ? dashed(option)
        : lists.flatMap((words) => [option].concat(words.map(asWord)))
    }
    case "json":
      return withValue(option, JSON.stringify(value))
    case "count": {
      const times = Number(value)
      return Number.isInteger(times) && times >= 0 && times <= maxCount
        ? Array.from({ length: times }, () => option)
        : `is not a number of times from 0 to ${maxCount}`
    }
    case "on_off":
      return [value === false ? option.replace(/^--/, "--no-") : option]
    case "positional":
      return listOf(value).map(asText)
  }
}

/** Options first, then the values without options, after a `--` so that none is read as an option. */
export const toArguments = (
  entries: ReadonlyArray<readonly [string, Schema.Json]>,
  forms: Readonly<Record<string, ArgumentForm>>,
  issues: Array<Unpassable>
): ReadonlyArray<string> => {
  const options: Array<string> = []
  const positionals = new Map<string, ReadonlyArray<string>>()
  const seen = new Map<string, string>()
  for (const [name, value] of entries) {
    const form = Object.hasOwn(forms, name) ? forms[name]! : {}
    if (form.option === undefined && form.as !== "positional" && !optionName.test(name)) {
      issues.push({ field: name, error: "is not the name of an option ([A-Za-z][A-Za-z0-9_-]*)" })
      continue
    }
    const option = form.option ?? `--${name}`
    if (form.as !== "positional") {
      const key = option.replaceAll("_", "-")
      const other = seen.get(key)
      if (other !== undefined) {
        issues.push({ field: name, error: `is the same option as ${other}` })
        continue
      }
      seen.set(key, name)
    }
    if (value === null && form.as !== "json") continue
    const made = argumentsOf(option, value, form.as)
    if (typeof made === "string") {
      issues.push({
        field: name,
        error: made,
        ...(made === dashed(option) ? { remedy: withoutWords(name, option, Array.isArray(value)) } : {})
      })
    } else if (form.as === "positional") positionals.set(name, made)
    else options.push(...made)
  }
  const bare = Object.keys(forms).flatMap((name) => positionals.get(name) ?? [])
  return bare.length === 0 ? options : [...options, "--", ...bare]
}
