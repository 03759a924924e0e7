// Reads one word of a shell command. Bash and every POSIX shell must read it in the same way; a word that they read
// differently is opaque.
import type { Word } from "./SimpleCommand.ts"

/** The shell that runs the command. `sh`: any POSIX shell, so that nothing is accepted which only bash knows. */
export type Shell = "bash" | "sh"

export interface ReadWord extends Word {
  /** Written without quotes and backslashes, so that the shell may take it as a keyword. */
  readonly bare: boolean
  /** Where the next character is. */
  readonly end: number
}

/** Why a word is opaque. */
export type Refusal = string

const plain = /[A-Za-z0-9_@%+:,./=!^#}\]-]+/y
const inDouble = /[^"\\$`]+/y
const variable = /\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\}|[0-9?$#@*!-])/y
const ansiEscape = /\\(?:([abeEfnrtv\\'"?])|x([0-9A-Fa-f]{1,2})|([0-7]{1,3}))/y
const ansiText = /[^\\']+/y

const ansiCharacters: Record<string, string> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v"
}

const substitution = "it substitutes the output of a command"

const matchAt = (pattern: RegExp, source: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at
  return pattern.exec(source)
}

/** Reads the word that begins at `start`, which is no blank and no operator. Continued lines are joined already. */
export const readWord = (source: string, start: number, shell: Shell): ReadWord | Refusal => {
  let at = start
  let text = ""
  let fixed = true
  let bare = true
  let pattern = false
  let brace = -1
  for (;;) {
    const run = matchAt(plain, source, at)
    if (run !== null) {
      text += run[0]
      at += run[0].length
    }
    const character = source[at]
    if (character === undefined || wordEnds.has(character)) break
    switch (character) {
      case "'": {
        const close = source.indexOf("'", at + 1)
        if (close === -1) return "a quote is not closed"
        text += source.slice(at + 1, close)
        at = close + 1
        bare = false
        break
      }
      case "\"": {
        const quoted = readDouble(source, at + 1)
        if (typeof quoted === "string") return quoted
        text += quoted.text
        fixed &&= quoted.fixed
        at = quoted.end
        bare = false
        break
      }
      case "\\": {
        const next = source.charCodeAt(at + 1)
        if (!(next >= 0x20 && next < 0x7f)) return "a backslash stands before a character that shells read differently"
        text += source[at + 1]
        at += 2
        bare = false
        break
      }
      case "$": {
        if (source[at + 1] === "'") {
          const quoted = shell === "bash" ? readAnsi(source, at + 2) : "shells read $'…' differently"
          if (typeof quoted === "string") return quoted
          text += quoted.text
          at = quoted.end
          bare = false
          break
        }
        const value = readDollar(source, at, false)
        if (typeof value === "string") return value
        text += source.slice(at, value.end)
        fixed &&= value.fixed
        at = value.end
        break
      }
      case "`":
        return substitution
      case "~":
        if (at === start || source[at - 1] === "=" || source[at - 1] === ":") fixed = false
        text += character
        at++
        break
      case "{":
        if (brace === -1) brace = at
        text += character
        at++
        break
      case "*":
      case "?":
      case "[":
        pattern = true
        text += character
        at++
        break
      default:
        return "it contains a character that shells read differently unless it is quoted"
    }
  }
  if (brace !== -1 && /,|\.\./.test(source.slice(brace, at))) fixed = false
  // Lone brackets are the program `[` and a keyword.
  if (bare && (text === "[" || text === "[[")) pattern = false
  if (!pattern) return { text: fixed ? text : source.slice(start, at), fixed, bare, end: at }
  const written = { text: source.slice(start, at), fixed: false, bare, end: at }
  return fixed && bare ? { ...written, pattern: true } : written
}

const wordEnds = new Set([" ", "\t", "\n", "|", "&", ";", "<", ">", "(", ")"])

type Part = { readonly text: string; readonly fixed: boolean; readonly end: number }

const readDouble = (source: string, start: number): Part | Refusal => {
  let at = start
  let text = ""
  let fixed = true
  for (;;) {
    const run = matchAt(inDouble, source, at)
    if (run !== null) {
      text += run[0]
      at += run[0].length
    }
    const character = source[at]
    if (character === undefined) return "a quote is not closed"
    if (character === "\"") return { text, fixed, end: at + 1 }
    if (character === "`") return substitution
    if (character === "\\") {
      const next = source[at + 1]
      if (next === undefined) return "a quote is not closed"
      const escaped = next === "\"" || next === "\\" || next === "$" || next === "`"
      text += escaped ? next : "\\"
      at += escaped ? 2 : 1
    } else {
      const value = readDollar(source, at, true)
      if (typeof value === "string") return value
      text += source.slice(at, value.end)
      fixed &&= value.fixed
      at = value.end
    }
  }
}

/** The value of a variable is not known. All other expansions may run a command, or set a variable. */
const readDollar = (source: string, at: number, quoted: boolean): Omit<Part, "text"> | Refusal => {
  const found = matchAt(variable, source, at)
  if (found !== null) return { fixed: false, end: at + found[0].length }
  switch (source[at + 1]) {
    case "(":
      return source[at + 2] === "(" ? "it contains arithmetic" : substitution
    case "[":
      return "it contains arithmetic"
    case "{":
      return "it contains an expansion that is more than a variable's value"
    case "\"":
      if (!quoted) return "shells read $\"…\" differently"
  }
  return { fixed: true, end: at + 1 }
}

const readAnsi = (source: string, start: number): Part | Refusal => {
  let at = start
  let text = ""
  for (;;) {
    const run = matchAt(ansiText, source, at)
    if (run !== null) {
      text += run[0]
      at += run[0].length
    }
    if (source[at] === undefined) return "a quote is not closed"
    if (source[at] === "'") return { text, fixed: true, end: at + 1 }
    const escape = matchAt(ansiEscape, source, at)
    if (escape === null) return "it contains an escape that shells read differently"
    const [whole, letter, hex, octal] = escape
    const code = hex !== undefined ? Number.parseInt(hex, 16) : octal !== undefined ? Number.parseInt(octal, 8) : -1
    if (code === 0 || code > 0x7f) return "it contains an escape that shells read differently"
    text += code === -1 ? ansiCharacters[letter!] ?? letter! : String.fromCharCode(code)
    at += whole.length
  }
}

/**
 * Removes backslashes before line ends, as the shell does before it reads words. Comments and `'…'` keep them. Undefined
 * if it contains `$'`, whose end would depend on the shell.
 */
export const joinContinuedLines = (source: string): string | undefined => {
  if (!source.includes("\\\n")) return source
  if (source.includes("$'")) return undefined
  let joined = ""
  let quote = ""
  let wordStarts = true
  for (let at = 0; at < source.length; at++) {
    const character = source[at]!
    if (character === "\\" && quote !== "'") {
      if (source[++at] === "\n") continue
      joined += character + (source[at] ?? "")
      wordStarts = false
    } else if (character === "#" && wordStarts && quote === "") {
      const end = source.indexOf("\n", at)
      joined += source.slice(at, end === -1 ? source.length : end)
      if (end === -1) break
      at = end - 1
    } else {
      if (quote === "") quote = character === "'" || character === "\"" ? character : ""
      else if (character === quote) quote = ""
      joined += character
      wordStarts = quote === "" && wordEnds.has(character)
    }
  }
  return joined
}
