// What a file's name and place say about it: which names are items, and where an item of a path lies. Pure, so that
// every store reads names in one way.
import { Glob, Result } from "effect"
import { typeFolder } from "./Item.ts"
import type { ItemLocation } from "./Item.ts"
import { ItemIdInvalid } from "./ItemErrors.ts"
import { isCategory, isItemId } from "./ItemId.ts"
import type { ItemId, ItemType, Tier } from "./ItemId.ts"

/** The file that makes a folder of the tools folder one tool. */
export const folderManifest = "tool.yaml"

/** `<name>.kiwi-sig`, beside a folder or a file that cannot hold a signature line. */
export const detachedSuffix = ".kiwi-sig"

/** The deepest category; a folder tool may lie in it. */
const maxCategoryDepth = 8

const extensions: Readonly<Record<ItemType, ReadonlyArray<string>>> = {
  directive: [".md"],
  tool: [".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".yaml", ".yml"],
  knowledge: [".md"]
}

/** Whether Kiwi has a parser of its own for files with this extension. */
export const isReadByKiwi = (extension: string): boolean =>
  Object.values(extensions).some((known) => known.includes(extension))

/** Folders that hold no items, whatever is in them. */
const foreignFolders: ReadonlySet<string> = new Set(["node_modules", "__pycache__"])

/** Files that people put beside items for people to read. */
const companions: ReadonlySet<string> = new Set(["README.md", "AGENTS.md", "CHANGELOG.md"])

const idHint = "Use words of a-z, 0-9, _ and -, joined by dots: send_mail.py, filesystem.read.yaml"

/** A program that somebody may take for a tool: without an ending, or in a language that Kiwi does not read. */
const isScript = (name: string): boolean =>
  /^[a-z0-9_-]+$/.test(name) ||
  /\.(?:rb|pl|php|lua|r|jl|tcl|awk|bash|zsh|fish|ksh|ps1|bat|cmd|go|rs|jsx|tsx|mts|cts|pyw)$/i.test(name)

const unknownScript: NameIssue = {
  issue: `no tool has such a name: Kiwi reads ${extensions.tool.join(", ")}`,
  hint:
    "Give it the ending of its language, or put it into a folder with a tool.yaml: version, tool_type, executor_id, entrypoint"
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

/** Reads a file's name. Names that start with `_` or `.` are no items. `further`: extensions of extractors (`.rb`). */
export const readFileName = (type: ItemType, name: string, further: ReadonlyArray<string> = []): NameReading => {
  const dot = name.lastIndexOf(".")
  if (name.startsWith("_") || name.startsWith(".") || companions.has(name)) return other
  const extension = dot === -1 ? "" : name.slice(dot)
  if (!extensions[type].includes(extension) && !further.includes(extension)) {
    return type === "tool" && isScript(name) ? { _tag: "Invalid", reason: unknownScript } : other
  }
  return readId(name.slice(0, dot))
}

/** Reads the name of a folder that is an item. */
export const readId = (name: string): NameReading =>
  isItemId(name)
    ? { _tag: "Id", id: name }
    : { _tag: "Invalid", reason: { issue: "the file's name is not an id", hint: idHint } }

const tooDeep: NameIssue = { issue: `the folder is more than ${maxCategoryDepth} levels deep`, hint: "Move it up" }

/** Why files in a folder that was entered are no items: only a folder tool may lie at the deepest level. */
export const readCategory = (category: string): NameIssue | undefined => isCategory(category) ? undefined : tooDeep

/** Whether a folder below a type folder is looked into; `category` is its own path. */
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

/** System tools that nothing may shadow, whatever their metadata says. */
const core: ReadonlySet<string> = new Set(["primitives", "runtimes", "capabilities", "llm", "core"])

/** Whether a system item can be marked `overridable` at all. */
export const mayBeOverridable = (location: ItemLocation): boolean =>
  location.type !== "tool" || !core.has(location.category.split("/")[0]!)

const overridableMark =
  /^(?:__overridable__ = True|(?:export )?const __overridable__ = true;?|(?:# *)?overridable: true|[ \t]*<overridable>true<\/overridable>)$/m

/** Whether a system item's own text gives it up to be shadowed. Read as a line, since a store does not parse. */
export const isMarkedOverridable = (text: string): boolean => overridableMark.test(text)

interface Named {
  readonly id: string
  readonly category: string
}

/** Always with its category, so that it names one item. */
export const qualifiedId = ({ category, id }: Named): string => category === "" ? id : `${category}/${id}`

export const isGlob = (id: string): boolean => /[*?]/.test(id)

/** Which items a glob names: over `category/id` if it has a slash, else over ids in any category. */
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
