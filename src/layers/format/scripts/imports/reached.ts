// The files of a folder that its entrypoint imports, directly or indirectly.
import { Effect, Result } from "effect"
import { parseJavascript } from "../../readJavascript.ts"
import { parsePython } from "../../readPython.ts"
import { resolveIn } from "./checkImports.ts"
import { javascriptImports, pythonImports, withoutAttributes } from "./readImports.ts"

interface File {
  readonly path: string
  readonly bytes: Uint8Array
}

const most = 200

const pythonTargets = Effect.fnUntraced(
  function*(path: string, text: string, entrypoint: string, paths: ReadonlyArray<string>) {
    const parsed = yield* parsePython(text)
    if (Result.isFailure(parsed)) return []
    const start = entrypoint.split("/").slice(0, -1)
    return pythonImports(parsed.success.tree, text).flatMap(({ dots, module }) => {
      const folder = dots === 0 ? start : path.split("/").slice(0, -dots)
      const target = [...folder, ...(module === "" ? [] : [module])].join("/")
      return paths.filter((one) => one === `${target}.py` || (one.startsWith(`${target}/`) && one.endsWith(".py")))
    })
  }
)

const javascriptTargets = Effect.fnUntraced(function*(path: string, text: string, paths: ReadonlyArray<string>) {
  const parsed = yield* parseJavascript(withoutAttributes(text), path.endsWith("ts"))
  if (Result.isFailure(parsed)) return []
  return javascriptImports(parsed.success.tree, text).flatMap(({ specifier }) => {
    const target = specifier.startsWith(".") ? resolveIn(path, specifier) : undefined
    return paths.filter((one) => one === target || one.replace(/\.[cm]?js$/, "") === target)
  })
})

/** Without the entrypoint itself, nearest first. */
export const reachedFrom = Effect.fnUntraced(function*(entrypoint: string, files: ReadonlyArray<File>) {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const paths = [...byPath.keys()]
  const reached = new Set([entrypoint])
  for (const path of reached) {
    const file = byPath.get(path)
    if (file === undefined || reached.size > most) break
    const text = new TextDecoder().decode(file.bytes)
    const targets = path.endsWith(".py")
      ? yield* pythonTargets(path, text, entrypoint, paths)
      : /\.[cm]?[jt]s$/.test(path)
      ? yield* javascriptTargets(path, text, paths)
      : []
    for (const target of targets) reached.add(target)
  }
  return [...reached].slice(1).flatMap((path) => byPath.get(path) ?? [])
})
