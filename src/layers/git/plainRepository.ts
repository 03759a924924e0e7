// Whether git, run by hand, starts nothing and opens nothing outside because of a repository's own files. The folder may
// have come with a `.git` that somebody else made: its config names programs, and so do its hooks.
import { Result } from "effect"
import { lstatSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { guardedRead } from "../../services/permission/guardedPaths.ts"
import { attempt } from "../files/attempt.ts"
import { isInside } from "../files/isInside.ts"
import { listFolder } from "../files/listFolder.ts"
import { readRegular, readText } from "../files/readRegular.ts"

/** Settings that start no program and name no file. All others, includes too, are not known here. */
const harmless =
  /^(?:core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|untrackedcache|hookspath)|remote\.[^]*\.(?:url|fetch|pushurl)|branch\.[^]*\.(?:remote|merge|rebase|description|vscode-merge-base)|user\.(?:name|email)|init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|fetch\.prune|color\.[\w.]+|commit\.gpgsign|rebase\.autosquash|merge\.ff|gui\.[\w.]+|lfs\.repositoryformatversion)$/

/** One line each: no value that goes on, no section with a setting behind it. */
const section = /^\[([A-Za-z][\w-]*)(?: "((?:[^"\\]|\\["\\])*)")?\]\s*$/
const setting = /^\s*([A-Za-z][\w-]*)\s*(?:=\s*([^\\]*))?$/

/** The names of the settings with their values. Undefined if a line is not as simple as git writes it. */
const readConfig = (text: string): ReadonlyArray<readonly [name: string, value: string]> | undefined => {
  const found: Array<readonly [string, string]> = []
  let prefix: string | undefined
  for (const line of text.split("\n")) {
    if (/^\s*(?:[#;].*)?$/.test(line)) continue
    const opened = section.exec(line)
    if (opened !== null) {
      prefix = `${opened[1]!.toLowerCase()}${opened[2] === undefined ? "" : `.${opened[2]}`}`
      continue
    }
    const set = setting.exec(line)
    if (set === null || prefix === undefined) return undefined
    found.push([`${prefix}.${set[1]!.toLowerCase()}`, set[2] ?? ""])
  }
  return found
}

/** Of an entry of the index: a repository inside this one, which has a config of its own. */
const gitlink = Buffer.from([0x00, 0x00, 0xe0, 0x00])

const kindOf = (path: string) => {
  const stat = attempt(() => lstatSync(path))
  return stat === undefined ? undefined : stat.isDirectory() ? "folder" : stat.isFile() ? "file" : "other"
}

/** The project's root has the repository, if any folder between has none. */
const rootOf = (project: string, folder: string): string | undefined => {
  for (let at = join(project, folder); isInside(project, at); at = dirname(at)) {
    const kind = kindOf(join(at, ".git"))
    if (kind !== undefined) return kind === "folder" ? at : undefined
    // A bare repository needs no `.git`.
    if (kindOf(join(at, "HEAD")) !== undefined) return undefined
  }
  return undefined
}

/** Of an index of version 2 or 3. Undefined for any other file. */
const namesIn = (index: Buffer): ReadonlyArray<string> | undefined => {
  if (index.length < 12 || index.toString("latin1", 0, 4) !== "DIRC") return undefined
  const version = index.readUInt32BE(4)
  if (version !== 2 && version !== 3) return undefined
  const names: Array<string> = []
  let at = 12
  for (let left = index.readUInt32BE(8); left > 0; left--) {
    if (at + 62 >= index.length) return undefined
    const start = at + ((index.readUInt16BE(at + 60) & 0x4000) === 0 ? 62 : 64)
    const end = index.indexOf(0, start)
    if (end < 0) return undefined
    names.push(index.toString("utf8", start, end))
    at += (end - at + 8) & ~7
  }
  return names
}

/** Whether no file in the index of a plain repository needs a rule of its own. */
export const tracksOnlyOpen = (project: string, folder: string): boolean => {
  const root = rootOf(project, folder)
  if (root === undefined) return false
  const index = readRegular(join(root, ".git/index"), { follow: false, maxBytes: 64 * 1_048_576 })
  if (Result.isFailure(index)) return index.failure === "absent"
  return namesIn(index.success)?.every((name) => guardedRead(name) === undefined) === true
}

const hook = "post-index-change"

export const isPlainRepository = (project: string, folder: string): boolean => {
  const root = rootOf(project, folder)
  if (root === undefined) return false
  const git = join(root, ".git")
  for (const name of ["config.worktree", "modules", "worktrees", "commondir", "objects/info/alternates"]) {
    if (kindOf(join(git, name)) !== undefined) return false
  }
  // What git would wait for, or read from elsewhere.
  for (const name of ["HEAD", "packed-refs", "index", "info/exclude", "info/attributes"]) {
    if (kindOf(join(git, name)) === "other") return false
  }
  const text = readText(join(git, "config"), { follow: false, maxBytes: 65_536 })
  const config = text === undefined ? undefined : readConfig(text)
  if (config === undefined || !config.every(([name]) => harmless.test(name))) return false
  const folders = config.filter(([name]) => name === "core.hookspath").map(([, value]) => value)
  if (folders.some((value) => !/^[\w.][\w./-]*$/.test(value))) return false
  if (["hooks", ...folders].some((_, at) => hasHook(at === 0 ? join(git, "hooks") : join(root, folders[at - 1]!)))) {
    return false
  }
  // Part of such an index is in another file.
  if (listFolder(git).some(({ name }) => name.startsWith("sharedindex"))) return false
  const index = readRegular(join(git, "index"), { follow: false, maxBytes: 64 * 1_048_576 })
  return Result.isSuccess(index) ? !index.success.includes(gitlink) : index.failure === "absent"
}

const hasHook = (folder: string): boolean =>
  listFolder(attempt(() => realpathSync(folder)) ?? folder).some(({ name }) => name.toLowerCase() === hook)
