// Paths that a program makes from its own file's location.
import type { SyntaxNode, Tree } from "@lezer/common"

/** Segments relative to the file's folder; `..` only at the start. */
export type OwnPath = ReadonlyArray<string>

/** The segment that stands for the file itself. */
const self = "\0"

export const ownFile: OwnPath = [self]

export const isOwnFile = (path: OwnPath): boolean => path.at(-1) === self

/** Longer paths are not followed. */
const maxLength = 64

export const parentOf = (path: OwnPath): OwnPath =>
  path.length > 0 && path.at(-1) !== ".." ? path.slice(0, -1) : [...path, ".."]

/** Undefined: the text is an absolute path. */
export const below = (path: OwnPath, relative: string): OwnPath | undefined => {
  if (/^(?:[/~]|[A-Za-z]:)/.test(relative)) return undefined
  let at = path
  for (const part of relative.split(/[/\\]/)) {
    if (part !== "" && part !== ".") at = part === ".." ? parentOf(at) : [...at, part]
  }
  return at.length > maxLength ? undefined : at
}

/** Also undefined if a part is not a literal. */
export const joined = (
  path: OwnPath | undefined,
  parts: ReadonlyArray<string | undefined>
): OwnPath | undefined =>
  parts.reduce<OwnPath | undefined>(
    (at, part) => at === undefined || part === undefined ? undefined : below(at, part),
    path
  )

/** `path + "/name"`: text appended to a path. */
export const followedBy = (path: OwnPath, text: string): OwnPath | undefined =>
  text === "" ? path : text.startsWith("/") ? below(path, text.slice(1)) : undefined

export const namesFile = (path: OwnPath): boolean => path.some((part) => part !== "..") && !isOwnFile(path)

export const showPath = (path: OwnPath): string => path.join("/")

/** How a program uses such a path. */
export interface Use {
  /** Offset in the text. */
  readonly at: number
  readonly path: OwnPath
  /** `needs`: fails if the file is missing. `tests`, `writes`: a later use may find it. `mentions`: any other use. */
  readonly how: "needs" | "tests" | "writes" | "mentions"
}

/** Deeper expressions are not followed. */
const maxDepth = 40

export interface Language {
  /** `follow` evaluates a part of the expression. */
  readonly evaluate: (
    node: SyntaxNode,
    follow: (node: SyntaxNode | null | undefined) => OwnPath | undefined
  ) => OwnPath | undefined
  /** Undefined: the use has no effect. */
  readonly howUsed: (node: SyntaxNode) => Use["how"] | undefined
}

/** The largest expressions that are such paths, with the use of each. */
export const findUses = (tree: Tree, { evaluate, howUsed }: Language): ReadonlyArray<Use> => {
  const uses: Array<Use> = []
  const known = new Map<string, OwnPath | undefined>()
  const follow = (depth: number) => (node: SyntaxNode | null | undefined): OwnPath | undefined => {
    if (node === null || node === undefined || depth > maxDepth) return undefined
    const key = `${node.name}:${node.from}:${node.to}`
    if (!known.has(key)) known.set(key, evaluate(node, follow(depth + 1)))
    return known.get(key)
  }
  tree.iterate({
    enter: ({ node }) => {
      const path = follow(0)(node)
      if (path === undefined) return undefined
      const how = howUsed(node)
      if (how !== undefined) uses.push({ at: node.from, path, how })
      return false
    }
  })
  return uses
}
