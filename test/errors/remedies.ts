// The commands that a remedy names, and whether the command line understands them.
import { Effect } from "effect"
import { noKernel, runCli } from "../programs/cli/runCli.ts"

/** The words of a shell's command line; quotes hold them together. */
const wordsOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/'([^']*)'|"([^"]*)"|(<[^>]*>)|(\S+)/g)].map((match) => match.slice(1).find((part) => part) ?? "")

/** What follows `kiwi`: up to a backtick, a semicolon, a line's end, or the sentence's, or where a shell sends it. */
export const commandsIn = (remediation: string): ReadonlyArray<ReadonlyArray<string>> =>
  [...remediation.matchAll(/(?:^|[`(]|: |[a-z] )kiwi (?=[a-z-])([^`;\n]*)/g)].map(([, command = ""]) =>
    wordsOf(command.split(/ [<>|] /, 1)[0] ?? "")
  )

/** Neither wrong usage nor an unknown command. What it would do is not done: its kernel dies first. */
export const isUnderstood = (args: ReadonlyArray<string>) =>
  Effect.map(runCli(args, { kernel: noKernel }), ({ code }) => code !== 2)
