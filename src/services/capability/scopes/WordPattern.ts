// Commands by their words: `npm test` is that command, `git commit *` has any further words, also none.
import { Result } from "effect"

export interface WordPattern {
  readonly text: string
  readonly words: ReadonlyArray<string>
  /** Whether further words may follow. */
  readonly open: boolean
}

/** Fails with what is wrong, as a sentence without a subject. */
export const parse = (written: string): Result.Result<WordPattern, string> => {
  const words = written.trim().split(/\s+/)
  const open = words.at(-1) === "*"
  const fixed = open ? words.slice(0, -1) : words
  if (written.length > 500) return Result.fail("is longer than 500 characters")
  if (fixed.length === 0 || fixed[0] === "") return Result.fail("names no program")
  if (/[\p{C}|&;<>()$`"'\\]/u.test(written)) {
    return Result.fail("has a character that a shell reads: name one program with its words")
  }
  if (fixed.some((word) => word.includes("*"))) return Result.fail("has a * that is not its last word")
  return Result.succeed({ text: words.join(" "), words: fixed, open })
}

const begins = (words: ReadonlyArray<string>, start: ReadonlyArray<string>): boolean =>
  start.every((word, i) => words[i] === word)

export const matches = ({ open, words: start }: WordPattern, words: ReadonlyArray<string>): boolean =>
  begins(words, start) && (open || words.length === start.length)

const nameOf = (program: string): string => program.slice(program.lastIndexOf("/") + 1).toLowerCase()

/** Whether a pattern that denies reaches the command. Wider than `matches`: it ignores paths, case and options. */
export const reaches = ({ open, words: start }: WordPattern, words: ReadonlyArray<string>): boolean =>
  words.some((program, at) => {
    if (nameOf(program) !== nameOf(start[0]!)) return false
    const rest = words.slice(at + 1)
    const plain = rest.filter((word) => !word.startsWith("-"))
    return [rest, plain].some((given) =>
      begins(given, start.slice(1)) && (open || start.length === 1 || given.length === start.length - 1)
    )
  })

const isOneWithin = (child: WordPattern, parent: WordPattern): boolean =>
  begins(child.words, parent.words) && (parent.open || (!child.open && child.words.length === parent.words.length))

export const isWithin = (patterns: ReadonlyArray<WordPattern>, parent: WordPattern): boolean =>
  patterns.some((child) => isOneWithin(child, parent))

/** Two have a command in common only if one contains the other. */
export const isEmpty = (patterns: ReadonlyArray<WordPattern>): boolean =>
  patterns.some((a, i) => patterns.slice(i + 1).some((b) => !isOneWithin(a, b) && !isOneWithin(b, a)))
