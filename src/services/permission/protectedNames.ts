// Names that no tool may write, delete or move, whatever a rule says: by a file with such a name, somebody decides what
// runs later, outside of any rule. They hold at any depth and whether or not the file exists. Pure, on real paths.
//
// Names are compared as the most forgiving file system would: without case, without characters that HFS+ ignores,
// without the dots and blanks that Windows drops, and by the short names of FAT.
import { foldName } from "../files/foldName.ts"

/** Why a path is protected, and whether there is another way to change it. */
export interface Protection {
  /** The name in the path that decides: ".git". */
  readonly name: string
  /** What follows "since": "git runs what is configured there". */
  readonly why: string
  /** `kiwi.write`: an item's file, written under that capability. `git`: left to git commands. `nobody`: to a person. */
  readonly by: "kiwi.write" | "git" | "nobody"
}

const startUp = "a shell runs it when it starts"
const editor = "an editor or agent runs what is configured there"
const committing = "git runs what is there"
const mise = "mise runs what is configured there"

const names: ReadonlyMap<string, string> = new Map([
  [".mcp.json", "it names programs that agents start"],
  ...(".aider.conf.yml .amazonq .claude .claude.json .codex .continue .crush.json .cursor .devcontainer .devcontainer.json " +
    ".dir-locals.el .exrc .gemini .gvimrc .idea .junie .kiro .nvim.lua .nvimrc .opencode .qwen .roo .vimrc .vscode " +
    ".windsurf .zed crush.json opencode.json opencode.jsonc").split(" ").map((name) => [name, editor] as const),
  ...[".gitconfig", ".githooks", ".husky", ".overcommit.yml", ".pre-commit-config.yaml"].map((name) =>
    [name, committing] as const
  ),
  [".envrc", "direnv runs it"],
  [".yarnrc.yml", "yarn runs what is named there"],
  ["mise.toml", mise],
  [".mise.toml", mise],
  ["lefthook.yml", committing],
  ...[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".kshrc",
    ".mkshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".logout",
    ".inputrc",
    "config.fish"
  ].map((name) => [name, startUp] as const)
])

/** Names of which there are many. */
const families: ReadonlyArray<readonly [name: RegExp, why: string]> = [
  [/^\.?mise(?:\.[^/]+)?\.toml$/, mise],
  [/^\.?lefthook(?:-local)?\.(?:ya?ml|toml|json)$/, committing]
]

/** Below `.git`: what git itself obeys. */
const obeyed = new Set(["config", "config.worktree", "hooks", "info", "modules", "worktrees", "commondir", "gitdir"])

const itemFolders = new Set(["directives", "tools", "knowledge"])

/** The short names that FAT and NTFS give to the protected ones: "GIT~1". */
const shortNames: ReadonlyMap<string, string> = new Map(
  [".git", ".ai", ...names.keys()].map((name) => {
    const parts = name.replace(/^\./, "").split(".")
    const extension = parts.length > 1 ? parts.pop()! : ""
    const base = parts.join("")
    return [`${base.slice(0, 6)}|${extension.slice(0, 3)}`, name]
  })
)

const protectedName = (folded: string): string => {
  const short = /^([^~]{1,6})~[0-9]+(?:\.([^.]{1,3}))?$/.exec(folded)
  return short === null ? folded : shortNames.get(`${short[1]}|${short[2] ?? ""}`) ?? folded
}

/**
 * Why nobody may write at a real path, which is relative to the project's root if it is inside. Undefined if the path
 * is not protected.
 */
export const protection = (path: string): Protection | undefined => {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".")
  for (const [at, name] of parts.entries()) {
    const folded = protectedName(foldName(name))
    const below = parts.slice(at + 1).map(foldName)
    const isOwn = at === 0 && !path.startsWith("/")
    if (folded === ".git") {
      const first = below[0]
      return isOwn && first !== undefined && !obeyed.has(protectedName(first))
        ? { name, why: "git keeps its data there", by: "git" }
        : { name, why: "git runs what is configured there", by: "nobody" }
    }
    if (folded === ".ai") {
      return isOwn && name === ".ai" && parts[1] === below[0] && itemFolders.has(below[0]!) && below.length > 1
        ? { name, why: "it is one of Kiwi's items", by: "kiwi.write" }
        : { name, why: "Kiwi's own files are there", by: "nobody" }
    }
    // fish reads it at any place that is somebody's ~/.config.
    if (folded === "fish" && ((at > 0 && foldName(parts[at - 1]!) === ".config") || below[0] === "conf.d")) {
      return { name, why: startUp, by: "nobody" }
    }
    if (/^\.?mise$/.test(folded) && /^(?:config(?:\..+)?\.toml|conf\.d)$/.test(below[0] ?? "")) {
      return { name, why: mise, by: "nobody" }
    }
    const why = names.get(folded) ?? families.find(([pattern]) => pattern.test(folded))?.[1]
    if (why !== undefined) return { name, why, by: "nobody" }
  }
  return undefined
}
