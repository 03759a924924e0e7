// Reads the metadata of a JavaScript or TypeScript file from its syntax tree: module-level `const`s with literal
// values, exported or not. Nothing is run.
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

const parsers = Effect.promise(() => import("@lezer/javascript")).pipe(
  Effect.map((m) => ({
    plain: m.parser.configure({ strict: true }),
    typed: m.parser.configure({ strict: true, dialect: "ts" })
  }))
)

export interface JavascriptModule {
  readonly metadata: Metadata
  readonly description: string
}

const comments: ReadonlySet<string> = new Set(["LineComment", "BlockComment"])

const children = function*(node: SyntaxNode): Generator<SyntaxNode> {
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (!comments.has(child.name)) yield child
  }
}

const escapes: Readonly<Record<string, string>> = {
  "\n": "",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  0: "\0"
}

const escape = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([\s\S]))/g

const readString = (source: string): Result.Result<string, string> => {
  const quote = source[0]
  if (source.length < 2 || !source.endsWith(quote!)) return Result.fail("the string is not closed")
  let wrong: string | undefined
  const value = source.slice(1, -1).replace(
    escape,
    (whole, hex?: string, short?: string, long?: string, one?: string) => {
      const digits = hex ?? short ?? long
      if (digits !== undefined) {
        const point = Number.parseInt(digits, 16)
        if (point <= 0x10ffff) return String.fromCodePoint(point)
        wrong = `${whole} is not a character`
        return ""
      }
      if (one === "x" || one === "u" || /[1-9]/.test(one!)) {
        wrong = `the escape \\${one} is not complete or not supported`
      }
      return Object.hasOwn(escapes, one!) ? escapes[one!]! : one!
    }
  )
  if (wrong !== undefined) return Result.fail(wrong)
  return value.isWellFormed() ? Result.succeed(value) : Result.fail("it contains a lone surrogate")
}

const number =
  /^(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)$/

const readNumber = (source: string): Result.Result<number, string> => {
  const plain = source.replaceAll("_", "")
  const value = number.test(plain) ? Number(plain) : Number.NaN
  if (!Number.isFinite(value)) return Result.fail("the number cannot be used in JSON")
  return Number.isInteger(value) && !Number.isSafeInteger(value)
    ? Result.fail("the number is too large to be exact; write it as text")
    : Result.succeed(value)
}

const literalHint = "Only literals are metadata: text, numbers, true, false, null, arrays and objects of them"

const makeLiterals = (text: string) => {
  let nodes = 0
  const source = (node: SyntaxNode): string => text.slice(node.from, node.to)
  const refuse = (node: SyntaxNode, issue: string): Read<never> =>
    Result.fail(problemAt(text, node.from, issue, literalHint))
  const named = <A>(node: SyntaxNode, read: Result.Result<A, string>): Read<A> =>
    Result.mapError(read, (issue) => problemAt(text, node.from, issue, literalHint))

  const array = (node: SyntaxNode, depth: number): Read<Schema.Json> =>
    Result.gen(function*() {
      const values: Array<Schema.Json> = []
      let separated = true
      for (const child of children(node)) {
        if (child.name === "[" || child.name === "]") continue
        if (child.name === ",") {
          if (separated) return yield* refuse(child, "the array has a hole")
          separated = true
          continue
        }
        values.push(yield* read(child, depth + 1))
        separated = false
      }
      return values
    })

  const property = (node: SyntaxNode, depth: number): Read<readonly [string, Schema.Json]> => {
    const [name, colon, value, rest] = Array.from(children(node))
    if (name === undefined || colon?.name !== ":" || value === undefined || rest !== undefined) {
      return refuse(node, "the member is not written as name: value")
    }
    const key = name.name === "PropertyDefinition"
      ? Result.succeed(source(name))
      : name.name === "String"
      ? named(name, readString(source(name)))
      : refuse(name, "a key is not a name or text")
    return Result.flatMap(key, (k) => Result.map(read(value, depth + 1), (v) => [k, v] as const))
  }

  const object = (node: SyntaxNode, depth: number): Read<Schema.Json> =>
    Result.gen(function*() {
      const entries = new Map<string, Schema.Json>()
      for (const child of children(node)) {
        if (child.name === "{" || child.name === "}" || child.name === ",") continue
        if (child.name !== "Property") return yield* refuse(child, "the member is not written as name: value")
        const [key, value] = yield* property(child, depth)
        if (key === "__proto__" || entries.has(key)) {
          return yield* refuse(child, `the key ${JSON.stringify(key)} is duplicated or not allowed`)
        }
        entries.set(key, value)
      }
      return Object.fromEntries(entries)
    })

  const read = (node: SyntaxNode, depth: number): Read<Schema.Json> => {
    if (depth > maxDepth) return refuse(node, `the value is nested more than ${maxDepth} levels deep`)
    if (++nodes > maxNodes) return refuse(node, `the metadata has more than ${maxNodes} values`)
    switch (node.name) {
      case "String":
        return named(node, readString(source(node)))
      case "TemplateString":
        return node.firstChild === null || Array.from(children(node)).every((c) => c.name === "Escape")
          ? named(node, readString(source(node)))
          : refuse(node, "the template is computed when the file runs")
      case "Number":
        return named(node, readNumber(source(node)))
      case "BooleanLiteral":
        return Result.succeed(source(node) === "true")
      case "null":
        return Result.succeed(null)
      case "ArrayExpression":
        return array(node, depth)
      case "ObjectExpression":
        return object(node, depth)
      case "ParenthesizedExpression": {
        const inner = Array.from(children(node)).filter((c) => c.name !== "(" && c.name !== ")")
        if (inner.length === 1) return read(inner[0]!, depth + 1)
        break
      }
      case "UnaryExpression": {
        const [operator, operand, rest] = Array.from(children(node))
        const sign = operator === undefined ? "" : source(operator)
        if (operand?.name !== "Number" || rest !== undefined || (sign !== "-" && sign !== "+")) break
        return Result.map(read(operand, depth + 1), (value) => sign === "-" ? -(value as number) : value)
      }
      case "BinaryExpression": {
        // TypeScript's `as const` and `satisfies T` do not change the value.
        const [value, operator] = Array.from(children(node))
        if (value !== undefined && (operator?.name === "as" || operator?.name === "satisfies")) {
          return read(value, depth + 1)
        }
        break
      }
    }
    return refuse(node, node.type.isError ? "the value is not complete" : "the value is computed when the file runs")
  }
  return (node: SyntaxNode): Read<Schema.Json> => read(node, 0)
}

const declarations = function*(tree: Tree): Generator<SyntaxNode> {
  for (const node of children(tree.topNode)) {
    if (node.name === "VariableDeclaration") yield node
    if (node.name === "ExportDeclaration") {
      for (const child of children(node)) if (child.name === "VariableDeclaration") yield child
    }
  }
}

/**
 * The comment block at the start of the file, without its stars, up to the first tag. If there is none, the line
 * comments.
 */
const readDescription = (tree: Tree, text: string): string => {
  const said: Array<string> = []
  let end: number | undefined
  for (let node = tree.topNode.firstChild; node !== null; node = node.nextSibling) {
    if (node.name === "Hashbang") continue
    if (node.name === "LineComment") {
      if (end !== undefined && /\n[ \t\r]*\n/.test(text.slice(end, node.from))) said.push("")
      said.push(text.slice(node.from, node.to).replace(/^\/{2,3}/, ""))
      end = node.to
      continue
    }
    if (node.name !== "BlockComment") break
    const lines = text.slice(node.from + 2, node.to - 2).split("\n").map((line) =>
      line.replace(/^[ \t]{0,40}\*{0,2}[ \t]?/, "")
    )
    const tag = lines.findIndex((line) => line.startsWith("@"))
    return firstParagraph(lines.slice(0, tag === -1 ? lines.length : tag).join("\n"))
  }
  return firstParagraph(said.join("\n"))
}

const readModule = ({ tree }: Program, text: string): Read<JavascriptModule> =>
  Result.gen(function*() {
    const literal = makeLiterals(text)
    const metadata = new Map<string, Field>()
    for (const declaration of declarations(tree)) {
      const parts = Array.from(children(declaration)).filter((part) => part.name !== "TypeAnnotation")
      for (const [index, part] of parts.entries()) {
        const spelling = text.slice(part.from, part.to)
        const key = part.name === "VariableDefinition" ? metadataNames.get(spelling) : undefined
        if (key === undefined) continue
        const value = parts[index + 1]?.name === "Equals" ? parts[index + 2] : undefined
        if (parts[0]?.name !== "const" || value === undefined) {
          const hint = `Write export const ${spelling} = …`
          return yield* Result.fail(problemAt(text, part.from, `${spelling} is not a constant with a value`, hint))
        }
        if (metadata.has(key)) {
          return yield* Result.fail(
            problemAt(text, part.from, `${spelling} is declared more than once`, "Keep one of the declarations")
          )
        }
        metadata.set(key, { value: yield* literal(value), spelling, ...positionAt(text, part.from) })
      }
    }
    return { metadata, description: readDescription(tree, text) }
  })

export const parseJavascript = (text: string, typed: boolean) =>
  Effect.flatMap(parsers, (strict) => parseProgram(typed ? strict.typed : strict.plain, text))

export const readJavascript = Effect.fnUntraced(function*(
  text: string,
  typed: boolean
): Effect.fn.Return<Read<JavascriptModule>> {
  return Result.flatMap(yield* parseJavascript(text, typed), (program) => readModule(program, text))
})
