// The files that a command opens because of its arguments, as accesses. Undefined if that is not known, or if a rule would
// have to allow one of them: then the command itself is asked about.
import { Effect, Option } from "effect"
import { join } from "node:path"
import type { Access, PathAccess } from "../../services/capability/Access.ts"
import type { ArgumentPath } from "../../services/capability/command/ArgumentPath.ts"
import { openedByArguments, readsArguments } from "../../services/capability/command/openedByArguments.ts"
import type { SimpleCommand } from "../../services/capability/command/SimpleCommand.ts"
import { guardedRead } from "../../services/permission/guardedPaths.ts"
import { Workspace } from "../../services/workspace/Workspace.ts"
import { listFolder } from "../files/listFolder.ts"
import { change, type Found, joined, locate } from "../filesystem/places.ts"
import { isPlainRepository, tracksOnlyOpen } from "../git/plainRepository.ts"

/** More files than are looked at before a command is asked about instead. */
const mostFiles = 5_000

const isOpen = ({ access: { path } }: Found) => !path.startsWith("/") && guardedRead(path) === undefined

/** Whether no file below needs a rule of its own. */
const allOpenBelow = (root: string, folder: string): boolean => {
  const waiting = [folder]
  let count = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const entry of listFolder(join(root, at), mostFiles + 1)) {
      const path = joined(at, entry.name)
      if (++count > mostFiles || guardedRead(path) !== undefined) return false
      if (entry.isDirectory()) waiting.push(path)
    }
  }
  return true
}

const wild = /[*?[\]]/

/** Whether a name may match: for certain no, if it begins or ends otherwise, or is hidden and the pattern is not. */
const mayMatch = (segment: string, name: string): boolean => {
  const [head = ""] = segment.split(/[*?[]/, 1)
  const tail = /[^*?[\]]*$/.exec(segment)?.[0] ?? ""
  return name.startsWith(head) && name.endsWith(tail) && (!name.startsWith(".") || head.startsWith("."))
}

/**
 * Whether all that may match is in the folder and needs no rule of its own. A link may lead anywhere, and `isFirst` names
 * may be taken for options.
 */
const allOpenMatching = (
  root: string,
  folder: string,
  segments: ReadonlyArray<string>,
  isFirst: boolean
): boolean => {
  let folders: ReadonlyArray<string> = [folder]
  let count = 0
  for (const segment of segments) {
    const next: Array<string> = []
    for (const at of folders) {
      for (const entry of listFolder(join(root, at), mostFiles + 1)) {
        if (++count > mostFiles) return false
        if (!mayMatch(segment, entry.name)) continue
        const path = joined(at, entry.name)
        if (entry.isSymbolicLink() || guardedRead(path) !== undefined) return false
        if (isFirst && entry.name.startsWith("-")) return false
        if (entry.isDirectory()) next.push(path)
      }
    }
    folders = next
  }
  return true
}

/** A pattern of file names opens the folder in which it begins. */
const accessesOfPattern = Effect.fnUntraced(function*({ path, use }: ArgumentPath, folder: string, root: string) {
  const names = path.split("/")
  const first = names.findIndex((name) => wild.test(name))
  const segments = names.slice(first).filter((name) => name !== "" && name !== ".")
  const isReading = use === "content" || use === "names" || use === "names-below" || use === "tree"
  if (!isReading || first < 0 || segments.includes("..")) return undefined
  const start = names.slice(0, first).join("/") || (path.startsWith("/") ? "/" : ".")
  const located = yield* Effect.option(locate(start.startsWith("/") ? start : joined(folder, start), "fs.read"))
  if (Option.isNone(located) || !isOpen(located.value) || located.value.stat?.kind !== "folder") return undefined
  const { access } = located.value
  const isKnown = allOpenMatching(root, access.path, segments, first === 0) &&
    (use !== "tree" || allOpenBelow(root, access.path))
  return isKnown ? [{ ...access, below: true } satisfies PathAccess] : undefined
})

const accessesOf = Effect.fnUntraced(function*(argument: ArgumentPath, folder: string, root: string) {
  if (argument.pattern === true) return yield* accessesOfPattern(argument, folder, root)
  const { path, use } = argument
  const within = path.startsWith("/") ? path : joined(folder, path)
  const located = yield* Effect.option(locate(within, use === "make" ? "fs.write" : "fs.read"))
  if (Option.isNone(located) || !isOpen(located.value)) return undefined
  const { access, stat } = located.value
  const isFolder = stat?.kind === "folder"
  const below: PathAccess = { ...access, below: true }
  switch (use) {
    case "names":
      return [access]
    case "names-below":
      return [below]
    case "content":
      // Of two folders diff compares the files.
      return isFolder ? undefined : [access]
    case "tree":
      return isFolder && !allOpenBelow(root, access.path) ? undefined : [below]
    case "repository":
      return isPlainRepository(root, access.path) ? [below] : undefined
    case "tracked":
      return isPlainRepository(root, access.path) && tracksOnlyOpen(root, access.path) ? [below] : undefined
    case "existing":
      return stat === undefined ? undefined : [access]
    case "make":
      return yield* change(access)
  }
})

/** `folders`: where it may run, relative to the project. */
export const openedByCommand = Effect.fnUntraced(function*(command: SimpleCommand, folders: ReadonlyArray<string>) {
  const paths = openedByArguments(command)
  if (paths === undefined) return undefined
  const { project } = yield* Workspace
  if (Option.isNone(project)) return undefined
  const all: Array<Access> = []
  for (const folder of folders) {
    for (const path of paths) {
      const accesses = yield* accessesOf(path, folder, project.value.root)
      if (accesses === undefined) return undefined
      all.push(...accesses)
    }
  }
  return all
})

/** What may be a path in a word: `--file=a`, `HEAD:a`. */
const pathsIn = (word: string): ReadonlyArray<string> =>
  [word, ...word.split(/[=:]/).slice(1)].filter((one) => one !== "")

/**
 * What the command names, if it is not known what it opens: files and folders that exist, or else the folder itself. git
 * reads all of its folder anyway.
 */
export const namedByCommand = Effect.fnUntraced(function*(command: SimpleCommand, folders: ReadonlyArray<string>) {
  if (!readsArguments(command)) return undefined
  const paths = command.words.flatMap(({ fixed, text }) => fixed ? pathsIn(text) : [])
  const found: Array<PathAccess> = []
  const add = Effect.fnUntraced(function*(path: string, folder: string) {
    const located = yield* Effect.option(locate(path.startsWith("/") ? path : joined(folder, path), "fs.read"))
    if (Option.isNone(located) || located.value.stat === undefined) return
    const { access, stat } = located.value
    found.push({ ...access, ...(stat.kind === "folder" ? { below: true } : {}), named: true })
  })
  for (const folder of folders) {
    for (const path of paths) yield* add(path, folder)
    if (found.length === 0 || command.program === "git") yield* add(".", folder)
  }
  return found
})
