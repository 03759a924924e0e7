// What stands in the way of running one file of code, beyond its syntax. For a single file and for each of a folder.
import { Effect, Result } from "effect"
import type { Problem } from "../../../services/format/Metadata.ts"
import { parseJavascript } from "../readJavascript.ts"
import { parsePython, readPython } from "../readPython.ts"
import { checkErasable } from "./checkErasable.ts"
import { checkJavascriptImports, checkPythonImports } from "./checkImports.ts"
import type { Place } from "./checkImports.ts"
import { readArgparse } from "./readArgparse.ts"
import { withoutAttributes } from "./readImports.ts"
import { usualExtension } from "./usualExtension.ts"

const checkPython = Effect.fnUntraced(function*(path: string, text: string, place: Place, legacy: boolean) {
  const parsed = yield* parsePython(text)
  // Kiwi does not know its syntax, and Python does: nothing more can be said.
  if (Result.isFailure(parsed)) return undefined
  const { tree } = parsed.success
  const wrong = yield* checkPythonImports(tree, text, path, place)
  if (wrong !== undefined || !legacy) return wrong
  const module = yield* readPython(text)
  const declared = Result.isSuccess(module) && module.success.metadata.has("input_schema")
  return declared ? undefined : readArgparse(tree, text)?.problem
})

const checkJavascript = Effect.fnUntraced(function*(path: string, text: string, place: Place, typed: boolean) {
  const parsed = yield* parseJavascript(withoutAttributes(text), typed)
  if (Result.isFailure(parsed)) return undefined
  const { firstError, tree } = parsed.success
  return checkErasable(tree, text, firstError) ?? checkJavascriptImports(tree, text, path, place)
})

/** `legacy`: the parameters come from the file's own argparse calls. */
export const checkScript = Effect.fnUntraced(function*(
  path: string,
  text: string,
  place: Place,
  legacy: boolean
): Effect.fn.Return<Problem | undefined> {
  switch (usualExtension(path, text)) {
    case ".py":
      return yield* checkPython(path, text, place, legacy)
    case ".ts":
      return yield* checkJavascript(path, text, place, true)
    case ".js":
    case ".mjs":
    case ".cjs":
      return yield* checkJavascript(path, text, place, false)
    default:
      return undefined
  }
})
