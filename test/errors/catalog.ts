// Every error class of the sources, found by their syntax trees, so that none is left out of docs/errors.md. A class
// that a caller can see is a Schema.TaggedError (or Schema.Error); what never leaves a module is a Data.TaggedError.
import { globSync, readFileSync } from "node:fs"
import { type ESTree, parseSync, Visitor } from "rolldown/utils"
import { codeOf } from "../../src/services/error/KiwiError.ts"

export interface ErrorField {
  readonly name: string
  /** As the source says it: `Schema.Array(Schema.String)`. */
  readonly schema: string
  /** Its comment, on one line; "" without one. */
  readonly doc: string
}

export interface ErrorClass {
  readonly name: string
  readonly code: string
  readonly path: string
  /** The class's comment, on one line; "" without one. */
  readonly doc: string
  readonly fields: ReadonlyArray<ErrorField>
  /** Whether it defines `retryable`, and what it answers without looking at anything. */
  readonly retryable: "always" | "sometimes" | "never"
  /** What it says of an item that fails so: "denied", "missing_command". */
  readonly state: string | undefined
  /** Whether a rule or trust refuses. */
  readonly refuses: boolean
  /** `Schema.Error`: it is about another error, whose code it takes over. */
  readonly wraps: boolean
}

const root = new URL("../../", import.meta.url)

/** `TaggedError` of `Schema.TaggedError`. */
const ofSchema = (node: ESTree.Node): string | undefined =>
  node.type === "MemberExpression" && !node.computed && node.object.type === "Identifier" &&
    node.object.name === "Schema" && node.property.type === "Identifier"
    ? node.property.name
    : undefined

/** `Schema.TaggedError<X>()("X", { … })` and `Schema.Error<X>("…")({ … })`. */
const declaration = (node: ESTree.Node | null) => {
  if (node?.type !== "CallExpression" || node.callee.type !== "CallExpression") return undefined
  const kind = ofSchema(node.callee.callee)
  return kind === "TaggedError" || kind === "Error" ? { kind, args: node.arguments } : undefined
}

/** The text of a comment that ends where a node begins. */
const docBefore = (source: string, start: number): string => {
  const before = source.slice(0, start).replace(/\s*(?:export\s+)?$/, "")
  const from = before.endsWith("*/") ? before.lastIndexOf("/**") : -1
  return from === -1
    ? ""
    : before.slice(from + 3, -2).split("\n").map((line) => line.replace(/^\s*\*?\s?/, "").trim()).join(" ").trim()
}

const nameOf = (key: ESTree.Node): string =>
  key.type === "Identifier" ? key.name : key.type === "Literal" ? String(key.value) : ""

/** What a getter answers without looking at anything. */
const literalOf = (member: ESTree.ClassElement): unknown => {
  const only = member.type === "MethodDefinition" && member.value.body?.body.length === 1 && member.value.body.body[0]
  if (!only || only.type !== "ReturnStatement" || only.argument === null) return undefined
  const value = only.argument.type === "TSAsExpression" ? only.argument.expression : only.argument
  return value.type === "Literal" ? value.value : undefined
}

export const errorClassesOf = (path: string, source: string): ReadonlyArray<ErrorClass> => {
  const { errors, program } = parseSync(path, source, { lang: "ts" })
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
  const found: Array<ErrorClass> = []
  new Visitor({
    ClassDeclaration: (node) => {
      const declared = declaration(node.superClass)
      const object = declared?.args.find((argument) => argument.type === "ObjectExpression")
      if (node.id === null || declared === undefined || object?.type !== "ObjectExpression") return
      const fields = object.properties.flatMap((property) =>
        property.type === "Property" && nameOf(property.key) !== "_tag"
          ? [{
            name: nameOf(property.key),
            schema: source.slice(property.value.start, property.value.end),
            doc: docBefore(source, property.start)
          }]
          : []
      )
      const getter = (name: string) =>
        node.body.body.find((member) => member.type === "MethodDefinition" && nameOf(member.key) === name)
      const retryable = getter("retryable")
      const state = getter("refusal") ?? getter("itemState")
      found.push({
        name: node.id.name,
        code: codeOf({ _tag: node.id.name }),
        path,
        doc: docBefore(source, node.start),
        fields,
        retryable: retryable === undefined ? "never" : literalOf(retryable) === true ? "always" : "sometimes",
        state: state === undefined ? undefined : String(literalOf(state)),
        refuses: getter("refusal") !== undefined,
        wraps: declared.kind === "Error"
      })
    }
  }).visit(program)
  return found
}

/** Every string that is written out in a source. */
export const stringsOf = (path: string, source: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  new Visitor({
    Literal: ({ value }) => {
      if (typeof value === "string") found.push(value)
    }
  }).visit(parseSync(path, source, { lang: "ts" }).program)
  return found
}

/** In the order of their codes. */
export const errorClasses: ReadonlyArray<ErrorClass> = globSync("src/**/*.ts", { cwd: root.pathname })
  .flatMap((path) => errorClassesOf(path, readFileSync(new URL(path, root), "utf8")))
  .toSorted((a, b) => a.code < b.code ? -1 : 1)
