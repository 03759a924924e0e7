// Parses YAML as data with positions: no anchors, aliases, tags or directives, only text keys, no duplicate keys,
// bounded depth and size. The tokens are checked before anything is composed, so a YAML bomb is refused by its syntax.
// The YAML is a file of its own, in the leading comments of a bash script, or before a knowledge entry's text.
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import { frontMatterExample } from "../../services/format/KnowledgeMetadata.ts"
import type { FrontMatter } from "../../services/format/KnowledgeMetadata.ts"
import {
  cut,
  firstParagraph,
  maxDepth,
  maxNodes,
  positionAt,
  problem,
  problemAt
} from "../../services/format/Metadata.ts"
import type { Field, Metadata, Problem } from "../../services/format/Metadata.ts"

type Read<A> = Result.Result<A, Problem>
type Yaml = typeof import("yaml")

const yamlLibrary = Effect.promise((): Promise<Yaml> => import("yaml"))

const maxTokens = 100_000

const refused: Readonly<Record<string, readonly [issue: string, hint: string]>> = {
  anchor: ["anchors are not read", "Write the value out, or put text that starts with & in quotes"],
  alias: ["aliases are not read", "Write the value out, or put text that starts with * in quotes"],
  tag: ["tags are not read", "Remove the tag, or put text that starts with ! in quotes"],
  "directive-line": ["directives are not read", "Remove the line"]
}

const tooDeep = `the value is nested more than ${maxDepth} levels deep`

const checkTokens = (library: Yaml, text: string): Problem | undefined => {
  let offset = 0
  let count = 0
  let flow = 0
  // Depth of collections that open on one line. For several lines, the text's own size bounds the depth.
  let compact = 0
  let isContent = false
  for (const token of new library.Lexer().lex(text)) {
    const type = isContent ? "content" : library.CST.tokenType(token)
    const isMark = !isContent && (type === "doc-mode" || type === "flow-error-end" || token === "\x1f")
    isContent = !isContent && token === "\x1f"
    if (isMark) continue
    if (type !== null && Object.hasOwn(refused, type)) return problemAt(text, offset, ...refused[type]!)
    if (type === "flow-map-start" || type === "flow-seq-start") flow++
    if (type === "flow-map-end" || type === "flow-seq-end") flow--
    if (type === "seq-item-ind" || type === "explicit-key-ind") compact++
    if (type === "newline") compact = 0
    if (flow + compact > maxDepth) return problemAt(text, offset, tooDeep, "Make it flatter")
    if (++count > maxTokens) return problemAt(text, offset, "there is too much YAML", "Keep data in a file of its own")
    offset += token.length
  }
  return undefined
}

/** Hints for common mistakes, by the composer's error code. */
const composerHints: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: "Indent with spaces",
  BAD_INDENT: "Give the lines of one level the same indentation",
  MULTIPLE_DOCS: "Keep one document in the file",
  MISSING_CHAR: "Close the quote or bracket; put text with special characters in quotes",
  BLOCK_AS_IMPLICIT_KEY: "Put text that contains a colon in quotes",
  MULTILINE_IMPLICIT_KEY: "Put text that contains a colon in quotes"
}

const convert = (
  library: Yaml,
  text: string,
  node: unknown,
  depth: number,
  budget: { left: number }
): Read<Schema.Json> => {
  const offset = library.isNode(node) ? node.range?.[0] ?? 0 : 0
  const refuse = (issue: string, hint: string): Read<never> => Result.fail(problemAt(text, offset, issue, hint))
  if (node === null || node === undefined) return Result.succeed(null)
  if (depth > maxDepth) return refuse(tooDeep, "Make it flatter")
  if (--budget.left < 0) return refuse(`there are more than ${maxNodes} values`, "Keep data in a file of its own")
  if (library.isScalar(node)) {
    const { value } = node
    if (typeof value === "string" && !value.isWellFormed()) {
      return refuse("it contains a lone surrogate", "Remove the escape")
    }
    if (value === null || value === undefined) return Result.succeed(null)
    if (typeof value === "string" || typeof value === "boolean") return Result.succeed(value)
    if (typeof value !== "number" || !Number.isFinite(value)) {
      return refuse("the value cannot be written in JSON", "Put it in quotes")
    }
    return Number.isInteger(value) && !Number.isSafeInteger(value)
      ? refuse("the number is too large to be exact", "Put it in quotes")
      : Result.succeed(value)
  }
  if (library.isSeq(node)) {
    const values: Array<Schema.Json> = []
    for (const item of node.items) {
      const value = convert(library, text, item, depth + 1, budget)
      if (Result.isFailure(value)) return value
      values.push(value.success)
    }
    return Result.succeed(values)
  }
  if (!library.isMap(node)) return refuse("the value cannot be read", "Write text, numbers, lists and named members")
  const entries = new Map<string, Schema.Json>()
  for (const pair of node.items) {
    const key = readKey(library, text, pair.key, offset)
    if (Result.isFailure(key)) return Result.fail(key.failure)
    if (key.success.name === "__proto__" || entries.has(key.success.name)) {
      return Result.fail(
        problemAt(
          text,
          key.success.offset,
          `the key ${JSON.stringify(cut(key.success.name, 80))} is duplicated or not allowed`,
          "Keep one of them"
        )
      )
    }
    const value = convert(library, text, pair.value, depth + 1, budget)
    if (Result.isFailure(value)) return value
    entries.set(key.success.name, value.success)
  }
  return Result.succeed(Object.fromEntries(entries))
}

const readKey = (
  library: Yaml,
  text: string,
  key: unknown,
  near: number
): Read<{ readonly name: string; readonly offset: number }> =>
  library.isScalar(key) && typeof key.value === "string"
    ? Result.succeed({ name: key.value, offset: key.range?.[0] ?? near })
    : Result.fail(
      problemAt(
        text,
        library.isNode(key) ? key.range?.[0] ?? near : near,
        "the key is not text",
        "Put the key in quotes"
      )
    )

const compose = (library: Yaml, text: string): Read<Metadata> => {
  const wrong = checkTokens(library, text)
  if (wrong !== undefined) return Result.fail(wrong)
  const document = library.parseDocument(text, {
    version: "1.2",
    schema: "core",
    merge: false,
    uniqueKeys: false,
    prettyErrors: false,
    logLevel: "error"
  })
  const error = document.errors[0]
  if (error !== undefined) {
    const hint = composerHints[error.code] ?? "Write YAML: name: value, one per line"
    return Result.fail(problemAt(text, error.pos[0], `this is not YAML (${cut(error.message, 120)})`, hint))
  }
  const root = document.contents
  if (root === null) return Result.succeed(new Map())
  if (!library.isMap(root)) {
    return Result.fail(problemAt(text, root.range[0], "there are no named fields", "Write name: value, one per line"))
  }
  return Result.map(convert(library, text, root, 0, { left: maxNodes }), (value) => {
    const fields = new Map<string, Field>()
    const places = new Map(
      root.items.flatMap((pair) =>
        library.isScalar(pair.key)
          ? [[String(pair.key.value), positionAt(text, pair.key.range?.[0] ?? 0)] as const]
          : []
      )
    )
    for (const [name, member] of Object.entries(value as Schema.JsonObject)) {
      fields.set(name, { value: member, spelling: name, ...(places.get(name) ?? { line: 0, column: 0 }) })
    }
    return fields
  })
}

/** The top-level fields of a YAML text. `line` and `column`: 0-based position in the file of its first character. */
export const readYaml = (text: string, line = 0, column = 0): Effect.Effect<Read<Metadata>> =>
  Effect.map(yamlLibrary, (loaded) => {
    const read = compose(loaded, text)
    if (line === 0 && column === 0) return read
    const move = <A extends { readonly line: number; readonly column: number }>(at: A): A => ({
      ...at,
      line: at.line === 0 ? 0 : at.line + line,
      column: at.line === 0 ? 0 : at.column + column
    })
    return Result.mapBoth(read, {
      onFailure: move,
      onSuccess: (fields): Metadata => new Map(Array.from(fields, ([name, field]) => [name, move(field)]))
    })
  })

export interface BashScript {
  readonly metadata: Metadata
  readonly description: string
}

const bashExample = `Write under the #! line:
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime`

const isBlockLine = (line: string): boolean => line.startsWith("#  ") || /^#[ \t]*$/.test(line)

/** Text of comments, without lines that are for other programs. */
const plainComments = (lines: ReadonlyArray<string>): string =>
  lines.filter((line) => !/^#[ \t]*(?:shellcheck\s|vim?:|-\*-)/.test(line))
    .map((line) => line.replace(/^#+[ \t]?/, "")).join("\n")

/**
 * Finds the block's first line, its YAML, and the description: the comments above the block or, without any, those
 * below it.
 */
const findBlock = (
  text: string
): Result.Result<{ readonly line: number; readonly yaml: string; readonly before: string }, Problem> => {
  if (!text.startsWith("#!")) {
    return Result.fail(
      problemAt(text, 0, "the script does not start with #!", "Write #!/usr/bin/env bash on the first line")
    )
  }
  const lines = text.split("\n")
  let end = 1
  while (end < lines.length && (lines[end]!.startsWith("#") || lines[end]!.trim() === "")) end++
  const head = lines.slice(0, end)
  const start = head.findIndex((line) => line.trimEnd() === "# kiwi:")
  if (start === -1) {
    return Result.fail(problem("the script has no `# kiwi:` block in its leading comments", bashExample))
  }
  const rest = head.slice(start + 1)
  const second = rest.findIndex((line) => line.trimEnd() === "# kiwi:")
  if (second !== -1) {
    return Result.fail({
      ...problem("there is a second `# kiwi:` block", "Keep one of them"),
      line: start + second + 2,
      column: 1
    })
  }
  const length = rest.findIndex((line) => !isBlockLine(line))
  const block = length === -1 ? rest : rest.slice(0, length)
  const said = [head.slice(1, start), length === -1 ? [] : rest.slice(length)].map(plainComments)
  const before = said.find((one) => one.trim() !== "") ?? ""
  return Result.succeed({ line: start + 1, yaml: block.map((line) => line.slice(1)).join("\n"), before })
}

/**
 * A `# kiwi:` line in the leading comments, followed by YAML, each line after `#` and at least two blanks. The block
 * ends at the first line in another form.
 */
export const readBash = Effect.fnUntraced(function*(text: string) {
  const block = findBlock(text)
  if (Result.isFailure(block)) return Result.fail(block.failure)
  const { before, line, yaml } = block.success
  return Result.map(
    yield* readYaml(yaml, line, 1),
    (metadata): BashScript => ({ metadata, description: firstParagraph(before) })
  )
})

/** YAML between two lines that are exactly `---`, then text. A `---` inside a value does not end it. */
export const readFrontMatter = Effect.fnUntraced(function*(text: string) {
  if (!text.startsWith("---\n")) {
    return Result.fail(problemAt(text, 0, "the file does not start with a line `---`", frontMatterExample))
  }
  const end = text.startsWith("---\n", 4) ? 4 : text.indexOf("\n---\n", 3) + 1
  const atEnd = end === 0 && text.endsWith("\n---")
  if (end === 0 && !atEnd) {
    return Result.fail(problemAt(text, 0, "the front matter has no end", "Close it with a line that is exactly ---"))
  }
  const yaml = atEnd ? text.slice(4, -3) : text.slice(4, end)
  const body = atEnd ? "" : text.slice(end + 4)
  return Result.map(yield* readYaml(yaml, 1), (metadata): FrontMatter => ({ metadata, body }))
})
