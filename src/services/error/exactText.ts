// For what a person agrees to: every text is shown as another one than all others, and only by characters that each
// terminal draws. `safeText` is enough for anything else.
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

/** A character with the marks that follow it, which are shown all or none: the same one twice looks like one. */
const showCluster = (cluster: string): string => {
  const [base = "", ...marks] = cluster
  if (marks.length === 0) return showBase(base)
  const isPlain = isShown(base) && marked.test(cluster) && cluster.normalize("NFC") === cluster &&
    new Set(marks).size === marks.length && marks.every((mark) => drawn.test(mark))
  return isPlain ? cluster : showBase(base) + marks.map(escapePoint).join("")
}

const escapeHidden = (text: string): string => text.replace(/[\n -~]\p{M}+|[^\n -~]\p{M}*/gu, showCluster)

/** A backslash that the text has, before what would be an escape of ours. */
const escapeOwn = (text: string): string =>
  text.replace(/\\(?=u\{([0-9a-f]{1,6})\})/gi, (backslash, code: string) => {
    const point = Number.parseInt(code, 16)
    const isOurs = point <= 0x10ffff && (point === 0x5c || !isShown(String.fromCodePoint(point)))
    return isOurs ? escapePoint(backslash) : backslash
  })

/**
 * No two texts are shown alike, and none holds what a terminal hides, draws nowhere or joins to something else. Line
 * breaks stay, a tab is shown as `⇥ `, anything else that is not drawn as `\u{…}`.
 */
export const exactText = (text: string): string => escapeHidden(escapeOwn(text))

/** Others' words in a sentence of Kiwi's, on one line and cut: the same characters, but escapes of its own may be in it. */
export const exactLine = (text: string, length?: number): string => escapeHidden(safeLine(text, length))

/**
 * Columns that a text of `exactText` takes at most, whatever the terminal's tables say: some draw one character of
 * Greek or an arrow on two. A mark takes one where it is drawn beside its letter.
 */
export const mostColumns = (text: string): number => {
  let columns = 0
  for (const character of text) columns += (character >= " " && character <= "~") || /\p{M}/u.test(character) ? 1 : 2
  return columns
}
