// Patterns from schemas, on an engine whose time is linear in the text. What it cannot run – look-around, back
// references – is refused rather than handed to the built-in engine. Imported only by what is itself loaded late.
import { Result } from "effect"
import { RE2JS } from "re2js"

export type LinearPattern = (text: string) => boolean

export const linearPattern = (pattern: string): Result.Result<LinearPattern, string> =>
  Result.map(
    Result.try({
      try: () => RE2JS.compile(RE2JS.translateRegExp(pattern)),
      catch: (e) =>
        `the pattern ${pattern.slice(0, 200)} cannot be run in linear time (${
          e instanceof Error ? e.message : "it is not understood"
        })`
    }),
    (compiled) => (text) => compiled.matcher(text).find()
  )
