// Text to words, for documents and queries alike, so that what SQLite stores and what a query asks for cannot drift
// apart: the FTS5 tables hold words that were folded and split here. Runs of scripts that write no spaces become pairs.
import type { Item, ItemLocation } from "../item/Item.ts"
import { isCommon, isFiller } from "./commonWords.ts"
import { synonymsOf } from "./synonyms.ts"

/** The indexed columns, heaviest first, and what a match in each counts. */
export const weights = { name: 3, title: 3, description: 2, labels: 1.5, body: 1 } as const
export type Column = keyof typeof weights
export const columns: ReadonlyArray<Column> = ["name", "title", "description", "labels", "body"]

export type SearchDocument = Readonly<Record<Column, ReadonlyArray<string>>>

/** One word that a document has to contain; with `prefix`, where no document has it whole, or begin a word with. */
export interface Term {
  readonly token: string
  readonly prefix: boolean
}

/** A word of a query: one of its alternatives must match, each with all of its terms. */
export interface QueryWord {
  readonly alternatives: ReadonlyArray<ReadonlyArray<Term>>
  /** A `common` word occurs in questions about anything. A `filler` finds nothing, and only ranks what was found. */
  readonly kind: "specific" | "common" | "filler"
  /** The word of the question in whose place it stands: it counts, less, where an item does not have that. */
  readonly instead?: QueryWord
}

export interface ParsedQuery {
  /** As it was written, trimmed and in lower case: what an exact id is compared with. */
  readonly literal: string
  /** Without any separators: `send email` finds `send_email`. */
  readonly squashed: string
  /** Words that say something; never more than 24. */
  readonly words: ReadonlyArray<QueryWord>
  /** What counts where an item has it, and is not missed elsewhere: two words as one, fillers, and stand-ins. */
  readonly optional: ReadonlyArray<QueryWord>
  /** Everything that it holds, as documents have it. */
  readonly tokens: ReadonlySet<string>
}

const maxToken = 64
const maxBody = 64 * 1024
const maxQuery = 1000
const maxWords = 24
const maxFillers = 12
/** So many letters begin few enough words in a question of more than two. */
const longBeginning = 5

const wordPattern = /[\p{L}\p{N}\p{M}\p{Co}]+/gu
// oxlint-disable-next-line no-control-regex
const nonAscii = /[^\0-\x7f]/
const compound = /[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]|[^\0-\x7f]/
const boundary = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{L})(?=\p{Nd})|(?<=\p{Nd})(?=\p{L})/u
const unspaced =
  /([\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\u30fc]+)/u

/** Lower case, compatibility forms and Latin, Greek and Cyrillic accents removed. */
export const fold = (text: string): string =>
  nonAscii.test(text)
    ? text.toLowerCase().normalize("NFKD").replace(/[\u0300-\u036f]/g, "").normalize("NFC").toLowerCase()
    : text.toLowerCase()

const rawWords = (text: string): ReadonlyArray<string> => text.match(wordPattern) ?? []

/** Parts of a compound that can stand alone: of `readFile2` these are `read` and `file`, of `v2` there are none. */
const partsOf = (word: string): ReadonlyArray<string> =>
  word.split(boundary).filter((part) => part.length > 1 && part.length < word.length).map(token)

const token = (word: string): string => fold(word).slice(0, maxToken)

const pairs = (run: string): ReadonlyArray<string> => {
  const characters = Array.from(run)
  return characters.slice(1).map((c, i) => characters[i]! + c)
}

const hyphenated = /(?<![\p{L}\p{N}-])([\p{L}\p{N}]+)-([\p{L}\p{N}]+)(?![\p{L}\p{N}-])/gu

/** The words of a text: compounds whole and in parts, first those of two parts with a hyphen, without it. */
export const tokens = (text: string): Array<string> => {
  const out = text.includes("-")
    ? Array.from(text.matchAll(hyphenated), ([, first, second]) => token(`${first}${second}`))
    : []
  for (const word of rawWords(text)) {
    if (!compound.test(word)) {
      out.push(token(word))
      continue
    }
    for (const [i, segment] of word.split(unspaced).entries()) {
      if (segment === "") continue
      if (i % 2 === 1) {
        // A text without blanks can be one run: too long to be spread into a call.
        const run = fold(segment)
        for (const pair of pairs(run)) out.push(pair)
        out.push(Array.from(run).at(-1)!)
      } else {
        out.push(token(segment), ...partsOf(segment))
      }
    }
  }
  return out
}

/** `unfinished`: from how many letters on it is taken as a beginning; undefined: never. */
const queryWord = (word: string, unfinished: number | undefined): ReadonlyArray<QueryWord> =>
  word.split(unspaced).flatMap((segment, i): ReadonlyArray<QueryWord> => {
    if (segment === "") return []
    if (i % 2 === 1) {
      const run = fold(segment)
      const single = Array.from(run).length === 1
      return [{
        alternatives: [single ? [{ token: run, prefix: true }] : pairs(run).map((t) => exactly(t))],
        kind: "specific"
      }]
    }
    const whole = token(segment)
    const prefix = unfinished !== undefined && whole.length >= unfinished
    const parts = partsOf(segment)
    return [{
      alternatives: [
        [{ token: whole, prefix }],
        ...(parts.length === 0 ? [] : [parts.map((t, n) => n === parts.length - 1 ? { token: t, prefix } : exactly(t))])
      ],
      kind: parts.length > 0 ? "specific" : isFiller(whole) ? "filler" : isCommon(whole) ? "common" : "specific"
    }]
  })

const exactly = (text: string): Term => ({ token: text, prefix: false })

/** The word as it was written; undefined for a compound. */
export const plainWord = ({ alternatives: [terms, ...others] }: QueryWord): string | undefined =>
  others.length === 0 && terms?.length === 1 ? terms[0]?.token : undefined

const synonyms = (words: ReadonlyArray<QueryWord>): ReadonlyArray<QueryWord> =>
  words.flatMap((word) => {
    const same = synonymsOf(plainWord(word) ?? "")
    return same.length === 0 ? [] : [standIn(word, same)]
  })

/** Other tokens in the place of a word. */
const standIn = (word: QueryWord, terms: ReadonlyArray<string>): QueryWord => ({
  alternatives: terms.map((one) => [exactly(one)]),
  kind: word.kind,
  instead: word
})

/** With the spellings that items have of words that none of them has. */
export const withSpellings = (
  parsed: ParsedQuery,
  spellings: ReadonlyArray<readonly [QueryWord, ReadonlyArray<string>]>
): ParsedQuery => ({
  ...parsed,
  optional: [...parsed.optional, ...spellings.map(([word, stems]) => standIn(word, stems))]
})

/** `on call` as `oncall`, for each two words that stand side by side. */
const joined = (raw: ReadonlyArray<string>): ReadonlyArray<QueryWord> =>
  raw.slice(1).map((word, i) => ({
    alternatives: [[exactly(token(`${raw[i]}${word}`))]],
    kind: "specific"
  }))

/** A text of separators only (`*`, quotes, `-`) has no words, and finds nothing. */
export const parseQuery = (query: string): ParsedQuery => {
  const text = query.slice(0, maxQuery).trim()
  const raw = rawWords(text)
  const seen = new Set<string>()
  const words = raw.flatMap((word, i) =>
    queryWord(word, i < raw.length - 1 ? undefined : raw.length > 2 ? longBeginning : 2)
  ).filter((word) => {
    const key = JSON.stringify(word.alternatives.map((terms) => terms.map((term) => term.token)))
    return !seen.has(key) && seen.add(key)
  })
  const meant = words.filter((word) => word.kind !== "filler")
  const fillers = meant.length === 0 ? [] : words.filter((word) => word.kind === "filler").slice(0, maxFillers)
  const wanted = (meant.length === 0 ? words : meant).slice(0, maxWords)
  return {
    literal: text.toLowerCase(),
    squashed: fold(raw.join("")),
    words: wanted,
    optional: [...joined(raw.slice(0, maxWords)), ...fillers, ...synonyms(wanted)],
    tokens: new Set(tokens(text))
  }
}

export const squash = (id: string): string => id.replace(/[^a-z0-9]/g, "")

const propertiesOf = (schema: unknown): string => {
  if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, "properties")) return ""
  const { properties } = schema as { readonly properties: unknown }
  if (typeof properties !== "object" || properties === null) return ""
  return Object.entries(properties).map(([name, property]) =>
    typeof property === "object" && property !== null && "description" in property &&
      typeof property.description === "string"
      ? `${name} ${property.description}`
      : name
  ).join("\n")
}

const bodyOf = (item: Item): string => {
  switch (item._tag) {
    case "knowledge":
      return item.body
    case "tool":
      return `${propertiesOf(item.parameters)}\n${item.toolType}`
    case "directive":
      return [
        ...item.steps.map((step) => `${step.name} ${step.description} ${step.action}`),
        ...item.inputs.map((input) => `${input.name} ${input.description}`),
        item.body
      ].join("\n")
  }
}

/** What is found of an item. One that cannot be parsed is found by its id and folders only. */
export const documentOf = (
  location: Pick<ItemLocation, "id" | "category">,
  item: Item | undefined
): SearchDocument => {
  const squashed = squash(location.id)
  const name = tokens(location.id)
  return {
    name: name.length > 1 && name[0] !== squashed ? [...name, squashed] : name,
    title: tokens(item?.title ?? ""),
    description: tokens(item?.description ?? ""),
    labels: tokens(
      [location.category, ...item?.tags ?? [], item?._tag === "knowledge" ? item.entryType : ""].join(" ")
    ),
    body: item === undefined ? [] : tokens(bodyOf(item).slice(0, maxBody))
  }
}
