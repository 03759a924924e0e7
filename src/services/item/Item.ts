// The parsed models of the three item types. They contain what canonical bytes state, without any verification:
// `integrity` decides whether an item is trusted.
import type { Schema } from "effect"
import type { Request } from "../capability/Request.ts"
import type { ItemId, ItemType, Tier } from "./ItemId.ts"

/** Where an item is. */
export interface ItemLocation {
  readonly type: ItemType
  readonly tier: Tier
  readonly id: ItemId
  /** Folder path below the type folder, forward slashes; "" at its root. */
  readonly category: string
  /** Path below the tier's type folder, forward slashes: `math/add.py`, or `web/fetch` for a folder. Signed. */
  readonly path: string
  /** Absolute real path of the file or folder. For an item with a `source`: not a path, but as unique. */
  readonly file: string
  /** The real path of the tier's root (`<project>/.ai`, the user space, the system space). */
  readonly root: string
  readonly kind: "file" | "folder"
  /** The named source of the item. Absent: it is a file of the tier. */
  readonly source?: { readonly name: string; readonly digest: string }
}

/** Whether the item is verified by its signature: it is a file, and not of the system tier. */
export const isSignable = ({ source, tier }: ItemLocation): boolean => tier !== "system" && source === undefined

/** `tier:typefolder/path`, the only form in which a location is shown to callers: "project:tools/math/add.py". */
export const showLocation = (l: Pick<ItemLocation, "tier" | "type" | "path">): string =>
  `${l.tier}:${typeFolder[l.type]}/${l.path}`

export const typeFolder: Readonly<Record<ItemType, string>> = {
  directive: "directives",
  tool: "tools",
  knowledge: "knowledge"
}

/** The first line that claims to be a signature; see SignatureLine.ts. It has not been verified. */
export interface SignatureClaim {
  /** `20261121T210900Z`. Informative only: no decision depends on it. */
  readonly time: string
  readonly kind: "person" | "agent"
  /** SHA-256, in hex, of the canonical bytes, as claimed. */
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
  /** Decided by its bytes, whatever its mode: see folder/folderFiles.ts. */
  readonly executable: boolean
  readonly bytes: Uint8Array
}

/**
 * What was read from disk at once. Everything later (parsing, verifying, copying, running) uses this and not the file.
 */
export interface ItemSnapshot {
  readonly location: ItemLocation
  /** Canonical bytes: of the file without its signature line, or of `tool.yaml` for a folder. */
  readonly bytes: Uint8Array
  /** SHA-256, in hex: of the canonical bytes or, for a folder, of the canonical list of its files. */
  readonly digest: string
  /** The claim found in the file or beside it. `Malformed` says what is wrong with a line that resembles one. */
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
  /** Semantic version; "0.0.0" if the item has none. */
  readonly version: string
  /** One line; "" if there is none. */
  readonly title: string
  /** First paragraph; "" if there is none. */
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
  /** As written. */
  readonly permissions: ReadonlyArray<XmlElement>
  /** What the permissions ask for. */
  readonly request: Request
  readonly limits: Readonly<Record<string, string>>
  readonly hooks: ReadonlyArray<XmlElement>
  readonly inputs: ReadonlyArray<DirectiveInput>
  /** JSON Schema for the inputs, if the directive has its own. */
  readonly inputSchema: Schema.JsonObject | undefined
  readonly steps: ReadonlyArray<DirectiveStep>
  /** Text of `<template>` and `<example>` elements, by name. */
  readonly templates: Readonly<Record<string, string>>
  readonly outputs: ReadonlyArray<XmlElement>
  /** Every element of the directive, in order, for readers that need more of it. */
  readonly xml: XmlElement
  /** The markdown around the fenced block. */
  readonly body: string
}

/** What a parent requires of its children. */
export interface ChildSchema {
  /** Members of the child's link and their required values. A dotted name is a nested member. */
  readonly match: Schema.JsonObject
  /** The schema that the whole link of such a child must fit. Undefined: every such child is accepted. */
  readonly schema: Schema.JsonObject | undefined
}

export interface Tool extends ItemHead {
  readonly _tag: "tool"
  /** `primitive runtime python bash node api http docker mcp mcp_server mcp_tool script`, or another word. */
  readonly toolType: string
  /** The parent link, `id` or `category/id`. Undefined only for a primitive. */
  readonly executorId: string | undefined
  /** The accepted versions of the parent, in npm's syntax. Undefined: any. See VersionRange.ts. */
  readonly executorRange: string | undefined
  /** The children that this link runs, if it declares them. The first entry whose match fits applies. Never empty. */
  readonly childSchemas: ReadonlyArray<ChildSchema> | undefined
  /** The schema for call parameters. Always an object schema. */
  readonly parameters: Schema.JsonObject
  readonly config: Schema.JsonObject
  /** For a primitive: the schema of the merged config. */
  readonly configSchema: Schema.JsonObject | undefined
  /** As written; EnvResolver decodes it. */
  readonly envConfig: Schema.JsonObject | undefined
  readonly dependencies: ReadonlyArray<string>
  readonly requires: {
    readonly commands: ReadonlyArray<string>
    readonly environment: ReadonlyArray<string>
    readonly capabilities: ReadonlyArray<string>
  }
  readonly mutatesState: boolean
  /**
   * The file that `${TOOL_FILE}` stands for: relative to the folder, or the item's own file name. Undefined for pure
   * data.
   */
  readonly entrypoint: string | undefined
  /** True for a `.py` without metadata, which got a virtual manifest. */
  readonly legacy: boolean
  /** It declares no parameters: they were read from its code. */
  readonly undeclared?: boolean
  /** Absent: positional arguments are matched by position. The script's argparse knows which one was omitted. */
  readonly positionals?: "argparse"
  /** What is unknown about how it takes parameters: sentences without a subject. Only on checked tools. */
  readonly unsure?: ReadonlyArray<string>
  /** All other metadata, for later readers (retry, required_scope, isolation…). */
  readonly extra: Schema.JsonObject
}

export interface Knowledge extends ItemHead {
  readonly _tag: "knowledge"
  readonly entryType: string
  /** `[[id]]` links of the body, in order, without duplicates. */
  readonly links: ReadonlyArray<string>
  readonly body: string
  readonly frontMatter: Schema.JsonObject
}

/** A tool's executor as written, with its version range: "python_runtime@^2.0". */
export const showExecutor = ({ executorId, executorRange }: Pick<Tool, "executorId" | "executorRange">): string =>
  `${executorId ?? ""}${executorRange === undefined ? "" : `@${executorRange}`}`

export type Item = Directive | Tool | Knowledge
