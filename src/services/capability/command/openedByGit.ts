// The git commands that only read a repository, with the options and revisions of which that is known. What a
// repository's own files could make git start is looked at where the command runs.
import type { ArgumentPath, ReadArguments } from "./ArgumentPath.ts"

/** No absolute path and no `..` as a name: git compares files outside the repository that it is given. No `:` either. */
const operand = /^(?!-)(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))[^:]+$/s

/** Surely a commit. Any other id or tag may be that of a file, which `git show` prints whatever its options are. */
const commit = /^(?:HEAD|@)$|^(?!.*\.\.)(?:@|[A-Za-z0-9][\w./-]*)(?:(?:[~^]\d*)+|\^\{commit\})$/

/** Git refuses what is both a file and a revision, but for `a^@` and the like, where it looks for no file. */
const onlyPath = /^(?!.*\.\.)[^~^{}*?[\\]+$/s

/** What a commit is called, who wrote it when, and its message. No signature, which starts a program, and no note. */
const placeholder = "%(?:[%HhTtPpnsbBdDfSmw]|[ac][nNeElLdDrtiIs]|C(?:reset|red|green|blue|\\([\\w ]+\\))|x[0-9a-f]{2})"
const format = new RegExp(
  `^--(?:format|pretty)=(?:oneline|short|medium|full|fuller|reference|(?:t?format:)?(?![a-z-]+$)(?:[^%]|${placeholder})*)$`
)

/** Only these say of files what their names and numbers are, and nothing of what is in them. */
const summary = /^--(?:stat|shortstat|numstat|summary|name-only|name-status)$/
const silent = /^(?:-s|--no-patch)$/

const ofDifferences = [
  summary,
  /^(?:--(?:no-color|no-ext-diff|no-textconv|minimal|patience|histogram)|-w|-b|-M|-C)$/
]
const ofCommits = [
  /^(?:-\d+|-n\d+|--max-count=\d+|--oneline|--decorate|--no-decorate|--abbrev-commit)$/,
  format,
  /^--date=(?:short|iso|iso-strict|relative|unix)$/
]

interface Subcommand {
  readonly options: ReadonlyArray<RegExp>
  /** How many operands there may be. */
  readonly operands: number
  /** What they have to be, besides `operand`. */
  readonly each?: RegExp
  /** Options whose value is the next word. */
  readonly valued?: RegExp
}

const subcommands: ReadonlyMap<string, Subcommand> = new Map<string, Subcommand>([
  ["status", {
    options: [/^(?:-s|-b|-sb|--short|--branch|--long|--porcelain(?:=v?[12])?|-u(?:no|all|normal)?|--ignored)$/],
    operands: 20
  }],
  ["diff", {
    options: [
      ...ofDifferences,
      /^(?:-p|-U\d+|--unified=\d+|--word-diff|--cached|--staged|--check|--exit-code|--quiet)$/
    ],
    operands: 20
  }],
  ["log", {
    options: [
      ...ofDifferences,
      ...ofCommits,
      /^--(?:all|graph|no-merges|merges|reverse|first-parent|follow)$/,
      /^--(?:since|until|after|before|author|grep)=[^]*$/
    ],
    operands: 20,
    valued: /^-n$/
  }],
  ["show", { options: [...ofDifferences, ...ofCommits, silent], operands: 20, each: commit }],
  ["branch", { options: [/^(?:-a|-r|-v|-vv|-av|-avv|-l|--list|--all|--remotes|--show-current)$/], operands: 0 }],
  ["rev-parse", {
    options: [/^--(?:short|abbrev-ref|verify|show-toplevel|is-inside-work-tree|git-dir)$/],
    operands: 3
  }],
  ["ls-files", { options: [/^(?:-m|-o|-c|-d|--others|--modified|--cached|--exclude-standard)$/], operands: 20 }],
  ["blame", { options: [/^(?:-L\d+,[+-]?\d+|-w|-s|-l)$/], operands: 2, valued: /^-L$/ }],
  // With `-v` it prints passwords in URLs, those of a person's own config too.
  ["remote", { options: [], operands: 0 }],
  ["tag", { options: [/^(?:-l|--list)$/], operands: 0 }],
  ["describe", { options: [/^--(?:tags|always|dirty|all)$/], operands: 1, each: commit }]
])

/** Whether it is a subcommand that only reads, with the arguments that are known. */
export const gitReads = (name: string): boolean => subcommands.has(name)

/** Everything that git reads is below the folder, if the repository there is a plain one. */
const repository: ReadonlyArray<ArgumentPath> = [{ path: ".", use: "repository" }]

/**
 * The lines of a file that needs a rule of its own may be in any commit. So lines are known only of what is in the index
 * and the folder, whose names are looked at. Before `--`, every word is a revision.
 */
const openedByDiff = (
  options: ReadonlyArray<string>,
  operands: ReadonlyArray<string>,
  hasPaths: boolean
): ReadonlyArray<ArgumentPath> | undefined => {
  const showsLines = options.some((option) => /^(?:-p|-U\d+|--unified=\d+|--word-diff|--check)$/.test(option)) ||
    !options.some((option) => summary.test(option) || option === "--quiet")
  if (!showsLines) return repository
  const isOfCommits = options.some((option) => /^--(?:cached|staged)$/.test(option)) ||
    (hasPaths && operands.length > 0) || !operands.every((path) => onlyPath.test(path))
  return isOfCommits
    ? undefined
    : [{ path: ".", use: "tracked" }, ...operands.map((path): ArgumentPath => ({ path, use: "existing" }))]
}

export const openedByGit: ReadArguments = ([first, ...rest]) => {
  const [name, words] = first === "--no-pager" ? [rest[0], rest.slice(1)] : [first, rest]
  const known = subcommands.get(name ?? "")
  if (known === undefined) return undefined
  const operands: Array<string> = []
  const options: Array<string> = []
  let paths: ReadonlyArray<string> | undefined
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === "--") {
      // Only paths stand behind it.
      paths = words.slice(at + 1)
      if (known.operands === 0 || !paths.every((path) => operand.test(path))) return undefined
      break
    }
    if (known.valued?.test(word)) {
      if (!/^\d+(?:,[+-]?\d+)?$/.test(words[++at] ?? "")) return undefined
    } else if (word.startsWith("-")) {
      if (!known.options.some((option) => option.test(word))) return undefined
      options.push(word)
    } else if (!operand.test(word) || known.each?.test(word) === false || operands.push(word) > known.operands) {
      return undefined
    }
  }
  switch (name) {
    case "blame": {
      const [path, ...more] = [...operands, ...paths ?? []]
      return path === undefined || more.length > 0 ? undefined : [...repository, { path, use: "content" }]
    }
    case "diff":
      return openedByDiff(options, operands, paths !== undefined)
    case "show":
      return options.some((option) => summary.test(option) || silent.test(option)) ? repository : undefined
    default:
      return repository
  }
}
