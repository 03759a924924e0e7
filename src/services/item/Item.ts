// The parsed models of the three item types. They hold what canonical bytes say and nothing that was verified:
// whether an item may be believed is `integrity`'s to say.
import type { Schema } from "effect"
import type { ItemId, ItemType, Tier } from "./ItemId.ts"

/** A place where an item lies. */
export interface ItemLocation {
  readonly type: ItemType
  readonly tier: Tier
  readonly id: ItemId
  /** Folder path below the type folder, forward slashes; "" at its root. */
  readonly category: string
  /** Path below the tier's type folder, forward slashes: `math/add.py`, or `web/fetch` for a folder. Signed. */
  readonly path: string
  /** Absolute real path of the file or folder. No path, but as unique, for an item with a `source`. */
  readonly file: string
  /** The real path of the tier's root (`<project>/.ai`, the user space, the system space). */
  readonly root: string
  readonly kind: "file" | "folder"
  /** The named source that the item comes from. Absent: it is a file of the tier. */
  readonly source?: { readonly name: string; readonly digest: string }
}

/** Whether signatures say what may be believed of the item: it is a file, of another tier than the system's. */
export const isSignable = ({ source, tier }: ItemLocation): boolean => tier !== "system" && source === undefined

/** `tier:typefolder/path`, the one way a location is shown to callers: "project:tools/math/add.py". */
export const showLocation = (l: Pick<ItemLocation, "tier" | "type" | "path">): string =>
  `${l.tier}:${typeFolder[l.type]}/${l.path}`

export const typeFolder: Readonly<Record<ItemType, string>> = {
  directive: "directives",
  tool: "tools",
  knowledge: "knowledge"
}

/** The first line that claims a signature; see SignatureLine.ts. Nothing about it has been checked. */
export interface SignatureClaim {
  /** `20261121T210900Z`; information, never a decision. */
  readonly time: string
  readonly kind: "person" | "agent"
  /** sha256 hex of the canonical bytes, as claimed. */
  readonly digest: string
  /** 16 hex digits: for display and lookup only. */
  readonly keyId: string
  /** base64url Ed25519 signature. */
  readonly signature: string
}

/** One file of a folder item. */
export interface FolderFile {
  /** Relative to the folder, forward slashes. */
  readonly path: string
  readonly digest: string
  /** By its bytes, whatever its mode is: see folder/folderFiles.ts. */
  readonly executable: boolean
  readonly bytes: Uint8Array
}

/** What was read from disk in one go; everything later (parsing, verifying, copying, running) uses this, not the file. */
export interface ItemSnapshot {
  readonly location: ItemLocation
  /** Canonical bytes: of the file without its signature line, or of `tool.yaml` for a folder. */
  readonly bytes: Uint8Array
  /** sha256 hex: of the canonical bytes, or for a folder of the canonical list of its files. */
  readonly digest: string
  /** The claim found in the file or beside it; `malformed` holds what is wrong with a line that tried to be one. */
  readonly claim:
    | { readonly _tag: "None" }
    | { readonly _tag: "Claim"; readonly claim: SignatureClaim; readonly detached: boolean }
    | { readonly _tag: "Malformed"; readonly issue: string }
  /** The complete sorted list for a folder (including `tool.yaml`); empty for a file. */
  readonly files: ReadonlyArray<FolderFile>
  /** Whether the file has its executable bit set (single files). */
  readonly executable: boolean
}

interface ItemHead {
  readonly location: ItemLocation
  /** Digest of the snapshot that this was parsed from. */
  readonly digest: string
  /** Semantic version; "0.0.0" where the item has none. */
  readonly version: string
  /** One line; "" when there is none. */
  readonly title: string
  /** First paragraph; "" when there is none. */
  readonly description: string
  readonly tags: ReadonlyArray<string>
  /** Whether another tier may shadow this system item. */
  readonly overridable: boolean
}

export interface DirectiveInput {
  readonly name: string
  readonly type: "string" | "number" | "integer" | "boolean" | "array" | "object"
  readonly required: boolean
  readonly default?: Schema.Json | undefined
  readonly description: string
}

export interface DirectiveStep {
  readonly name: string
  readonly description: string
  readonly action: string
}

/** A generic element of a directive's XML that this version keeps but does not interpret. */
export interface XmlElement {
  readonly tag: string
  readonly attributes: Readonly<Record<string, string>>
  readonly text: string
  readonly children: ReadonlyArray<XmlElement>
}

export interface Directive extends ItemHead {
  readonly _tag: "directive"
  readonly author: string
  readonly model: Readonly<Record<string, string>> | undefined
  readonly permissions: ReadonlyArray<XmlElement>
  readonly limits: Readonly<Record<string, string>>
  readonly hooks: ReadonlyArray<XmlElement>
  readonly inputs: ReadonlyArray<DirectiveInput>
  /** JSON Schema for the inputs where the directive brings its own. */
  readonly inputSchema: Schema.JsonObject | undefined
  readonly steps: ReadonlyArray<DirectiveStep>
  /** Text of `<template>` and `<example>` elements, by name. */
  readonly templates: Readonly<Record<string, string>>
  readonly outputs: ReadonlyArray<XmlElement>
  /** Every element of the directive, in order, for what reads more of it. */
  readonly xml: XmlElement
  /** The markdown around the fenced block. */
  readonly body: string
}

/** What a parent asks of its children. */
export interface ChildSchema {
  /** Members of the child's link and what they equal; a dotted name is a member of a member. */
  readonly match: Schema.JsonObject
  /** What the whole link of such a child is validated against; `undefined`: it is accepted as it is. */
  readonly schema: Schema.JsonObject | undefined
}

export interface Tool extends ItemHead {
  readonly _tag: "tool"
  /** `primitive runtime python bash node api http docker mcp mcp_server mcp_tool script`, or another word. */
  readonly toolType: string
  /** The parent link, `id` or `category/id`; `undefined` only for a primitive. */
  readonly executorId: string | undefined
  /** The versions of the parent that will do, as npm reads them; `undefined`: any. See VersionRange.ts. */
  readonly executorRange: string | undefined
  /** Which children this link runs, for a link that says so. The first entry whose match fits counts. Never empty. */
  readonly childSchemas: ReadonlyArray<ChildSchema> | undefined
  /** What call parameters are validated against. Always an object schema. */
  readonly parameters: Schema.JsonObject
  readonly config: Schema.JsonObject
  /** For a primitive: the schema of the merged config. */
  readonly configSchema: Schema.JsonObject | undefined
  /** As it is written; EnvResolver decodes it. */
  readonly envConfig: Schema.JsonObject | undefined
  readonly dependencies: ReadonlyArray<string>
  readonly requires: {
    readonly commands: ReadonlyArray<string>
    readonly environment: ReadonlyArray<string>
    readonly capabilities: ReadonlyArray<string>
  }
  readonly mutatesState: boolean
  /** File that `${TOOL_FILE}` names: relative to the folder, or the item's own file name; `undefined` for pure data. */
  readonly entrypoint: string | undefined
  /** True for a `.py` without metadata, which got a virtual manifest. */
  readonly legacy: boolean
  /** It says nowhere which parameters it takes: those that it has were read from its code. */
  readonly undeclared?: boolean
  /** Absent: positional arguments count by their place. The script's argparse knows which one was left out. */
  readonly positionals?: "argparse"
  /** What could not be known of how it takes them: sentences without a subject. Only checked tools have it. */
  readonly unsure?: ReadonlyArray<string>
  /** Everything else that the metadata said, for later readers (retry, required_scope, isolation…). */
  readonly extra: Schema.JsonObject
}

export interface Knowledge extends ItemHead {
  readonly _tag: "knowledge"
  readonly entryType: string
  /** `[[id]]` links of the body, in order, without repeats. */
  readonly links: ReadonlyArray<string>
  readonly body: string
  readonly frontMatter: Schema.JsonObject
}

/** A tool's executor as it is written, with the versions that it asks for: "python_runtime@^2.0". */
export const showExecutor = ({ executorId, executorRange }: Pick<Tool, "executorId" | "executorRange">): string =>
  `${executorId ?? ""}${executorRange === undefined ? "" : `@${executorRange}`}`

export type Item = Directive | Tool | Knowledge
