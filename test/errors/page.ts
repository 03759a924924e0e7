// docs/errors.md, from the classes in the sources and what their examples produced.
import { Schema } from "effect"
import { sha256 } from "../../src/layers/identity/sha256.ts"
import { toErrorObject } from "../../src/services/error/KiwiError.ts"
import type { ErrorObject, KiwiError } from "../../src/services/error/KiwiError.ts"
import type { ErrorClass, ErrorField } from "./catalog.ts"

export interface Produced {
  readonly when: string
  readonly error: ErrorObject
}

/** What an example succeeded with: an error, or what a surface showed of one. */
export const shownOf = (produced: unknown): ErrorObject => {
  if (typeof produced !== "object" || produced === null) throw new Error(`this is no error: ${String(produced)}`)
  return "_tag" in produced ? toErrorObject(produced as KiwiError) : produced as ErrorObject
}

const nth = (n: number, length: number): string => sha256(`example ${n}`).repeat(2).slice(0, length)

/** The same text on every machine and every day: temporary folders, digests, keys, versions and ports become examples of them. */
export const normalize = (text: string): string => {
  const seen = new Map<string, number>()
  return text
    .replaceAll(/\/[^"' ]*?\/kiwi-(?:test|cli)-[A-Za-z0-9_-]+/g, "/home/you")
    .replaceAll(/(?<=trust add )[A-Za-z0-9_-]{43}/g, "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
    .replaceAll(/\b[0-9a-f]{12,64}\b|(?<=\()[0-9a-f]{8}(?=\))/g, (hex) => {
      if (!seen.has(hex)) seen.set(hex, seen.size)
      return nth(seen.get(hex)!, hex.length)
    })
    .replaceAll(
      /(?<=\b(?:request|approve|allow|answer to request) )(?![a-z]+ing\b)[a-hj-km-np-z2-9]{10}\b/gi,
      "k7f3m2qa9x"
    )
    .replaceAll(/(?<=\buntil )\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, "2026-01-31T11:00:00.000Z")
    .replaceAll(/(?<=\binterpreter here is )\d[\w.+]*/g, "3.12.4")
    .replaceAll(/(?<=\bport |\b127\.0\.0\.1:)\d+/g, "8080")
    .replaceAll(/(?<=\blogs\/audit\/)\d{4}-\d{2}-\d{2}/g, "2026-01-31")
}

interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly const?: unknown
  readonly items?: JsonSchema | false
  readonly prefixItems?: ReadonlyArray<JsonSchema>
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
}

const describe = (schema: JsonSchema, definitions: Readonly<Record<string, JsonSchema>>): string => {
  if (schema.$ref !== undefined) {
    const target = definitions[schema.$ref.split("/").at(-1) ?? ""]
    return target === undefined ? "JSON" : describe(target, definitions)
  }
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" or ")
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf !== undefined) {
    const parts = [...new Set(schema.anyOf.map((one) => describe(one, definitions)))]
    return parts.length > 4 ? "JSON" : parts.join(" or ")
  }
  if (schema.properties !== undefined) {
    const members = Object.entries(schema.properties).map(([name, member]) =>
      `${name}${schema.required?.includes(name) === true ? "" : "?"}: ${describe(member, definitions)}`
    )
    return `{ ${members.join(", ")} }`
  }
  if (schema.type === "array") {
    return `list of ${
      schema.items === undefined || schema.items === false ? "JSON" : describe(schema.items, definitions)
    }`
  }
  return schema.type ?? "JSON"
}

const named: ReadonlyArray<readonly [source: string, type: string]> = [
  ["Underlying", "error"],
  ["FailedLink", "link"]
]

const typeOf = ({ name, schema }: ErrorField, fields: Readonly<Record<string, Schema.Top>>): string => {
  const known = named.find(([source]) => schema.includes(source))
  if (known !== undefined) return known[1]
  const field = fields[name]
  if (field === undefined) throw new Error(`the class has no field ${name}`)
  const { definitions, schema: json } = Schema.toJsonSchemaDocument(Schema.Struct({ it: field }))
  const it = (json as JsonSchema).properties?.["it"]
  return it === undefined ? "JSON" : describe(it, definitions as Record<string, JsonSchema>).replace(/ or null$/, "")
}

const escape = (text: string) => text.replaceAll("|", "\\|").replaceAll("<", "&lt;")

const fieldRows = (found: ErrorClass, fields: Readonly<Record<string, Schema.Top>>): string =>
  found.fields.map((field) => {
    const optional = field.schema.startsWith("Schema.optional") ? ", optional" : ""
    return `| \`${field.name}\` | ${escape(typeOf(field, fields))}${optional} | ${escape(field.doc)} |`
  }).join("\n")

const again: Readonly<Record<ErrorClass["retryable"], string>> = {
  always: "The same call can succeed later, without anybody changing anything.",
  sometimes: "The same call can succeed later where `retryable` is true.",
  never: "The same call fails again until somebody changes something."
}

const refused = ({ refuses, state }: ErrorClass): string =>
  state === undefined
    ? ""
    : refuses
    ? ` The audit records \`denied\`, and search shows the item as \`${state}\`.`
    : ` Search shows the item as \`${state}\`.`

const chapter = (found: ErrorClass, fields: Readonly<Record<string, Schema.Top>>, { error, when }: Produced): string =>
  [
    `## \`${found.code}\``,
    found.doc,
    `${again[found.retryable]}${refused(found)} What to do, here: ${
      error.remediation === undefined ? "nothing" : normalize(escape(error.remediation)).replaceAll("\n", " ")
    }`,
    ...(found.fields.length === 0
      ? [`The class \`${found.name}\` has no fields of its own.`]
      : [`| \`${found.name}\` | | |\n|---|---|---|\n${fieldRows(found, fields)}`]),
    `${when}:`,
    `\`\`\`json\n${normalize(JSON.stringify({ error }, null, 2))}\n\`\`\``
  ].join("\n\n")

const intro = `# Errors

Whatever goes wrong reaches a caller as one object: in the result of an MCP tool (\`isError\`, under \`error\`), from a
command with \`--json\`, and in a program that embeds Kiwi as \`toErrorObject(error)\` of the typed error that it gets.
This page has every code that there is. Each example was made by a test, which had Kiwi fail in just that way.

| \`error\` | |
|---|---|
| \`code\` | What happened, for programs. Codes are kept from version to version |
| \`message\` | What happened, and to what, for people. No secrets, no stack trace, no path outside the project |
| \`chain\` | Inside a chain: the ids of its links, the tool first, as far as it was resolved |
| \`failed_at\` | The link that really failed: \`tool_id\`; \`config_path\`, its file from its tier (\`project:tools/math/add.py\`); \`validation_errors\`, what is wrong in which \`field\`, with the \`value\` |
| \`cause\` | The failure under this one, by \`code\` and \`message\`, and under that the next, at most four |
| \`retryable\` | Whether the same call can succeed later without anybody changing anything |
| \`remediation\` | What to do: a command where there is one, or a call of the library, which the command line says as a command; over MCP a call that the agent can make, or what to tell the person |

In TypeScript every code is a class, \`ITEM_NOT_FOUND\` is \`ItemNotFound\`, with fields of its own. What happens inside a
tool's chain comes in a \`ToolChainError\`, which has \`chain\`, \`failedAt\` and the error itself as \`reason\`; its code,
message and remediation are those of the reason. What an error says about a rule or a link that is refused
(\`PERMISSION_DENIED\`) names the link too. Where a rule or trust refuses, \`refusal\` of the class says how (\`unsigned\`,
\`restricted\`, \`denied\`, …).`

export const render = (
  classes: ReadonlyArray<ErrorClass>,
  of: (found: ErrorClass) => {
    readonly fields: Readonly<Record<string, Schema.Top>>
    readonly produced: Produced
  }
): string => {
  const listed = classes.filter(({ wraps }) => !wraps)
  const rows = listed.map(({ code, doc }) => {
    const [first = doc] = /^[^.]*?(?:\.(?= |$)|$)/.exec(doc) ?? []
    return `| [\`${code}\`](#${code.toLowerCase()}) | ${escape(first.replace(/\.$/, ""))} |`
  })
  const chapters = listed.map((found) => {
    const { fields, produced } = of(found)
    return chapter(found, fields, produced)
  })
  return `${[intro, `| Code | |\n|---|---|\n${rows.join("\n")}`, ...chapters].join("\n\n")}\n`
}
