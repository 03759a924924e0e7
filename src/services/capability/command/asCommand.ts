// An access as the command that patterns are compared with.
import type { CommandAccess } from "../Access.ts"
import type { SimpleCommand } from "./SimpleCommand.ts"

/** Only for an access whose words are known. */
export const asCommand = ({ text, words }: CommandAccess): SimpleCommand | undefined => {
  const [program, ...rest] = words ?? []
  return program === undefined ? undefined : {
    program,
    words: rest.map((word) => ({ text: word, fixed: true })),
    assignments: [],
    redirections: [],
    folders: ["."],
    text
  }
}

/** The same of an access of which only some words are not known. */
export const openAsCommand = (access: CommandAccess): SimpleCommand | undefined => {
  const command = access.isProgramKnown === true ? partlyAsCommand(access) : undefined
  return command === undefined
    ? undefined
    : { ...command, words: command.words.map((word) => word.text === unknown ? { text: "…", fixed: false } : word) }
}

/** No word has it. */
const unknown = "\0"

/** What could be read of an access that cannot be taken apart. A word that is not known is no word of any pattern. */
export const partlyAsCommand = ({ partly, text }: CommandAccess): SimpleCommand | undefined =>
  asCommand({ _tag: "Command", capability: "process.exec", words: partly?.map((word) => word ?? unknown), text })
