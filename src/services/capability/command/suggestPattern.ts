// The rule that an answer "session" or "always" makes: a program with its subcommand where the further words do little
// harm, and the exact command otherwise.
import { type CommandPattern, matchesCommand, significantWords } from "./CommandPattern.ts"
import { isHarmlessAssignment, openPrograms, subcommands } from "./programs.ts"
import type { SimpleCommand, Word } from "./SimpleCommand.ts"

/**
 * The narrowest useful pattern that matches the command, which is none of the opaque ones. Undefined if there is none:
 * the answer can then count for this call alone. `confined`: whether a sandbox holds what such a command opens by its
 * arguments; without one no word is left open, since `cat` and `grep` read any file.
 */
export const suggestPattern = (command: SimpleCommand, confined: boolean): CommandPattern | undefined => {
  const words = significantWords(command)
  const assignments = command.assignments.filter(({ name, value }) => !isHarmlessAssignment(name, value))
  const open = !confined || assignments.length > 0 ? undefined : countNamed(command.program, words)
  const exact = words.every(({ fixed }) => fixed) ? { named: words.length, open: false } : undefined
  for (const candidate of [open, exact]) {
    if (candidate === undefined) continue
    const pattern: CommandPattern = {
      assignments,
      program: command.program,
      words: words.slice(0, candidate.named).map(({ text }) => text),
      open: candidate.open
    }
    if (isReadable(pattern) && matchesCommand(pattern, command)) return pattern
  }
  return undefined
}

/** How many words name the subcommand, if the further words may be left open. */
const countNamed = (program: string, words: ReadonlyArray<Word>) => {
  if (openPrograms.has(program)) return { named: 0, open: true }
  const known = subcommands.get(program)?.find((list) =>
    list.every((name, i) => {
      const word = words[i]
      return name === "*" || (word?.fixed && (name === "_" ? /^[^-]/.test(word.text) : word.text === name))
    })
  )
  if (known === undefined) return undefined
  const named = known.filter((name) => name !== "*").length
  return { named, open: named < known.length || words.length > named }
}

/** A rule is one line that a person reads. */
const isReadable = ({ assignments, program, words }: CommandPattern) =>
  [program, ...assignments.map(({ value }) => value), ...words].every((text) =>
    typeof text === "string" && text.length <= 500 && /^\P{C}*$/u.test(text)
  )
