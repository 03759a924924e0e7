// The arguments of the five tools: closed schemas, decoded here and not by the protocol library, which reports wrong
// arguments as prose and lets unknown keys through. The advertised JSON Schemas are in tools.ts; a test checks that the
// two agree.
import { Result, Schema, SchemaIssue } from "effect"
import { editDistance } from "../../services/error/editDistance.ts"
import type { FailedAt, ValidationIssue } from "../../services/error/KiwiError.ts"
import { ItemType } from "../../services/item/ItemId.ts"
import { LockMode } from "../../services/lockfile/LockMode.ts"
import { topics } from "../helpTopics.ts"

/** A tool was called with arguments that it does not take. */
export class InvalidArguments extends Schema.TaggedError<InvalidArguments>()("InvalidArguments", {
  tool: Schema.String,
  issues: Schema.Array(Schema.Struct({ field: Schema.String, error: Schema.String }))
}) {
  override get message() {
    return `The arguments of ${this.tool} are not valid: ${this.issues.map((i) => `${i.field}: ${i.error}`).join("; ")}`
  }
  get remediation() {
    return `Call ${this.tool} with the arguments of its input schema`
  }
  get failedAt(): FailedAt {
    return { toolId: this.tool, configPath: "arguments", validationErrors: this.issues }
  }
}

/** Older callers say `script` for `tool`. */
const CallerItemType = Schema.Literals([...ItemType.literals, "script"])

export const itemTypeOf = (type: typeof CallerItemType.Type | undefined): ItemType | undefined =>
  type === "script" ? "tool" : type

const Text = Schema.String.pipe(Schema.check(Schema.isMaxLength(4096)))
const Id = Schema.String.pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(512)))
const ProjectPath = Schema.optionalKey(
  Schema.String.pipe(Schema.check(Schema.isMinLength(1), Schema.isMaxLength(4096)))
)

export const SearchArguments = Schema.Struct({
  query: Text,
  item_type: Schema.optionalKey(CallerItemType),
  source: Schema.optionalKey(Schema.Literals(["project", "user", "system", "all"])),
  limit: Schema.optionalKey(Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 1, maximum: 100 })))),
  category: Schema.optionalKey(Text),
  tags: Schema.optionalKey(Schema.Array(Text).pipe(Schema.check(Schema.isMaxLength(32)))),
  project_path: ProjectPath
})

export const LoadArguments = Schema.Struct({
  item_id: Id,
  item_type: Schema.optionalKey(CallerItemType),
  source: Schema.optionalKey(Schema.Literals(["project", "user", "system"])),
  destination: Schema.optionalKey(Schema.Literals(["project", "user"])),
  version: Schema.optionalKey(Text),
  project_path: ProjectPath
})

export const ExecuteArguments = Schema.Struct({
  item_id: Id,
  item_type: Schema.optionalKey(CallerItemType),
  action: Schema.optionalKey(Schema.Literals(["run"])),
  parameters: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  dry_run: Schema.optionalKey(Schema.Boolean),
  mode: Schema.optionalKey(Schema.Literals(["follow"])),
  lockfile_mode: Schema.optionalKey(LockMode),
  project_path: ProjectPath
})

export const SignArguments = Schema.Struct({
  item_id: Id,
  item_type: Schema.optionalKey(CallerItemType),
  parameters: Schema.optionalKey(Schema.Struct({
    location: Schema.optionalKey(Schema.Literals(["project", "user"])),
    category: Schema.optionalKey(Text)
  })),
  project_path: ProjectPath
})

export const HelpArguments = Schema.Struct({
  topic: Schema.optionalKey(Schema.Literals(topics)),
  action: Schema.optionalKey(Schema.Literals(["guidance", "stuck", "escalate"])),
  session_id: Schema.optionalKey(Schema.String.pipe(Schema.check(Schema.isMaxLength(128)))),
  reason: Schema.optionalKey(Text),
  attempts: Schema.optionalKey(Schema.Union([
    Schema.Int.pipe(Schema.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))),
    Text,
    Schema.Array(Schema.Json)
  ])),
  options: Schema.optionalKey(Schema.Array(Text).pipe(Schema.check(Schema.isMaxLength(10)))),
  context: Schema.optionalKey(Schema.Union([Text, Schema.Record(Schema.String, Schema.Json)])),
  project_path: ProjectPath
})

/** Names that callers know from other tools. */
const synonyms: ReadonlyMap<string, string> = new Map([
  ["args", "parameters"],
  ["arguments", "parameters"],
  ["input", "parameters"],
  ["inputs", "parameters"],
  ["params", "parameters"],
  ["id", "item_id"],
  ["name", "item_id"],
  ["tool", "item_id"],
  ["cwd", "project_path"],
  ["path", "project_path"],
  ["project", "project_path"],
  ["text", "query"],
  ["q", "query"],
  ["tier", "source"],
  ["scope", "source"]
])

/** The known name that an unknown one probably stands for: a typing error, a missing prefix, another spelling. */
export const nearName = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (name.length === 0 || name.length > 64) return undefined
  const plain = (text: string) => text.toLowerCase().replace(/[^a-z0-9]/g, "")
  const wanted = plain(name)
  const synonym = synonyms.get(wanted)
  if (synonym !== undefined && known.includes(synonym)) return synonym
  const scored = known
    .map((candidate) => {
      const target = plain(candidate)
      const within = wanted.length > 1 && (target.includes(wanted) || wanted.includes(target))
      return { candidate, score: within ? 1 : editDistance(wanted, target, target.length) }
    })
    .filter(({ candidate, score }) => score <= Math.max(1, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.score - b.score)
  return scored[0]?.candidate
}

const show = (key: string): string => JSON.stringify(key.length <= 64 ? key : `${key.slice(0, 63)}…`)

const unknownKeys = (fields: object, value: object, path: string): ReadonlyArray<ValidationIssue> => {
  const known = Object.keys(fields)
  return Object.keys(value).filter((key) => !Object.hasOwn(fields, key)).slice(0, 16).map((key) => {
    const near = nearName(key, known)
    return {
      field: `${path}${key.slice(0, 64)}`,
      error: `${show(key)} is not an argument of this tool${
        near === undefined ? `; there are ${known.join(", ")}` : `; did you mean "${near}"?`
      }`
    }
  })
}

const formatIssue = SchemaIssue.makeFormatterStandardSchemaV1()

const fieldOf = (path: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined): string =>
  (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".")

/** Makes the decoder of a tool's arguments. It reports all their issues at once. */
export const decoderOf = <Fields extends Schema.Struct.Fields>(
  tool: string,
  schema: Schema.Struct<Fields> & { readonly DecodingServices: never }
) => {
  const decode = Schema.decodeUnknownResult(schema, { errors: "all", onExcessProperty: "error" })
  return (value: unknown): Result.Result<Schema.Struct<Fields>["Type"], InvalidArguments> => {
    const given: object = typeof value === "object" && value !== null ? value : {}
    const unknown = unknownKeys(schema.fields, given, "")
    const known = unknown.length === 0
      ? given
      : Object.fromEntries(Object.entries(given).filter(([key]) => Object.hasOwn(schema.fields, key)))
    const decoded = decode(known)
    if (Result.isSuccess(decoded) && unknown.length === 0) return Result.succeed(decoded.success)
    const wrong = Result.isSuccess(decoded) ? [] : formatIssue(decoded.failure.issue).issues.map((issue) => {
      const path = fieldOf(issue.path)
      return { field: path.slice(0, 200), error: issue.message.slice(0, 300) }
    })
    return Result.fail(new InvalidArguments({ tool, issues: [...unknown, ...wrong].slice(0, 16) }))
  }
}
