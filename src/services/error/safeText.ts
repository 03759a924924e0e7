// The one function at the terminal's edge: whatever Kiwi did not write itself goes through it before a person sees it.
// What could move the cursor, change colours, reorder or hide text is shown as an escape; everything else stays.

/**
 * Controls (C0, DEL, C1), formats (bidirectional, zero-width, tags), line and paragraph separators, lone surrogates,
 * noncharacters, and what else fonts draw as nothing.
 */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}\p{NChar}]/gu
const pictograph = /^\p{Extended_Pictographic}$/u

const named: ReadonlyMap<string, string> = new Map([["\n", "\\n"], ["\r", "\\r"], ["\t", "\\t"]])

const escape = (character: string): string => named.get(character) ?? `\\u{${character.codePointAt(0)!.toString(16)}}`

/** The code point before `index`. */
const before = (text: string, index: number): string => {
  const last = text.charCodeAt(index - 1)
  const start = last >= 0xdc00 && last <= 0xdfff ? index - 2 : index - 1
  return text.slice(Math.max(0, start), index)
}

const show = (text: string, keep: string): string =>
  text.replace(unsafe, (character, index: number, whole: string) => {
    if (keep.includes(character)) return character
    // Emoji and text presentation after a pictograph is ordinary writing.
    if ((character === "\ufe0f" || character === "\ufe0e") && pictograph.test(before(whole, index))) return character
    return escape(character)
  })

/** Line breaks (CRLF as LF) and tabs stay. */
export const safeText = (text: string): string => show(text.replaceAll("\r\n", "\n"), "\n\t")

/** On one line, line breaks shown as `\n`; cut to `length` characters of the original. */
export const safeLine = (text: string, length = 200): string =>
  show(text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`, "")
