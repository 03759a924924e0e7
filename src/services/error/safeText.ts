// The one function at the terminal's edge: whatever Kiwi did not write itself goes through it before a person sees it.
// What could move the cursor, change colours, reorder or hide text is shown as an escape; everything else stays.

/**
 * Controls (C0, DEL, C1), formats (bidirectional, zero-width, tags), line and paragraph separators, lone surrogates,
 * noncharacters, and what else fonts draw as nothing: the blank of Braille, vowels and finals of Hangul that stand in no
 * syllable, and marks on a letter that has three of them.
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

/** Blanks that look like the common one, and are another letter to whatever reads the text. */
const otherBlanks = /[\p{Zs}--[ \u3000]]/gv

/** Writes as an escape whatever is another text by canonical equivalence: K (U+212A), e with an accent of its own. */
const escapeTwins = (text: string): string =>
  text.normalize("NFC") === text ?
    text :
    text.replace(/\P{M}?\p{M}+|[^\0-\x7f]/gu, (cluster) =>
      cluster.normalize("NFC") === cluster
        ? cluster
        : Array.from(
          cluster,
          (character, index) => index > 0 || character.normalize("NFC") !== character ? escape(character) : character
        ).join(""))

const escapeOthers = (text: string): string =>
  escapeTwins(safeText(text)).replaceAll("\u21e5", escape).replaceAll("\t", "\u21e5 ").replace(otherBlanks, escape)

/** An escape that the text has itself, of a character that would be shown so. */
const escapeOwn = (text: string): string =>
  text.replace(/\\u\{([0-9a-f]{1,6})\}/g, (written, code: string) => {
    const point = Number.parseInt(code, 16)
    if (point > 0x10ffff) return written
    const character = String.fromCodePoint(point)
    // A mark or a twin is judged beside what it stands on; a letter that is shown as it is has no escape of ours.
    return escapeOthers(`a${character}`) === `a${character}` && !/\p{M}/u.test(character)
      ? written
      : `\\u{5c}${written.slice(1)}`
  })

/**
 * For what a person agrees to: nothing in it looks like something else. Line breaks stay, a tab is shown as an arrow and
 * a blank, and a real arrow is escaped, as is a text that is another one by canonical equivalence, or looks like an
 * escape of ours.
 */
export const exactText = (text: string): string => escapeOthers(escapeOwn(text))
