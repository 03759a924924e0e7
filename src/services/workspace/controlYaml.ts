// YAML of control files, which anybody may have written: no aliases, no tags, no merge keys, string keys, bounded depth
// and size. Every value keeps its line, since what is wrong with it is told to a person.
import { Effect, Result } from "effect"
import type { Node, Pair } from "yaml"
import { mergeConflict } from "../text/mergeConflict.ts"

export type YamlNode =
  | { readonly _tag: "Scalar"; readonly line: number; readonly value: string | number | boolean | null }
  | { readonly _tag: "List"; readonly line: number; readonly items: ReadonlyArray<YamlNode> }
  | { readonly _tag: "Map"; readonly line: number; readonly entries: ReadonlyMap<string, YamlEntry> }

export interface YamlEntry {
  readonly line: number
  readonly value: YamlNode
}

export interface YamlIssue {
  readonly _tag: "YamlIssue"
  readonly line: number
  readonly issue: string
}

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

const shortened = (message: string): string =>
  message.startsWith("Maximum call stack")
    ? tooDeep
    : message.split("\n", 1)[0]!.replace(/ at line \d+.*$/, "").replace(/:$/, "")

/** An empty file is an empty map. */
export const parseControlYaml = Effect.fnUntraced(function*(bytes: Uint8Array) {
  const yaml = yield* Effect.promise(() => import("yaml"))
  const counter = new yaml.LineCounter()
  const lineAt = (offset: number): number => Math.max(1, counter.linePos(offset).line)

  const build = (node: Node | null | undefined, depth: number): YamlNode => {
    if (depth > maxDepth) throw new Malformed(node?.range?.[0] ?? 0, tooDeep)
    const offset = node?.range?.[0] ?? 0
    const line = lineAt(offset)
    if (node === null || node === undefined) return { _tag: "Scalar", line, value: null }
    if (yaml.isAlias(node)) throw new Malformed(offset, "aliases are not allowed")
    if (node.tag !== undefined && !node.tag.startsWith("tag:yaml.org,2002:")) {
      throw new Malformed(offset, "tags are not allowed")
    }
    if (yaml.isSeq<Node | null>(node)) {
      return { _tag: "List", line, items: node.items.map((item) => build(item, depth + 1)) }
    }
    if (yaml.isMap<unknown, Node | null>(node)) {
      return { _tag: "Map", line, entries: new Map(node.items.map((pair) => entry(pair, offset, depth))) }
    }
    if (yaml.isScalar(node)) {
      const { value } = node
      if (value === null || typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
        return { _tag: "Scalar", line, value }
      }
    }
    throw new Malformed(offset, "only text, numbers, true, false, lists and maps are allowed")
  }

  const entry = (pair: Pair<unknown, Node | null>, outer: number, depth: number): [string, YamlEntry] => {
    const key = pair.key
    if (!yaml.isScalar(key) || typeof key.value !== "string") throw new Malformed(outer, "every key must be a word")
    return [key.value, { line: lineAt(key.range?.[0] ?? outer), value: build(pair.value, depth + 1) }]
  }

  const parse = (): YamlNode => {
    if (bytes.length > maxYamlBytes) throw new Malformed(0, `it is larger than ${maxYamlBytes} bytes`)
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    const document = yaml.parseDocument(text, { lineCounter: counter, merge: false, logLevel: "error" })
    const conflict = mergeConflict(text)
    if (conflict !== undefined) {
      throw new Malformed(text.search(/^\ufeff?<<<<<<< /m), `it holds a merge conflict, line ${conflict}`)
    }
    const problem = document.errors[0] ?? document.warnings[0]
    if (problem !== undefined) throw new Malformed(problem.pos[0], shortened(problem.message))
    return document.contents === null ? { _tag: "Map", line: 1, entries: new Map() } : build(document.contents, 0)
  }

  return yield* Effect.fromResult(Result.try({
    try: parse,
    catch: (error): YamlIssue => {
      if (error instanceof Malformed) return { _tag: "YamlIssue", line: lineAt(error.offset), issue: error.issue }
      const issue = error instanceof TypeError ? "it is not valid UTF-8" : tooDeep
      return { _tag: "YamlIssue", line: 1, issue }
    }
  }))
})
