// Finds files that a program expects beside itself. A single file runs as a copy of its own, a folder as a copy of the
// folder; both run in the project's folder, where a relative path leads.
import { Effect, Result } from "effect"
import { cut, positionAt, problemAt } from "../../../../services/format/Metadata.ts"
import { parseJavascript } from "../../readJavascript.ts"
import { parsePython } from "../../readPython.ts"
import { type Found, nothing } from "../arguments/checkArguments.ts"
import { asFolder, folderOf, type ScriptLayout, stem } from "../imports/checkImports.ts"
import { withoutAttributes } from "../imports/readImports.ts"
import { usualExtension } from "../usualExtension.ts"
import { bashUses } from "./bashPaths.ts"
import { nodeUses } from "./nodePaths.ts"
import { below, namesFile, type OwnPath, showPath, type Use } from "./ownPath.ts"
import { packageData, pythonUses } from "./pythonPaths.ts"

/** The limit of lines of one kind in a message, and of paths looked up for them. */
const most = 5
const mostPlaces = 100

const onLines = (text: string, offsets: ReadonlyArray<number>): string => {
  const lines = [...new Set(offsets.slice(0, mostPlaces).map((at) => positionAt(text, at).line))]
  const more = lines.length > most ? ` and ${lines.length - most} more` : ""
  return `${lines.length === 1 ? "line" : "lines"} ${lines.slice(0, most).join(", ")}${more}`
}

const alike = (path: OwnPath) => (other: OwnPath): boolean => showPath(path) === showPath(other)

/** The path inside a folder tool. Undefined if it is outside. */
const inFolder = (own: OwnPath, from: string): string | undefined => {
  const path = own.reduce<OwnPath | undefined>(
    (at, part) => at === undefined ? undefined : below(at, part),
    folderOf(from)
  )
  return path?.includes("..") === true ? undefined : path?.join("/")
}

const isThere = (files: ReadonlySet<string>, path: string): boolean =>
  path === "" || files.has(path) || [...files].some((file) => file.startsWith(`${path}/`))

const checkUses = (uses: ReadonlyArray<Use>, text: string, path: string, layout: ScriptLayout): Found => {
  const tested = uses.filter(({ how }) => how === "tests").map((use) => use.path)
  const written = uses.filter(({ how }) => how === "writes").map((use) => use.path)
  const isMissing = (use: Use): boolean => {
    if (layout._tag === "Alone") return true
    const target = inFolder(use.path, path)
    return target === undefined || !isThere(layout.files, target)
  }
  const missing = uses.filter((use) => isMissing(use) && !tested.some(alike(use.path)))
  const certain = missing.filter((use) => use.how === "needs" && namesFile(use.path) && !written.some(alike(use.path)))
  const [first, ...others] = certain
  if (first !== undefined) {
    const shown = cut(showPath(first.path), 80)
    const also = others.length === 0 ? "" : `; see also ${onLines(text, others.map(({ at }) => at))}`
    const target = inFolder(first.path, path)
    return {
      ...nothing,
      problem: layout._tag === "Alone"
        ? problemAt(
          text,
          first.at,
          `the file runs alone, and needs ${shown}, which is beside it${also}`,
          asFolder(stem(path), "needs")
        )
        : target === undefined
        ? problemAt(
          text,
          first.at,
          `the file needs ${shown}, which is not in the folder of the tool${also}`,
          "Put it into the folder; files of the project are found by KIWI_PROJECT, or by a path from the working directory"
        )
        : problemAt(
          text,
          first.at,
          `the folder has no file ${cut(target, 80)}${also}`,
          "Add the file, or correct the path"
        )
    }
  }
  if (missing.length === 0) return nothing
  const where = onLines(text, missing.map(({ at }) => at))
  return {
    problem: undefined,
    unsure: [
      layout._tag === "Alone"
        ? `uses its file's folder (${where}), but runs as a copy without other files`
        : `uses paths beside its file that the folder does not have (${where})`
    ]
  }
}

/** `source ./lib.sh` is resolved in the script's working directory. */
const checkSourced = Effect.fnUntraced(function*(
  sourced: ReturnType<typeof bashUses>["sourced"],
  text: string,
  path: string,
  layout: ScriptLayout
): Effect.fn.Return<Found> {
  for (const file of sourced) {
    const own = below(folderOf(path), file.path)?.join("/") ?? ""
    const isBeside = layout._tag === "Folder" ? layout.files.has(own) : yield* layout.hasFile(file.path)
    if (!isBeside || (yield* layout.isInProject(file.path))) continue
    const shown = cut(file.path, 80)
    const hint = `Write: source "\${BASH_SOURCE[0]%/*}/${shown.replace(/^\.\//, "")}"`
    return {
      ...nothing,
      problem: layout._tag === "Alone"
        ? problemAt(
          text,
          file.at,
          `the file runs alone, in the project's folder, and sources ${shown}, which is beside it`,
          `${asFolder(stem(path), "needs")}. ${hint}`
        )
        : problemAt(text, file.at, `${shown} is looked for in the project's folder, where the tool runs`, hint)
    }
  }
  const [first] = sourced
  return first === undefined ? nothing : {
    problem: undefined,
    unsure: [
      `sources ${cut(first.path, 80)} from its working directory (${
        onLines(text, sourced.map(({ at }) => at))
      }), which no signature covers`
    ]
  }
})

export const checkBeside = Effect.fnUntraced(function*(
  path: string,
  text: string,
  layout: ScriptLayout
): Effect.fn.Return<Found> {
  const extension = usualExtension(path, text)
  switch (extension) {
    case ".py": {
      const parsed = yield* parsePython(text)
      if (Result.isFailure(parsed)) return nothing
      const { tree } = parsed.success
      const data = layout._tag === "Alone" ? packageData(tree, text) : undefined
      return data === undefined ? checkUses(pythonUses(tree, text), text, path, layout) : {
        ...nothing,
        problem: problemAt(
          text,
          data,
          "the file runs alone and is not part of a package, so it has no package data",
          asFolder(stem(path), "needs")
        )
      }
    }
    case ".ts":
    case ".js":
    case ".mjs":
    case ".cjs": {
      const parsed = yield* parseJavascript(withoutAttributes(text), extension === ".ts")
      return Result.isFailure(parsed) ? nothing : checkUses(nodeUses(parsed.success.tree, text), text, path, layout)
    }
    case ".sh": {
      const { sourced, uses } = bashUses(text)
      const found = checkUses(uses, text, path, layout)
      if (found.problem !== undefined) return found
      const also = yield* checkSourced(sourced, text, path, layout)
      return also.problem === undefined ? { problem: undefined, unsure: [...found.unsure, ...also.unsure] } : also
    }
    default:
      return nothing
  }
})
