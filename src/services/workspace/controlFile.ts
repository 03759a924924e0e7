// Decodes control files by their Schema. All issues are reported at once, with positions. A key that the schema does
// not have is an error: a misspelt rule must not be ignored silently.
//
// Gotcha: a schema's messages continue a path ("must be a duration from 100ms to 7d") and never quote the value, since
// most files are shown before anybody trusts them.
import { Array as Arr, Effect, JsonPointer, Result, type Schema, SchemaParser } from "effect"
import type { SchemaAST, SchemaIssue } from "effect"
import { safeLine } from "../error/safeText.ts"
import { fieldOf, nearest } from "../schema/schemaIssues.ts"
import { ControlInvalid, type ControlIssue, parseControlYaml, type Position, type YamlNode } from "./controlYaml.ts"

const maxIssues = 20

const closed: SchemaAST.ParseOptions = { errors: "all", onExcessProperty: "error" }

const missing = "is missing"

/** Keys such as "__proto__" are plain data. */
const valueOf = (node: YamlNode): Schema.Json => {
  switch (node._tag) {
    case "Scalar":
      return node.value
    case "List":
      return node.items.map(valueOf)
    case "Map":
      return Object.fromEntries(Array.from(node.entries, ([key, { value }]) => [key, valueOf(value)]))
  }
}

interface Found {
  readonly path: ReadonlyArray<PropertyKey>
  readonly issue: string
  /** Set if the key is wrong and not its value. `meant`: the key that was probably intended. */
  readonly unknownKey?: { readonly meant: string | undefined }
}

const noted = (annotations: Schema.Annotations.Annotations | undefined, name: string): string | undefined => {
  const text = annotations?.[name]
  return typeof text === "string" ? text : undefined
}

const or = (words: ReadonlyArray<string>): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`

const wordsFor = (ast: SchemaAST.AST): string => {
  switch (ast._tag) {
    case "String":
    case "TemplateLiteral":
      return "text"
    case "Number":
      return "a number"
    case "Boolean":
      return "true or false"
    case "Null":
      return "empty"
    case "Literal":
      return String(ast.literal)
    case "Union":
      return or([...new Set(ast.types.map(wordsFor))])
    case "Arrays":
      return "a list"
    case "Objects":
      return "a map"
    default:
      return noted(ast.annotations, "expected") ?? "another value"
  }
}

const expected = (ast: SchemaAST.AST): string => noted(ast.annotations, "message") ?? `must be ${wordsFor(ast)}`

const failed = (annotations: Schema.Annotations.Annotations | undefined): string | undefined => {
  const message = noted(annotations, "message")
  const wanted = noted(annotations, "expected")
  return message ?? (wanted === undefined ? undefined : `must be ${wanted}`)
}

const unknown = (path: ReadonlyArray<PropertyKey>, known: ReadonlyArray<string>): Found => {
  const meant = nearest(String(path.at(-1)), known)
  const hint = meant === undefined
    ? known.length === 0 ? "" : `, where ${known.join(", ")} are`
    : `; did you mean "${meant}"?`
  return { path, issue: `is not known here${hint}`, unknownKey: { meant } }
}

/** The issues of the alternative that fits except for its content; if none fits, what all alternatives expect. */
const nearestBranch = (issue: SchemaIssue.AnyOf, path: ReadonlyArray<PropertyKey>): ReadonlyArray<Found> => {
  const message = noted(issue.ast.annotations, "message")
  if (message !== undefined) return [{ path, issue: message }]
  const inside = issue.issues.map((one) => find(one, path))
    .filter((found) => found.every((one) => one.path.length > path.length))
    .toSorted((a, b) => a.length - b.length)
  return inside[0] ?? [{ path, issue: expected(issue.ast) }]
}

const find = (issue: SchemaIssue.Issue, path: ReadonlyArray<PropertyKey>): ReadonlyArray<Found> => {
  switch (issue._tag) {
    case "Pointer":
      return find(issue.issue, [...path, ...issue.path])
    case "Composite":
      return issue.issues.flatMap((one) => find(one, path))
    case "Encoding":
      return find(issue.issue, path)
    case "AnyOf":
      return nearestBranch(issue, path)
    case "Filter": {
      const text = failed(issue.filter.annotations)
      return text === undefined ? find(issue.issue, path) : [{ path, issue: text }]
    }
    case "MissingKey":
      return [{ path, issue: missing }]
    case "UnexpectedKey": {
      const known = issue.ast._tag === "Objects" ? issue.ast.propertySignatures.map(({ name }) => String(name)) : []
      return [unknown(path, known)]
    }
    case "InvalidType":
      return [{ path, issue: expected(issue.ast) }]
    case "InvalidValue":
      return [{ path, issue: failed(issue.annotations) ?? "is not an allowed value" }]
    case "OneOf":
      return [{ path, issue: "fits more than one of its possible forms" }]
    case "Forbidden":
      return [{ path, issue: "is not allowed" }]
  }
}

/** The position of the value, or of an unknown key. For a missing key, the position of its map. */
const positionOf = (root: YamlNode, { path, unknownKey }: Found): Position => {
  let node = root
  let key: Position = root
  for (const segment of path) {
    const entry = node._tag === "Map" ? node.entries.get(String(segment)) : undefined
    const next = node._tag === "List" ? node.items[Number(segment)] : entry?.value
    if (next === undefined) return node
    key = entry ?? next
    node = next
  }
  return unknownKey === undefined ? node : key
}

const below = (at: string, path: string): string =>
  at === "" || path === "" || path.startsWith("[") ? `${at}${path}` : `${at}.${path}`

const pointerOf = (path: ReadonlyArray<PropertyKey>): string =>
  path.map((one) => `/${JsonPointer.escapeToken(String(one))}`).join("")

/** Drops the issue of a missing key that is reported as misspelt. */
const withoutMisspelt = (all: ReadonlyArray<Found>): ReadonlyArray<Found> => {
  const meant = new Set(
    all.flatMap(({ path, unknownKey }) =>
      unknownKey?.meant === undefined ? [] : [pointerOf([...path.slice(0, -1), unknownKey.meant])]
    )
  )
  return all.filter(({ issue, path }) => issue !== missing || !meant.has(pointerOf(path)))
}

/** Decodes a part of a control file. `at`: the path of the part in the file. */
export const decodeNode = <A>(
  node: YamlNode,
  schema: Schema.ConstraintDecoder<A>,
  at = ""
): Result.Result<A, ControlInvalid> => {
  const value = valueOf(node)
  const decoded = SchemaParser.decodeResult(schema)(value, closed)
  return Result.mapError(decoded, (issue) => {
    const issues = withoutMisspelt(find(issue, [])).map((found): ControlIssue => {
      const path = safeLine(below(at, fieldOf(value, pointerOf(found.path))), 120)
      const { column, line } = positionOf(node, found)
      return { line, column, path, issue: found.issue }
    }).toSorted((a, b) => a.line - b.line || a.column - b.column).slice(0, maxIssues)
    return new ControlInvalid({
      issues: Arr.isReadonlyArrayNonEmpty(issues)
        ? issues
        : [{ line: node.line, column: node.column, path: at, issue: "does not have the required form" }]
    })
  })
}

/** Parses JSON that Kiwi itself wrote. It must print to the same bytes again, so that no key is duplicated. */
const ownJson = (bytes: Uint8Array): unknown => {
  const text = new TextDecoder().decode(bytes)
  const value = text.startsWith("{") ? Result.getOrUndefined(Result.try((): unknown => JSON.parse(text))) : undefined
  return JSON.stringify(value) === text ? value : undefined
}

/**
 * Decodes a control file, YAML or JSON. `maxBytes`: more than 128 KiB, for files that Kiwi itself writes. Those are
 * read without loading the YAML parser unless they have an error.
 */
export const decodeControl = <A>(
  bytes: Uint8Array,
  schema: Schema.ConstraintDecoder<A>,
  maxBytes?: number
): Effect.Effect<A, ControlInvalid> => {
  const value = ownJson(bytes)
  const own = value === undefined ? undefined : SchemaParser.decodeResult(schema)(value, closed)
  return own !== undefined && Result.isSuccess(own)
    ? Effect.succeed(own.success)
    : Effect.flatMap(parseControlYaml(bytes, maxBytes), (node) => Effect.fromResult(decodeNode(node, schema)))
}
