// What stands in the way of running one file of code, beyond its syntax. For a single file and for each of a folder.
import { Effect, Result } from "effect"
import type { Tool } from "../../../services/item/Item.ts"
import { parseJavascript } from "../readJavascript.ts"
import { parsePython } from "../readPython.ts"
import { checkArguments, type Found, nothing } from "./arguments/checkArguments.ts"
import { checkBeside } from "./beside/checkBeside.ts"
import { checkErasable } from "./checkErasable.ts"
import { checkJavascriptImports, checkPythonImports } from "./imports/checkImports.ts"
import type { Place } from "./imports/checkImports.ts"
import { withoutAttributes } from "./imports/readImports.ts"
import { usualExtension } from "./usualExtension.ts"

const checkImports = Effect.fnUntraced(function*(path: string, text: string, place: Place) {
  const extension = usualExtension(path, text)
  if (extension === ".py") {
    const parsed = yield* parsePython(text)
    // Kiwi does not know its syntax, and Python does: nothing more can be said.
    return Result.isFailure(parsed) ? undefined : yield* checkPythonImports(parsed.success.tree, text, path, place)
  }
  if (![".ts", ".js", ".mjs", ".cjs"].includes(extension)) return undefined
  const parsed = yield* parseJavascript(withoutAttributes(text), extension === ".ts")
  if (Result.isFailure(parsed)) return undefined
  const { firstError, tree } = parsed.success
  return checkErasable(tree, text, firstError) ?? checkJavascriptImports(tree, text, path, place)
})

/** `part`: whether the file is the one that runs, one that it imports, or just lies beside it. */
export const checkScript = Effect.fnUntraced(function*(
  tool: Tool,
  path: string,
  text: string,
  place: Place,
  part: "entry" | "imported" | "other"
): Effect.fn.Return<Found> {
  const problem = yield* checkImports(path, text, place)
  if (problem !== undefined) return { ...nothing, problem }
  if (part === "other") return nothing
  const beside = yield* checkBeside(path, text, place)
  if (beside.problem !== undefined) return beside
  const found = yield* checkArguments(tool, path, text, part === "entry")
  return found.problem === undefined ? { problem: undefined, unsure: [...found.unsure, ...beside.unsure] } : found
})
