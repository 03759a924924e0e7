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
