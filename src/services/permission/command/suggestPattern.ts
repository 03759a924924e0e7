// The rule that an answer "session" or "always" makes: a program with its subcommand where the further words do little
// harm, and the exact command otherwise.
import { type CommandPattern, meansOneProgram, significantWords } from "./CommandPattern.ts"
import { isHarmlessAssignment, openPrograms, subcommands } from "./programs.ts"
import type { SimpleCommand } from "./SimpleCommand.ts"

/**
 * The narrowest useful pattern that matches the command, which is none of the opaque ones. Undefined if there is none:
 * the answer can then count for this call alone.
 */
export const suggestPattern = (command: SimpleCommand): CommandPattern | undefined => {
  const { program } = command
  if (!meansOneProgram(command)) return undefined
  const assignments = command.assignments.filter(({ name, value }) => !isHarmlessAssignment(name, value))
  const words = significantWords(command)
  const pattern = (named: ReadonlyArray<string>, open: boolean): CommandPattern | undefined =>
    [...assignments.map(({ value }) => value), program, ...named].every(isPlainText)
      ? { assignments, program, words: named, open }
      : undefined
  if (openPrograms.has(program)) return pattern([], true)
  const known = subcommands.get(program)?.find((list) =>
    list.every((name, i) => {
      const word = words[i]
      return name === "*" || (word?.fixed && (name === "_" ? /^[^-]/.test(word.text) : word.text === name))
    })
  )
  if (known !== undefined) {
    const fixed = known.filter((name) => name !== "*").length
    const open = fixed < known.length || words.length > fixed
    return pattern(words.slice(0, fixed).map(({ text }) => text), open)
  }
  return words.every(({ fixed }) => fixed) ? pattern(words.map(({ text }) => text), false) : undefined
}

/** A rule is one line that a person reads. */
const isPlainText = (text: string) => text.length <= 500 && /^[\P{C}]*$/u.test(text)
