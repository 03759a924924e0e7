// One `add_argument` call as a parameter: its schema, and the form in which argparse needs it.
//
// Gotchas: if `nargs` takes several words, argparse reads a word that begins with a prefix character as an option; only
// `--option=value` and words after `--` are safe. Before Python 3.13 a value that is exactly `--` is dropped
// everywhere. The schema excludes both.
import type { SyntaxNode } from "@lezer/common"
import { Result } from "effect"
import type { Schema } from "effect"
import { type ArgumentForm, maxCount } from "../../../../services/primitive/argumentForms.ts"
import { makeLiterals } from "../../readPython.ts"
import type { Arguments } from "./pythonCalls.ts"
import { readCall, sourceOf } from "./pythonCalls.ts"

/** What prevents a call, at an offset. The line is computed only for the first refusal. */
export interface Refusal {
  readonly from: number
  readonly issue: string
  readonly hint: string
}

/** One parameter that argparse takes. */
export interface ScriptArgument {
  /** The long option without its dashes, else the short one; for a positional, its `dest`. */
  readonly name: string
  /** Its other names. */
  readonly aliases: ReadonlyArray<string>
  readonly schema: Schema.JsonObject
  readonly required: boolean
  /** Undefined: `--name=value`, or `--name` for a switch. */
  readonly form: ArgumentForm | undefined
  /** Whether a positional takes zero or one value, or any number. */
  readonly flexible: "no" | "one" | "many"
}

const optionName = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/
const negativeNumber = /^-\d+$|^-\d*\.\d+$/

const types: Readonly<Record<string, string>> = { int: "integer", float: "number" }

export const byHand = "Write INPUT_SCHEMA = {…} and __executor_id__ = \"python_runtime\" at the left margin"

/** Whether a default fits the schema, so that it may be passed instead of the script's own. */
const fits = (value: Schema.Json, { enum: choices, maximum, minimum, type }: Schema.JsonObject) =>
  (type === "integer"
    ? Number.isSafeInteger(value)
    : type === "number"
    ? typeof value === "number"
    : typeof value === type) &&
  (!Array.isArray(choices) || choices.includes(value)) &&
  (typeof minimum !== "number" || Number(value) >= minimum) && (typeof maximum !== "number" || Number(value) <= maximum)

/** A longer range is described by its bounds. */
const mostChoices = 50

/** The numbers of `range(start, stop, step)` as a schema. Undefined if a schema cannot express them. */
const rangeSchema = (numbers: ReadonlyArray<Schema.Json | undefined>): Schema.JsonObject | undefined => {
  if (numbers.length === 0 || numbers.length > 3 || !numbers.every((one) => Number.isSafeInteger(one))) return undefined
  const [first, second, step = 1] = numbers as ReadonlyArray<number>
  const [start, stop] = second === undefined ? [0, first!] : [first!, second]
  const count = Math.ceil((stop - start) / step)
  if (step === 0 || count < 1) return undefined
  if (count <= mostChoices) return { enum: Array.from({ length: count }, (_, at) => start + at * step) }
  const last = start + (count - 1) * step
  return Math.abs(step) === 1 ? { minimum: Math.min(start, last), maximum: Math.max(start, last) } : undefined
}

export const makeReadLiteral = (text: string) => {
  const literals = makeLiterals(text)
  return (node: SyntaxNode | undefined): Schema.Json | undefined =>
    node === undefined ? undefined : Result.getOrUndefined(literals.read(node))
}

export interface ParserSettings {
  /** Characters that begin an option, in any of the file's parsers. */
  readonly prefixes: string
  /** Characters that begin the name of an arguments file. */
  readonly fromFile: string
  /** Whether a parser changes defaults later, so that none may be passed. */
  readonly changesDefaults: boolean
}

export const makeReadArgument = (text: string, { changesDefaults, fromFile, prefixes }: ParserSettings) => {
  const literal = makeReadLiteral(text)
  const source = (node: SyntaxNode | undefined): string => sourceOf(text, node)
  const refuse = (at: SyntaxNode, issue: string, hint = byHand): Refusal => ({ from: at.from, issue, hint })

  /** Excludes values that argparse would read as an option or an arguments file. */
  const aWord = (schema: Schema.JsonObject, first: string): Schema.JsonObject => {
    if (schema["type"] !== "string" || schema["enum"] !== undefined || first === "") return schema
    return { ...schema, pattern: `^(?:[^${first.replace(/[\\\]^-]/g, "\\$&")}]|$)` }
  }

  /** `range(1, 6)`, also as a list or a tuple. */
  const rangeOf = (node: SyntaxNode | undefined): Schema.JsonObject | undefined => {
    const call = node === undefined ? undefined : readCall(node, text)
    const [first] = call?.arguments.positional ?? []
    if (call === undefined || call.on !== undefined || call.arguments.unpacked) return undefined
    if (/^(?:list|tuple|set)$/.test(call.method)) {
      return first === undefined || source(first.firstChild ?? undefined) !== "range" ? undefined : rangeOf(first)
    }
    return call.method === "range" ? rangeSchema(call.arguments.positional.map(literal)) : undefined
  }

  const valueOf = (named: Arguments["named"]): { schema: Schema.JsonObject; json: boolean } | Refusal => {
    const type = named.get("type")
    const name = source(type)
    if (name === "bool") {
      return refuse(
        type!,
        "type=bool reads every text but an empty one as True, \"False\" too",
        "Write action=\"store_true\", or action=argparse.BooleanOptionalAction, in place of type=bool"
      )
    }
    if (/^(?:json\.)?loads$/.test(name)) return { schema: {}, json: true }
    const kind = types[name] ?? "string"
    const node = named.get("choices")
    const range = rangeOf(node)
    const given = literal(node)
    const choices = Array.isArray(given) && given.length > 0 ? given : undefined
    const isText = type === undefined || name === "str"
    if (isText && (range !== undefined || choices?.every((one) => typeof one === "number") === true)) {
      return refuse(
        node!,
        "argparse compares text with these choices, which are numbers: it accepts no value",
        "Add type=int, or write the choices as text"
      )
    }
    if (kind !== "string" && range !== undefined) return { schema: { type: kind, ...range }, json: false }
    const limit: Schema.JsonObject = choices?.every((one) => fits(one, { type: kind })) === true
      ? { enum: choices }
      : kind === "string"
      ? { not: { const: "--" } }
      : {}
    return { schema: { type: kind, ...limit }, json: false }
  }

  const described = (schema: Schema.JsonObject, named: Arguments["named"], mayDefault: boolean): Schema.JsonObject => {
    const help = literal(named.get("help"))
    const fallback = literal(named.get("default"))
    const usual = !changesDefaults && fallback !== undefined && fallback !== null && fallback !== false
    const handed = usual && mayDefault &&
      fits(fallback, schema)
    const description = [
      typeof help === "string" ? help.replaceAll("%(default)s", String(fallback ?? "")).replaceAll("%%", "%") : "",
      usual && !handed ? `Default: ${JSON.stringify(fallback)}` : ""
    ].filter((part) => part !== "").join(". ")
    return {
      ...schema,
      ...(description === "" ? {} : { description }),
      ...(handed ? { default: fallback } : {})
    }
  }

  /** Undefined: it takes no parameter (`--help`, `--version`). `alone`: it is not in an exclusive group. */
  return (
    call: SyntaxNode,
    { named, positional, unpacked }: Arguments,
    alone: boolean
  ): ScriptArgument | Refusal | undefined => {
    const names = positional.map(literal)
    if (unpacked || names.length === 0 || !names.every((name) => typeof name === "string")) {
      const usesDest = names.length === 0 && !unpacked && typeof literal(named.get("dest")) === "string"
      if (!usesDest) return refuse(call, "the name of this argument is computed when the script runs")
      names.push(literal(named.get("dest"))!)
    }
    const spelled = names as ReadonlyArray<string>
    const isOption = prefixes.includes(spelled[0]![0] ?? " ")
    const bare = (name: string) => isOption ? name.replace(/^(.)\1?/, "") : name
    const long = spelled.find((name) => name.startsWith(`${name[0]!}${name[0]!}`) && optionName.test(bare(name)))
    const option = isOption ? long ?? spelled.find((name) => optionName.test(bare(name))) : spelled[0]
    const negative = spelled.find((name) => negativeNumber.test(name))
    if (negative !== undefined) return refuse(call, `the option ${negative} looks like a negative number`)
    if (option === undefined || !optionName.test(bare(option))) {
      return refuse(call, "no parameter can have the name of this argument ([A-Za-z][A-Za-z0-9_-]*)")
    }
    const name = bare(option)
    const dest = literal(named.get("dest"))
    const aliases = [...spelled.map(bare), ...(typeof dest === "string" ? [dest] : [])]
    const spelling = isOption && option !== `--${name}` ? { option } : {}

    const actionNode = named.get("action")
    const action = actionNode === undefined
      ? "store"
      : literal(actionNode) ?? (/(?:^|\.)BooleanOptionalAction$/.test(source(actionNode)) ? "on_off" : undefined)
    const nargsNode = named.get("nargs")
    const nargs = nargsNode === undefined
      ? null
      : /(?:^|\.)OPTIONAL$/.test(source(nargsNode))
      ? "?"
      : /(?:^|\.)ZERO_OR_MORE$/.test(source(nargsNode))
      ? "*"
      : /(?:^|\.)ONE_OR_MORE$/.test(source(nargsNode))
      ? "+"
      : literal(nargsNode)
    const required = literal(named.get("required")) === true

    const made = (schema: Schema.JsonObject, form: ArgumentForm | undefined, mayDefault = false) => ({
      name,
      aliases,
      schema: described(schema, named, mayDefault && alone),
      required,
      form: form === undefined && Object.keys(spelling).length === 0 ? undefined : { ...spelling, ...form },
      flexible: "no" as const
    })

    if (action === "help" || action === "version") return undefined
    if (isOption) {
      switch (action) {
        case "store_true":
        case "store_false":
        case "store_const":
        case "append_const":
          return made({ type: "boolean" }, undefined)
        case "on_off":
          return long === undefined || !long.startsWith("--")
            ? refuse(
              call,
              "BooleanOptionalAction has no --no- for an option with one dash",
              "Give it a name like --name"
            )
            : made({ type: "boolean" }, { as: "on_off" })
        case "count":
          return made({ type: "integer", minimum: 0, maximum: maxCount }, { as: "count" })
      }
    }
    if (action !== "store" && action !== "append" && action !== "extend") {
      return refuse(
        actionNode ?? call,
        action === undefined
          ? "what this action does is computed when the script runs"
          : `a positional argument cannot have action=${JSON.stringify(action)}`
      )
    }
    const value = valueOf(named)
    if ("issue" in value) return value
    const isMany = nargs === "+" || nargs === "*" || (typeof nargs === "number" && Number.isInteger(nargs) && nargs > 0)
    if (nargs !== null && nargs !== "?" && !isMany) {
      return refuse(
        nargsNode!,
        "nargs that takes all remaining arguments, or is computed, cannot be filled by parameters",
        `Write nargs="*" or nargs="+"`
      )
    }
    const sizes: Schema.JsonObject = typeof nargs === "number"
      ? { minItems: nargs, maxItems: nargs }
      : nargs === "+"
      ? { minItems: 1 }
      : {}
    if (value.json && (isMany || !isOption)) {
      return refuse(call, "a list of JSON values, or one without an option, cannot be passed", byHand)
    }
    if (!isOption) {
      if (action !== "store") return refuse(call, `a positional argument cannot have action=${JSON.stringify(action)}`)
      const item = aWord(value.schema, fromFile)
      return {
        ...made(isMany ? { type: "array", items: item, ...sizes } : item, { as: "positional" }),
        required: nargs !== "?" && nargs !== "*",
        flexible: nargs === "?" ? "one" : nargs === "*" || nargs === "+" ? "many" : "no"
      }
    }
    if (action === "extend" && !isMany) {
      return refuse(call, "action=\"extend\" without nargs splits text into letters", `Write nargs="+"`)
    }
    const words: Schema.JsonObject = {
      type: "array",
      items: aWord(value.schema, [...new Set(`-${prefixes}${fromFile}`)].join("")),
      ...sizes
    }
    if (action === "extend" && typeof nargs !== "number") {
      return made({ type: "array", items: value.schema, minItems: 1 }, undefined)
    }
    if (isMany) {
      return action === "append"
        ? made({ type: "array", items: words, minItems: 1 }, { as: "words" })
        : made(words, { as: "words" })
    }
    if (action === "append") {
      return nargs === "?"
        ? refuse(nargsNode!, "action=\"append\" with nargs=\"?\" cannot be filled by parameters", "Leave nargs out")
        : made({ type: "array", items: value.schema, minItems: 1 }, value.json ? { as: "json" } : undefined)
    }
    if (value.json) return made(value.schema, { as: "json" })
    return nargs === "?" && named.has("const")
      ? made({ anyOf: [value.schema, { const: true }] }, undefined)
      : made(value.schema, undefined, true)
  }
}
