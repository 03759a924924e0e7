// Where the program's compiled code is cached. Code there runs as Kiwi, before any check. So the cache is used only in
// a folder that nobody but this user could have written to, and that is not part of a repository. If in doubt there is
// no cache, which costs some milliseconds at each start.
import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { isInside } from "../../files/isInside.ts"
import { homeFolders, type HomeVariables, isProject, listedHome } from "./homeFolders.ts"

const everyFolderOf = (path: string): ReadonlyArray<string> =>
  dirname(path) === path ? [path] : [...everyFolderOf(dirname(path)), path]

/** The system may have links on the way to a home folder. Below it, and anywhere else, a link is refused. */
const withoutLinks = (path: string): string | undefined => {
  const listed = listedHome()
  const expected = listed !== undefined && existsSync(listed) && isInside(listed, path)
    ? join(realpathSync.native(listed), relative(listed, path))
    : path
  return realpathSync.native(path) === expected ? expected : undefined
}

/** With the sticky bit others can add to a folder but cannot replace its entries. */
const isSafeAbove = (folder: string, uid: number | undefined): boolean => {
  const { mode, uid: owner } = lstatSync(folder)
  return uid === undefined || ((owner === uid || owner === 0) && ((mode & 0o022) === 0 || (mode & 0o1000) !== 0))
}

const isOurs = (folder: string, uid: number | undefined): boolean => {
  const stat = lstatSync(folder)
  return stat.isDirectory() && (uid === undefined || (stat.uid === uid && (stat.mode & 0o022) === 0))
}

const choose = (variables: HomeVariables, uid: number | undefined): string | undefined => {
  const folders = homeFolders(variables)
  if (folders._tag === "Refused" || !existsSync(folders.home)) return undefined
  const home = withoutLinks(folders.home)
  if (home === undefined || !isOurs(home, uid)) return undefined
  const listed = listedHome()
  // Your own home folder may have an `.ai`, the user tier, and be a repository of your own.
  const own = listed === undefined || !existsSync(listed) ? undefined : realpathSync.native(listed)
  const cache = join(home, "cache")
  const folder = join(cache, "compiled")
  const isForeign = everyFolderOf(home).some((above) => !isSafeAbove(above, uid) || (above !== own && isProject(above)))
  if (isForeign) return undefined
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  return isOurs(cache, uid) && isOurs(folder, uid) ? folder : undefined
}

/**
 * Undefined if any component of the path is not owned by this user or the system alone, is a link, or belongs to a
 * project, or if Kiwi's home does not exist (it is not created here). `uid`: undefined on systems without user ids.
 */
export const compiledFolder = (variables: HomeVariables, uid: number | undefined): string | undefined => {
  try {
    return choose(variables, uid)
  } catch {
    return undefined
  }
}
