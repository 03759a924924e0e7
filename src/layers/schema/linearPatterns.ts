// Patterns from schemas, on an engine with linear time. A pattern that it does not support (look-around, back
// references) is refused and not passed to the built-in engine. Imported only by modules that are themselves loaded
// late.
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
