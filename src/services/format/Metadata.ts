// A file's metadata before it is known whether it makes a tool: literal values with their positions.
import type { Schema } from "effect"
import { Result, SemVer } from "effect"

/** What is wrong with a text: ItemInvalid without the item. Line and column are 1-based; 0 if there is none. */
export interface Problem {
  /** The file of a folder that it is about, if not the item's own text. */
  readonly file?: string
  readonly line: number
  readonly column: number
  readonly issue: string
  readonly found: string
  readonly hint: string
  /** Whether the same text may be accepted later. */
  readonly retryable?: boolean
}

export interface Field {
  readonly value: Schema.Json
  readonly line: number
  readonly column: number
  /** How the file spells the field's name: `__version__`, `version`. For messages. */
  readonly spelling: string
}

/** By the names that YAML tools use. */
export type Metadata = ReadonlyMap<string, Field>

/** Metadata with deeper nesting is refused. */
export const maxDepth = 64
/** Metadata with more values is refused. */
export const maxNodes = 50_000

export const positionAt = (text: string, offset: number): { readonly line: number; readonly column: number } => {
  let line = 1
  let start = 0
  for (let end = text.indexOf("\n"); end !== -1 && end < offset; end = text.indexOf("\n", start)) {
    line++
    start = end + 1
  }
  return { line, column: offset - start + 1 }
}

export const cut = (text: string, length = 200): string => {
  const trimmed = text.trim()
  return trimmed.length <= length ? trimmed : `${trimmed.slice(0, length - 1)}…`
}

const lineAround = (text: string, offset: number): string => {
  const start = text.lastIndexOf("\n", offset - 1) + 1
  const end = text.indexOf("\n", offset)
  return text.slice(start, Math.min(end === -1 ? text.length : end, start + 400))
}

/** A problem at a position in a text. Includes the line. */
export const problemAt = (text: string, offset: number, issue: string, hint: string): Problem => ({
  ...positionAt(text, offset),
  issue,
  found: cut(lineAround(text, offset)),
  hint
})

export const problem = (issue: string, hint: string): Problem => ({ line: 0, column: 0, issue, found: "", hint })

export const fieldProblem = (field: Field, issue: string, hint: string): Problem => ({
  line: field.line,
  column: field.column,
  issue,
  found: cut(JSON.stringify(field.value)),
  hint
})

const sections = /^(?:usage|args|arguments|parameters|dependencies|returns|raises|examples?|config schema):/i

/** The first paragraph of a text as one line: up to a blank line or a section such as `Args:`. */
export const firstParagraph = (text: string): string => {
  const lines: Array<string> = []
  for (const line of text.split("\n").map((l) => l.trim())) {
    if (line === "" ? lines.length > 0 : sections.test(line)) break
    if (line !== "") lines.push(line)
  }
  return lines.join(" ")
}

/** Checks that parsed JSON is within the limits of metadata and has no key that records treat specially. */
const checkJson = (value: Schema.Json): string | undefined => {
  let nodes = 0
  const visit = (at: Schema.Json, depth: number): string | undefined => {
    if (++nodes > maxNodes) return `more than ${maxNodes} values`
    if (typeof at !== "object" || at === null) return undefined
    if (depth >= maxDepth) return `nested more than ${maxDepth} levels deep`
    for (const key of Object.keys(at)) {
      if (key === "__proto__") return `the key "__proto__"`
      const issue = visit((at as Record<string, Schema.Json>)[key]!, depth + 1)
      if (issue !== undefined) return issue
    }
    return undefined
  }
  return visit(value, 0)
}

/** A JSON text inside an item. */
export const parseJson = (text: string): Result.Result<Schema.Json, string> => {
  // A text with deeper nesting must not reach the recursive parser.
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text[i]
    if (c === "{" || c === "[") depth++
    else if (c === "}" || c === "]") depth--
    if (depth > 8 * maxDepth) return Result.fail(`nested more than ${maxDepth} levels deep`)
  }
  try {
    const value = JSON.parse(text) as Schema.Json
    const issue = checkJson(value)
    return issue === undefined ? Result.succeed(value) : Result.fail(issue)
  } catch {
    return Result.fail("it is not JSON")
  }
}

const maxVersion = 160

export const isVersion = (text: string): boolean => text.length <= maxVersion && Result.isSuccess(SemVer.parse(text))

const dunder = [
  "version",
  "tool_type",
  "executor_id",
  "executor",
  "category",
  "tool_id",
  "title",
  "description",
  "tags",
  "mutates_state",
  "overridable",
  "required_scope",
  "isolation",
  "requires"
]

const upper = [
  "INPUT_SCHEMA",
  "CONFIG",
  "CONFIG_SCHEMA",
  "ENV_CONFIG",
  "DEPENDENCIES",
  "REQUIRES",
  "TAGS",
  "PARAMETERS",
  "RETRY",
  "VALIDATION",
  "REQUIRED_SCOPE",
  "MUTATES_STATE",
  "ISOLATION"
]

/**
 * The constants of Python, JavaScript and TypeScript files that are metadata, by their names in YAML tools. No others
 * are.
 */
export const metadataNames: ReadonlyMap<string, string> = new Map([
  ...dunder.map((name) => [`__${name}__`, name] as const),
  ...upper.map((name) => [name, name.toLowerCase()] as const),
  ["requires", "requires"]
])
