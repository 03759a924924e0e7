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

/** Where its output goes: a log that grows is nothing that it starts. What is read too, or run for it, is none. */
const output = /(?<![=<>-])>{1,2}\s*(?:"(?:[^"\n$`]|\$(?!\())*"|'[^'\n]*'|[^\s;|&()<>"'`]+)/g

/** What stands for a value begins or ends a path as a quote does; between quotes a path may hold blanks. */
const betweenQuotes = /["'`\n]|\$\w+|\$\{[^{}\n]*\}|\$\([^()\n]*\)/
const betweenBlanks = /(?:\$\w+|[\s"'`(){}[\]<>|&;=:,$!?*#\\])+/

/** What a script says. */
export interface ScriptWords {
  /** Every word that may be a path. */
  readonly paths: ReadonlyArray<string>
  /** Folders of which it runs or sources whatever lies there, as they are written. */
  readonly runs: ReadonlyArray<string>
}

/** As a module names others: by dots alone, or with dots for slashes. */
const moduleWords = (text: string): ReadonlyArray<string> => [
  ...[...text.matchAll(/["'`](\.{1,2}(?:\/\.{1,2})*\/?)["'`]/g)].map(([, path]) => `${path}/index`),
  ...[...text.matchAll(/\b(?:import|from)\s+([\w., \t]+)/g)].flatMap(([, names]) =>
    names!.split(/[,\s]+/).flatMap((name) => {
      const path = name.replace(/^\.+/, "").replaceAll(".", "/")
      return path === "" ? [] : [`./${path}`, `./${path.split("/")[0]}/__init__`]
    })
  )
]

/** A path of which a part stands for any name, up to that part. */
const globbed = String.raw`((?:"[^"\n]*"|'[^'\n]*'|[^\s;|&"'])*?)\/?[^\s;|&"'/]*[*?][^\s;|&]*`
const loop = /\bfor\s+(\w+)\s+in\s+([^;\n]+)/g
const globs = new RegExp(globbed, "g")
const listed = /\bfor\s+(\w+)\s+in\s+(?:`|"?\$\()(?:ls|find)\s+(?:-\S+\s+)*((?:"[^"\n]*"|[^\s;|&"'`)])+)/g
const sourced = new RegExp(String.raw`(?:^|[;&|({\n]|\bdo\b|\bthen\b)\s*(?:\.|source|run-parts)\s+${globbed}`, "g")
const runParts = /\brun-parts\s+(?:-\S+\s+)*((?:"[^"\n]*"|[^\s;|&"'])+)/g

const runsVariable = (text: string, name: string): boolean =>
  new RegExp(
    String
      .raw`(?:(?:^|[\s;&|({])(?:\.|source|exec|eval|command|(?:ba|da|z|k)?sh)|[;&|({\n]|\bdo|\bthen)\s+["']?[^\s;&|"']*\$\{?${name}\b`
  ).test(text) || new RegExp(String.raw`(?:\.|source)\s+"[^"\n]*\$\{?${name}\b`).test(text)

/** The folders of which a shell script runs or sources whatever lies there: what does so is none of its words. */
const foldersRun = (text: string): ReadonlyArray<string> =>
  [
    ...[...text.matchAll(loop)].flatMap(([, name, words]) =>
      runsVariable(text, name!) ? [...words!.matchAll(globs)].map(([, folder]) => folder!) : []
    ),
    ...[...text.matchAll(listed)].flatMap(([, name, folder]) => runsVariable(text, name!) ? [folder!] : []),
    ...[...text.matchAll(sourced), ...text.matchAll(runParts)].map(([, folder]) => folder!)
  ].map((folder) => folder.replace(/["']/g, "").split(betweenQuotes).at(-1)!.replace(/\/+$/, "").replace(/^\/+/, ""))
    .map((folder) => folder === "" ? "." : folder)

/** `undefined` where there are too many words. */
export const scriptWords = (script: string): ScriptWords | undefined => {
  const paths = pathWords(script)
  return paths && { paths, runs: foldersRun(script) }
}

const pathWords = (script: string): ReadonlyArray<string> | undefined => {
  const text = script.replace(output, " ").replaceAll("\\ ", "\0")
  const quoted = text.split(betweenQuotes).filter((part) => part.includes("/"))
  // A shell joins what is in quotes to what is beside it.
  const joined = text.replace(/["']|\\(?=[\w./-])/g, "").split(betweenBlanks)
  const words = [...quoted, ...text.split(betweenBlanks), ...joined, ...moduleWords(script)]
    // A path may follow an option at once, or be what a variable is by default: `-I../lib`, `${X:-../lib}`.
    .map((word) => word.replaceAll("\0", " ").trim().replace(/^-[^./]*/, ""))
    .filter((word) => word.length <= 1_024 && /[^./]/.test(word))
  const distinct = [...new Set(words)]
  return distinct.length <= maxWords ? distinct : undefined
}

/** As Node and Python find a module by its name without an ending; a folder by what is in it. */
const moduleEndings = [
  ".js",
  ".cjs",
  ".mjs",
  ".json",
  ".py",
  "/package.json",
  "/index.js",
  "/index.json",
  "/__init__.py"
]

/** What a path that begins with somebody's home may be in the checkout. */
const endsOf = (word: string): ReadonlyArray<string> => {
  if (!/^[~/]/.test(word)) return []
  const parts = word.split("/").filter((part) => part !== "" && part !== ".")
  return parts.slice(1, -1).map((_, index) => parts.slice(index + 1).join("/")).filter((end) => !end.startsWith(".."))
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
 * too many folders, or runs whatever lies in one.
 */
export const namedFiles = (
  { paths: words, runs }: ScriptWords,
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
    if (stat?.isFile() !== true) {
      for (const ending of moduleEndings) {
        const module = `${path}${ending}`
        if (attempt(() => Fs.statSync(module, { throwIfNoEntry: false }))?.isFile() === true) {
          files.add(normalize(module))
        }
      }
    }
    return stat !== undefined
  }
  /** A path may be written by another way to the checkout than its real one. */
  const isAbsoluteHere = (word: string): boolean => {
    const real = isAbsolute(word) && processPath(word, () => undefined) === undefined ? realPath(word) : undefined
    return real !== undefined && (isInside(checkout, real) || isInside(checkout, word)) && look(word)
  }
  const names = words.filter((word) => !isAbsoluteHere(word))
  const paths = [...names.filter((word) => word.includes("/")), ...names.flatMap(endsOf)]
  const isFolder = (path: string): boolean => {
    const real = realPath(path)
    return real !== undefined && isInside(checkout, real) &&
      attempt(() => Fs.statSync(real, { throwIfNoEntry: false }))?.isDirectory() === true
  }
  if (runs.some((run) => isFolder(`/${run}`))) return undefined
  // It grows by the folders that are found on the way.
  for (const { folder, holdsPrograms } of folders.values()) {
    for (const word of new Set(holdsPrograms ? [...names, ...paths] : paths)) {
      const path = `${folder}${sep}${word}`
      if (!word.includes("..") || isInside(checkout, path)) look(path)
    }
    if (runs.some((run) => isFolder(`${folder}${sep}${run}`))) return undefined
    if (folders.size > mostFolders) return undefined
  }
  return [...files]
}
