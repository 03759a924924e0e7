// Readings as one line, for tables.
import { showPattern } from "../../../../src/services/capability/command/CommandPattern.ts"
import { isHarmless } from "../../../../src/services/capability/command/judgeCommand.ts"
import type { CommandReading, SimpleCommand } from "../../../../src/services/capability/command/SimpleCommand.ts"
import { suggestPattern } from "../../../../src/services/capability/command/suggestPattern.ts"

const signs = { read: "<", write: ">", append: ">>" }

const showCommand = ({ program, words, assignments, redirections, folders }: SimpleCommand): string =>
  [
    ...(folders.join() === "." ? [] : [`[${folders.join(" ")}]`]),
    ...assignments.map(({ name, value }) => `${name}=${value}`),
    program,
    ...words.map(({ text, fixed }) => !fixed ? `<${text}>` : /[\s"]|^$/.test(text) ? `"${text}"` : text),
    ...redirections.map(({ direction, path }) => signs[direction] + path)
  ].join(" ")

/** `[folders] A=1 program word "a word" <$unknown> >file | …`, or why it is opaque. */
export const showReading = ({ commands, opaque }: CommandReading): string =>
  opaque.length > 0 ? `opaque: ${opaque.map(({ reason }) => reason).join("; ")}` : commands.map(showCommand).join(" | ")

/** The rules that an answer for a longer time would make: `once` where there is none. */
export const showRules = ({ commands, opaque }: CommandReading): string =>
  opaque.length > 0 ? "once" : commands.filter((command) => !isHarmless(command)).map((command) => {
    const rule = suggestPattern(command, true)
    return rule === undefined ? "once" : showPattern(rule)
  }).join(", ")
