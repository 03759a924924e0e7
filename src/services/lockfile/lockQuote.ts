// Which texts of a lock may be quoted. A lock is a file of the project, and agents read what is quoted from it: a path or
// a name in it can spell a sentence. So a text is quoted only if the tool as it is now has the same text, or if its form
// leaves no room for words. A person sees all texts in `kiwi lockfile diff`.
import { type Frozen, showLink } from "./Lockfile.ts"

/** The text itself, or "another path" in its place; `what`: "path", "version". */
export type Quote = (text: string, what: string) => string

export const quoteAll: Quote = (text) => text

const shortVersion = /^v?\d{1,8}(?:\.\d{1,8}){0,3}(?:[-+.]?(?:a|b|c|rc|alpha|beta|dev|post|pre)?[.-]?\d{1,8})?$/

export const isShortVersion = (text: string): boolean => shortVersion.test(text)

const digest = /^sha(?:1|256|384|512)[:-][A-Za-z0-9+/=]{1,13}$/

const textsOf = ({ dependencies, resolved_chain: links, root, runtime }: Frozen): ReadonlyArray<string | null> => [
  root.category,
  ...links.flatMap((link) => [link.tool_id, link.version, link.tier, link.path, showLink(link)]),
  ...runtime.commands,
  ...runtime.variables,
  ...(runtime.interpreter === null ? [] : [runtime.interpreter.variable, runtime.interpreter.version]),
  ...(typeof runtime.interpreter?.program === "object" ? [runtime.interpreter.program.path] : []),
  ...(dependencies?.packages ?? []).flatMap(({ name, version }) => [name, version])
]

/** Quotes only what `now` has too. Its texts are collected on first use, since most locks hold. */
export const quoteKnown = (now: Frozen): Quote => {
  let known: ReadonlySet<string | null> | undefined
  return (text, what) =>
    isShortVersion(text) || digest.test(text) || (known ??= new Set(textsOf(now))).has(text) ? text : `another ${what}`
}
