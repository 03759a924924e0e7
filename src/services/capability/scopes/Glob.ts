// Globs of paths, and of other names with `/` between them: `*` and `?` stay within one name, `**` is any number of whole
// names, also none. A `*` matches names that begin with a dot too, since a pattern that denies must not leave them out.
//
// Matching and comparing run the glob as an automaton over the path with a `/` after each name. Matching is linear in
// the path. Comparing explores the states of all globs together, and gives up after a bound: what is not proved to be
// inside is not inside.
import { Result } from "effect"

/** A character as its code point, or one of the wildcards below. */
type Token = number

const slash = 0x2f
/** One character of a name. */
const one: Token = -1
/** Any number of characters of a name. */
const some: Token = -2
/** Any number of whole names, each with its `/`. */
const names: Token = -3
/** Stands for all characters that no compared glob names. */
const other: Token = -4

export interface Glob {
  readonly text: string
  /** Whether it is about paths outside of the project: "/etc/**". */
  readonly absolute: boolean
  readonly tokens: ReadonlyArray<Token>
}

const maxLength = 256
/** Most states that a comparison looks at. */
const maxStates = 2_000

const tokensOf = (name: string): ReadonlyArray<Token> => {
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

/** Fails with what is wrong, as a sentence without a subject: "has `..`". */
export const parse = (written: string): Result.Result<Glob, string> => {
  if (written.length > maxLength) return Result.fail(`is longer than ${maxLength} characters`)
  if (written === "" || written.trim() !== written) return Result.fail("is empty, or begins or ends with a blank")
  if (/\p{C}/u.test(written)) return Result.fail("has a control character")
  const odd = /[{}[\]\\]|[@+!?*]\(|^!/.exec(written)?.[0]
  if (odd !== undefined) return Result.fail(`has "${odd}": only *, ? and ** are wildcards`)
  if (/^~|^[A-Za-z]:/.test(written)) return Result.fail("does not begin in the project: write it with a / at the start")
  const absolute = written.startsWith("/")
  const inner = written.replace(/^\/|^(?:\.\/)+/, "")
  const parts = inner === "" || inner === "." ? [] : inner.replace(/\/$/, "/**").split("/")
  if (parts.includes("") || parts.includes(".")) return Result.fail("has an empty name, or one that is `.`")
  if (parts.includes("..")) return Result.fail("has `..`: write the path that it leads to")
  const kept = parts.filter((part, i) => part !== "**" || parts[i - 1] !== "**")
  return Result.succeed({
    text: `${absolute ? "/" : ""}${kept.join("/") || (absolute ? "" : ".")}`,
    absolute,
    tokens: kept.flatMap(tokensOf)
  })
}

/**
 * The states that a glob is in: 1 at each token that may come next, then 1 at each `names` inside of one of whose names
 * it is.
 */
type States = Uint8Array

/** The end of a glob, and every wildcard that may match nothing, lead on to the next token. */
const settle = ({ tokens }: Glob, states: States): States => {
  for (const [i, token] of tokens.entries()) {
    if (states[i] === 1 && (token === some || token === names)) states[i + 1] = 1
  }
  return states
}

const begin = (glob: Glob): States => {
  const states = new Uint8Array(2 * glob.tokens.length + 1)
  states[0] = 1
  return settle(glob, states)
}

/** Undefined if nothing that goes on like this matches. */
const step = (glob: Glob, states: States, character: Token): States | undefined => {
  const { tokens } = glob
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
  return any ? settle(glob, next) : undefined
}

const accepts = ({ tokens }: Glob, states: States | undefined): boolean => states?.[tokens.length] === 1

/** Whether it is a path as accesses have it: no empty name, `.` or `..`. */
const isReal = (path: string): boolean =>
  path === "." || path === "/" || path.replace(/^\//, "").split("/").every((name) => !["", ".", ".."].includes(name))

/** The names of a real path, each with its `/`. */
const innerOf = (path: string): string => path === "." || path === "/" ? "" : `${path.replace(/^\//, "")}/`

/** `path`: real, relative to the project if it is inside. Another path never matches. */
export const matches = (glob: Glob, path: string): boolean => {
  const absolute = /^\/|^[A-Za-z]:(?:\/|$)/.test(path)
  if (absolute !== glob.absolute || !isReal(path)) return false
  let states: States | undefined = begin(glob)
  for (const character of innerOf(path)) {
    states = step(glob, states, character.codePointAt(0)!)
    if (states === undefined) return false
  }
  return accepts(glob, states)
}

/** Whether all of `globs` match some path that `except` does not match. Undefined if that takes too long to find out. */
const shareAny = (globs: ReadonlyArray<Glob>, except?: Glob): boolean | undefined => {
  const [first] = globs
  if (first === undefined || globs.some(({ absolute }) => absolute !== first.absolute)) return false
  const excepted = except?.absolute === first.absolute ? except : undefined
  const alphabet = new Set([slash, other])
  for (const { tokens } of excepted === undefined ? globs : [...globs, excepted]) {
    for (const token of tokens) if (token >= 0) alphabet.add(token)
  }
  interface Node {
    readonly all: ReadonlyArray<States>
    readonly not: States | undefined
  }
  const start: Node = { all: globs.map(begin), not: excepted === undefined ? undefined : begin(excepted) }
  const seen = new Set<string>()
  const open = [start]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const { all, not } = node
    const key = `${all.join(";")}|${not?.join(",") ?? ""}`
    if (seen.has(key)) continue
    if (seen.size === maxStates) return undefined
    seen.add(key)
    const isExcepted = excepted !== undefined && accepts(excepted, not)
    if (!isExcepted && all.every((states, i) => accepts(globs[i]!, states))) return true
    for (const character of alphabet) {
      const next: Array<States> = []
      for (const [i, states] of all.entries()) {
        const after = step(globs[i]!, states, character)
        if (after === undefined) break
        next.push(after)
      }
      if (next.length < all.length) continue
      open.push({
        all: next,
        not: excepted === undefined || not === undefined ? undefined : step(excepted, not, character)
      })
    }
  }
  return false
}

/** The characters before the first wildcard. */
const literalStart = ({ tokens }: Glob): ReadonlyArray<Token> => {
  const end = tokens.findIndex((token) => token < 0)
  return end === -1 ? tokens : tokens.slice(0, end)
}

const beginDifferently = (a: Glob, b: Glob): boolean => {
  const [startA, startB] = [literalStart(a), literalStart(b)]
  const both = Math.min(startA.length, startB.length)
  return startA.slice(0, both).some((token, i) => token !== startB[i])
}

/** Whether it is proved that whatever all of `globs` match, `other` matches too. */
export const isWithin = (globs: ReadonlyArray<Glob>, parent: Glob): boolean =>
  globs.some(({ text }) => text === parent.text) ||
  // Two that begin differently match nothing together, and are rarely compared for that.
  (!(globs.length === 1 && beginDifferently(globs[0]!, parent)) && shareAny(globs, parent) === false)

/** Whether it is proved that no path matches all of `globs`. */
export const isEmpty = (globs: ReadonlyArray<Glob>): boolean =>
  globs.length > 1 && (globs.some((glob) => beginDifferently(glob, globs[0]!)) || shareAny(globs) === false)

/** A real path and everything below it. */
const below = (path: string): Glob => ({
  text: `${path}/**`,
  absolute: path.startsWith("/"),
  tokens: [...Array.from(innerOf(path), (character) => character.codePointAt(0)!), names]
})

/** Whether it matches the path and everything below it. */
export const matchesBelow = (glob: Glob, path: string): boolean => isWithin([below(path)], glob)

/** Whether it may match the path or something below it. */
export const reachesBelow = (glob: Glob, path: string): boolean => !isEmpty([below(path), glob])
