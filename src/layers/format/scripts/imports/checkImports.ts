// Finds imports that a program would not find where it runs: a single file runs alone, as a copy of the signed bytes,
// and a folder runs with its own files only. Python packages are not checked: a project's environment may have packages
// that the tool does not declare.
import type { Tree } from "@lezer/common"
import { Effect } from "effect"
import type { Schema } from "effect"
import { problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import { javascriptImports, pythonImports } from "./readImports.ts"

/** Where a file of a tool is when it runs. */
export type ScriptLayout =
  | Alone
  /** Among the files of its folder, by their signed paths. */
  | {
    readonly _tag: "Folder"
    readonly files: ReadonlySet<string>
    /** The package.json that applies to a file of the folder. */
    readonly packageOf: (path: string) => Schema.JsonObject
    readonly entrypoint: string | undefined
    readonly isInProject: IsInProject
  }

interface Alone {
  readonly _tag: "Alone"
  /** Whether the original file's folder has a module with this name. */
  readonly has: (module: string) => Effect.Effect<boolean>
  /** Whether the path, relative to that folder, is a file. */
  readonly hasFile: (path: string) => Effect.Effect<boolean>
  readonly isInProject: IsInProject
}

/** Whether the path, relative to the project's folder in which a tool runs, is a file. True if that is not known. */
export type IsInProject = (path: string) => Effect.Effect<boolean>

export const asFolder = (name: string, does: "imports" | "needs" = "imports"): string =>
  `Make it a folder: ${name}/tool.yaml with entrypoint, and every file that it ${does} beside it`

export const stem = (path: string): string => path.slice(path.lastIndexOf("/") + 1).replace(/\.[a-z]+$/, "")

export const folderOf = (path: string): ReadonlyArray<string> => path.split("/").slice(0, -1)

/** Resolves a relative path. Undefined if it leaves the folder. */
export const resolveIn = (from: string, relative: string): string | undefined => {
  const parts = [...folderOf(from)]
  for (const part of relative.split("/")) {
    if (part === "" || part === ".") continue
    if (part !== "..") parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join("/")
}

export const checkPythonImports = Effect.fnUntraced(function*(
  tree: Tree,
  text: string,
  path: string,
  layout: ScriptLayout
): Effect.fn.Return<Problem | undefined> {
  for (const { at, dots, module } of pythonImports(tree, text)) {
    if (layout._tag === "Alone") {
      if (dots > 0) {
        return problemAt(text, at, "the file runs alone, and imports from its folder", asFolder(stem(path)))
      }
      if (module !== "" && (yield* layout.has(module))) {
        return module === stem(path)
          ? problemAt(text, at, `the file imports ${module}, and finds itself`, "Rename the file")
          : problemAt(
            text,
            at,
            `the file runs alone, and imports ${module} from its own folder`,
            asFolder(stem(path))
          )
      }
      continue
    }
    const start = folderOf(layout.entrypoint ?? "")
    const own = folderOf(path)
    const inRoot = [...layout.files].some((file) => file === `${module}.py` || file.startsWith(`${module}/`))
    const inStart = [...layout.files].some((file) =>
      file === [...start, `${module}.py`].join("/") || file.startsWith([...start, module, ""].join("/"))
    )
    if (dots === 0 && module !== "" && inRoot && !inStart && !/\bsys\s*\.\s*path\b/.test(text)) {
      return problemAt(
        text,
        at,
        `Python looks for ${module} beside the entrypoint, in ${start.join("/")}, and it is not there`,
        "Import it as it is named from there, or move the entrypoint to the top of the folder"
      )
    }
    const depth = start.every((part, index) => own[index] === part) ? own.length - start.length : own.length
    if (dots > depth) {
      return depth === 0
        ? problemAt(
          text,
          at,
          "this file is not part of a package, so it cannot import from a dot",
          "Leave the dot out: from x import y"
        )
        : problemAt(text, at, "the import leaves the folder of the tool", "Put what it imports into the folder")
    }
  }
  return undefined
})

/** The suffixes that Node appends to the argument of `require`, in this order. */
export const tried = ["", ".js", ".json", ".node", "/index.js", "/index.json", "/index.node", "/package.json"]

export const checkJavascriptImports = (
  tree: Tree,
  text: string,
  path: string,
  layout: ScriptLayout
): Problem | undefined => {
  for (const { at, required, specifier } of javascriptImports(tree, text)) {
    if (!/^\.{1,2}(?:\/|$)/.test(specifier)) continue
    if (layout._tag === "Alone") {
      return problemAt(text, at, `the file runs alone, and imports ${specifier}`, asFolder(stem(path)))
    }
    const target = resolveIn(path, specifier.replace(/[?#].*$/, ""))
    if (target === undefined) {
      return problemAt(text, at, "the import leaves the folder of the tool", "Put what it imports into the folder")
    }
    if ((required ? tried : [""]).some((ending) => layout.files.has(`${target}${ending}`))) continue
    const near = [...layout.files].find((file) => file.replace(/\.[a-z]+$/, "") === target.replace(/\.[a-z]+$/, ""))
    return problemAt(
      text,
      at,
      `the folder has no file ${target}`,
      near === undefined ? "Add the file, or correct the path" : `Write the name in full: ${near.split("/").at(-1)}`
    )
  }
  return undefined
}
