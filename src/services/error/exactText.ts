// Escapes text that a person agrees to: different texts always look different, and every character can be drawn by
// every terminal. For any other text `safeText` is enough.
import { drawn } from "./drawnCharacters.ts"
import { escapePoint, safeLine } from "./safeText.ts"

/** Scripts that write vowels and tones as marks on a letter. */
const marking = [
  "Hebrew",
  "Arabic",
  "Devanagari",
  "Bengali",
  "Gurmukhi",
  "Gujarati",
  "Oriya",
  "Tamil",
  "Telugu",
  "Kannada",
  "Malayalam",
  "Sinhala",
  "Thai",
  "Lao",
  "Tibetan",
  "Myanmar",
  "Ethiopic",
  "Khmer"
]

/** A letter with up to three marks of its script. */
const marked = new RegExp(
  `^(?:${marking.map((script) => `[\\p{L}&&\\p{sc=${script}}][\\p{M}&&\\p{scx=${script}}]{1,3}`).join("|")})$`,
  "v"
)

/** `⇥` stands for a tab. */
const isShown = (character: string): boolean =>
  /^[ -~]$/.test(character) ||
  (drawn.test(character) && !/\p{M}/u.test(character) && character !== "\u21e5" &&
    character.normalize("NFC") === character)

const showBase = (character: string): string =>
  character === "\t" ? "\u21e5 " : character === "\n" || isShown(character) ? character : escapePoint(character)

/** A character with its following marks, shown all or none: the same mark twice looks like one. */
const showCluster = (cluster: string): string => {
  const [base = "", ...marks] = cluster
  if (marks.length === 0) return showBase(base)
  const isPlain = isShown(base) && marked.test(cluster) && cluster.normalize("NFC") === cluster &&
    new Set(marks).size === marks.length && marks.every((mark) => drawn.test(mark))
  return isPlain ? cluster : showBase(base) + marks.map(escapePoint).join("")
}

const escapeHidden = (text: string): string => text.replace(/[\n -~]\p{M}+|[^\n -~]\p{M}*/gu, showCluster)

/** Escapes a backslash in the text that would look like one of these escapes. */
const escapeOwn = (text: string): string =>
  text.replace(/\\(?=u\{([0-9a-f]{1,6})\})/gi, (backslash, code: string) => {
    const point = Number.parseInt(code, 16)
    const isOurs = point <= 0x10ffff && (point === 0x5c || !isShown(String.fromCodePoint(point)))
    return isOurs ? escapePoint(backslash) : backslash
  })

/**
 * The result is unique for each text, and contains nothing that a terminal hides, cannot draw or combines with
 * something else. Newlines stay, a tab is shown as `⇥ `, any other character that is not drawn as `\u{…}`.
 */
export const exactText = (text: string): string => escapeHidden(escapeOwn(text))

/**
 * Foreign text in one of Kiwi's sentences, on one line and cut. The same characters, but the text may itself contain
 * escapes.
 */
export const exactLine = (text: string, length?: number): string => escapeHidden(safeLine(text, length))

/**
 * The maximum number of columns for a text from `exactText`: some terminals draw a Greek character or an arrow in two.
 * A mark takes one if it is drawn beside its letter.
 */
export const mostColumns = (text: string): number => {
  let columns = 0
  for (const character of text) columns += (character >= " " && character <= "~") || /\p{M}/u.test(character) ? 1 : 2
  return columns
}
