// Escapes text for the terminal: everything that Kiwi did not write itself passes through here before a person sees it.
// Characters that could move the cursor, change colours, reorder or hide text are escaped; all others stay.

/**
 * Controls (C0, DEL, C1), formats (bidirectional, zero-width, tags), line and paragraph separators, lone surrogates,
 * noncharacters, and others that fonts draw as nothing: the Braille blank, Hangul vowels and finals outside a syllable,
 * and marks on a letter that has three of them.
 */
const unsafe = new RegExp(
  [
    "[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{DI}\\p{NChar}\\u2800]",
    "(?<![\\u1100-\\u115e\\ua960-\\ua97c])[\\u1161-\\u11a7\\ud7b0-\\ud7c6]",
    "(?<![\\u1100-\\u115e\\ua960-\\ua97c][\\u1161-\\u11a7\\ud7b0-\\ud7c6])[\\u11a8-\\u11ff\\ud7cb-\\ud7fb]",
    "(?<=\\p{M}{3})\\p{M}"
  ].join("|"),
  "gu"
)
const pictograph = /^\p{Extended_Pictographic}$/u

const named: ReadonlyMap<string, string> = new Map([["\n", "\\n"], ["\r", "\\r"], ["\t", "\\t"]])

/** The escape of a character by its code point. */
export const escapePoint = (character: string): string => `\\u{${character.codePointAt(0)!.toString(16)}}`

const escape = (character: string): string => named.get(character) ?? escapePoint(character)

/** The code point before `index`. */
const before = (text: string, index: number): string => {
  const last = text.charCodeAt(index - 1)
  const start = last >= 0xdc00 && last <= 0xdfff ? index - 2 : index - 1
  return text.slice(Math.max(0, start), index)
}

/** The escapes of a character in JSON: two beyond the basic plane. */
const escapeUnits = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`
  ).join("")

const show = (text: string, keep: string, escaped = escape): string =>
  text.replace(unsafe, (character, index: number, whole: string) => {
    if (keep.includes(character)) return character
    // A variation selector for emoji or text presentation after a pictograph is harmless.
    if ((character === "\ufe0f" || character === "\ufe0e") && pictograph.test(before(whole, index))) return character
    return escaped(character)
  })

/** Newlines (CRLF as LF) and tabs stay. */
export const safeText = (text: string): string => show(text.replaceAll("\r\n", "\n"), "\n\t")

/** On one line, with newlines shown as `\n`. Cut to `length` characters of the original. */
export const safeLine = (text: string, length = 200): string =>
  show(text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`, "")

/** JSON text with the same value, in which nothing ends a line, reorders or hides text. Newlines and tabs stay. */
export const escapeJson = (json: string): string => /[^\n\t -~]/.test(json) ? show(json, "\n\t", escapeUnits) : json
