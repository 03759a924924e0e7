// What a file's name and path mean: which names are items, and where the item of a path is. Pure, so that every store
// follows the same rules.
import { Glob, Result } from "effect"
import { typeFolder } from "./Item.ts"
import type { ItemLocation } from "./Item.ts"
import { ItemIdInvalid } from "./ItemErrors.ts"
import { isCategory, isItemId } from "./ItemId.ts"
import type { ItemId, ItemType, Tier } from "./ItemId.ts"

/** The file that makes a folder below the tools folder one tool. */
export const folderManifest = "tool.yaml"

/** `<name>.kiwi-sig`, beside a folder or a file that cannot contain a signature line. */
export const detachedSuffix = ".kiwi-sig"

/** The deepest category; it may contain folder tools. */
const maxCategoryDepth = 8

const extensions: Readonly<Record<ItemType, ReadonlyArray<string>>> = {
  directive: [".md"],
  tool: [".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".yaml", ".yml"],
  knowledge: [".md"]
}

/** Whether Kiwi has a built-in parser for files with this extension. */
export const isReadByKiwi = (extension: string): boolean =>
  Object.values(extensions).some((known) => known.includes(extension))

/** Folders that never contain items. */
const foreignFolders: ReadonlySet<string> = new Set(["node_modules", "__pycache__"])

/** Files that people write for people, beside items. */
const companions: ReadonlySet<string> = new Set(["README.md", "AGENTS.md", "CHANGELOG.md"])

const idHint = "Use words of a-z, 0-9, _ and -, joined by dots: send_mail.py, filesystem.read.yaml"

/** A program that somebody may expect to be a tool: without an extension, or in a language that Kiwi does not read. */
const isScript = (name: string): boolean =>
  /^[a-z0-9_-]+$/.test(name) ||
  /\.(?:rb|pl|php|lua|r|jl|tcl|awk|bash|zsh|fish|ksh|ps1|bat|cmd|go|rs|jsx|tsx|mts|cts|pyw)$/i.test(name)

const unknownScript: NameIssue = {
  issue: `a tool cannot have this name: Kiwi reads ${extensions.tool.join(", ")}`,
  hint:
    "Give it the extension of its language, or put it into a folder with a tool.yaml: version, tool_type, executor_id, entrypoint"
}

export interface NameIssue {
  readonly issue: string
  readonly hint: string
}

export type NameReading =
  | { readonly _tag: "Id"; readonly id: ItemId }
  | { readonly _tag: "Invalid"; readonly reason: NameIssue }
  /** Not meant to be an item. */
  | { readonly _tag: "Other" }

const other: NameReading = { _tag: "Other" }

/**
 * Interprets a file's name. Names that start with `_` or `.` are not items. `further`: extensions of extractors
 * (`.rb`).
 */
export const readFileName = (type: ItemType, name: string, further: ReadonlyArray<string> = []): NameReading => {
  const dot = name.lastIndexOf(".")
  if (name.startsWith("_") || name.startsWith(".") || companions.has(name)) return other
  const extension = dot === -1 ? "" : name.slice(dot)
  if (!extensions[type].includes(extension) && !further.includes(extension)) {
    return type === "tool" && isScript(name) ? { _tag: "Invalid", reason: unknownScript } : other
  }
  return readId(name.slice(0, dot))
}

/** Interprets the name of a folder that is an item. */
export const readId = (name: string): NameReading =>
  isItemId(name)
    ? { _tag: "Id", id: name }
    : { _tag: "Invalid", reason: { issue: "the file's name is not an id", hint: idHint } }

const tooDeep: NameIssue = { issue: `the folder is more than ${maxCategoryDepth} levels deep`, hint: "Move it up" }

/** Why files in this folder cannot be items: the deepest level may contain only folder tools. */
export const readCategory = (category: string): NameIssue | undefined => isCategory(category) ? undefined : tooDeep

/** Whether to descend into a folder below a type folder. `category`: the folder's own path. */
export const readFolderName = (category: string): "enter" | "skip" | NameIssue => {
  const name = category.slice(category.lastIndexOf("/") + 1)
  if (name.startsWith(".") || foreignFolders.has(name)) return "skip"
  if (category.split("/").length > maxCategoryDepth + 1) return tooDeep
  return isCategory(name)
    ? "enter"
    : { issue: "the folder's name is not a category", hint: "Use letters, digits, _, - and . in its name" }
}

export const locate = (at: {
  readonly type: ItemType
  readonly tier: Tier
  readonly root: string
  readonly id: ItemId
  readonly category: string
  /** The file's or folder's own name. */
  readonly name: string
  readonly kind: "file" | "folder"
}): ItemLocation => {
  const path = at.category === "" ? at.name : `${at.category}/${at.name}`
  return {
    type: at.type,
    tier: at.tier,
    id: at.id,
    category: at.category,
    path,
    file: `${at.root}/${typeFolder[at.type]}/${path}`,
    root: at.root,
    kind: at.kind
  }
}

/** System tools that no other tier may shadow, whatever their metadata says. */
const core: ReadonlySet<string> = new Set(["primitives", "runtimes", "capabilities", "llm", "core"])

/** Whether a system item may be marked `overridable`. */
export const mayBeOverridable = (location: ItemLocation): boolean =>
  location.type !== "tool" || !core.has(location.category.split("/")[0]!)

const overridableMark =
  /^(?:__overridable__ = True|(?:export )?const __overridable__ = true;?|(?:# *)?overridable: true|[ \t]*<overridable>true<\/overridable>)$/m

/** Whether a system item's own text allows shadowing. Matched as a line, since a store does not parse items. */
export const isMarkedOverridable = (text: string): boolean => overridableMark.test(text)

interface Named {
  readonly id: string
  readonly category: string
}

/** The id with its category, so that it is unambiguous. */
export const qualifiedId = ({ category, id }: Named): string => category === "" ? id : `${category}/${id}`

export const isGlob = (id: string): boolean => /[*?]/.test(id)

/** Compiles a glob: over `category/id` if it has a slash, else over ids in any category. */
export const compileGlob = (pattern: string): Result.Result<(item: Named) => boolean, ItemIdInvalid> => {
  if (pattern.length > 256 || !/^[A-Za-z0-9_./*?-]+$/.test(pattern)) {
    return Result.fail(new ItemIdInvalid({ id: pattern.slice(0, 256) }))
  }
  return Result.try({
    try: () => {
      const glob = Glob.make(pattern, { dot: true })
      return (item: Named) => Glob.match(glob, pattern.includes("/") ? qualifiedId(item) : item.id)
    },
    catch: () => new ItemIdInvalid({ id: pattern })
  })
}
