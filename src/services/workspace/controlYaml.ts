// Parses the YAML of control files, which anybody may have written: no aliases, no tags, no merge keys, no duplicate
// keys, only string keys, bounded depth and size. Every value keeps its position for error messages.
import { Data, Effect, Result } from "effect"
import type { Node, Pair } from "yaml"
import { safeLine } from "../error/safeText.ts"
import { mergeConflict } from "../text/mergeConflict.ts"

/** A position in the text, both 1-based. Columns are UTF-16 units. */
export interface Position {
  readonly line: number
  readonly column: number
}

export type YamlNode =
  | Position & { readonly _tag: "Scalar"; readonly value: string | number | boolean | null }
  | Position & { readonly _tag: "List"; readonly items: ReadonlyArray<YamlNode> }
  | Position & { readonly _tag: "Map"; readonly entries: ReadonlyMap<string, YamlEntry> }

/** Its position is that of the key. */
export interface YamlEntry extends Position {
  readonly value: YamlNode
}

/** One issue of a control file. */
export interface ControlIssue extends Position {
  /** "signers[0].name"; "" for the file. Escape it when showing it: keys are the author's words. */
  readonly path: string
  /** The text after the path: "is missing". Does not quote any value of the file. */
  readonly issue: string
}

/** A control file cannot be used. The caller says which one, and what applies instead. */
export class ControlInvalid extends Data.TaggedError("ControlInvalid")<{
  /** In the order of the text, at least one. */
  readonly issues: readonly [ControlIssue, ...ReadonlyArray<ControlIssue>]
}> {
  override get message() {
    return this.issues.map((one) => `line ${one.line}, column ${one.column}: ${sentenceOf(one)}`).join("; ")
  }
}

/** "signers[0].name is missing". */
export const sentenceOf = ({ issue, path }: ControlIssue): string => path === "" ? issue : `${path} ${issue}`

export const maxControlBytes = 1_048_576
const maxYamlBytes = 131_072
const maxDepth = 64

class Malformed {
  readonly offset: number
  readonly issue: string
  constructor(offset: number, issue: string) {
    this.offset = offset
    this.issue = issue
  }
}

const tooDeep = "it is nested too deeply"

const start: Position = { line: 1, column: 1 }

const shortened = (message: string): string =>
  message.startsWith("Maximum call stack")
    ? tooDeep
    : message.split("\n", 1)[0]!.replace(/ at line \d+.*$/, "").replace(/:$/, "")

/** An empty file is an empty map. */
export const parseControlYaml = Effect.fnUntraced(function*(bytes: Uint8Array, maxBytes = maxYamlBytes) {
  const yaml = yield* Effect.promise(() => import("yaml"))
  const counter = new yaml.LineCounter()
  const positionOf = (offset: number): Position => {
    const { col, line } = counter.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  /** `outer`: the offset of the key or list, for a missing value. */
  const build = (node: Node | null | undefined, outer: number, depth: number): YamlNode => {
    const offset = node?.range?.[0] ?? outer
    if (depth > maxDepth) throw new Malformed(offset, tooDeep)
    const at = positionOf(offset)
    if (node === null || node === undefined) return { _tag: "Scalar", ...at, value: null }
    if (yaml.isAlias(node)) throw new Malformed(offset, "aliases are not allowed")
    if (node.tag !== undefined && !node.tag.startsWith("tag:yaml.org,2002:")) {
      throw new Malformed(offset, "tags are not allowed")
    }
    if (yaml.isSeq<Node | null>(node)) {
      return { _tag: "List", ...at, items: node.items.map((item) => build(item, offset, depth + 1)) }
    }
    if (yaml.isMap<unknown, Node | null>(node)) {
      const entries = new Map<string, YamlEntry>()
      for (const pair of node.items) addEntry(entries, pair, offset, depth)
      return { _tag: "Map", ...at, entries }
    }
    if (yaml.isScalar(node)) {
      const { value } = node
      if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
        return { _tag: "Scalar", ...at, value }
      }
    }
    throw new Malformed(offset, "only text, numbers, true, false, lists and maps are allowed")
  }

  const addEntry = (
    entries: Map<string, YamlEntry>,
    pair: Pair<unknown, Node | null>,
    outer: number,
    depth: number
  ) => {
    const { key, value } = pair
    if (!yaml.isScalar(key) || typeof key.value !== "string") throw new Malformed(outer, "every key must be a word")
    const offset = key.range?.[0] ?? outer
    const first = entries.get(key.value)
    if (first !== undefined) {
      const name = safeLine(JSON.stringify(key.value), 60)
      throw new Malformed(offset, `the key ${name} is given twice, first in line ${first.line}`)
    }
    entries.set(key.value, { ...positionOf(offset), value: build(value, offset, depth + 1) })
  }

  const parse = (): YamlNode => {
    if (bytes.length > maxBytes) throw new Malformed(0, `it is larger than ${maxBytes} bytes`)
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    const document = yaml.parseDocument(text, {
      lineCounter: counter,
      merge: false,
      uniqueKeys: false,
      logLevel: "error"
    })
    const conflict = mergeConflict(text)
    if (conflict !== undefined) {
      throw new Malformed(text.search(/^\ufeff?<<<<<<< /m), `it has a merge conflict in line ${conflict}`)
    }
    const problem = document.errors[0] ?? document.warnings[0]
    if (problem !== undefined) throw new Malformed(problem.pos[0], shortened(problem.message))
    return document.contents === null ? { _tag: "Map", ...start, entries: new Map() } : build(document.contents, 0, 0)
  }

  return yield* Effect.fromResult(Result.try({
    try: parse,
    catch: (error) => {
      const { issue, offset } = error instanceof Malformed
        ? error
        : { offset: 0, issue: error instanceof TypeError ? "it is not valid UTF-8" : tooDeep }
      return new ControlInvalid({ issues: [{ ...positionOf(offset), path: "", issue }] })
    }
  }))
})
