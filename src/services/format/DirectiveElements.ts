// Checks a directive's XML elements and makes a directive of them. Elements that Kiwi does not interpret are kept as
// they are.
import { Result } from "effect"
import type { Schema } from "effect"
import { readPermissions } from "../capability/permissions/readPermissions.ts"
import type { Directive, DirectiveInput, DirectiveStep, ItemSnapshot, XmlElement } from "../item/Item.ts"
import { isJsonObject } from "../schema/json.ts"
import type { DirectiveText } from "./DirectiveText.ts"
import { cut, firstParagraph, isVersion, parseJson, problemAt } from "./Metadata.ts"
import type { Problem } from "./Metadata.ts"
import { typeNames } from "./parametersSchema.ts"

/** An element and its position in the file. */
export interface PlacedElement {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly children: ReadonlyArray<PlacedElement>
  /** Its own text and the text of all elements below it, trimmed. */
  readonly text: string
  readonly fullText: string
  readonly offset: number
}

type Read<A> = Result.Result<A, Problem>

/** Elements that the root may have at most once. */
const parts = ["metadata", "context", "inputs", "process", "outputs"] as const

const inputName = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/
const word = /^[a-z][a-z0-9_-]{0,63}$/
const hookParts: ReadonlySet<string> = new Set(["when", "directive"])

const plain = (element: PlacedElement): XmlElement => ({
  tag: element.tag,
  attributes: element.attributes,
  text: element.text,
  children: element.children.map(plain)
})

const named = (element: PlacedElement | undefined, tag: string): ReadonlyArray<PlacedElement> =>
  element === undefined ? [] : element.children.filter((child) => child.tag === tag)

const attribute = (element: PlacedElement, name: string): string | undefined =>
  Object.hasOwn(element.attributes, name) ? element.attributes[name] : undefined

const textOf = (element: PlacedElement | undefined, tag: string): string => named(element, tag)[0]?.fullText ?? ""

/** Reads the parts of one directive. `text`: the file's, for positions. */
const makeReader = (text: string, isSystem: boolean) => {
  const refuse = (element: PlacedElement, issue: string, hint: string): Read<never> =>
    Result.fail(problemAt(text, element.offset, issue, hint))

  const flag = (element: PlacedElement, name: string): Read<boolean> => {
    const value = attribute(element, name)
    if (value === undefined || value === "false") return Result.succeed(false)
    return value === "true"
      ? Result.succeed(true)
      : refuse(element, `${name} is neither "true" nor "false"`, `Write ${name}="true" or leave it out`)
  }

  const defaultOf = (element: PlacedElement, type: DirectiveInput["type"]): Read<Schema.Json | undefined> => {
    const value = attribute(element, "default")
    if (value === undefined || type === "string") return Result.succeed(value)
    const read = Result.getOrUndefined(parseJson(value))
    const fits = type === "array"
      ? Array.isArray(read)
      : type === "object"
      ? isJsonObject(read)
      : type === "boolean"
      ? typeof read === "boolean"
      : typeof read === "number" && (type === "number" || Number.isSafeInteger(read))
    return fits
      ? Result.succeed(read)
      : refuse(element, `the default is not a value of the type ${type}`, "Write it as JSON")
  }

  const input = (element: PlacedElement): Read<DirectiveInput> =>
    Result.gen(function*() {
      const name = attribute(element, "name")
      if (name === undefined || !inputName.test(name)) {
        return yield* refuse(
          element,
          "the input has no usable name",
          `Write <input name="branch" type="string" required="true">…`
        )
      }
      const type = typeNames.get(attribute(element, "type") ?? "string")
      if (type === undefined) {
        return yield* refuse(
          element,
          "the input's type is unknown",
          "Types are string, number, integer, boolean, array and object"
        )
      }
      const fallback = yield* defaultOf(element, type as DirectiveInput["type"])
      const required = yield* flag(element, "required")
      return {
        name,
        type: type as DirectiveInput["type"],
        required: required && fallback === undefined,
        ...(fallback === undefined ? {} : { default: fallback }),
        description: element.fullText === "" ? attribute(element, "description") ?? "" : element.fullText
      }
    })

  const inputs = (element: PlacedElement | undefined): Read<ReadonlyArray<DirectiveInput>> =>
    Result.gen(function*() {
      const found = new Map<string, DirectiveInput>()
      for (const child of element?.children ?? []) {
        if (child.tag === "schema") continue
        if (child.tag !== "input") {
          return yield* refuse(child, `<${child.tag}> is not allowed in <inputs>`, "Write <input> elements")
        }
        const one = yield* input(child)
        if (found.has(one.name)) {
          return yield* refuse(child, `the input "${one.name}" is duplicated`, "Rename one of them")
        }
        found.set(one.name, one)
      }
      return Array.from(found.values())
    })

  const inputSchema = (element: PlacedElement | undefined): Read<Schema.JsonObject | undefined> => {
    if (element === undefined) return Result.succeed(undefined)
    const child = named(element, "schema")[0]
    const source = child === undefined ? attribute(element, "schema") : child.fullText
    if (source === undefined) return Result.succeed(undefined)
    const read = parseJson(source)
    if (Result.isFailure(read)) {
      return refuse(child ?? element, `the schema cannot be read: ${read.failure}`, "Write a JSON Schema")
    }
    return isJsonObject(read.success) && (read.success.type === undefined || read.success.type === "object")
      ? Result.succeed({ type: "object", ...read.success })
      : refuse(
        child ?? element,
        "the schema is not an object schema",
        `Write {"type": "object", "properties": …}`
      )
  }

  const permissions = (metadata: PlacedElement): Read<Pick<Directive, "permissions" | "request">> =>
    Result.gen(function*() {
      const element = named(metadata, "permissions")[0]
      const hint =
        `Name what the directive may do: <permissions><read resource="filesystem" path="src/**"/></permissions>`
      if (element === undefined) return yield* refuse(metadata, "the directive has no <permissions>", hint)
      if (element.children.length === 0) return yield* refuse(element, "<permissions> names no permission", hint)
      const bare = element.children.find(({ attributes, children }) =>
        Object.keys(attributes).length === 0 && children.length === 0
      )
      if (bare !== undefined) return yield* refuse(bare, `<${bare.tag}> says neither what nor where`, hint)
      const request = readPermissions(element.children, isSystem)
      if (Result.isFailure(request)) {
        const { failure } = request
        return yield* refuse(failure.element, failure.issue, failure.hint)
      }
      return { permissions: element.children.map(plain), request: request.success }
    })

  const limits = (metadata: PlacedElement): Read<Readonly<Record<string, string>>> =>
    Result.gen(function*() {
      const cost = named(metadata, "cost")[0]
      if (cost !== undefined) {
        const hint = "Write <limits><turns>10</turns><spend currency=\"USD\">0.50</spend></limits>"
        return yield* refuse(cost, "<cost> is not read; <limits> has taken its place", hint)
      }
      const element = named(metadata, "limits")[0]
      const found = new Map<string, string>()
      if (element === undefined) return {}
      const add = (name: string, value: string): Read<void> => {
        const isCurrency = name === "currency" || name.endsWith("_currency")
        const fits = isCurrency
          ? /^[A-Z]{3}$/.test(value)
          : name === "spend"
          ? /^\d{1,9}(?:\.\d{1,6})?$/.test(value)
          : !["turns", "tokens", "spawns", "duration"].includes(name) || /^\d{1,12}$/.test(value)
        if (!fits) {
          return refuse(element, `the limit ${name} is not a number: ${cut(value, 40)}`, `Write <${name}>10</${name}>`)
        }
        found.set(name === "currency" ? "spend_currency" : name, value)
        return Result.void
      }
      for (const [name, value] of Object.entries(element.attributes)) {
        yield* add(name, value)
      }
      for (const child of element.children) {
        yield* add(child.tag, child.text)
        for (const [name, value] of Object.entries(child.attributes)) yield* add(`${child.tag}_${name}`, value)
      }
      return Object.fromEntries(found)
    })

  const model = (metadata: PlacedElement): Read<Directive["model"]> =>
    Result.gen(function*() {
      const element = named(metadata, "model")[0] ?? named(metadata, "model_class")[0]
      if (element === undefined) return undefined
      const tier = attribute(element, "tier")
      if (tier === undefined || !word.test(tier)) {
        const hint = "Write tier: fast, balanced, general, reasoning, expert or orchestrator"
        return yield* refuse(element, `<${element.tag}> has no usable tier`, hint)
      }
      yield* flag(element, "parallel")
      for (const name of ["fallback", "fallback_id", "id", "model_id"]) {
        if (attribute(element, name)?.trim() === "") {
          return yield* refuse(element, `${name} is empty`, `Name a model, or leave ${name} out`)
        }
      }
      return element.fullText === "" ? element.attributes : { ...element.attributes, context: element.fullText }
    })

  const hooks = (metadata: PlacedElement): Read<ReadonlyArray<XmlElement>> =>
    Result.gen(function*() {
      const found: Array<XmlElement> = []
      for (const child of named(metadata, "hooks")[0]?.children ?? []) {
        if (child.tag !== "hook") {
          return yield* refuse(child, `<${child.tag}> is not allowed in <hooks>`, "Write <hook> elements")
        }
        for (const part of hookParts) {
          if (textOf(child, part) === "") {
            const hint = "Write <hook><when>event.name == \"error\"</when><directive>id</directive></hook>"
            return yield* refuse(child, `the hook has no <${part}>`, hint)
          }
        }
        found.push(plain(child))
      }
      return found
    })

  const steps = (procedure: PlacedElement): Read<ReadonlyArray<DirectiveStep>> =>
    Result.gen(function*() {
      const found = new Map<string, DirectiveStep>()
      for (const element of named(procedure, "step")) {
        const name = attribute(element, "name") ?? `step_${found.size + 1}`
        if (found.has(name)) {
          return yield* refuse(element, `the step "${cut(name, 60)}" is duplicated`, "Rename one of them")
        }
        const action = textOf(element, "action") || textOf(element, "instruction")
        found.set(name, {
          name,
          description: textOf(element, "description") || (attribute(element, "description") ?? ""),
          action: action || (element.children.length === 0 ? element.text : "")
        })
      }
      if (found.size > 0) {
        return Array.from(found.values())
      }
      return procedure.fullText === ""
        ? yield* refuse(procedure, "<process> is empty", `Write <step name="first"><action>…</action></step>`)
        : [{ name: "process", description: "", action: procedure.fullText }]
    })

  return { refuse, inputs, inputSchema, permissions, limits, model, hooks, steps }
}

const templatesOf = (root: PlacedElement): Readonly<Record<string, string>> => {
  const found = new Map<string, string>()
  const visit = (element: PlacedElement): void => {
    if (element.tag === "template" || element.tag === "example") {
      const name = attribute(element, "name") ?? element.tag
      let key = name
      for (let n = 2; found.has(key); n++) key = `${name}_${n}`
      found.set(key, element.text)
      return
    }
    for (const child of element.children) visit(child)
  }
  visit(root)
  return Object.fromEntries(found)
}

const headingOf = (body: string): string => {
  const line = body.split("\n").find((l) => l.startsWith("# "))
  return line === undefined ? "" : cut(line.slice(2))
}

export const toDirective = (
  snapshot: ItemSnapshot,
  text: string,
  { body }: DirectiveText,
  root: PlacedElement
): Read<Directive> =>
  Result.gen(function*() {
    const read = makeReader(text, snapshot.location.tier === "system")
    const { category, id } = snapshot.location
    if (attribute(root, "name") !== id) {
      return yield* read.refuse(
        root,
        `the directive's name is not the file's, "${id}"`,
        `Write <directive name="${id}" version="1.0.0">`
      )
    }
    const version = attribute(root, "version")
    if (version !== undefined && !isVersion(version)) {
      return yield* read.refuse(root, "the version is not a semantic version", `Write version="1.0.0"`)
    }
    for (const part of parts) {
      const second = named(root, part)[1]
      if (second !== undefined) return yield* read.refuse(second, `there is a second <${part}>`, "Keep one of them")
    }
    const metadata = named(root, "metadata")[0]
    const procedure = named(root, "process")[0]
    if (metadata === undefined) {
      return yield* read.refuse(
        root,
        "the directive has no <metadata>",
        "Write <metadata> with <description> and <permissions>"
      )
    }
    if (procedure === undefined) {
      return yield* read.refuse(root, "the directive has no <process>", "Write <process> with its steps")
    }
    const declared = named(metadata, "category")[0]
    if (declared !== undefined && declared.text !== category) {
      const place = category === "" ? "the type's own folder" : `the folder "${category}"`
      return yield* read.refuse(
        declared,
        `the declared category does not match the file's place, ${place}`,
        `Write <category>${category}</category>, or move the file`
      )
    }
    const tags = named(metadata, "tags")[0]
    return {
      _tag: "directive",
      location: snapshot.location,
      digest: snapshot.digest,
      version: version ?? "0.0.0",
      title: headingOf(body),
      description: firstParagraph(textOf(metadata, "description")),
      tags: tags === undefined ? [] : tags.fullText.split(/[\s,]+/).filter((tag) => tag !== ""),
      overridable: textOf(metadata, "overridable") === "true",
      author: textOf(metadata, "author"),
      model: yield* read.model(metadata),
      ...yield* read.permissions(metadata),
      limits: yield* read.limits(metadata),
      hooks: yield* read.hooks(metadata),
      inputs: yield* read.inputs(named(root, "inputs")[0]),
      inputSchema: yield* read.inputSchema(named(root, "inputs")[0]),
      steps: yield* read.steps(procedure),
      templates: templatesOf(root),
      outputs: (named(root, "outputs")[0]?.children ?? []).map(plain),
      xml: plain(root),
      body
    } satisfies Directive
  })
