// Files of a project that are readable only by a rule that names them. Compared folded, at any depth.
import { isOpen, literalPrefix, matchesName, type PathPattern, segmentsOf } from "../capability/scopes/PathPattern.ts"
import { foldName } from "../files/foldName.ts"

const foldedNames = (path: string): ReadonlyArray<string> => segmentsOf(path).map(foldName)

const secretFiles = [
  ".env*",
  "*.pem",
  "*.key",
  "*.p8",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "*.ppk",
  "id_rsa",
  "id_dsa",
  "id_ecdsa",
  "id_ed25519",
  ".netrc",
  "_netrc",
  ".pgpass",
  ".pypirc",
  ".npmrc",
  ".git-credentials",
  ".htpasswd",
  ".dockercfg"
]
/** They say which variables there are, and are written to be shared. */
const sharedFile = /^\.env(?:\.[a-z0-9_-]+)*\.(?:example|sample|template)$/

const secretFolders = new Set([".ssh", ".gnupg", ".aws"])
/** Other version controls keep every file in them, also what a rule denies or what was removed. */
const versionFolders = new Set([".hg", ".svn", ".jj", ".bzr"])

/** Of a git folder, what has neither contents of files nor credentials, nor where it fetched from. */
const openInGit = new Set(["head", "refs", "packed-refs", "hooks", "info", "description"])

/** A file of git's objects, in any folder: a bare repository may have any name. */
const isGitObject = (names: ReadonlyArray<string>): boolean =>
  /(?:^|\/)(?:[0-9a-f]{2}\/[0-9a-f]{38}(?:[0-9a-f]{24})?|pack-[0-9a-f]{40,64}\.pack)$/.test(names.join("/"))

/** The files that may contain secrets, as globs of git in any case. */
export const guardedGlobs: ReadonlyArray<string> = [
  ...secretFiles.map((name) => `**/${name}`),
  ...[...secretFolders, ...versionFolders].map((name) => `**/${name}/**`),
  "**/.ai/logs/**"
]

/** Why reading the file of a project needs a rule that allows it: "it may contain secrets". */
export const guardedRead = (path: string): string | undefined => {
  const names = foldedNames(path)
  const last = names.at(-1) ?? ""
  const isSecret = !sharedFile.test(last) && secretFiles.some((pattern) => matchesName(pattern, last))
  if (isSecret || names.some((name) => secretFolders.has(name))) {
    return "it may contain secrets"
  }
  const git = names.findIndex((name) => name === ".git" || name === "git~1")
  if (git >= 0 && (last === "config" || last === "config.worktree" || last === "credentials")) {
    return "git keeps credentials in it"
  }
  const inGit = git < 0 ? undefined : names[git + 1]
  if (inGit !== undefined && !openInGit.has(inGit)) return "git keeps former contents of files there"
  if (isGitObject(names)) return "git keeps the contents of a file in it"
  if (names.some((name) => versionFolders.has(name))) return "version control keeps former contents of files there"
  const ai = names.indexOf(".ai")
  return ai >= 0 && names[ai + 1] === "logs" ? "it has the audit of other calls" : undefined
}

/**
 * Whether a pattern that allows means guarded files too: its last name is more than wildcards (`.env`, `*.pem`), or it
 * names a folder that is guarded (`~/.ssh/**`). `src/**` is about the other files.
 */
export const namesGuarded = (pattern: PathPattern): boolean =>
  !isOpen(pattern.segments.at(-1) ?? "*") || guardedRead(literalPrefix(pattern).join("/")) !== undefined
