// What of a lock's own text may be told. A lock is a file of the project, and what is told of it is read by agents: a
// path or a name in it can spell a sentence. So a text is told where the tool as it is now has it too, or where its form
// has no room for words; a person sees all of it in `kiwi lockfile diff`.
import type { Frozen } from "./Lockfile.ts"

/** Its text, or "another path" in its place. */
export type Quote = (text: string, what: string) => string

export const quoteAll: Quote = (text) => text

const shortVersion = /^v?\d{1,8}(?:\.\d{1,8}){0,3}(?:[-+.]?(?:a|b|c|rc|alpha|beta|dev|post|pre)?[.-]?\d{1,8})?$/

export const isShortVersion = (text: string): boolean => shortVersion.test(text)

const digest = /^sha(?:1|256|384|512)[:-][A-Za-z0-9+/=]{1,13}$/

const textsOf = ({ dependencies, resolved_chain: links, root, runtime }: Frozen): ReadonlyArray<string | null> => [
  root.category,
  ...links.flatMap((link) => [link.tool_id, link.version, link.tier, link.path, `${link.tier}:tools/${link.path}`]),
  ...runtime.commands,
  ...runtime.variables,
  ...(runtime.interpreter === null ? [] : [runtime.interpreter.variable, runtime.interpreter.version]),
  ...(typeof runtime.interpreter?.program === "object" ? [runtime.interpreter.program.path] : []),
  ...(dependencies?.packages ?? []).flatMap(({ name, version }) => [name, version])
]

/** Quotes what is there now. Its texts are collected on first use: most locks hold. */
export const quoteKnown = (now: Frozen): Quote => {
  let known: ReadonlySet<string | null> | undefined
  return (text, what) =>
    isShortVersion(text) || digest.test(text) || (known ??= new Set(textsOf(now))).has(text) ? text : `another ${what}`
}
