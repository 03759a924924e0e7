// What one command starts: programs that only start another program are taken off, and whatever cannot be told from
// the words is opaque.
import {
  countHarmlessOptions,
  finders,
  harmlessBuiltins,
  informational,
  interpreters,
  keywords,
  resolvingVariables,
  shellChangers,
  shells,
  starters,
  subcommands,
  type Wrapper
} from "./programs.ts"
import type { Assignment, SimpleCommand, Word } from "./SimpleCommand.ts"

/** The command that is started, or why it is opaque. */
export type Judged = SimpleCommand | { readonly reason: string; readonly written?: true }

const opaque = (reason: string): Judged => ({ reason })

const programName = /^[\w.+@/:[-]+$/
const assignment = /^([A-Za-z_]\w*)=([^]*)$/

const isOption = (word: Word) => word.text.startsWith("-")

/** `taken`: another program starts it, so that the shell itself does not run it. */
export const judgeCommand = (command: SimpleCommand, taken = false): Judged => {
  const { program, words, assignments } = command
  if (keywords.has(program)) {
    const reason = `${program} is a keyword of the shell`
    return isWritten(command) ? { reason, written: true } : { reason }
  }
  if (!programName.test(program) || program.startsWith("-")) return opaque("its program has an unusual name")
  const names = assignments.map(({ name }) => name)
  const variable = names.find((name) => resolvingVariables.test(name))
  if (variable !== undefined) return opaque(`${variable} decides which programs run`)
  if (new Set(names).size < names.length) return opaque("it sets one variable twice")
  const ofShell = shellChangers.has(program)
  if (ofShell && !(program === "set" && !taken && words.length > 0 && setsHarmless(words))) {
    return opaque(`${program} changes the shell itself`)
  }
  if ((ofShell || harmlessBuiltins.has(program)) && assignments.length > 0) {
    return opaque("variables before a command of the shell itself may stay set")
  }
  const base = program.slice(program.lastIndexOf("/") + 1)
  if (base !== program && wrappers.has(base as Wrapper)) return opaque(`${program} starts another program`)
  const inner = wrappers.get(program as Wrapper)?.(words)
  if (inner !== undefined) return typeof inner === "string" ? opaque(inner) : judgeInner(command, inner)
  const reason = ofWords(base, words)
  return reason === undefined ? command : opaque(reason)
}

/** Keywords that stand before a command. */
const introductions = new Set(["do", "then", "else", "if", "elif", "while", "until"])

/** Whether nothing but programs that the text names runs because of the keyword. */
const isWritten = (command: SimpleCommand): boolean => {
  const [first, second] = command.words
  if (command.program === "done" || command.program === "fi") return first === undefined
  if (first?.fixed !== true) return false
  if (command.program === "for") {
    return /^[A-Za-z_]\w*$/.test(first.text) && !resolvingVariables.test(first.text) && second?.text === "in"
  }
  if (!introductions.has(command.program)) return false
  const judged = judgeCommand({ ...command, program: first.text, words: command.words.slice(1) })
  return !("reason" in judged) || judged.written === true
}

const judgeInner = (command: SimpleCommand, { variables, at }: Inner): Judged => {
  const started = command.words[at]
  if (started === undefined) return at === 0 || command.program === "env" ? command : opaque("it starts no program")
  if (!started.fixed || isOption(started)) return opaque(`${command.program} has an option that is not known here`)
  return judgeCommand({
    ...command,
    program: started.text,
    words: command.words.slice(at + 1),
    assignments: variables === undefined ? command.assignments : [...command.assignments, ...variables]
  }, true)
}

/** Where the program stands that is started. */
interface Inner {
  readonly at: number
  readonly variables?: ReadonlyArray<Assignment>
}

type Unwrap = (words: ReadonlyArray<Word>) => Inner | string | undefined

/** What stands before the program that they start; a text says why it is opaque. Undefined: they start none. */
const wrappers: ReadonlyMap<Wrapper, Unwrap> = new Map<Wrapper, Unwrap>([
  ["time", () => ({ at: 0 })],
  ["nohup", () => ({ at: 0 })],
  ["command", (words) => words[0]?.fixed && /^-[vV]$/.test(words[0].text) ? undefined : { at: 0 }],
  ["nice", (words) => {
    const first = words[0]
    if (first?.fixed !== true || !isOption(first)) return { at: 0 }
    if (/^(?:-n|--adjustment=|-)-?\d+$/.test(first.text)) return { at: 1 }
    return first.text === "-n" && words[1]?.fixed && /^-?\d+$/.test(words[1].text) ? { at: 2 } : { at: 0 }
  }],
  ["timeout", (words) => {
    let at = 0
    while (words[at]?.fixed && isOption(words[at]!)) {
      const { text } = words[at]!
      if ((text === "-k" || text === "-s") && words[at + 1]?.fixed) at += 2
      else if (/^--(?:foreground|preserve-status|verbose|kill-after=[\w.]+|signal=\w+)$|^-v$/.test(text)) at++
      else return "timeout has an option that is not known here"
    }
    const duration = words[at]
    if (!duration?.fixed || !/^[\d.]+[smhd]?$/.test(duration.text)) {
      return "timeout has no duration that can be read"
    }
    return { at: at + 1 }
  }],
  ["env", (words) => {
    const variables: Array<Assignment> = []
    for (const { text, fixed } of words) {
      const found = fixed ? assignment.exec(text) : null
      if (found === null) break
      variables.push({ name: found[1]!, value: found[2]! })
    }
    return { at: variables.length, variables }
  }]
])

/** `set -e`, `set -euo pipefail`: when the shell stops, and what it prints. */
const setsHarmless = (words: ReadonlyArray<Word>) =>
  words.every(({ text, fixed }) => fixed && /^(?:[-+][eux]+o?|[-+]o|pipefail|errexit|nounset|xtrace)$/.test(text))

/** No option, no `%n` and no width that another word gives. */
const printFormat = /^(?!-)(?:[^%]|%%|%[-+ 0#]*\d{0,3}(?:\.\d{0,3})?[bcdefgiosuxEGX])*$/

const finderStarts = /^-(?:exec|execdir|ok|okdir)$/

/** Why the words make the program opaque, by the program's class. */
const ofWords = (program: string, words: ReadonlyArray<Word>): string | undefined => {
  const first = words[0]
  if (starters.has(program)) return `${program} starts another program`
  if (program === "test" || program === "[") {
    return words.some(({ text, fixed }) => !fixed || text === "-v" || text === "-R")
      ? `${program} may evaluate a variable's name`
      : undefined
  }
  if (program === "printf" && first !== undefined && !(first.fixed && printFormat.test(first.text))) {
    return "printf may set a variable"
  }
  if (shells.has(program) || interpreters.has(program)) {
    if (words.length === 1 && informational.has(first!.text)) return undefined
    if (words.some(({ text, fixed }) => fixed && text === "-")) return `${program} runs what it reads`
    if (shells.has(program)) {
      if (first === undefined || !first.fixed) return `${program} runs what it reads`
      return /^[-+]/.test(first.text) ? `${program} may run a text that it is given` : undefined
    }
    if (words.every((word) => isOption(word) && word.text !== "--test")) return `${program} runs what it reads`
  }
  if (finders.has(program)) return ofFinder(program, words)
  if (subcommands.has(program) && first !== undefined) {
    if (words.length === 1 && informational.has(first.text)) return undefined
    const sub = words[countHarmlessOptions(program, (i) => words[i]?.fixed && words[i].text)]
    if (sub?.fixed && (isOption(sub) || sub.text.startsWith("+"))) return `${sub.text} stands before the subcommand`
  }
  return undefined
}

const ofFinder = (program: string, words: ReadonlyArray<Word>): string | undefined => {
  if (words.some(({ fixed }) => !fixed)) return `${program} may be given an option that starts a program`
  const starts = program === "find"
    ? words.some(({ text }) => finderStarts.test(text))
    : words.some(({ text }) => /^-[a-zA-Z]*[xX]|^--exec/.test(text))
  return starts ? `${program} starts another program` : undefined
}

/** Whether a command only prints, compares or ends the shell, so that no rule need allow it. Its redirections count. */
export const isHarmless = ({ program, words }: SimpleCommand): boolean =>
  (harmlessBuiltins.has(program) || program === "set" || program === "command") && words.every(({ fixed }) => fixed)
