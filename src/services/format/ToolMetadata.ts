// Makes a tool from metadata, the same for every language. Unknown fields are kept for later readers. Known fields with
// invalid values are errors and never ignored.
import type { Schema } from "effect"
import { Option, Result } from "effect"
import { refusalOf } from "../capability/CapabilityModule.ts"
import type { ChildSchema, ItemSnapshot, Tool } from "../item/Item.ts"
import { parseItemRef } from "../item/ItemId.ts"
import { isRange } from "../item/VersionRange.ts"
import { isJsonObject, own } from "../schema/json.ts"
import { cut, fieldProblem, firstParagraph, isVersion, problem } from "./Metadata.ts"
import type { Field, Metadata, Problem } from "./Metadata.ts"
import { parametersSchema } from "./parametersSchema.ts"

type Read<A> = Result.Result<A, Problem>

export const textField = (metadata: Metadata, name: string): Read<string | undefined> => {
  const field = metadata.get(name)
  if (field === undefined || field.value === null) return Result.succeed(undefined)
  return typeof field.value === "string"
    ? Result.succeed(field.value)
    : Result.fail(fieldProblem(field, `${field.spelling} is not text`, `Write ${field.spelling} as text in quotes`))
}

export const textsField = (metadata: Metadata, name: string): Read<ReadonlyArray<string>> => {
  const field = metadata.get(name)
  if (field === undefined || field.value === null) return Result.succeed([])
  return texts(field, field.value, field.spelling)
}

const texts = (field: Field, value: Schema.Json, what: string): Read<ReadonlyArray<string>> =>
  Array.isArray(value) && value.every((v) => typeof v === "string")
    ? Result.succeed(value)
    : Result.fail(fieldProblem(field, `${what} is not a list of texts`, `Write ${what} as a list: ["a", "b"]`))

const recordField = (metadata: Metadata, name: string): Read<Schema.JsonObject | undefined> => {
  const field = metadata.get(name)
  if (field === undefined || field.value === null) return Result.succeed(undefined)
  return isJsonObject(field.value)
    ? Result.succeed(field.value)
    : Result.fail(
      fieldProblem(field, `${field.spelling} is not an object`, `Write ${field.spelling} with named members`)
    )
}

export const flagField = (metadata: Metadata, name: string): Read<boolean> => {
  const field = metadata.get(name)
  if (field === undefined || field.value === null) return Result.succeed(false)
  return typeof field.value === "boolean"
    ? Result.succeed(field.value)
    : Result.fail(
      fieldProblem(field, `${field.spelling} is neither true nor false`, `Write ${field.spelling} as a boolean`)
    )
}

/** "0.0.0" if there is none: such a tool can be found and shown, but not signed. */
export const versionField = (metadata: Metadata): Read<string> => {
  const field = metadata.get("version")
  if (field === undefined) return Result.succeed("0.0.0")
  if (typeof field.value !== "string") {
    return Result.fail(fieldProblem(field, "the version is not text", `Put it in quotes: "1.0.0"`))
  }
  return isVersion(field.value) ? Result.succeed(field.value) : Result.fail(
    fieldProblem(field, "the version is not a semantic version", `Write three numbers: "1.0.0"`)
  )
}

/** The name and category in the file must match its path. */
export const checkPlace = (metadata: Metadata, snapshot: ItemSnapshot): Read<void> => {
  const { category, id } = snapshot.location
  for (const name of ["name", "tool_id", "id"]) {
    const field = metadata.get(name)
    if (field !== undefined && field.value !== id) {
      return Result.fail(
        fieldProblem(field, `${field.spelling} is not the file's name, "${id}"`, `Write "${id}", or rename the file`)
      )
    }
  }
  const declared = metadata.get("category")
  if (declared === undefined || declared.value === null || declared.value === category) return Result.void
  const place = category === "" ? "the type's own folder" : `the folder "${category}"`
  return Result.fail(
    fieldProblem(
      declared,
      `the declared category does not match the file's place, ${place}`,
      `Write "${category}", or move the file`
    )
  )
}

const capability = /^[A-Za-z0-9_-]{1,64}(?:\.[A-Za-z0-9_-]{1,64}){1,7}$/

const requiresField = (field: Field | undefined, isSystem: boolean): Read<Tool["requires"]> =>
  Result.gen(function*() {
    const none = { commands: [], environment: [], capabilities: [] }
    if (field === undefined || field.value === null) return none
    const { spelling, value } = field
    const requires = isJsonObject(value) ? value : { capabilities: value }
    for (const key of Object.keys(requires)) {
      if (!Object.hasOwn(none, key)) {
        return yield* Result.fail(
          fieldProblem(
            field,
            `${spelling} has an unknown member "${cut(key, 40)}"`,
            "It may have commands, environment and capabilities"
          )
        )
      }
    }
    const read = (key: keyof typeof none): Read<ReadonlyArray<string>> =>
      requires[key] === undefined ? Result.succeed([]) : texts(field, requires[key], `${key} of ${spelling}`)
    const capabilities = yield* read("capabilities")
    const wrong = capabilities.find((c) => !capability.test(c))
    if (wrong !== undefined) {
      return yield* Result.fail(
        fieldProblem(
          field,
          `"${cut(wrong, 80)}" is not a capability`,
          "Write resource.action, like fs.read; commands go under commands"
        )
      )
    }
    const request = { allow: capabilities.map((one) => ({ capability: one })), deny: [] }
    const issue = refusalOf(request, isSystem)
    if (issue !== undefined) {
      return yield* Result.fail(
        fieldProblem(field, issue, "docs/capabilities.md lists them; commands go under commands")
      )
    }
    return { commands: yield* read("commands"), environment: yield* read("environment"), capabilities }
  })

/** The runtime by tool type, for a legacy manifest whose `executor` object does not name it. */
const runtimes: Readonly<Record<string, string>> = {
  python: "python_runtime",
  bash: "bash_runtime",
  node: "node_runtime",
  api: "http_client",
  http: "http_client"
}

type Executor = Pick<Tool, "executorId" | "executorRange">

/** What other tools end in, and what defines capabilities, which nobody runs. */
const withoutExecutor: ReadonlySet<string> = new Set(["primitive", "capability"])

const noExecutor: Executor = { executorId: undefined, executorRange: undefined }

/** The line that names the runtime for a file's language, in that language. */
const executorIn = (path: string): string =>
  /\.pyw?$/i.test(path)
    ? `Write at the left margin: __executor_id__ = "python_runtime"`
    : /\.[cm]?[jt]s$/i.test(path)
    ? `Write at the left margin: const __executor_id__ = "node_runtime"`
    : /\.(?:ba)?sh$/i.test(path)
    ? "Write into the comments under # kiwi: as #   executor_id: bash_runtime"
    : "Name the parent that runs it, like python_runtime, node_runtime, bash_runtime or http_client, as executor_id"

/** Parses `id` or `category/id`, either with `@` and a version range after it. */
const readExecutor = (metadata: Metadata, toolType: string, path: string): Read<Executor> => {
  const field = metadata.get("executor_id") ?? metadata.get("executor")
  const value = field === undefined || isJsonObject(field.value) ? runtimes[toolType] : field.value
  if (field === undefined || value === undefined || value === null) {
    const beside = field ?? metadata.get("version")
    return withoutExecutor.has(toolType)
      ? Result.succeed(noExecutor)
      : Result.fail({
        ...(beside === undefined ? problem("", "") : fieldProblem(beside, "", "")),
        issue: "the tool names no executor",
        hint: executorIn(path)
      })
  }
  if (withoutExecutor.has(toolType)) {
    return Result.fail(fieldProblem(field, `a ${toolType} has no executor`, `Remove ${field.spelling}`))
  }
  const text = typeof value === "string" ? value : ""
  const at = text.indexOf("@")
  const [id, range] = at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
  if (Option.isNone(parseItemRef(id))) {
    return Result.fail(
      fieldProblem(field, `${field.spelling} is not the id of a tool`, "Write an id, like python_runtime")
    )
  }
  return range === undefined || isRange(range)
    ? Result.succeed({ executorId: id, executorRange: range })
    : Result.fail(
      fieldProblem(
        field,
        `what follows the @ of ${field.spelling} is not a range of versions`,
        `Write one as npm reads them, like ${id}@^2.0 or ${id}@>=2.1 <4`
      )
    )
}

const unknownMember = (field: Field, value: Schema.JsonObject, known: ReadonlyArray<string>, what: string) => {
  const unknown = Object.keys(value).find((key) => !known.includes(key))
  return unknown === undefined ? undefined : fieldProblem(
    field,
    `${what} has an unknown member "${cut(unknown, 40)}"`,
    `It may have ${known.join(" and ")}`
  )
}

const isScalar = (value: Schema.Json): boolean => typeof value !== "object" || value === null

const maxChildSchemas = 100

/** `validation: { child_schemas: [{ match, schema }] }`: which tools may name this one as their executor. */
const readChildSchemas = (field: Field | undefined): Read<Tool["childSchemas"]> =>
  Result.gen(function*() {
    if (field === undefined || field.value === null) return undefined
    const fail = (issue: string, hint: string) => Result.fail(fieldProblem(field, issue, hint))
    const { spelling, value } = field
    if (!isJsonObject(value)) return yield* fail(`${spelling} is not an object`, `Write ${spelling} with child_schemas`)
    const wrong = unknownMember(field, value, ["child_schemas"], spelling)
    if (wrong !== undefined) return yield* Result.fail(wrong)
    const entries = Object.hasOwn(value, "child_schemas") ? value["child_schemas"] : undefined
    if (!Array.isArray(entries) || entries.length === 0 || entries.length > maxChildSchemas) {
      return yield* fail(
        `child_schemas of ${spelling} is not a list of 1 to ${maxChildSchemas} entries`,
        `Write each kind of child as {match: {tool_type: python}, schema: {…}}, or leave ${spelling} out`
      )
    }
    const schemas: Array<ChildSchema> = []
    for (const [index, entry] of (entries as ReadonlyArray<Schema.Json>).entries()) {
      const what = `child_schemas[${index}] of ${spelling}`
      if (!isJsonObject(entry)) return yield* fail(`${what} is not an object`, "Write {match: {…}, schema: {…}}")
      const unknown = unknownMember(field, entry, ["match", "schema"], what)
      if (unknown !== undefined) return yield* Result.fail(unknown)
      const [match, schema] = [own(entry, "match"), own(entry, "schema")]
      if (!isJsonObject(match) || !Object.values(match).every(isScalar)) {
        return yield* fail(`${what} has no match`, "Write match: {tool_type: python}: names and plain values")
      }
      if (schema !== undefined && !isJsonObject(schema)) {
        return yield* fail(`the schema of ${what} is not an object`, "Write a JSON Schema, or leave schema out")
      }
      schemas.push({ match, schema })
    }
    return schemas
  })

/** Fields with a property of their own in Tool, or that only repeat the file's path. */
const known: ReadonlySet<string> = new Set([
  "name",
  "tool_id",
  "id",
  "category",
  "version",
  "title",
  "description",
  "tags",
  "tool_type",
  "executor_id",
  "executor",
  "input_schema",
  "config",
  "config_schema",
  "env_config",
  "dependencies",
  "requires",
  "parameters",
  "validation",
  "mutates_state",
  "overridable",
  "entrypoint"
])

const bareEntrypoint = /^[^/\\\0][^\\\0]*$/

const folderEntrypoint = (
  snapshot: ItemSnapshot,
  field: Field | undefined,
  toolType: string
): Read<string | undefined> => {
  const value = isJsonObject(field?.value) ? field.value.entrypoint : field?.value
  if (field === undefined || value === undefined) {
    return ["python", "bash", "node", "script"].includes(toolType)
      ? Result.fail(
        problem("the folder does not say which file runs", "Write entrypoint: main.py (its path in the folder)")
      )
      : Result.succeed(undefined)
  }
  if (typeof value === "string" && bareEntrypoint.test(value) && snapshot.files.some((f) => f.path === value)) {
    return Result.succeed(value)
  }
  return Result.fail(
    fieldProblem(field, "the entrypoint is not a file of the folder", "Write its path in the folder, like main.py")
  )
}

/** Older HTTP tools declare retries beside `config`. `config` takes precedence. */
const withRetry = (config: Schema.JsonObject, toolType: string, retry: Schema.Json | undefined): Schema.JsonObject =>
  isJsonObject(retry) && (toolType === "http" || toolType === "api") ? { retry, ...config } : config

export interface ToolSource {
  readonly snapshot: ItemSnapshot
  readonly metadata: Metadata
  /** From a docstring or leading comment. `description` in the metadata takes precedence. */
  readonly description: string
  /** The type, if the file's language determines it. */
  readonly toolType: string | undefined
  /** Whether the file itself is what runs. */
  readonly runs: boolean
}

export const toTool = ({ description, metadata, runs, snapshot, toolType: fallback }: ToolSource): Read<Tool> =>
  Result.gen(function*() {
    const { location } = snapshot
    yield* checkPlace(metadata, snapshot)
    const toolType = (yield* textField(metadata, "tool_type")) ?? fallback
    if (toolType === undefined || toolType.trim() === "") {
      return yield* Result.fail(
        problem(
          "the tool has no tool_type",
          "Write tool_type: one of python, bash, node, http, api, mcp, runtime, script"
        )
      )
    }
    const entrypoint = metadata.get("entrypoint")
    if (entrypoint !== undefined && location.kind === "file" && !runs) {
      return yield* Result.fail(
        fieldProblem(
          entrypoint,
          "only a folder has an entrypoint",
          "Put this into a folder as tool.yaml, with the file beside it"
        )
      )
    }
    const manifest = metadata.get("executor")
    const executor: Schema.JsonObject = isJsonObject(manifest?.value) ? manifest.value : {}
    const { dependencies: oldDependencies, entrypoint: _entrypoint, requires: oldRequires, type: _type, ...oldConfig } =
      executor
    const within = (name: string, value: Schema.Json | undefined): Metadata =>
      value === undefined || metadata.has(name) ? metadata : new Map([[name, { ...manifest!, value, spelling: name }]])
    const configSchema = yield* recordField(metadata, "config_schema")
    const inputSchema = yield* recordField(metadata, "input_schema")
    const parameters = yield* parametersSchema(metadata, inputSchema, configSchema)
    const extra: Record<string, Schema.Json> = {}
    for (const [name, field] of metadata) {
      if (!known.has(name)) extra[name] = field.value
    }
    return {
      _tag: "tool",
      location,
      digest: snapshot.digest,
      version: yield* versionField(metadata),
      title: cut((yield* textField(metadata, "title")) ?? "").replaceAll("\n", " "),
      description: firstParagraph((yield* textField(metadata, "description")) ?? description),
      tags: yield* textsField(metadata, "tags"),
      overridable: yield* flagField(metadata, "overridable"),
      toolType,
      ...yield* readExecutor(metadata, toolType, location.kind === "folder" ? "tool.yaml" : location.path),
      childSchemas: yield* readChildSchemas(metadata.get("validation")),
      parameters,
      config: withRetry((yield* recordField(metadata, "config")) ?? oldConfig, toolType, metadata.get("retry")?.value),
      configSchema,
      envConfig: yield* recordField(metadata, "env_config"),
      dependencies: yield* textsField(within("dependencies", oldDependencies), "dependencies"),
      requires: yield* requiresField(within("requires", oldRequires).get("requires"), location.tier === "system"),
      mutatesState: yield* flagField(metadata, "mutates_state"),
      entrypoint: location.kind === "folder"
        ? yield* folderEntrypoint(snapshot, metadata.get("entrypoint") ?? manifest, toolType)
        : runs
        ? location.path.slice(location.path.lastIndexOf("/") + 1)
        : undefined,
      legacy: false,
      ...(["input_schema", "config_schema", "parameters"].some((name) => metadata.has(name))
        ? {}
        : { undeclared: true }),
      extra
    } satisfies Tool
  })
