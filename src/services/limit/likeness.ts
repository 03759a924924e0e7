// How alike the arguments of two calls are. The least alike argument decides: the same text written to another path is
// not the same call. Arguments of any size are kept as a few thousand characters, and compared by them.
import type { Schema } from "effect"
import { isJsonObject } from "../schema/json.ts"

/** Arguments up to this many characters are kept whole. */
const wholeUpTo = 4_096
/** How much of longer arguments is kept: of one text, and of all together, in characters and in values. */
const keptOfText = 1_024
const keptOfAll = 8_192
const keptValues = 256
/** Parts of a long text that are kept of what is between its head and its tail. */
const samples = 8
const keptOfKey = 64

interface Budget {
  characters: number
  values: number
}

/** Whether a value fits a budget, which it uses up. */
const fits = (value: Schema.Json, budget: Budget): boolean => {
  budget.values--
  if (typeof value === "string") budget.characters -= value.length
  else if (Array.isArray(value)) {
    for (const one of value) if (!fits(one, budget)) return false
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      budget.characters -= key.length
      if (!fits(value[key]!, budget)) return false
    }
  }
  return budget.characters >= 0 && budget.values >= 0
}

const cutText = (text: string, most: number): string => {
  if (text.length <= most) return text
  const part = most >> 2
  const between = Array.from({ length: samples }, (_, index) => {
    const at = Math.floor((text.length / (samples + 1)) * (index + 1))
    return text.slice(at, at + (most >> 4))
  })
  return [text.slice(0, part), ...between, text.slice(-part), String(text.length)].join(" ")
}

const cut = (value: Schema.Json, budget: Budget): Schema.Json => {
  budget.values--
  if (typeof value === "string") {
    const kept = cutText(value, Math.min(keptOfText, Math.max(keptOfKey, budget.characters)))
    budget.characters -= kept.length
    return kept
  }
  if (Array.isArray(value)) {
    const kept: Array<Schema.Json> = [value.length]
    for (const one of value) {
      if (budget.values <= 0 || budget.characters <= 0) break
      kept.push(cut(one, budget))
    }
    return kept
  }
  if (!isJsonObject(value)) return value
  const kept: Array<[string, Schema.Json]> = []
  for (const key in value) {
    if (budget.values <= 0 || budget.characters <= 0) break
    budget.characters -= Math.min(keptOfKey, key.length)
    kept.push([key.slice(0, keptOfKey), cut(value[key]!, budget)])
  }
  return Object.fromEntries(kept)
}

/** A call's arguments as JSON, shortened if they are long. */
export const keepArguments = (parameters: Schema.JsonObject): string =>
  JSON.stringify(
    fits(parameters, { characters: wholeUpTo, values: keptValues })
      ? parameters
      : cut(parameters, { characters: keptOfAll, values: keptValues })
  )

/** Arguments by these names only tell one try from another. */
const nonceName =
  /^(?:_|cb|ts|nonce|timestamp|attempts?|retry|retries|try|tries|iteration|counter|seq|sequence|(?:request|correlation|trace|span|invocation|idempotency)_?(?:id|key)|cache_?buster)$/i

/** A number, a UUID, a digest, or a point in time to the second. */
const nonce =
  /^(?:-?\d+(?:\.\d+)?|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32,}|\d{4}-\d\d-\d\dt\d\d:\d\d(?::\d\d.*)?)$/i

/** How often each word occurs. */
type Words = ReadonlyMap<string, number>

const addWords = (words: Map<string, number>, path: string, value: Schema.Json, isLoose: boolean): void => {
  const add = (word: string) => {
    const key = `${path}=${isLoose && nonce.test(word) ? "#" : word}`
    words.set(key, (words.get(key) ?? 0) + 1)
  }
  if (Array.isArray(value)) {
    add("[]")
    for (const one of value) addWords(words, `${path}[]`, one, isLoose)
  } else if (isJsonObject(value)) {
    add("{}")
    for (const [key, one] of Object.entries(value)) {
      if (!nonceName.test(key)) addWords(words, `${path}.${key}`, one, isLoose)
    }
  } else if (typeof value === "string") {
    const plain = value.toLowerCase().split(/\s+/).map((word) => word.replace(/^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu, ""))
      .filter((word) => word !== "")
    // A text of signs alone is one word.
    for (const word of plain.length === 0 ? [value] : plain) add(word)
  } else add(String(value))
}

const wordsOf = (value: Schema.Json, isLoose: boolean): Words => {
  const words = new Map<string, number>()
  addWords(words, "", value, isLoose)
  return words
}

const sizeOf = (words: Words): number => {
  let size = 0
  for (const count of words.values()) size += count
  return size
}

/** How much of their words two values share: twice the shared ones, of all. */
const share = (a: Words, b: Words): number => {
  let shared = 0
  for (const [word, count] of a) shared += Math.min(count, b.get(word) ?? 0)
  return (2 * shared) / (sizeOf(a) + sizeOf(b))
}

type WordsByName = ReadonlyMap<string, Words>

/** Kept arguments, with the words of each by name once they were needed. */
export class Arguments {
  readonly text: string
  #essence: string | undefined
  #exact: WordsByName | undefined
  #loose: WordsByName | undefined

  constructor(text: string) {
    this.text = text
  }

  #read(isLoose: boolean): WordsByName {
    const all = Object.entries(JSON.parse(this.text) as Schema.JsonObject)
    const counted = all.filter(([name]) => !nonceName.test(name))
    // A call with nothing else is told from others by what it has.
    return new Map(
      (counted.length === 0 ? all : counted).map(([name, value]) => [name, wordsOf(value, isLoose)])
    )
  }

  /** The arguments as JSON, without those that only tell one try from another. */
  get essence(): string {
    return this.#essence ??= JSON.stringify(
      JSON.parse(this.text),
      (key, value: Schema.Json) => nonceName.test(key) ? undefined : value
    )
  }

  words(isLoose: boolean): WordsByName {
    return isLoose ? this.#loose ??= this.#read(true) : this.#exact ??= this.#read(false)
  }
}

/**
 * From 0 to 1, and 1 for equal arguments. Words count without case, order and the signs around them; names that only
 * tell one try from another do not count. `isLoose`: nor do numbers, UUIDs, digests and times differ from each other.
 */
export const likeness = (a: Arguments, b: Arguments, isLoose = false): number => {
  if (a.text === b.text) return 1
  const [mine, theirs] = [a.words(isLoose), b.words(isLoose)]
  if (mine.size !== theirs.size) return 0
  let least = 1
  for (const [name, words] of mine) {
    const others = theirs.get(name)
    if (others === undefined) return 0
    least = Math.min(least, share(words, others))
  }
  return least
}
