// Quotes one word of a command that a person may paste into a POSIX shell. Foreign text is made safe for the terminal
// first.
import { safeLine } from "../error/safeText.ts"

export const shellWord = (word: string): string => {
  const safe = safeLine(word, 4096)
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(safe) ? safe : `'${safe.replaceAll("'", `'\\''`)}'`
}
