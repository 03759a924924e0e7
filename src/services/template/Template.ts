// Parses config text in one pass, before any data is inserted. Substituted data is never parsed again, so a parameter
// with the text `${SECRET}` stays that text. The primitive decides what a field means (a URL, a header, an argument).
// The rules that prevent data from changing that meaning are here.
import { JsonPointer, Redacted, Result, Schema } from "effect"
import { pointerKeys } from "../schema/json.ts"
import { parseTemplate, type Part } from "./templateText.ts"
import { authorityComplete, encodeForUrl, unsafeSegment, unsafeUrlStart } from "./urlText.ts"

/** A placeholder without a value and without a default. */
export class TemplateUnresolved extends Schema.TaggedError<TemplateUnresolved>()("TemplateUnresolved", {
  /** JSON-pointer-like place in the config: "/args/0". */
  at: Schema.String,
  placeholder: Schema.String,
  hint: Schema.String
}) {
  override get message() {
    return `${this.placeholder} in config ${this.at} has no value`
  }
  get remediation() {
    return this.hint
  }
  get field() {
    return this.at
  }
}

/** A parameter would be more than data: it would change a URL's scheme, host or port, or end a header. */
export class TemplateUnsafe extends Schema.TaggedError<TemplateUnsafe>()("TemplateUnsafe", {
  at: Schema.String,
  placeholder: Schema.String,
  issue: Schema.String
}) {
  override get message() {
    return `${this.placeholder} in config ${this.at}: ${this.issue}`
  }
  get remediation() {
    return "Pass a plain value there"
  }
  get field() {
    return this.at
  }
}

export type TemplateError = TemplateUnresolved | TemplateUnsafe

/**
 * How data is inserted into a config field. `text`: always a string. `url`: data is encoded for its position and never
 * decides scheme, host or port. `header`: no newlines. `argument`: an element of an argv; data never becomes an option.
 * `path`: data extends the path written before it downwards, never up and never elsewhere. A field that is not listed
 * is JSON: a placeholder that is the whole string keeps its value's type.
 */
export type FieldMode = "json" | "text" | "url" | "header" | "argument" | "path"

export interface ConfigField {
  /** JSON pointer; a segment `*` is any key or index: "/headers/*". */
  readonly at: string
  readonly mode: FieldMode
}

type Node =
  | { readonly _tag: "Constant"; readonly value: Schema.Json }
  | { readonly _tag: "Text"; readonly parts: ReadonlyArray<Part>; readonly at: string; readonly mode: FieldMode }
  | { readonly _tag: "Object"; readonly entries: ReadonlyArray<readonly [string, Node]> }
  | { readonly _tag: "Array"; readonly items: ReadonlyArray<Node> }

export interface CompiledTemplate {
  readonly root: Node
  /** Names of the call parameters that the config uses. */
  readonly parameters: ReadonlySet<string>
  /** Names of the variables that the config uses. True if one of the uses has no default. */
  readonly variables: ReadonlyMap<string, boolean>
}

export interface TemplateInput {
  /** Validated call parameters, defaults applied. */
  readonly parameters: Schema.JsonObject
  /**
   * Names that the tool's schema declares. If a declared parameter is absent, its key is dropped instead of failing.
   */
  readonly declared: ReadonlySet<string>
  readonly variables: ReadonlyMap<string, { readonly value: Redacted.Redacted<string> }>
  /**
   * For showing a config: variables for which this returns true appear as `‹NAME›`. Every check uses the real value.
   */
  readonly mask?: ((name: string) => boolean) | undefined
}

export interface Rendered {
  readonly config: Schema.JsonObject
  /** Every text that a variable added to the config, in its form there (a URL encodes it). */
  readonly substituted: ReadonlyArray<{ readonly name: string; readonly text: Redacted.Redacted<string> }>
}

const pointer = (at: string, key: string | number) => `${at}/${JsonPointer.escapeToken(String(key))}`

interface ActiveField {
  readonly segments: ReadonlyArray<string>
  readonly mode: FieldMode
}

const narrow = (fields: ReadonlyArray<ActiveField>, key: string): ReadonlyArray<ActiveField> =>
  fields.flatMap((p) =>
    p.segments[0] === key || p.segments[0] === "*" ? [{ segments: p.segments.slice(1), mode: p.mode }] : []
  )

/** Parses a config's placeholders. Keys are never templated. A config without placeholders costs nothing to render. */
export const compile = (config: Schema.JsonObject, fields: ReadonlyArray<ConfigField>): CompiledTemplate => {
  const parameters = new Set<string>()
  const variables = new Map<string, boolean>()
  const text = (value: string, at: string, active: ReadonlyArray<ActiveField>): Node => {
    const parts = parseTemplate(value)
    for (const part of parts) {
      if (typeof part === "string") continue
      if (part._tag === "Parameter") parameters.add(part.name)
      if (part._tag === "Variable") {
        variables.set(part.name, part.fallback === undefined || variables.get(part.name) === true)
      }
    }
    if (parts.every((p) => typeof p === "string")) return { _tag: "Constant", value: parts.join("") }
    return { _tag: "Text", parts, at, mode: active.find((p) => p.segments.length === 0)?.mode ?? "json" }
  }
  const visit = (value: Schema.Json, at: string, active: ReadonlyArray<ActiveField>): Node => {
    if (typeof value === "string") return text(value, at, active)
    if (typeof value !== "object" || value === null) return { _tag: "Constant", value }
    if (isArray(value)) {
      const items = value.map((v, i) => visit(v, pointer(at, i), narrow(active, String(i))))
      return items.every((n, i) => n._tag === "Constant" && n.value === value[i])
        ? { _tag: "Constant", value }
        : { _tag: "Array", items }
    }
    const entries = Object.entries(value).map(([k, v]) => [k, visit(v, pointer(at, k), narrow(active, k))] as const)
    return entries.every(([k, n]) => n._tag === "Constant" && n.value === value[k])
      ? { _tag: "Constant", value }
      : { _tag: "Object", entries }
  }
  const root = visit(
    config,
    "",
    fields.map((p) => ({
      segments: pointerKeys(p.at),
      mode: p.mode
    }))
  )
  return { root, parameters, variables }
}

const isArray = (value: Schema.Json): value is Schema.JsonArray => Array.isArray(value)

const asText = (value: Schema.Json): string => typeof value === "string" ? value : JSON.stringify(value)

const placeholderOf = (part: Exclude<Part, string>): string =>
  part._tag === "Parameter" ? `{${part.name}}` : part._tag === "Variable" ? `\${${part.name}}` : part.text

const dropped = Symbol("dropped")
type Dropped = typeof dropped

// oxlint-disable-next-line no-control-regex -- these are what a header must not hold
const notInHeader = /[\u0000-\u0008\u000a-\u001f\u007f]/
const beyondLatin1 = /[^\p{ASCII}\u0080-\u00ff]/u

/** Stops at the first failure, since all later results depend on the same data. */
class Failure {
  readonly error: TemplateError
  constructor(error: TemplateError) {
    this.error = error
  }
}

const missing = (part: Exclude<Part, string>, at: string, input: TemplateInput): Failure => {
  const hint = part._tag === "Malformed"
    ? part.hint
    : part._tag === "Parameter"
    ? input.declared.has(part.name)
      ? `Pass the parameter "${part.name}", or give it a default in the tool's schema`
      : `Declare the parameter "${part.name}" in the tool's schema; if the braces are text, write {{${part.name}}}`
    : Object.hasOwn(input.parameters, part.name) || input.declared.has(part.name)
    ? `"${part.name}" is a call parameter: write {${part.name}}`
    : part.name === "TOOL_FILE"
    ? "The tool has no file to run: `entrypoint` counts in a folder with a tool.yaml, not in a single YAML file"
    : `Set ${part.name} in the environment or in .env, or give it a default: \${${part.name}:-…}`
  return new Failure(new TemplateUnresolved({ at, placeholder: placeholderOf(part), hint }))
}

/** A path from data: relative to the text written before it. */
const unsafePath = (text: string): string | undefined =>
  text === ""
    ? "the value is empty, so the path would be a different one"
    : /^[/\\~]|^[A-Za-z]:/.test(text)
    ? "the value is an absolute path; write it relative to the project's folder"
    : text.includes("\0") || text.includes("\\")
    ? "a path cannot contain a NUL character or a backslash"
    : undefined

/** A segment that includes data and becomes `..`: dots in the data may join written ones. */
const climbs = (path: string, from: number, to: number): string | undefined => {
  const start = path.lastIndexOf("/", from - 1) + 1
  const next = path.indexOf("/", to)
  return path.slice(start, next === -1 ? path.length : next).split("/").includes("..")
    ? "the value leads upwards (..)"
    : undefined
}

interface Substituted {
  readonly name: string
  readonly text: string
}

/** A placeholder's value. Undefined if it has none. An empty variable counts as unset if there is a default. */
const valueOf = (part: Exclude<Part, string>, input: TemplateInput): Schema.Json | undefined => {
  if (part._tag === "Malformed") return undefined
  if (part._tag === "Parameter") {
    return Object.hasOwn(input.parameters, part.name) ? input.parameters[part.name] : undefined
  }
  const found = input.variables.get(part.name)
  const value = found === undefined ? undefined : Redacted.value(found.value)
  return value === undefined || (value === "" && part.fallback !== undefined) ? part.fallback : value
}

const renderText = (
  node: Extract<Node, { readonly _tag: "Text" }>,
  input: TemplateInput,
  substituted: Array<Substituted>,
  options: { readonly afterDashes: boolean }
): Schema.Json | Dropped | Failure => {
  const { at, mode, parts } = node
  const only = parts.length === 1 && typeof parts[0] === "object" ? parts[0] : undefined
  if (
    only?._tag === "Parameter" && input.declared.has(only.name) && !Object.hasOwn(input.parameters, only.name)
  ) return dropped
  const unsafe = (part: Exclude<Part, string>, issue: string) =>
    new Failure(new TemplateUnsafe({ at, placeholder: placeholderOf(part), issue }))

  // Checks use `real`. `shown` is returned, and differs only under a mask.
  let real = ""
  let shown = ""
  let inUrl = false
  const segments: Array<{ readonly start: number; readonly part: Exclude<Part, string> }> = []
  const pieces: Array<{ readonly from: number; readonly to: number; readonly part: Exclude<Part, string> }> = []
  for (const part of parts) {
    if (typeof part === "string") {
      real += part
      shown += part
      continue
    }
    const value = valueOf(part, input)
    if (value === undefined) return missing(part, at, input)
    if (only?._tag === "Parameter" && mode === "json") return value
    let text = asText(value)
    if (mode === "url") {
      inUrl ||= authorityComplete(real)
      if (inUrl) {
        segments.push({ start: real.length, part })
        text = encodeForUrl(text)
      } else if (part._tag === "Parameter") {
        return unsafe(part, "a parameter cannot decide a URL's scheme, host or port; end the host with a / before it")
      } else {
        const issue = unsafeUrlStart(text)
        if (issue !== undefined) return unsafe(part, issue)
      }
    } else if (mode === "header") {
      if (notInHeader.test(text)) return unsafe(part, "a header's value cannot contain newlines or control characters")
      if (beyondLatin1.test(text)) return unsafe(part, "a header's value can only contain Latin-1 characters")
    } else if (
      mode === "argument" && part._tag === "Parameter" && typeof value !== "number" && !options.afterDashes &&
      real === "" && text.startsWith("-")
    ) {
      return unsafe(part, "the value starts with - and would be read as an option; put -- or --name= before it")
    } else if (mode === "path" && part._tag === "Parameter") {
      const issue = unsafePath(text)
      if (issue !== undefined) return unsafe(part, issue)
      pieces.push({ from: real.length, to: real.length + text.length, part })
    }
    real += text
    if (part._tag === "Variable") {
      if (!substituted.some((s) => s.name === part.name && s.text === text)) substituted.push({ name: part.name, text })
      shown += input.mask?.(part.name) === true ? `‹${part.name}›` : text
    } else shown += text
  }
  for (const { start, part } of segments) {
    const issue = unsafeSegment(real, start)
    if (issue !== undefined) return unsafe(part, issue)
  }
  for (const { from, part, to } of pieces) {
    const issue = climbs(real, from, to)
    if (issue !== undefined) return unsafe(part, issue)
  }
  return shown
}

const renderNode = (
  node: Node,
  input: TemplateInput,
  substituted: Array<Substituted>,
  options: { readonly afterDashes: boolean }
): Schema.Json | Dropped | Failure => {
  switch (node._tag) {
    case "Constant":
      return node.value
    case "Text":
      return renderText(node, input, substituted, options)
    case "Array": {
      const out: Array<Schema.Json> = []
      let afterDashes = false
      for (const item of node.items) {
        const value = renderNode(item, input, substituted, { afterDashes })
        if (value instanceof Failure) return value
        if (value === dropped) continue
        afterDashes ||= item._tag === "Constant" && value === "--"
        out.push(value)
      }
      return out
    }
    case "Object": {
      const entries: Array<readonly [string, Schema.Json]> = []
      for (const [key, child] of node.entries) {
        const value = renderNode(child, input, substituted, { afterDashes: false })
        if (value instanceof Failure) return value
        if (value !== dropped) entries.push([key, value])
      }
      return Object.fromEntries(entries)
    }
  }
}

/** Inserts data into the fields that `compile` found. */
export const render = (compiled: CompiledTemplate, input: TemplateInput): Result.Result<Rendered, TemplateError> => {
  const substituted: Array<Substituted> = []
  const config = renderNode(compiled.root, input, substituted, { afterDashes: false })
  if (config instanceof Failure) return Result.fail(config.error)
  return Result.succeed({
    config: isObject(config) ? config : {},
    substituted: substituted.map((s) => ({ name: s.name, text: Redacted.make(s.text) }))
  })
}

const isObject = (value: Schema.Json | Dropped): value is Schema.JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Expands `${VAR}` and `${VAR:-default}` in one text, by the same rules; braces without `$` are plain text. */
export const expandVariables = (
  text: string,
  at: string,
  lookup: (name: string) => string | undefined
): Result.Result<string, TemplateUnresolved> => {
  let out = ""
  for (const part of parseTemplate(text, { parameters: false })) {
    if (typeof part === "string") {
      out += part
      continue
    }
    const found = part._tag === "Variable" ? lookup(part.name) : undefined
    const fallback = part._tag === "Variable" ? part.fallback : undefined
    const value = found === undefined || (found === "" && fallback !== undefined) ? fallback : found
    if (value === undefined) {
      return Result.fail(
        new TemplateUnresolved({
          at,
          placeholder: placeholderOf(part),
          hint: part._tag === "Malformed" ? part.hint : `Set ${part.name} in the environment or in .env`
        })
      )
    }
    out += value
  }
  return Result.succeed(out)
}
