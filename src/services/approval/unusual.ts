// What a person should look at twice in the parameters of a call: letters that look like others, characters that are
// not shown, values too long to read, and secrets, which are named and never shown.
import type { Schema } from "effect"
import { mark } from "../audit/redaction.ts"
import type { Access } from "../capability/Access.ts"
import { exactText } from "../error/exactText.ts"
import { safeText } from "../error/safeText.ts"
import { guardedRead } from "../permission/guardedPaths.ts"
import { isJsonArray, isJsonObject } from "../schema/json.ts"

const long = 2_000
const mostNotes = 20
const deepest = 64

/** Letters of these scripts have twins among the Latin letters, and in each other. */
const scripts = ["Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic"].map((name) =>
  [name, new RegExp(`\\p{sc=${name}}`, "u")] as const
)

/** "раypal" has letters of two scripts in one word. */
const mixedWord = (text: string): string | undefined => {
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}_.-]+/gu)) {
    if (/^[ -~]*$/.test(word)) continue
    const found = scripts.filter(([, script]) => script.test(word)).map(([name]) => name)
    if (found.length > 1) return `${found.join(" and ")} letters in one word`
  }
  return undefined
}

/** Full-width letters, mathematical letters and ligatures, which some programs read as ASCII. */
const foldsToAscii = (text: string): boolean =>
  /[^ -~\s]/.test(text) && Array.from(text).some((one) => one > "\u007f" && /^[ -~]+$/.test(one.normalize("NFKC")))

const notesOf = (text: string): ReadonlyArray<string> => {
  const mixed = mixedWord(text)
  return [
    ...(mixed === undefined ? [] : [mixed]),
    ...(foldsToAscii(text) ? ["characters that some programs read as ASCII letters"] : []),
    ...(safeText(text) === text.replaceAll("\r\n", "\n") ? [] : ["characters that are not shown, written as \\u{…}"]),
    ...(/[^\S\n]{80}|\n{20}/.test(text) ? ["a wide blank, after which it goes on"] : []),
    ...(text.includes(mark) && text !== mark ? ["a secret"] : []),
    ...(text.length > long ? [`${text.length} characters`] : [])
  ]
}

/** One line for each text with something unusual, except those that are hidden whole: "to: Latin and Cyrillic letters in one word". */
export const unusualIn = (value: Schema.Json): ReadonlyArray<string> => {
  const found: Array<string> = []
  const note = (path: string, text: string) => {
    const notes = notesOf(text)
    if (notes.length > 0) found.push(`${exactText(path === "" ? "the whole" : path)}: ${notes.join("; ")}`)
  }
  const walk = (path: string, inner: Schema.Json, depth: number): void => {
    if (typeof inner === "string") return note(path, inner)
    if (depth > deepest) return void found.push(`${exactText(path)}: nested more than ${deepest} deep`)
    if (isJsonArray(inner)) return inner.forEach((one, index) => walk(`${path}/${index}`, one, depth + 1))
    if (!isJsonObject(inner)) return
    for (const [key, one] of Object.entries(inner)) {
      const below = path === "" ? key : `${path}/${key}`
      if (notesOf(key).length > 0) note(`the name ${below}`, key)
      walk(below, one, depth + 1)
    }
  }
  walk("", value, 0)
  return found.length <= mostNotes
    ? found
    : [...found.slice(0, mostNotes), `and ${found.length - mostNotes} more`]
}

/** Everything in a word that may be a path: of `--file=.env`, `HEAD:.env`, `@.env` and `a,.env` too. */
const pathsIn = (word: string): ReadonlyArray<string> =>
  word.split(/[\s"'`=:@,;|&<>(){}[\]]+/).filter((one) => one !== "")

/**
 * Files that a command names and that a tool may read only by a rule: "names .env: it may contain secrets". The agent
 * may see what the command prints.
 */
export const guardedIn = (accesses: ReadonlyArray<Access>): ReadonlyArray<string> => {
  const notes = accesses.flatMap((access) =>
    access._tag !== "Command" ? [] : (access.words ?? [access.text]).flatMap(pathsIn).flatMap((path) => {
      const why = guardedRead(path)
      return why === undefined ? [] : [`names ${exactText(path)}: ${why}. The agent sees what the command prints`]
    })
  )
  return [...new Set(notes)].slice(0, mostNotes)
}
