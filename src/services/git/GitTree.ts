// Reads the files of a commit as git stores them. The repository may be a stranger's: nothing named in its config or
// attributes is run, nothing is fetched, and no filter is applied.
import { Context, type Effect, Schema } from "effect"

/** A commit could not be read. */
export class GitRefUnreadable extends Schema.TaggedError<GitRefUnreadable>()("GitRefUnreadable", {
  ref: Schema.String,
  issue: Schema.Literals(["name", "no-git", "no-repository", "owner", "missing", "shallow", "too-large", "failed"]),
  /** One line of git's own message, if that helps. */
  detail: Schema.String
}) {
  override get message(): string {
    switch (this.issue) {
      case "name":
        return `"${this.ref}" cannot be the name of a commit`
      case "no-git":
        return "There is no git on PATH outside the project, and reading a commit needs it"
      case "no-repository":
        return "The project is not in a git repository, so there is no commit to compare it with"
      case "owner":
        return "git does not read this repository, since its folder belongs to another user"
      case "missing":
        return `There is no commit "${this.ref}" in this repository`
      case "shallow":
        return `There is no commit "${this.ref}" here: this is a shallow clone, which has only the newest`
      case "too-large":
        return `What "${this.ref}" has below .ai is too large to compare`
      case "failed":
        return `git could not read "${this.ref}"${this.detail === "" ? "" : `: ${this.detail}`}`
    }
  }
  get remediation(): string {
    switch (this.issue) {
      case "name":
        return "Name a branch, a tag or a commit, like origin/main"
      case "no-git":
        return "Install git, or leave the commit out"
      case "no-repository":
        return "Leave the commit out, or name a project's folder inside a clone"
      case "owner":
        return "If the folder is yours to read: git config --global --add safe.directory \"$(pwd)\", in the clone's own folder"
      case "missing":
      case "shallow":
        return fetchCommand(this.ref)
      case "too-large":
        return "Keep data out of .ai, or leave the commit out"
      case "failed":
        return "Look for damage with git fsck; a fresh clone repairs it"
    }
  }
}

/** The command that fetches a branch to where it will be found. */
const fetchCommand = (ref: string): string => {
  const branch = ref.startsWith("origin/") ? ref.slice("origin/".length) : ref
  if (!/^\w[\w./-]*$/.test(branch) || branch === "HEAD") return "Fetch the whole history: git fetch --unshallow"
  return /^[0-9a-f]{7,64}$/.test(branch)
    ? `Fetch it: git fetch --depth=1 origin ${branch}`
    : `Fetch it: git fetch --depth=1 origin ${branch}:refs/remotes/origin/${branch}, then name origin/${branch}`
}

/** An entry of the tree. Only a regular file of at most 1 MiB has bytes. */
export interface TreeEntry {
  readonly bytes: Uint8Array | undefined
}

export interface CommitFiles {
  /** Full object name of the commit. */
  readonly commit: string
  /** By path below the folder, forward slashes. */
  readonly files: ReadonlyMap<string, TreeEntry>
}

const longestRef = 256

/**
 * Whether a text can be passed to git as a revision: no option, range or search, and nothing that a shell would
 * interpret.
 */
export const isRef = (text: string): boolean =>
  text.length <= longestRef && /^[\p{L}\p{N}_@][\p{L}\p{N}_@./{}~^+#-]*$/u.test(text) && !text.includes("..") &&
  !text.includes("^{/")

export class GitTree extends Context.Service<GitTree, {
  /** The files of a commit below `folder`, a real path, for whose path `wanted` is true. */
  readonly read: (
    folder: string,
    ref: string,
    wanted: (path: string) => boolean
  ) => Effect.Effect<CommitFiles, GitRefUnreadable>
}>()("kiwi/services/git/GitTree") {}
