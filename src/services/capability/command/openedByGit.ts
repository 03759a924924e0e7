// The git commands that only read a repository, with the options and revisions of which that is known. What a
// repository's own files could make git start is looked at where the command runs.
import type { ArgumentPath, ReadArguments } from "./ArgumentPath.ts"

/** No absolute path and no `..` as a name: git compares files outside the repository that it is given. No `:` either. */
const operand = /^(?!-)(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))[^:]+$/s

const format = /^--(?:format|pretty)=(?![^]*%[-+ ]?G)[^]*$/

const shared = [
  /^--(?:stat|shortstat|numstat|summary|name-only|name-status|no-color|no-ext-diff|no-textconv|word-diff|minimal|patience|histogram)$/,
  /^(?:-p|-U\d+|--unified=\d+|-w|-b|-M|-C)$/
]
const ofCommits = [
  /^(?:-\d+|-n\d+|--max-count=\d+|--oneline|--all|--graph|--decorate|--no-decorate|--no-merges|--merges|--reverse|--first-parent|--abbrev-commit|--follow)$/,
  /^--(?:since|until|after|before|author|grep)=[^]*$/,
  format,
  /^--date=(?:short|iso|iso-strict|relative|unix)$/
]

interface Subcommand {
  readonly options: ReadonlyArray<RegExp>
  /** How many operands there may be. */
  readonly operands: number
  /** Options whose value is the next word. */
  readonly valued?: RegExp
}

const subcommands: ReadonlyMap<string, Subcommand> = new Map<string, Subcommand>([
  ["status", {
    options: [/^(?:-s|-b|-sb|-v|--short|--branch|--long|--porcelain(?:=v?[12])?|-u(?:no|all|normal)?|--ignored)$/],
    operands: 20
  }],
  ["diff", { options: [...shared, /^--(?:cached|staged|check|exit-code|quiet)$/], operands: 20 }],
  ["log", { options: [...shared, ...ofCommits], operands: 20, valued: /^-n$/ }],
  ["show", { options: [...shared, ...ofCommits, /^(?:-s|--no-patch)$/], operands: 20 }],
  ["branch", { options: [/^(?:-a|-r|-v|-vv|-av|-avv|-l|--list|--all|--remotes|--show-current)$/], operands: 0 }],
  ["rev-parse", {
    options: [/^--(?:short|abbrev-ref|verify|show-toplevel|is-inside-work-tree|git-dir)$/],
    operands: 3
  }],
  ["ls-files", { options: [/^(?:-s|-m|-o|-c|-d|--others|--modified|--cached|--exclude-standard)$/], operands: 20 }],
  ["blame", { options: [/^(?:-L\d+,[+-]?\d+|-w|-s|-l)$/], operands: 2, valued: /^-L$/ }],
  ["remote", { options: [/^-v$/], operands: 0 }],
  ["tag", { options: [/^(?:-l|--list)$/], operands: 0 }],
  ["describe", { options: [/^--(?:tags|always|dirty|all)$/], operands: 1 }]
])

/** Only these say of files what their names and numbers are; anything else of `diff`, `log` and `show` may have lines. */
const summaries = /^(?:--(?:stat|shortstat|numstat|summary|name-only|name-status|check|quiet|no-patch)|-s)$/
const patches = /^(?:-p|-U\d+|--unified=\d+|--word-diff)$/

/**
 * The lines of a file that needs a rule of its own may be in any commit. So lines are known only of what is in the index
 * and the folder, whose names are looked at.
 */
const withLines = (
  name: string,
  options: ReadonlyArray<string>,
  operands: ReadonlyArray<string>
): ReadonlyArray<ArgumentPath> | undefined => {
  if (name === "blame") {
    return operands.length === 1 ? [...repository, { path: operands[0]!, use: "content" }] : undefined
  }
  const showsLines = options.some((option) => patches.test(option)) ||
    (name !== "log" && !options.some((option) => summaries.test(option)))
  if (!showsLines) return repository
  if (name !== "diff" || options.some((option) => /^--(?:cached|staged)$/.test(option))) return undefined
  return [{ path: ".", use: "tracked" }, ...operands.map((path): ArgumentPath => ({ path, use: "existing" }))]
}

const hasLines: ReadonlySet<string> = new Set(["blame", "diff", "log", "show"])

/** Everything that git reads is below the folder, if the repository there is a plain one. */
const repository: ReadonlyArray<ArgumentPath> = [{ path: ".", use: "repository" }]

export const openedByGit: ReadArguments = ([first, ...rest]) => {
  const [name, words] = first === "--no-pager" ? [rest[0], rest.slice(1)] : [first, rest]
  const known = subcommands.get(name ?? "")
  if (known === undefined) return undefined
  const operands: Array<string> = []
  const options: Array<string> = []
  let paths: ReadonlyArray<string> = []
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
    } else if (!operand.test(word) || operands.push(word) > known.operands) return undefined
  }
  return hasLines.has(name!)
    ? withLines(name!, options, name === "blame" ? [...operands, ...paths] : operands)
    : repository
}
