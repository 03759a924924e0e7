// What prevents one file of code from running, apart from syntax errors. For a single file and for each file of a
// folder.
import { Effect, Result } from "effect"
import type { Problem } from "../../../services/format/Metadata.ts"
import type { Program } from "../../../services/format/parseProgram.ts"
import type { Tool } from "../../../services/item/Item.ts"
import { parseJavascript } from "../readJavascript.ts"
import { parsePython } from "../readPython.ts"
import { checkArguments, type Found, nothing } from "./arguments/checkArguments.ts"
import { checkBeside } from "./beside/checkBeside.ts"
import { checkErasable } from "./checkErasable.ts"
import { checkJavascriptImports, checkPythonImports } from "./imports/checkImports.ts"
import type { ScriptLayout } from "./imports/checkImports.ts"
import { checkPackages } from "./imports/checkPackages.ts"
import { checkModuleKind } from "./imports/moduleKind.ts"
import { withoutAttributes } from "./imports/readImports.ts"
import { usualExtension } from "./usualExtension.ts"

const refused = (problem: Problem | undefined): Found => ({ ...nothing, problem })

const checkJavascript = (
  tool: Tool,
  { tree, firstError }: Program,
  path: string,
  text: string,
  place: ScriptLayout,
  runs: boolean
) => {
  const extension = usualExtension(path, text)
  const wrong = checkErasable(tree, text, firstError) ?? checkJavascriptImports(tree, text, path, place)
  if (wrong !== undefined || !runs) return refused(wrong)
  const manifest = place._tag === "Folder" ? place.packageOf(path) : {}
  const kind = checkModuleKind(tree, text, path, manifest["type"])
  if (kind !== undefined || !/^(?:runtimes\/)?node_runtime$/.test(tool.executorId ?? "")) return refused(kind)
  const has = (folder: string) => place._tag === "Folder" && [...place.files].some((file) => file.includes(folder))
  return checkPackages(tool, tree, text, extension, manifest, has)
}

const checkImports = Effect.fnUntraced(
  function*(tool: Tool, path: string, text: string, place: ScriptLayout, runs: boolean) {
    const extension = usualExtension(path, text)
    if (extension === ".py") {
      const parsed = yield* parsePython(text)
      // Python's compiler accepts syntax that Kiwi does not know: nothing more can be said.
      return Result.isFailure(parsed)
        ? nothing
        : refused(yield* checkPythonImports(parsed.success.tree, text, path, place))
    }
    if (![".ts", ".js", ".mjs", ".cjs"].includes(extension)) return nothing
    const parsed = yield* parseJavascript(withoutAttributes(text), extension === ".ts")
    return Result.isFailure(parsed) ? nothing : checkJavascript(tool, parsed.success, path, text, place, runs)
  }
)

/** `part`: whether the file is the one that runs, one that it imports, or neither. */
export const checkScript = Effect.fnUntraced(function*(
  tool: Tool,
  path: string,
  text: string,
  place: ScriptLayout,
  part: "entry" | "imported" | "other"
): Effect.fn.Return<Found> {
  const imports = yield* checkImports(tool, path, text, place, part !== "other")
  if (imports.problem !== undefined) return imports
  if (part === "other") return nothing
  const beside = yield* checkBeside(path, text, place)
  if (beside.problem !== undefined) return beside
  const found = yield* checkArguments(tool, path, text, part === "entry")
  return found.problem === undefined
    ? { problem: undefined, unsure: [...found.unsure, ...imports.unsure, ...beside.unsure] }
    : found
})
