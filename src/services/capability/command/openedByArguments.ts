// What a command opens because of its arguments, for programs of which that is all that they do. Only what is listed here
// is known: one option, operand or subcommand more, and nothing is said about the command. So a program's other options
// (`sed -i`, `find -exec`, `sort -o`), their abbreviations and whatever a later version adds are never taken for harmless.
import type { ArgumentPath, ArgumentUse, ReadArguments } from "./ArgumentPath.ts"
import { gitReads, openedByGit } from "./openedByGit.ts"
import { isHarmlessAssignment } from "./programs.ts"
import type { SimpleCommand, Word } from "./SimpleCommand.ts"

/**
 * Programs that only read whatever words they get, so that a file whose name looks like an option does no harm. Each takes
 * any number of files.
 */
const readers = new Set(["cat", "du", "grep", "head", "ls", "md5sum", "nl", "sha256sum", "stat", "tac", "tail", "wc"])

/** Of `rg` and `sort` an option may start a program, so the pattern has to begin with a name. */
const takesPattern = (program: string, { text }: Word): boolean =>
  readers.has(program) || ((program === "rg" || program === "sort") && /^[\w./]/.test(text))

/** In the place of a pattern, where no option, number or expression can be. */
const placeholder = (index: number): string => `\0${index}`

/** How patterns of file names are used: undefined unless each is read as files. */
const openedByPatterns = (program: string, words: ReadonlyArray<Word>): ReadonlyArray<ArgumentPath> | undefined => {
  if (!words.every((word) => word.fixed || (word.pattern === true && takesPattern(program, word)))) return undefined
  const paths = programs.get(program)?.(words.map(({ fixed, text }, index) => fixed ? text : placeholder(index)))
  const patterns = new Map(words.flatMap(({ fixed, text }, index) => fixed ? [] : [[placeholder(index), text]]))
  const used = paths?.map((one): ArgumentPath => {
    const text = patterns.get(one.path)
    return text === undefined ? one : { path: text, use: one.use, pattern: true }
  })
  return used?.filter(({ pattern }) => pattern === true).length === patterns.size ? used : undefined
}

/** What is opened by an argument is known for programs that are found by name, without variables that matter. */
export const openedByArguments = (
  { assignments, program, words }: SimpleCommand
): ReadonlyArray<ArgumentPath> | undefined =>
  assignments.every(({ name, value }) => isHarmlessAssignment(name, value))
    ? openedByPatterns(program, words)
    : undefined

interface Parsed {
  readonly flags: ReadonlyArray<string>
  readonly operands: ReadonlyArray<string>
  /** Of the options that have a value of their own. */
  readonly values: ReadonlyArray<readonly [option: string, value: string]>
}

interface Options {
  /** Options that are a whole word. */
  readonly flags: RegExp
  /** Options whose value is the next word, and what it may be. */
  readonly valued?: ReadonlyMap<string, RegExp>
}

/** Options may stand behind operands, and none behind `--`. */
const parse = (words: ReadonlyArray<string>, { flags, valued }: Options): Parsed | undefined => {
  const operands: Array<string> = []
  const values: Array<readonly [string, string]> = []
  const given: Array<string> = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === "--") {
      operands.push(...words.slice(at + 1))
      break
    }
    if (!word.startsWith("-") || word === "-") operands.push(word)
    else if (valued?.has(word)) {
      const value = words[++at]
      if (value === undefined || !valued.get(word)!.test(value)) return undefined
      values.push([word, value])
    } else if (!flags.test(word)) return undefined
    else given.push(word)
  }
  return { flags: given, operands, values }
}

const number = /^[+-]?\d+[bkKMG]?$/
const anything = /^/
const none = /^$/

const valuedBy = (of: Readonly<Record<string, RegExp>>): ReadonlyMap<string, RegExp> =>
  new Map(Object.entries(of).flatMap(([names, value]) => names.split(" ").map((name) => [name, value] as const)))

const asUse = (use: ArgumentUse, paths: ReadonlyArray<string>): ReadonlyArray<ArgumentPath> =>
  paths.filter((path) => path !== "-").map((path) => ({ path, use }))

/** Every operand is a path; without one, `otherwise` is. */
const ofPaths =
  (use: ArgumentUse, options: Options, otherwise: ReadonlyArray<string> = []): ReadArguments => (words) => {
    const parsed = parse(words, options)
    if (parsed === undefined || parsed.operands.includes("")) return undefined
    return asUse(use, parsed.operands.length === 0 ? otherwise : parsed.operands)
  }

/** No operand is a path. */
const ofNone = (options: Options, most: number, operand: RegExp = anything): ReadArguments => (words) => {
  const operands = parse(words, options)?.operands
  return operands === undefined || operands.length > most || !operands.every((one) => operand.test(one))
    ? undefined
    : []
}

const lines: Options = {
  flags: /^(?:-\d+|-[nc]\d+|-[qv]|--(?:lines|bytes)=\d+)$/,
  valued: valuedBy({ "-n -c": number })
}

/** A script that only prints lines, or replaces text in them: no `w`, `e`, `r` and no second command. */
const sedScript =
  /^(?:(?:\d+|\$|\/(?:[^/\\\n]|\\[^\n])+\/)(?:,(?:[+~]?\d+|\$|\/(?:[^/\\\n]|\\[^\n])+\/))?[pdq]|s\/(?:[^/\\\n]|\\[^\n])+\/(?:[^/\\\n]|\\[^\n])*\/[gpiI\d]*)$/

const readSed: ReadArguments = (words) => {
  const [script, ...files] = words.filter((word) => !/^-[nEr]$/.test(word))
  return script === undefined || !sedScript.test(script) || files.some((file) => file.startsWith("-") || file === "")
    ? undefined
    : asUse("content", files)
}

const grepFlags =
  /^(?:-[nHhiwxvclLoqsaEFGPIr]+|-[ABC]\d+|--(?:include|exclude|exclude-dir)=[^]*|--(?:color|colour)=never|--no-messages)$/

const readGrep: ReadArguments = (words) => {
  const parsed = parse(words, {
    flags: grepFlags,
    valued: valuedBy({ "-e": anything, "-A -B -C -m": number })
  })
  if (parsed === undefined) return undefined
  const files = parsed.operands.slice(parsed.values.some(([option]) => option === "-e") ? 0 : 1)
  const isTree = parsed.flags.some((flag) => /^-[a-zA-Z]*r/.test(flag))
  return files.includes("")
    ? undefined
    : asUse(isTree ? "tree" : "content", files.length === 0 && isTree ? ["."] : files)
}

/** Unlike grep it looks below folders anyway. It also reads hidden files that an ignore file names again. */
const readRipgrep: ReadArguments = (words) => {
  const parsed = parse(words, {
    flags:
      /^(?:-[nNiSswxvclohHFPU]+|-[ABC]\d+|--(?:files|no-heading|heading|line-number|no-line-number|files-with-matches|count|json|stats|sort=path|color=never))$/,
    valued: valuedBy({ "-e -g -t -T --glob --type": anything, "-A -B -C -m": number, "--color": /^never$/ })
  })
  if (parsed === undefined) return undefined
  const lists = parsed.flags.includes("--files")
  const paths = parsed.operands.slice(lists || parsed.values.some(([option]) => option === "-e") ? 0 : 1)
  return paths.includes("") ? undefined : asUse(lists ? "names-below" : "tree", paths.length === 0 ? ["."] : paths)
}

const findTests =
  /^(?:-print0?|-ls|-prune|-empty|-depth|-xdev|-mount|-quit|-not|-and|-or|-true|-false|-[ao]|[()!,]|-executable|-readable|-writable)$/
const findValued = valuedBy({
  "-type -xtype": /^[a-z](?:,[a-z])*$/,
  "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname": anything,
  "-regextype": /^[a-z-]+$/,
  "-maxdepth -mindepth -mtime -mmin -atime -amin -ctime -cmin -links": number,
  "-size": /^[+-]?\d+[bcwkMG]?$/,
  "-perm": /^[-/]?[0-7ugoarwx=+,]+$/
})

const readFind: ReadArguments = (words) => {
  const start = words.findIndex((word) => /^[-(!,)]/.test(word))
  const roots = start < 0 ? words : words.slice(0, start)
  const expression = start < 0 ? [] : words.slice(start)
  for (let at = 0; at < expression.length; at++) {
    const value = findValued.get(expression[at]!)
    if (value === undefined ? !findTests.test(expression[at]!) : !value.test(expression[++at] ?? "\0")) return undefined
    if (expression[at] === undefined) return undefined
  }
  return roots.includes("") ? undefined : asUse("names-below", roots.length === 0 ? ["."] : roots)
}

const readDiff: ReadArguments = (words) => {
  const operands = parse(words, { flags: /^(?:-[uqbwBisay]+|-U\d+|--brief|--unified=\d+)$/ })?.operands
  return operands?.length === 2 && !operands.includes("") ? asUse("content", operands) : undefined
}

/** A second operand would be written to. */
const readUniq: ReadArguments = (words) => {
  const operands = parse(words, { flags: /^-[cdui]+$/ })?.operands
  return operands === undefined || operands.length > 1 ? undefined : asUse("content", operands)
}

const readList: ReadArguments = (words) =>
  ofPaths(
    words.some((word) => /^-[a-zA-Z]*R/.test(word)) ? "names-below" : "names",
    { flags: /^(?:-[aAlhtrSR1dFgGoCnpmkqQUXi]+|--all|--color=never)$/ },
    ["."]
  )(words)

const fileTest = /^-[abcdefghkprsuwxGLNOS]$/
const comparison = /^-(?:nt|ot|ef)$/

/** A word is a file behind a test of files, and on both sides of a comparison of files, whatever else it may mean. */
const readTest: ReadArguments = (words) =>
  asUse(
    "names",
    words.filter((word, at) =>
      word !== "" && (fileTest.test(words[at - 1] ?? "") || comparison.test(words[at - 1] ?? "") ||
        comparison.test(words[at + 1] ?? ""))
    )
  )

/** A name with a slash is a file, and any other is looked for on PATH. */
const readNames: ReadArguments = (words) => {
  const operands = parse(words, { flags: /^-[aftpPvV]+$/ })?.operands
  return operands === undefined ? undefined : asUse("names", operands.filter((one) => one.includes("/")))
}

const stat: Options = { flags: /^-[Lt]$/, valued: valuedBy({ "-c": /^[^\\]*$/ }) }

const programs: ReadonlyMap<string, ReadArguments> = new Map<string, ReadArguments>([
  ["[", readTest],
  ["basename", ofNone({ flags: none }, 2)],
  ["cat", ofPaths("content", { flags: /^-[AbeEnstTuv]+$/ })],
  ["command", readNames],
  ["comm", ofPaths("content", { flags: /^-[123]+$/ })],
  [
    "cut",
    ofPaths("content", {
      flags: /^(?:-[dfcb][^]+|-s)$/,
      valued: valuedBy({ "-d": anything, "-f -c -b": /^[\d,-]+$/ })
    })
  ],
  ["date", ofNone({ flags: /^(?:-u|-I|-Iseconds|-Iminutes|--utc|--iso-8601)$/ }, 1, /^\+/)],
  ["diff", readDiff],
  ["dirname", ofNone({ flags: none }, 20)],
  [
    "du",
    ofPaths("names-below", { flags: /^(?:-[abchkms]+|-d\d+|--max-depth=\d+)$/, valued: valuedBy({ "-d": number }) }, [
      "."
    ])
  ],
  ["find", readFind],
  ["git", openedByGit],
  ["grep", readGrep],
  ["head", ofPaths("content", lines)],
  ["ls", readList],
  ["md5sum", ofPaths("content", { flags: none })],
  ["mkdir", ofPaths("make", { flags: /^(?:-[pv]+|--parents)$/ })],
  ["nl", ofPaths("content", { flags: /^-ba$/ })],
  ["nproc", ofNone({ flags: none }, 0)],
  ["readlink", ofPaths("names", { flags: /^-f$/ })],
  ["realpath", ofPaths("names", { flags: none })],
  ["rg", readRipgrep],
  ["sed", readSed],
  ["seq", ofNone({ flags: none }, 3, /^\d{1,5}$/)],
  ["sha256sum", ofPaths("content", { flags: none })],
  [
    "sort",
    ofPaths("content", {
      flags: /^(?:-[bdfgiMhnRrVzu]+|-k[\d.,nr]+|-t.)$/,
      valued: valuedBy({ "-k": /^[\d.,nrfbV]+$/, "-t": /^.$/ })
    })
  ],
  ["stat", ofPaths("names", stat)],
  ["tac", ofPaths("content", { flags: none })],
  ["tail", ofPaths("content", lines)],
  ["test", readTest],
  ["touch", ofPaths("make", { flags: none })],
  ["tr", ofNone({ flags: /^-[cdst]+$/ }, 2)],
  ["type", readNames],
  ["uname", ofNone({ flags: /^-[asnrvmpio]+$/ }, 0)],
  ["uniq", readUniq],
  ["wc", ofPaths("content", { flags: /^-[lwcmL]+$/ })],
  ["which", ofNone({ flags: /^-a$/ }, 20, /^[\w.+-]+$/)],
  ["whoami", ofNone({ flags: none }, 0)]
])

/**
 * Whether it is known for most arguments of the program what they open: then a command of which it is not known may open
 * more than those.
 */
export const readsArguments = ({ program, words }: SimpleCommand): boolean =>
  programs.has(program) && (program !== "git" || words.some(({ text }) => gitReads(text)))
