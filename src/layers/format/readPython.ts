// Reads the metadata of a Python file from its syntax tree: module-level constants with literal values. Nothing is run.
// Syntax errors elsewhere in the file are left to the interpreter, but signing requires a file without any.
import type { SyntaxNode, Tree } from "@lezer/common"
import { Effect, Result } from "effect"
import type { Schema } from "effect"
import {
  firstParagraph,
  maxDepth,
  maxNodes,
  metadataNames,
  positionAt,
  problemAt
} from "../../services/format/Metadata.ts"
import type { Field, Metadata, Problem } from "../../services/format/Metadata.ts"
import { parseProgram } from "../../services/format/parseProgram.ts"
import type { Program } from "../../services/format/parseProgram.ts"

type Read<A> = Result.Result<A, Problem>

/**
 * A file without any of these is a legacy script: its constants are its own, except those that can only be metadata.
 */
const marks: ReadonlySet<string> = new Set(["tool_type", "executor_id", "executor"])

const parser = Effect.promise(() => import("@lezer/python")).pipe(
  Effect.map((m) => m.parser.configure({ strict: true }))
)

export interface PythonModule {
  readonly metadata: Metadata
  readonly legacy: boolean
  readonly description: string
  readonly tree: Tree
}

const children = function*(node: SyntaxNode): Generator<SyntaxNode> {
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.name !== "Comment") yield child
  }
}

const escapes: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  "\"": "\"",
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v"
}

const escape = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g
const opening = /^([A-Za-z]{0,2})("""|'''|"|')/

/** The value of one string literal, or what is wrong with it. */
const readString = (source: string): Result.Result<string, string> => {
  const match = opening.exec(source)
  if (match === null) return Result.fail("the string is not complete")
  const prefix = match[1]!.toLowerCase()
  const quote = match[2]!
  const start = match[0].length
  if (source.length < start + quote.length || !source.endsWith(quote)) return Result.fail("the string is not closed")
  if (prefix.includes("b")) return Result.fail("bytes are not text")
  const body = source.slice(start, -quote.length)
  if (prefix.includes("r")) return Result.succeed(body)
  let wrong: string | undefined
  const value = body.replace(
    escape,
    (whole, octal?: string, hex?: string, short?: string, long?: string, one?: string) => {
      const digits = hex ?? short ?? long
      if (digits !== undefined || octal !== undefined) {
        const point = digits === undefined ? Number.parseInt(octal!, 8) : Number.parseInt(digits, 16)
        if (point <= 0x10ffff) return String.fromCodePoint(point)
        wrong = `${whole} is not a character`
        return ""
      }
      const plain = Object.hasOwn(escapes, one!) ? escapes[one!] : undefined
      if (plain !== undefined) return plain
      if (one === "x" || one === "u" || one === "U" || one === "N") {
        wrong = `the escape \\${one} is not complete or not supported`
      }
      return whole
    }
  )
  if (wrong !== undefined) return Result.fail(wrong)
  return value.isWellFormed() ? Result.succeed(value) : Result.fail("it contains a lone surrogate")
}

const integer = /^(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|0+|[1-9][0-9]*)$/
const float = /^(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)$/

const readNumber = (source: string): Result.Result<number, string> => {
  const plain = source.replaceAll("_", "")
  const value = integer.test(plain) || float.test(plain) ? Number(plain) : Number.NaN
  if (!Number.isFinite(value)) return Result.fail("the number cannot be used in JSON")
  return integer.test(plain) && !Number.isSafeInteger(value)
    ? Result.fail("the number is too large to be exact; write it as text")
    : Result.succeed(value)
}

const literalHint =
  "Only literals are metadata: text, numbers, True, False, None, lists, tuples and dictionaries of them"

/** Evaluates the literals of one file. */
export const makeLiterals = (text: string) => {
  let nodes = 0
  const refuse = (node: SyntaxNode, issue: string): Read<never> =>
    Result.fail(problemAt(text, node.from, issue, literalHint))
  const named = (node: SyntaxNode, read: Result.Result<Schema.Json, string>): Read<Schema.Json> =>
    Result.mapError(read, (issue) => problemAt(text, node.from, issue, literalHint))

  const list = (node: SyntaxNode, depth: number): Read<ReadonlyArray<Schema.Json>> =>
    Result.gen(function*() {
      const values: Array<Schema.Json> = []
      for (const child of children(node)) {
        if (["(", ")", "[", "]", ","].includes(child.name)) continue
        values.push(yield* read(child, depth + 1))
      }
      return values
    })

  const dictionary = (node: SyntaxNode, depth: number): Read<Schema.JsonObject> =>
    Result.gen(function*() {
      const entries = new Map<string, Schema.Json>()
      let key: string | undefined
      let colon = false
      for (const child of children(node)) {
        if (child.name === "{" || child.name === "}" || child.name === ",") continue
        if (child.name === ":") {
          colon = true
          continue
        }
        if (child.name === "**") return yield* refuse(child, "** is not a literal")
        if (!colon) {
          const value = yield* read(child, depth + 1)
          if (typeof value !== "string") return yield* refuse(child, "a key is not text")
          if (value === "__proto__" || entries.has(value)) {
            return yield* refuse(child, `the key ${JSON.stringify(value)} is duplicated or not allowed`)
          }
          key = value
        } else {
          entries.set(key!, yield* read(child, depth + 1))
          colon = false
        }
      }
      return Object.fromEntries(entries)
    })

  const read = (node: SyntaxNode, depth: number): Read<Schema.Json> => {
    if (depth > maxDepth) return refuse(node, `the value is nested more than ${maxDepth} levels deep`)
    if (++nodes > maxNodes) return refuse(node, `the metadata has more than ${maxNodes} values`)
    switch (node.name) {
      case "String":
        return named(node, readString(text.slice(node.from, node.to)))
      case "ContinuedString":
        return Result.map(
          Result.all(Array.from(children(node), (child) => read(child, depth + 1))),
          (parts) => parts.join("")
        )
      case "Number":
        return named(node, readNumber(text.slice(node.from, node.to)))
      case "Boolean":
        return Result.succeed(text.slice(node.from, node.to) === "True")
      case "None":
        return Result.succeed(null)
      case "ArrayExpression":
      case "TupleExpression":
        return list(node, depth)
      case "DictionaryExpression":
        return dictionary(node, depth)
      case "ParenthesizedExpression":
        return Result.flatMap(
          list(node, depth),
          (values) => values.length === 1 ? Result.succeed(values[0]!) : refuse(node, "the value is not a literal")
        )
      case "UnaryExpression": {
        const [operator, operand, rest] = Array.from(children(node))
        const sign = operator === undefined ? "" : text.slice(operator.from, operator.to)
        if (operand?.name !== "Number" || rest !== undefined || (sign !== "-" && sign !== "+")) break
        return Result.map(read(operand, depth + 1), (value) => sign === "-" ? -(value as number) : value)
      }
      case "FormatString":
        return refuse(node, "an f-string is computed when the file runs")
    }
    if (node.type.isError) return refuse(node, "the value is not complete")
    return refuse(node, "the value is computed when the file runs")
  }
  return { read: (node: SyntaxNode): Read<Schema.Json> => read(node, 0) }
}

const statements = function*(tree: Tree): Generator<SyntaxNode> {
  for (const node of children(tree.topNode)) {
    if (node.name === "StatementGroup") yield* children(node)
    else yield node
  }
}

interface Assignment {
  readonly name: SyntaxNode
  /** Undefined if it is not `NAME = value`. */
  readonly value: SyntaxNode | undefined
}

/** Module-level assignments to metadata names. */
const assignments = function*(tree: Tree, text: string): Generator<Assignment> {
  for (const node of statements(tree)) {
    if (node.name !== "AssignStatement" && node.name !== "UpdateStatement") continue
    const parts = Array.from(children(node)).filter((part) => part.name !== "TypeDef")
    const [name, operator, value, rest] = parts
    const simple = node.name === "AssignStatement" && operator?.name === "AssignOp" && value !== undefined &&
      rest === undefined
    const last = parts.findLastIndex((part) => part.name === "AssignOp" || part.name === "UpdateOp")
    for (const part of parts.slice(0, last)) {
      if (part.name !== "VariableName" || !metadataNames.has(text.slice(part.from, part.to))) continue
      yield { name: part, value: simple && part === name ? value : undefined }
    }
  }
}

const readDescription = (tree: Tree, literals: ReturnType<typeof makeLiterals>): string => {
  for (const node of statements(tree)) {
    const child = node.name === "ExpressionStatement" ? node.firstChild : null
    if (child === null || (child.name !== "String" && child.name !== "ContinuedString")) return ""
    const value = Result.getOrUndefined(literals.read(child))
    return typeof value === "string" ? firstParagraph(value) : ""
  }
  return ""
}

/** `__requires__ = "yq==3.1.0"`, as setuptools writes it into console scripts: not Kiwi's metadata. */
const isSetuptools = (value: Schema.Json): boolean =>
  typeof value === "string" ||
  (Array.isArray(value) && value.some((one: Schema.Json) => typeof one === "string" && /[=<>~![]/.test(one)))

const readModule = ({ tree }: Program, text: string): Read<PythonModule> =>
  Result.gen(function*() {
    const literals = makeLiterals(text)
    const found = Array.from(assignments(tree, text), (a) => ({ ...a, spelling: text.slice(a.name.from, a.name.to) }))
    const legacy = !found.some((a) => marks.has(metadataNames.get(a.spelling)!))
    const metadata = new Map<string, Field>()
    for (const { name, spelling, value } of found) {
      const place = positionAt(text, name.from)
      const read = value === undefined
        ? Result.fail(
          problemAt(
            text,
            name.from,
            `${spelling} is not assigned on its own`,
            `Write ${spelling} = … once, at the start of a line`
          )
        )
        : literals.read(value)
      if (Result.isFailure(read)) {
        if (legacy && metadataNames.get(spelling) !== "dependencies") continue
        return yield* Result.fail(read.failure)
      }
      const key = metadataNames.get(spelling)!
      if (metadata.has(key) && !legacy) {
        return yield* Result.fail(
          problemAt(text, name.from, `${spelling} is assigned more than once`, "Keep one of the assignments")
        )
      }
      if (spelling === "__requires__" && isSetuptools(read.success)) continue
      metadata.set(key, { value: read.success, spelling, ...place })
    }
    return { metadata, legacy, description: readDescription(tree, literals), tree }
  })

export const parsePython = (text: string) => Effect.flatMap(parser, (strict) => parseProgram(strict, text))

export const readPython = Effect.fnUntraced(function*(text: string): Effect.fn.Return<Read<PythonModule>> {
  return Result.flatMap(yield* parsePython(text), (program) => readModule(program, text))
})
