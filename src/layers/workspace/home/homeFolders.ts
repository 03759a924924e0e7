// Decides where Kiwi's folders are, from three variables, for the library and for the program before it has loaded
// anything. `~` and relative paths are relative to the home folder and never to the working directory, which may be a
// repository with such a folder. Plain functions: nothing here may delay the start.
import { existsSync, realpathSync } from "node:fs"
import { userInfo } from "node:os"
import { dirname, isAbsolute, join, resolve, sep } from "node:path"
import { isInside } from "../../files/isInside.ts"
import { errorCode } from "../../process/errorCode.ts"

const projectMarks = [".ai", ".git", ".hg", ".jj", ".svn", ".bzr"]

/** Whether a folder came from elsewhere as a whole: a project, or a checkout of any version control. */
export const isProject = (folder: string): boolean => projectMarks.some((mark) => existsSync(join(folder, mark)))

/** As the environment or an embedder gives them. A blank value counts as absent. */
export interface HomeVariables {
  readonly HOME?: string | undefined
  readonly KIWI_HOME?: string | undefined
  readonly USER_SPACE?: string | undefined
}

export type HomeFolders =
  | {
    readonly _tag: "Found"
    /** All absolute. Links are not followed yet. */
    readonly userHome: string
    readonly home: string
    readonly userSpace: string
  }
  | { readonly _tag: "Refused"; readonly variable: keyof HomeVariables; readonly issue: string }

/** Longer than any system's path limit. */
const longest = 32_767

const blankIsAbsent = (value: string | undefined): string | undefined => value?.trim() === "" ? undefined : value

/** The home folder in the system's list of users, whatever HOME is. Undefined for an unknown user. */
export const listedHome = (): string | undefined => {
  try {
    const { homedir } = userInfo()
    return isAbsolute(homedir) ? resolve(homedir) : undefined
  } catch {
    return undefined
  }
}

const issueOf = (path: string): string | undefined => {
  if (/\p{Cc}/u.test(path)) return "contains a control character"
  if (/^[\s\p{Quotation_Mark}`]|[\s\p{Quotation_Mark}`]$/u.test(path)) {
    return "begins or ends with a blank or a quote, which a shell would have removed"
  }
  if (path.length > longest) return "is longer than a path may be"
  if (path.startsWith("~") && path.length > 1 && path[1] !== "/" && path[1] !== sep) {
    return "begins with ~ and a name, and Kiwi does not look up other users' folders"
  }
  return /^[$%]/.test(path) ? "begins with a variable that no shell has replaced" : undefined
}

const below = (userHome: string, path: string): string =>
  /^~(?:$|[/\\])/.test(path) ? join(userHome, path.slice(1)) : resolve(userHome, path)

/** Whether Kiwi's own folders would be among the person's or the system's files. */
const holdsHome = (path: string, userHome: string): boolean => {
  const real = realOrPlanned(path)
  return [userHome, listedHome()].some((home) => home !== undefined && isInside(real, realOrPlanned(home)))
}

/** A HOME that is not absolute is ignored: it would be relative to the folder in which Kiwi was started. */
export const homeFolders = (variables: HomeVariables): HomeFolders => {
  const given = blankIsAbsent(variables.HOME)
  const userHome = given !== undefined && isAbsolute(given) ? resolve(given) : listedHome()
  if (userHome === undefined) {
    return {
      _tag: "Refused",
      variable: "HOME",
      issue: "is not an absolute path, and the system lists none for this user"
    }
  }
  const found = { home: "", userSpace: "" }
  for (
    const [variable, folder, usual] of [["KIWI_HOME", "home", ".kiwi"], ["USER_SPACE", "userSpace", ".ai"]] as const
  ) {
    const path = blankIsAbsent(variables[variable]) ?? usual
    const issue = issueOf(path)
    if (issue !== undefined) return { _tag: "Refused", variable, issue }
    found[folder] = below(userHome, path)
    if (holdsHome(found[folder], userHome)) {
      return { _tag: "Refused", variable, issue: "is your home folder itself, or a folder that contains it" }
    }
  }
  return { _tag: "Found", userHome, ...found }
}

/**
 * The real path of the part that exists, followed by the rest as given. The path is returned unchanged if it has a loop
 * or an unreadable parent.
 */
export const realOrPlanned = (path: string): string => {
  const absent: Array<string> = []
  let current = path
  while (true) {
    try {
      return join(realpathSync.native(current), ...absent)
    } catch (error) {
      if (errorCode(error) !== "ENOENT" || dirname(current) === current) return path
      absent.unshift(current.slice(dirname(current).length).replace(/^[/\\]/, ""))
      current = dirname(current)
    }
  }
}
