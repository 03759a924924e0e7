// Patterns of commands, as rules name them: `npm test`, `git commit *`, `NODE_OPTIONS=--trace-warnings npm test`.
//
// A pattern is one command: words, quoted as in a shell. A word `*` at the end is any further words, also none; a word
// `*` before it is exactly one word. `'*'` is the word itself. The program is compared as it is written: `/tmp/git` and
// `./git` are not `git`. A relative path names a program only in the folder where the shell starts. An option that starts
// a program or writes a file (`git log --output=x`) has to be named: see `namedOptions`.
import { Result } from "effect"
import { judgeCommand } from "./judgeCommand.ts"
import {
  countHarmlessOptions,
  interpreters,
  isHarmlessAssignment,
  mayStartOthers,
  namedOptions,
  subcommands
} from "./programs.ts"
import { readWord } from "./shellWords.ts"
import type { Assignment, SimpleCommand, Word } from "./SimpleCommand.ts"

/** In a pattern: exactly one word, whatever it is. */
export const anyWord: unique symbol = Symbol.for("kiwi/anyWord")

export interface CommandPattern {
  readonly assignments: ReadonlyArray<Assignment>
  readonly program: string
  readonly words: ReadonlyArray<string | typeof anyWord>
  /** Whether any further words may follow. */
  readonly open: boolean
}

/** Whether it is one command, without words that are left open. */
export const isExact = ({ open, words }: CommandPattern): boolean => !open && !words.includes(anyWord)

/** Reads one pattern; fails with what is wrong. */
export const parsePattern = (text: string): Result.Result<CommandPattern, string> =>
  Result.flatMap(parsePatterns(text), (patterns) =>
    patterns.length === 1
      ? Result.succeed(patterns[0]!)
      : Result.fail("a comma separates patterns: quote it if it is a part of a word"))

/** Reads patterns that are separated by commas, as in `shell.run(npm test, git commit *)`; fails with what is wrong. */
export const parsePatterns = (text: string): Result.Result<ReadonlyArray<CommandPattern>, string> => {
  const patterns: Array<CommandPattern> = []
  let words: Array<string | typeof anyWord> = []
  let assignments: Array<Assignment> = []
  const finish = (): string | undefined => {
    const [program, ...rest] = words
    if (program === undefined) return "a pattern needs a program"
    if (program === anyWord) return "the program must be named: `*` cannot stand for it"
    if (/\s|^$|=/.test(program)) return `${JSON.stringify(program)} is not the name of a program`
    if (new Set(assignments.map(({ name }) => name)).size < assignments.length) return "it sets one variable twice"
    const open = rest.at(-1) === anyWord
    const from = countHarmlessOptions(program, (i) => rest[i])
    patterns.push({ assignments, program, words: rest.slice(from, open ? -1 : undefined), open })
    words = []
    assignments = []
    return undefined
  }
  let at = 0
  for (;;) {
    while (/[ \t\n]/.test(text[at] ?? "")) at++
    if (at >= text.length || text[at] === ",") {
      const issue = finish()
      if (issue !== undefined) return Result.fail(issue)
      if (at >= text.length) return Result.succeed(patterns)
      at++
      continue
    }
    const next = readPatternWord(text, at)
    if (typeof next === "string") return Result.fail(next)
    at = next.end
    const assigned = words.length === 0 && next.word !== anyWord ? /^([A-Za-z_]\w*)=([^]*)$/.exec(next.word) : null
    if (assigned === null) words.push(next.word)
    else assignments.push({ name: assigned[1]!, value: assigned[2]! })
  }
}

const readPatternWord = (text: string, at: number): { word: string | typeof anyWord; end: number } | string => {
  const comma = unquotedComma(text, at)
  const source = comma === -1 ? text : text.slice(0, comma)
  if (/[|&;<>()]/.test(source[at]!)) {
    return `a pattern is one command, without ${source[at]}: the commands of a line are decided one by one, and ` +
      "redirections by the rules for files"
  }
  const read = readWord(source, at, "sh")
  if (typeof read === "string") return `${source.slice(at)}: ${read}`
  const written = source.slice(at, read.end)
  if (written === "*") return { word: anyWord, end: read.end }
  if (read.fixed) return { word: read.text, end: read.end }
  return written.includes("*")
    ? `\`*\` stands for whole words: ${written} needs quotes if it means that text`
    : `the shell would change ${written}: quote it if it means that text`
}

/** The first comma from `at` on that no quote contains; -1 if there is none. */
const unquotedComma = (text: string, at: number): number => {
  const found = /^(?:[^,'"\\]|'[^']*'|"(?:[^"\\]|\\[^])*"|\\[^])*,/.exec(text.slice(at))
  return found === null ? -1 : at + found[0].length - 1
}

/** The pattern as text: `parsePattern` reads it back. */
export const showPattern = ({ assignments, program, words, open }: CommandPattern): string =>
  [
    ...assignments.map(({ name, value }) => `${name}=${quote(value)}`),
    quote(program),
    ...words.map((word) => word === anyWord ? "*" : quote(word)),
    ...(open ? ["*"] : [])
  ].join(" ")

const quote = (word: string) => /^[\w@%+:./=^-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`

/** Without the options before the subcommand that change nothing. */
export const significantWords = ({ program, words }: SimpleCommand): ReadonlyArray<Word> => {
  const count = countHarmlessOptions(program, (i) => words[i]?.fixed && words[i].text)
  return count === 0 ? words : words.slice(count)
}

/** False for a relative path in another folder than the one where the shell starts. */
export const meansOneProgram = ({ program, folders }: SimpleCommand): boolean =>
  !program.includes("/") || program.startsWith("/") || (folders.length === 1 && folders[0] === ".")

/** Whether a rule with this pattern covers the command. Never for what `readCommand` found opaque. */
export const matchesCommand = (pattern: CommandPattern, command: SimpleCommand): boolean => {
  if (pattern.program !== command.program) return false
  if (!meansOneProgram(command)) return false
  if (!coversAssignments(pattern.assignments, command.assignments)) return false
  const words = significantWords(command)
  if (pattern.open ? words.length < pattern.words.length : words.length !== pattern.words.length) return false
  const needsName = mustBeNamed(command.program, words)
  return words.every((word, i) => {
    const expected = i < pattern.words.length ? pattern.words[i] : undefined
    if (typeof expected === "string") return word.fixed && word.text === expected
    return (word.fixed || expected === undefined) && !needsName(i)
  })
}

/**
 * Whether the word at an index is, or may be, an option that no `*` covers. `--` ends the options, unless it may be the
 * value of one.
 */
const mustBeNamed = (program: string, words: ReadonlyArray<Word>): (index: number) => boolean => {
  const named = namedOptions.get(nameOf(program))
  if (named === undefined) return () => false
  const end = words.findIndex(({ text, fixed }, i) => fixed && text === "--" && !mayBeOption(words[i - 1]))
  return (index) => {
    if (end !== -1 && index >= end) return false
    const word = words[index]!
    return word.fixed ? named.test(word.text) : mayBeOption(word)
  }
}

const mayBeOption = (word: Word | undefined) =>
  word !== undefined && (word.fixed ? word.text.startsWith("-") : !/^[\w./]/.test(word.text))

/** All that the pattern names are set, and nothing else that matters. */
const coversAssignments = (named: ReadonlyArray<Assignment>, set: ReadonlyArray<Assignment>): boolean =>
  named.every((one) => has(set, one)) &&
  set.every((one) => isHarmlessAssignment(one.name, one.value) || has(named, one))

const has = (all: ReadonlyArray<Assignment>, { name, value }: Assignment) =>
  all.some((other) => other.name === name && other.value === value)

/**
 * Whether a rule that denies or asks reaches the command. Wider than `matchesCommand`: it ignores paths, letter case,
 * variables and options before the words, counts a word that is not known as any words, and looks at what a keyword or
 * a program like `sudo` or `sh -c` starts.
 */
export const reachesCommand = (pattern: CommandPattern, command: SimpleCommand): boolean => {
  const wanted = nameOf(pattern.program)
  if (nameOf(command.program) === wanted && reachesWords(pattern, command.words)) return true
  if (!mayStartOthers(nameOf(command.program))) return false
  const words = command.words.flatMap((word) =>
    word.text.split(/\s+/).map((text): Word => ({ text, fixed: word.fixed }))
  )
  return words.some(({ text, fixed }, i) =>
    fixed && nameOf(text) === wanted && reachesWords(pattern, words.slice(i + 1))
  )
}

/** Whether a command some of whose words are not known may be one that the pattern is about. */
export const mayReach = (pattern: CommandPattern, command: SimpleCommand): boolean => {
  const program = nameOf(command.program)
  return mayStartOthers(program) || interpreters.has(program) ||
    (subcommands.has(program) && significantWords(command)[0]?.fixed !== true) || reachesCommand(pattern, command)
}

const nameOf = (program: string) => program.slice(program.lastIndexOf("/") + 1).toLowerCase()

const reachesWords = ({ words: expected, open }: CommandPattern, words: ReadonlyArray<Word>): boolean => {
  for (let skip = 0; skip <= words.length; skip++) {
    if (matchesWords(expected, open, words.slice(skip))) return true
    const [before, word] = [words[skip - 1], words[skip]]
    if (word === undefined || !word.fixed) return false
    if (!word.text.startsWith("-") && !before?.text.startsWith("-")) return false
  }
  return false
}

const matchesWords = (
  expected: CommandPattern["words"],
  open: boolean,
  words: ReadonlyArray<Word>
): boolean => {
  for (const [i, one] of expected.entries()) {
    const word = words[i]
    if (word === undefined) return false
    if (!word.fixed) return true
    if (one !== anyWord && one !== word.text) return false
  }
  return open || words.length === expected.length || !words[expected.length]!.fixed
}

/** Whether `parent` matches every command that `child` matches. */
export const patternWithin = (child: CommandPattern, parent: CommandPattern): boolean =>
  child.program === parent.program &&
  namesNeeded(parent, child.words) &&
  coversAssignments(parent.assignments, child.assignments) &&
  (parent.open
    ? child.words.length >= parent.words.length
    : !child.open && child.words.length === parent.words.length) &&
  parent.words.every((word, i) => word === anyWord || word === child.words[i])

/** Whether the pattern names all words that have to be named. */
const namesNeeded = (pattern: CommandPattern, words: CommandPattern["words"]): boolean => {
  const needsName = mustBeNamed(
    pattern.program,
    words.map((word) => word === anyWord ? { text: "", fixed: false } : { text: word, fixed: true })
  )
  return words.every((word, i) => word === anyWord || typeof pattern.words[i] === "string" || !needsName(i))
}

/** The pattern of the commands that both match; undefined if there are none. */
export const intersectPatterns = (a: CommandPattern, b: CommandPattern): CommandPattern | undefined => {
  if (a.program !== b.program) return undefined
  const assignments = [...a.assignments, ...b.assignments.filter((one) => !has(a.assignments, one))]
  if (new Set(assignments.map(({ name }) => name)).size < assignments.length) return undefined
  if (!coversAssignments(a.assignments, assignments) || !coversAssignments(b.assignments, assignments)) return undefined
  const [shorter, longer] = a.words.length <= b.words.length ? [a, b] : [b, a]
  if (!shorter.open && longer.words.length > shorter.words.length) return undefined
  const words: Array<string | typeof anyWord> = []
  for (const [i, word] of longer.words.entries()) {
    const other = shorter.words[i] ?? anyWord
    if (word !== anyWord && other !== anyWord && word !== other) return undefined
    words.push(word === anyWord ? other : word)
  }
  if (!namesNeeded(a, words) || !namesNeeded(b, words)) return undefined
  return { assignments, program: a.program, words, open: a.open && b.open }
}

/** Why a rule that allows this pattern would never count; undefined if it can. */
export const whyNeverAllowed = ({ assignments, program, words, open }: CommandPattern): string | undefined => {
  const judged = judgeCommand({
    program,
    assignments,
    words: [
      ...words.map((word) => word === anyWord ? { text: "x", fixed: true } : { text: word, fixed: true }),
      ...(open ? [{ text: "x", fixed: true }] : [])
    ],
    redirections: [],
    folders: ["."],
    text: ""
  })
  return "reason" in judged ? judged.reason : judged.program === program ? undefined : `it is read as ${judged.program}`
}
