// A whole line of the shell, as a rule names it: `'for f in src/*.js; do wc -l $f; done' in src`. For lines that are not
// taken apart. What is not exactly this text, in this folder, is another line.
import type { CommandLine } from "../Access.ts"

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

const quoted = /^\s*'((?:[^']|'\\'')*)'(?:\s+in\s+(?:'((?:[^']|'\\'')+)'|([^\s',()]+)))?\s*$/su

const unquote = (text: string): string => text.replaceAll(`'\\''`, "'")

/** A name of a program has none of these. */
const beyondNames = /[^\w.+@/:[-]/

/** Undefined if the text is not of this form. A quoted name alone is a program's. */
export const parseLine = (scope: string): CommandLine | undefined => {
  const [, text, inQuotes, folder = "."] = quoted.exec(scope) ?? []
  return text === undefined || !beyondNames.test(text)
    ? undefined
    : { text: unquote(text), folder: inQuotes === undefined ? folder : unquote(inQuotes) }
}

export const showLine = ({ folder, text }: CommandLine): string =>
  folder === "."
    ? quote(text)
    : `${quote(text)} in ${/^[\w@%+:./=^-]+$/.test(folder) ? folder : quote(folder)}`

export const isSameLine = (a: CommandLine, b: CommandLine): boolean => a.text === b.text && a.folder === b.folder

/** Those that no call can change. */
const fixedVariables: ReadonlySet<string> = new Set(["HOME", "LOGNAME", "PWD", "USER"])

/** Whether the text means the same next time, as far as variables go: it names none that something else sets. */
export const setsItsVariables = (text: string): boolean => {
  const known = new Set(fixedVariables)
  return text.split(";").every((part) => {
    const isKnown = [...part.matchAll(/\$\{?([A-Za-z_]\w*)/g)].every(([, name]) => known.has(name!))
    const [, loops] = /\bfor\s+([A-Za-z_]\w*)\s+in\s/.exec(part) ?? []
    if (loops !== undefined) known.add(loops)
    return isKnown
  })
}

/** A rule is one line that a person reads. */
export const isRememberable = ({ folder, text }: CommandLine): boolean =>
  text.length <= 500 && /^\P{C}*$/u.test(text + folder) && beyondNames.test(text) && setsItsVariables(text)
