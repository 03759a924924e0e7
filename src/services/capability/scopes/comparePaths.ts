// Compares patterns of paths, given as their names. Each runs as an automaton over a path with a `/` after each name; the
// states of all are explored together, up to a bound: what is not proved to be inside is not inside.

/** A character as its code point, or one of the wildcards below. */
type Token = number
type Tokens = ReadonlyArray<Token>
/** "src", "**", "*.ts" */
type Names = ReadonlyArray<string>

const slash = 0x2f
/** One character of a name. */
const one: Token = -1
/** Any number of characters of a name. */
const some: Token = -2
/** Any number of whole names, each with its `/`. */
const names: Token = -3
/** Stands for all characters that no compared pattern names. */
const other: Token = -4

/** Most states that a comparison looks at. */
const maxStates = 2_000

const tokensOfName = (name: string): Tokens => {
  if (name === "**") return [names]
  const tokens: Array<Token> = []
  // A name has at least one character.
  if (/^\*+$/.test(name)) tokens.push(one)
  for (const character of name) {
    const token = character === "*" ? some : character === "?" ? one : character.codePointAt(0)!
    if (token !== some || tokens.at(-1) !== some) tokens.push(token)
  }
  return [...tokens, slash]
}

const tokensOf = (pattern: Names): Tokens => pattern.flatMap(tokensOfName)

/** Of the path itself, without wildcards, and everything below it. */
const tokensBelow = (path: Names): Tokens => [
  ...path.flatMap((name) => [...Array.from(name, (character) => character.codePointAt(0)!), slash]),
  names
]

/**
 * The states that a pattern is in: 1 at each token that may come next, then 1 at each `names` inside of one of whose
 * names it is.
 */
type States = Uint8Array

/** The end of a pattern, and every wildcard that may match nothing, lead on to the next token. */
const settle = (tokens: Tokens, states: States): States => {
  for (const [i, token] of tokens.entries()) {
    if (states[i] === 1 && (token === some || token === names)) states[i + 1] = 1
  }
  return states
}

const begin = (tokens: Tokens): States => {
  const states = new Uint8Array(2 * tokens.length + 1)
  states[0] = 1
  return settle(tokens, states)
}

/** Undefined if nothing that goes on like this matches. */
const step = (tokens: Tokens, states: States, character: Token): States | undefined => {
  const next = new Uint8Array(states.length)
  const inside = tokens.length + 1
  let any = false
  for (const [i, token] of tokens.entries()) {
    if (states[i] === 1) {
      const to = token === character || (token === one && character !== slash)
        ? i + 1
        : token === some && character !== slash
        ? i
        : token === names && character !== slash
        ? inside + i
        : undefined
      if (to !== undefined) {
        next[to] = 1
        any = true
      }
    }
    if (states[inside + i] === 1) {
      next[character === slash ? i : inside + i] = 1
      any = true
    }
  }
  return any ? settle(tokens, next) : undefined
}

const accepts = (tokens: Tokens, states: States | undefined): boolean => states?.[tokens.length] === 1

/** Whether all match some path that `except` does not match. Undefined if that takes too long to find out. */
const shareAny = (all: ReadonlyArray<Tokens>, except?: Tokens): boolean | undefined => {
  if (all.length === 0) return false
  const alphabet = new Set([slash, other])
  for (const tokens of except === undefined ? all : [...all, except]) {
    for (const token of tokens) if (token >= 0) alphabet.add(token)
  }
  interface Node {
    readonly in: ReadonlyArray<States>
    readonly not: States | undefined
  }
  const start: Node = { in: all.map(begin), not: except === undefined ? undefined : begin(except) }
  const seen = new Set<string>()
  const open = [start]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { in: states, not } = node
    const key = `${states.join(";")}|${not?.join(",") ?? ""}`
    if (seen.has(key)) continue
    if (seen.size === maxStates) return undefined
    seen.add(key)
    const isExcepted = except !== undefined && accepts(except, not)
    if (!isExcepted && states.every((state, i) => accepts(all[i]!, state))) return true
    for (const character of alphabet) {
      const next: Array<States> = []
      for (const [i, state] of states.entries()) {
        const after = step(all[i]!, state, character)
        if (after === undefined) break
        next.push(after)
      }
      if (next.length < states.length) continue
      open.push({
        in: next,
        not: except === undefined || not === undefined ? undefined : step(except, not, character)
      })
    }
  }
  return false
}

const literalEnd = (tokens: Tokens): number => {
  const end = tokens.findIndex((token) => token < 0)
  return end === -1 ? tokens.length : end
}

/** Two that begin differently match nothing together, and nearly all pairs do. */
const beginDifferently = (a: Tokens, b: Tokens): boolean => {
  const both = Math.min(literalEnd(a), literalEnd(b))
  for (let i = 0; i < both; i++) if (a[i] !== b[i]) return true
  return false
}

const areWithin = (all: ReadonlyArray<Tokens>, parent: Tokens): boolean =>
  !(all.length === 1 && beginDifferently(all[0]!, parent)) && shareAny(all, parent) === false

const shareNone = (all: ReadonlyArray<Tokens>): boolean =>
  all.length > 1 && (all.some((tokens) => beginDifferently(tokens, all[0]!)) || shareAny(all) === false)

/** Whether it is proved that whatever all of `patterns` match, `parent` matches too. */
export const isWithin = (patterns: ReadonlyArray<Names>, parent: Names): boolean =>
  areWithin(patterns.map(tokensOf), tokensOf(parent))

/** Whether it is proved that no path matches all of `patterns`. */
export const areApart = (patterns: ReadonlyArray<Names>): boolean => shareNone(patterns.map(tokensOf))

/** Whether it is proved that the pattern matches the path and everything below it. */
export const matchesBelow = (pattern: Names, path: Names): boolean => areWithin([tokensBelow(path)], tokensOf(pattern))

/** Whether the pattern may match the path or something below it. */
export const reachesBelow = (pattern: Names, path: Names): boolean => !shareNone([tokensBelow(path), tokensOf(pattern)])
