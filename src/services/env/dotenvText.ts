// Finds the entries of a `.env` file, and what is wrong with other lines. It only splits the text: the layer's library
// unquotes each entry. Dotenv's own parsers silently skip what they cannot read.
import { variableName } from "./variableNames.ts"

export interface DotenvEntry {
  readonly name: string
  /** 1-based. */
  readonly line: number
  /** One entry, from its name to the end of its value, without comment. */
  readonly text: string
}

export interface DotenvProblem {
  readonly line: number
  readonly issue: string
}

export interface DotenvEntries {
  readonly entries: ReadonlyArray<DotenvEntry>
  readonly problems: ReadonlyArray<DotenvProblem>
}

const head = /^[ \t]*(?:export[ \t]+)?([^=#'"`]*)=[ \t]*/
const quotes: ReadonlySet<string> = new Set(["'", "\"", "`"])

/** Splits a file into entries: `NAME=value`, `export NAME='value'`, quoted values over several lines, `#` comments. */
export const cutDotenv = (text: string): DotenvEntries => {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/)
  const entries: Array<DotenvEntry> = []
  const problems: Array<DotenvProblem> = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? ""
    const number = i + 1
    const problem = (issue: string) => problems.push({ line: number, issue })
    const trimmed = line.trim()
    if (trimmed === "" || trimmed.startsWith("#")) continue
    const match = head.exec(line)
    const name = match?.[1]?.trim() ?? ""
    if (match === null) {
      problem("expected NAME=value")
      continue
    }
    if (!variableName.test(name)) {
      problem("a name has letters, digits and _, and does not start with a digit")
      continue
    }
    const rest = line.slice(match[0].length)
    const quote = rest[0] ?? ""
    if (!quotes.has(quote)) {
      const comment = rest.indexOf("#")
      if (comment > 0 && !/[ \t]/.test(rest[comment - 1] ?? "")) {
        problem("what follows # is read as a comment; put the value in quotes to keep it")
      }
      entries.push({ name, line: number, text: `${name}=${comment === -1 ? rest : rest.slice(0, comment)}` })
      continue
    }
    const value = [rest.slice(1)]
    let end = value[0]?.indexOf(quote) ?? -1
    let last = i
    while (end === -1 && last + 1 < lines.length) {
      const next = lines[++last] ?? ""
      value.push(next)
      end = next.indexOf(quote)
    }
    if (end === -1) {
      problem(`the quote ${quote} is never closed`)
      continue
    }
    const closing = value.at(-1) ?? ""
    const after = closing.slice(end + 1).trim()
    if (after !== "" && !after.startsWith("#")) {
      problem(`there is text after the closing ${quote}; a quote inside needs another kind of quotes around it`)
    } else {
      const body = [...value.slice(0, -1), closing.slice(0, end)].join("\n")
      entries.push({ name, line: number, text: `${name}=${quote}${body}${quote}` })
    }
    i = last
  }
  return { entries, problems }
}
