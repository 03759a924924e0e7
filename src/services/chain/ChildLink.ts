// What a parent's schema sees of a child that names it as executor, and which `child_schemas` entry applies. The
// parent's `validation.child_schemas` is read from its verified bytes; of the child only metadata is used.
import { Schema } from "effect"
import type { FailedAt } from "../error/KiwiError.ts"
import type { ChildSchema, Tool } from "../item/Item.ts"
import { showExecutor } from "../item/Item.ts"
import { isJsonObject, own } from "../schema/json.ts"

const defined = (members: Readonly<Record<string, Schema.Json | undefined>>): Schema.JsonObject =>
  Object.fromEntries(Object.entries(members).flatMap(([k, v]) => v === undefined ? [] : [[k, v] as const]))

/** The link as a parent's schema sees it. `manifest` holds the metadata, under the names that YAML tools use. */
export const childLink = (tool: Tool): Schema.JsonObject => {
  const { category, id, path, tier } = tool.location
  const head = { tool_id: id, tool_type: tool.toolType, version: tool.version, category }
  return {
    ...head,
    tier,
    path,
    manifest: {
      ...tool.extra,
      ...head,
      ...defined({
        title: tool.title === "" ? undefined : tool.title,
        description: tool.description === "" ? undefined : tool.description,
        tags: [...tool.tags],
        executor_id: tool.executorId === undefined ? undefined : showExecutor(tool),
        entrypoint: tool.entrypoint,
        input_schema: tool.parameters,
        config: tool.config,
        config_schema: tool.configSchema,
        env_config: tool.envConfig,
        dependencies: [...tool.dependencies],
        requires: {
          commands: [...tool.requires.commands],
          environment: [...tool.requires.environment],
          capabilities: [...tool.requires.capabilities]
        },
        mutates_state: tool.mutatesState
      })
    }
  }
}

const valueAt = (link: Schema.JsonObject, dotted: string): Schema.Json | undefined => {
  let at: Schema.Json | undefined = link
  for (const name of dotted.split(".")) {
    if (!isJsonObject(at)) return undefined
    at = own(at, name)
  }
  return at
}

/** An empty match fits every child. */
export const fits = ({ match }: ChildSchema, link: Schema.JsonObject): boolean =>
  Object.entries(match).every(([dotted, value]) => valueAt(link, dotted) === value)

const showMatch = ({ match }: ChildSchema): string =>
  `{${Object.entries(match).map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(", ")}}`

const Ids = Schema.Array(Schema.String)

/** The parent does not run such a child. */
export class ChildRefused extends Schema.TaggedError<ChildRefused>()("ChildRefused", {
  chain: Ids,
  child: Schema.String,
  childPath: Schema.String,
  parent: Schema.String,
  parentPath: Schema.String,
  /** The `match` of each of the parent's entries; if a schema refused the child, only that entry's. */
  matches: Schema.Array(Schema.String),
  /** Empty if no entry fits this child. */
  issues: Schema.Array(
    Schema.Struct({ field: Schema.String, error: Schema.String, value: Schema.optional(Schema.Json) })
  )
}) {
  override get message() {
    return this.issues.length === 0
      ? `${this.parent} (${this.parentPath}) does not run ${this.child} (${this.childPath}): it takes ${
        this.matches.join(" or ")
      }`
      : `${this.parent} (${this.parentPath}) does not run ${this.child} (${this.childPath}): ${
        this.issues.map((i) => i.field === "" ? i.error : `${i.field}: ${i.error}`).join("; ")
      }`
  }
  get remediation() {
    return this.issues.length === 0
      ? `Let ${this.child} name another executor_id, or be what ${this.parent} takes`
      : `Correct the metadata of ${this.child} and sign it again, or let it name another executor_id`
  }
  get failedAt(): FailedAt {
    return { toolId: this.child, configPath: this.childPath, validationErrors: this.issues }
  }
  get refusal() {
    return "denied" as const
  }
}

export const childRefused = (about: {
  readonly chain: ReadonlyArray<string>
  readonly child: { readonly id: string; readonly path: string }
  readonly parent: { readonly id: string; readonly path: string }
  readonly entries: ReadonlyArray<ChildSchema>
  readonly issues: ChildRefused["issues"]
}): ChildRefused =>
  new ChildRefused({
    chain: about.chain,
    child: about.child.id,
    childPath: about.child.path,
    parent: about.parent.id,
    parentPath: about.parent.path,
    matches: about.entries.map(showMatch),
    issues: about.issues
  })

/** A runtime does not declare what it runs, and the lock mode `strict` requires it. */
export class ChildSchemasMissing extends Schema.TaggedError<ChildSchemasMissing>()("ChildSchemasMissing", {
  chain: Ids,
  parent: Schema.String,
  parentPath: Schema.String
}) {
  override get message() {
    return `${this.parent} (${this.parentPath}) does not say which tools it runs`
  }
  get remediation() {
    return `Give ${this.parent} validation.child_schemas, like [{match: {tool_type: python}}], and sign it again`
  }
  get failedAt(): FailedAt {
    return { toolId: this.parent, configPath: this.parentPath, validationErrors: [] }
  }
  get refusal() {
    return "denied" as const
  }
}
