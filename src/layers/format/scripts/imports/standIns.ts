// Finds binary files of a folder that an interpreter would load where a person reads the name of a source file, or that
// the code imports or runs. Code whose name is computed at run time is not found.
import { Effect, Option, Result, Schema } from "effect"
import { problem, problemAt } from "../../../../services/format/Metadata.ts"
import type { Problem } from "../../../../services/format/Metadata.ts"
import type { Tool } from "../../../../services/item/Item.ts"
import { isData } from "../../../../services/item/text/toolText.ts"
import { isJsonObject, textsIn } from "../../../../services/schema/json.ts"
import { isSystemProgram } from "../../../env/programs/systemProgram.ts"
import { parseJavascript } from "../../readJavascript.ts"
import { type Found, nothing } from "../arguments/checkArguments.ts"
import { usualExtension } from "../usualExtension.ts"
import { folderOf, resolveIn, tried } from "./checkImports.ts"
import { everyImport, withoutAttributes } from "./readImports.ts"

interface File {
  readonly path: string
  readonly bytes: Uint8Array
}

const isSource = (path: string): boolean =>
  /\.(?:pyw?|[cm]?[jt]sx?|json|(?:ba|z|k|da)?sh|p[lm]|rb|php|lua)$/i.test(path)

/** Compiled files that Python, Perl, Emacs and zsh prefer to the source beside them. */
const compiled = /\.(?:py[co]|pmc|elc|zwc)$/i

const nameOf = (path: string): string => path.slice(path.lastIndexOf("/") + 1)

/** The name that imports a native library, with its folder; Python's has a tag: `fast.cpython-311-….so`. */
const libraryName = (path: string): string | undefined => {
  if (!/\.(?:so|pyd|dll|node)$/i.test(path)) return undefined
  const name = nameOf(path)
  return path.slice(0, path.length - name.length) + name.replace(/\.node$|\..*$/i, "")
}

/** The source that it would replace: `x` and `x.so` replace `x.js` and `x.py`, `x.node` replaces the folder `x`. */
const replacedBy = (path: string, paths: ReadonlyArray<string>): string | undefined => {
  const library = libraryName(path)?.toLowerCase()
  return paths.find((other) => {
    const source = other.toLowerCase()
    const stem = source.slice(0, source.lastIndexOf("."))
    return isSource(source) &&
      (stem === path.toLowerCase() || (library !== undefined && (stem === library || source.startsWith(`${library}/`))))
  })
}

/** An executable of this or another system, which no interpreter reads as text. */
const isProgram = (bytes: Uint8Array): boolean => {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return start.toString("latin1", 0, 4) === "\x7fELF" || isSystemProgram(start, BigInt(bytes.length))
}

const remedy = "Remove it, or give it a name that nothing imports"

const inPlace = (path: string, of: string): Problem =>
  problem(`${path} is not readable text, and would be loaded in place of ${of}`, remedy)

const runsData = (file: File, text: string, at: number, path: string): Problem => ({
  ...problemAt(
    text,
    at,
    `the file runs ${path}, which is not readable text`,
    "Save that file as text in UTF-8, or do not run it"
  ),
  file: file.path
})

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)
const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/** Paths of code in a package.json. */
const entriesOf = (text: string): ReadonlyArray<string> => {
  const manifest = Option.getOrUndefined(decodeJson(text))
  return isJsonObject(manifest)
    ? ["main", "module", "browser", "bin", "exports", "imports"].flatMap((key) => textsIn(manifest[key]))
    : []
}

/** Paths that Node tries for a specifier, in order. */
const nodePlaces = (from: string, specifier: string): ReadonlyArray<string> => {
  const name = specifier.replace(/[?#].*$/, "")
  const folders = folderOf(from)
  const targets = name.startsWith(".")
    ? [resolveIn(from, name)]
    : [...folders.keys(), folders.length].toReversed().map((depth) =>
      [...folders.slice(0, depth), "node_modules", name].join("/")
    )
  return targets.flatMap((target) => target === undefined ? [] : tried.map((ending) => `${target}${ending}`))
}

const shells = "(?:ba|da|z|k)?sh"
const others = "python[0-9.]*|node|perl|ruby|php|lua"
const quoted = `["'](?:${shells}|${others})["']`

/** What precedes the name of a file that is run as code, by the extension of the file that runs it. */
const running: Readonly<Record<string, RegExp>> = {
  ".sh": new RegExp(
    String.raw`(?:^|[\s;&|({])(?:source|\.|${shells}|${others})\s+(?:-\S+\s+)*["']?[^\s;&|"']*["']?[^\s;&|"']*$`
  ),
  ".py": new RegExp(
    String
      .raw`(?:run_path|FileLoader|from_file_location|zipimporter|addsitedir|PYTHONPATH|\bsys\s*\.\s*(?:path|executable)|(?<!\.)\b(?:exec|eval|compile)\b|${quoted})[^\n;]*$`
  ),
  ".js": new RegExp(
    String.raw`(?:\bWorker|\bfork|\bexecPath|\brunIn\w*Context|\bScript|\beval|\bFunction|${quoted})\b[^\n;]*$`
  ),
  ".pl": /\b(?:do|require|use|eval)\b[^\n;]*$/,
  ".rb": /\b(?:load|require|require_relative|\w*eval)\b[^\n;]*$/,
  ".php": /\b(?:include|require)(?:_once)?\b[^\n;]*$/,
  ".lua": /\b(?:dofile|loadfile|require)\b[^\n;]*$/
}

const javascript: ReadonlySet<string> = new Set([".ts", ".js", ".mjs", ".cjs"])

/** Replaces `$(…)` of a shell, which may contain blanks and quotes, by one word of the same length. */
const withoutSubstitutions = (text: string): string =>
  text.replace(/\$\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)/g, (all) => "_".repeat(all.length))

/** Where the text runs a file with this name as code. */
const runsAt = (text: string, extension: string, name: string): number | undefined => {
  const before = running[javascript.has(extension) ? ".js" : extension === ".pm" ? ".pl" : extension]
  if (before === undefined) return undefined
  const code = extension === ".sh" ? withoutSubstitutions(text) : text
  for (let at = code.indexOf(name); at !== -1; at = code.indexOf(name, at + 1)) {
    const isWhole = !/[\w.-]$/.test(code.slice(0, at)) && !/^[\w-]|^\.\w/.test(code.slice(at + name.length))
    if (isWhole && before.test(code.slice(Math.max(0, at - 200), at))) return at
  }
  return undefined
}

/** Whether it ends with the directory of a zip file, whatever it begins with. */
const isArchive = ({ bytes }: File): boolean =>
  new TextDecoder("latin1").decode(bytes.subarray(-66_000)).includes("PK\x05\x06")

/** Whether Python code may import the file by a name on `sys.path` that it mentions, or derives from an extension. */
const mayImportFrom = (text: string, file: File): boolean =>
  isArchive(file) && (/\.(?:zip|egg|whl|pyzw?)$/i.test(file.path) || text.includes(nameOf(file.path)))

const importsFrom = /\bsys\s*\.\s*path\b|\bPYTHONPATH\b|\bzipimport|\baddsitedir\b|\brun_path\b/

const importsName = (text: string, name: string): number =>
  text.search(
    new RegExp(String.raw`\bimport\b[^\n#]*\b${name}\b|\bfrom\s+[\w.]*\b${name}\b|import\w*\(\s*["'][\w.]*\b${name}\b`)
  )

/** `isStandard`: whether Python's own library has a module with this name. */
export const checkStandIns = Effect.fnUntraced(function*(
  tool: Tool,
  files: ReadonlyArray<File>,
  isStandard: (module: string) => Effect.Effect<boolean>
): Effect.fn.Return<Found> {
  const refused = (found: Problem): Found => ({ ...nothing, problem: found })
  const paths = files.map(({ path }) => path)
  const odd = paths.find((path) => compiled.test(path))
  if (odd !== undefined) {
    return refused(
      problem(
        `${odd} is compiled code, which can run in place of the source beside it`,
        /\.py[co]$/i.test(odd) ? "Remove it, and every __pycache__ folder" : "Remove it"
      )
    )
  }
  const data = files.filter(({ bytes, path }) => path !== tool.entrypoint && isData(path, bytes))
  if (data.length === 0) return nothing
  const declared = new Set(
    tool.dependencies.map((one) => /^[\w.-]*/.exec(one)![0].toLowerCase().replaceAll(/[-.]/g, "_"))
  )
  for (const { bytes, path } of data) {
    const source = replacedBy(path, paths)
    if (source !== undefined) return refused(inPlace(path, source))
    if (!nameOf(path).includes(".") && !isProgram(bytes)) {
      return refused(
        problem(
          `${path} has no extension and is not readable text: a script may run it as code`,
          "Give it an extension: .bin, .dat"
        )
      )
    }
    const library = libraryName(path)
    const module = library === undefined ? undefined : nameOf(library)
    if (module === undefined || !/^\w+$/.test(module) || path.toLowerCase().endsWith(".node")) continue
    if (/^__(?:init|main)__$/.test(module)) return refused(inPlace(path, "the source of its folder"))
    if (declared.has(module.toLowerCase())) {
      return refused(inPlace(path, `the package ${module}, which the tool declares`))
    }
    const besidePython = paths.some((other) => /\.pyw?$/i.test(other) && `${folderOf(other)}` === `${folderOf(path)}`)
    if (besidePython && (yield* isStandard(module))) return refused(inPlace(path, `${module} of Python's own library`))
  }
  const known = new Set(paths)
  const dataPaths = new Set(data.map(({ path }) => path))
  const unsure = new Set<string>()
  for (const file of files) {
    if (dataPaths.has(file.path)) continue
    const text = decode(file.bytes)
    const extension = usualExtension(file.path, text)
    const parsed = javascript.has(extension)
      ? yield* parseJavascript(withoutAttributes(text), extension === ".ts")
      : undefined
    const names = parsed !== undefined && Result.isSuccess(parsed)
      ? everyImport(parsed.success.tree, text).filter(({ at }) =>
        !/^(?:new|\S*\.resolve)\b/.test(text.slice(at, at + 40))
      )
      : nameOf(file.path) === "package.json"
      ? entriesOf(text).map((entry) => ({ at: 0, specifier: entry.startsWith(".") ? entry : `./${entry}` }))
      : []
    for (const { at, specifier } of names) {
      const target = nodePlaces(file.path, specifier).find((place) => known.has(place))
      if (target === undefined || !dataPaths.has(target)) continue
      if (!/\.(?:node|wasm)$/i.test(target)) return refused(runsData(file, text, at, target))
      unsure.add(`loads ${target}, which is not readable text (${file.path})`)
    }
    for (const one of data) {
      const module = nameOf(libraryName(one.path) ?? "")
      if (extension === ".py" && /^\w+$/.test(module) && importsName(text, module) !== -1) {
        unsure.add(`imports ${one.path}, which is not readable text (${file.path})`)
        continue
      }
      const runs = runsAt(text, extension, nameOf(one.path))
      if (runs !== undefined) return refused(runsData(file, text, runs, one.path))
      const path = extension === ".py" && mayImportFrom(text, one) ? importsFrom.exec(text) : null
      if (path !== null) return refused(runsData(file, text, path.index, one.path))
    }
  }
  return { problem: undefined, unsure: [...unsure] }
})
