// What a script names by a path. No shell is asked: every word that may be a path, or the end of one, is looked up from
// each folder that it may count from, and what is there counts. A file too many asks a person once more; one too few
// would run unseen. What a script makes its paths of at run time is not told.
import * as Fs from "node:fs"
import { dirname, isAbsolute, normalize, sep } from "node:path"
import { attempt } from "../../files/attempt.ts"
import { isInside } from "../../files/isInside.ts"
import { processPath } from "../../files/processPath.ts"
import * as HostFiles from "../HostFiles.ts"

/** Where a project lies; both are real paths. */
export interface ProjectPlace {
  readonly root: string
  /** The project itself, or the checkout that it is a part of. */
  readonly checkout: string
}

/** A starter of interpreters is a few lines. */
const maxWords = 2_048
const maxFolders = 32

/** Where its output goes: a log that grows is nothing that it starts. */
const output = /(?<![=-])>{1,2}\s*(?:"[^"\n]*"|'[^'\n]*'|[^\s;|&)]+)/g

/** What stands for a value begins or ends a path as a quote does; between quotes a path may hold blanks. */
const betweenQuotes = /["'`\n]|\$\w+|\$\{[^{}\n]*\}|\$\([^()\n]*\)/
const betweenBlanks = /(?:\$\w+|[\s"'`(){}[\]<>|&;=:,$!?*#\\])+/

/** Every word of a script that may be a path; `undefined` where there are too many. */
export const pathWords = (script: string): ReadonlyArray<string> | undefined => {
  const text = script.replace(output, " ").replaceAll("\\ ", "\0")
  const quoted = text.split(betweenQuotes).filter((part) => part.includes("/"))
  const words = [...quoted, ...text.split(betweenBlanks)]
    // A path may follow an option at once, or be what a variable is by default: `-I../lib`, `${X:-../lib}`.
    .map((word) => word.replaceAll("\0", " ").trim().replace(/^-[^./]*/, ""))
    .filter((word) => word.length <= 1_024 && /[^./]/.test(word))
  const distinct = [...new Set(words)]
  return distinct.length <= maxWords ? distinct : undefined
}

const realPath = HostFiles.node.realPath

/** The folder, and those above it up to the checkout. */
const foldersFrom = (folder: string, checkout: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (let at = folder; isInside(checkout, at); at = dirname(at)) {
    found.push(at)
    if (dirname(at) === at) break
  }
  return found
}

/**
 * The files of the checkout that `words` of a script name, by paths as they are written. A path counts from the folder
 * of the script, from each above it and from the folders that the script names; a bare name from the folder of the
 * script and from those that it names, as on a PATH. `script`: absolute, as it is started. `undefined` where it names
 * too many folders.
 */
export const namedFiles = (
  words: ReadonlyArray<string>,
  script: string,
  { checkout, root }: ProjectPlace
): ReadonlyArray<string> | undefined => {
  const own = [dirname(script), dirname(realPath(script) ?? script)]
  /** By real path; whether bare names count from there. */
  const folders = new Map<string, { readonly folder: string; readonly holdsPrograms: boolean }>()
  const add = (folder: string, holdsPrograms: boolean) => {
    const real = realPath(folder)
    if (real !== undefined && isInside(checkout, real) && !folders.has(real)) {
      folders.set(real, { folder, holdsPrograms })
    }
  }
  for (const folder of own) add(folder, true)
  for (const folder of [...own, root]) for (const above of foldersFrom(folder, checkout)) add(above, false)
  const mostFolders = folders.size + maxFolders
  const files = new Set<string>()
  const look = (path: string): boolean => {
    const stat = attempt(() => Fs.statSync(path, { throwIfNoEntry: false }))
    if (stat?.isFile() === true) files.add(normalize(path))
    if (stat?.isDirectory() === true) add(path, true)
    return stat !== undefined
  }
  /** A path may be written by another way to the checkout than its real one. */
  const isAbsoluteHere = (word: string): boolean => {
    const real = isAbsolute(word) && processPath(word, () => undefined) === undefined ? realPath(word) : undefined
    return real !== undefined && (isInside(checkout, real) || isInside(checkout, word)) && look(word)
  }
  const names = words.filter((word) => !isAbsoluteHere(word))
  const paths = names.filter((word) => word.includes("/"))
  // It grows by the folders that are found on the way.
  for (const { folder, holdsPrograms } of folders.values()) {
    for (const word of holdsPrograms ? names : paths) {
      const path = `${folder}${sep}${word}`
      if (!word.includes("..") || isInside(checkout, path)) look(path)
    }
    if (folders.size > mostFolders) return undefined
  }
  return [...files]
}
