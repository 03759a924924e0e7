// Finds files in a repository's own folder on which git would hang, before git is started: git opens a pipe and never
// returns, and reads an endless device until the memory is full. Checks names and sizes, and opens only the two small
// files that point to other folders.
import { Effect } from "effect"
import { statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { attempt } from "../files/attempt.ts"
import { listFolder } from "../files/listFolder.ts"
import { readText } from "../files/readRegular.ts"

/** Files that git reads whole, and folders with such files. */
const read = ["HEAD", "config", "config.worktree", "commondir", "gitdir", "shallow", "packed-refs", "info/grafts"]
const folders = ["refs", "reftable", "logs", "objects"]

const [mostBytes, mostEntries, stride] = [64 * 1_048_576, 1_000_000, 256]

/** Parses the folder that one of git's small files points to. */
const pointed = (file: string, from: string, start: string): string | undefined => {
  const text = readText(file, { follow: true, maxBytes: 4_096 })
  return text?.startsWith(start) === true ? resolve(from, text.slice(start.length).trim()) : undefined
}

const statOf = (path: string) => attempt(() => statSync(path, { throwIfNoEntry: false }))

/** The repository's folders around a project; for a worktree, its own and the shared one. */
const gitFolders = (project: string): ReadonlyArray<string> => {
  for (let at = project;; at = dirname(at)) {
    const found = statOf(join(at, ".git"))
    if (found !== undefined) {
      const own = found.isDirectory() ? join(at, ".git") : pointed(join(at, ".git"), at, "gitdir:")
      const common = own === undefined ? undefined : pointed(join(own, "commondir"), own, "")
      return [own, common].filter((folder) => folder !== undefined)
    }
    if (dirname(at) === at) return []
  }
}

/** What is wrong with a file that git would read. Undefined if the file is missing or fine. */
const issueOf = (path: string, mayBeLarge: boolean): string | undefined => {
  const stat = statOf(path)
  if (stat === undefined || stat.isDirectory()) return undefined
  if (!stat.isFile()) return "is not a file"
  return stat.size > mostBytes && !mayBeLarge ? `is larger than ${mostBytes} bytes` : undefined
}

/** The first file on which git would hang, as a sentence: ".git/HEAD is not a file". */
export const waitsIn = Effect.fnUntraced(function*(project: string) {
  let seen = 0
  for (const folder of gitFolders(project)) {
    for (const name of read) {
      const issue = issueOf(join(folder, name), false)
      if (issue !== undefined) return `.git/${name} ${issue}`
    }
    const waiting = [...folders]
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      const inObjects = at.startsWith("objects")
      for (const entry of listFolder(join(folder, at), mostEntries)) {
        if (++seen > mostEntries) return undefined
        if (seen % stride === 0) yield* Effect.yieldNow
        const name = `${at}/${entry.name}`
        if (entry.isDirectory()) waiting.push(name)
        else if (!entry.isFile() || !inObjects || at === "objects/info") {
          const issue = issueOf(join(folder, name), inObjects && at !== "objects/info")
          if (issue !== undefined) return `.git/${name} ${issue}`
        }
      }
    }
  }
  return undefined
})
