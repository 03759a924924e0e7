// What prevents signing: a missing version, code or config that cannot run, arguments that are not declared. Code is
// never run, only read: by Kiwi's grammar and, for constructs that it does not know, by the language's own program.
import { Effect, Result } from "effect"
import { cut, problem } from "../../services/format/Metadata.ts"
import type { Problem } from "../../services/format/Metadata.ts"
import type { Program } from "../../services/format/parseProgram.ts"
import type { Item, ItemLocation, ItemSnapshot, Tool } from "../../services/item/Item.ts"
import { toolFileIssue } from "../../services/item/text/toolText.ts"
import type { RunOwnChild } from "../process/ownChild.ts"
import { type OwnPrograms, systemPrograms, thisNode } from "../process/ownPrograms.ts"
import { parseJavascript } from "./readJavascript.ts"
import { parsePython } from "./readPython.ts"
import { type Found, nothing } from "./scripts/arguments/checkArguments.ts"
import { checkPassed, type Code } from "./scripts/arguments/checkPassed.ts"
import { checkScript } from "./scripts/checkScript.ts"
import { checkConfig } from "./scripts/config/checkConfig.ts"
import { checkPlaceholders } from "./scripts/config/checkPlaceholders.ts"
import { checkShift } from "./scripts/config/checkShift.ts"
import type { IsInProject, ScriptLayout } from "./scripts/imports/checkImports.ts"
import { hasModuleSyntax, packageOf } from "./scripts/imports/moduleKind.ts"
import { reachedFrom } from "./scripts/imports/reached.ts"
import { checkStandIns } from "./scripts/imports/standIns.ts"
import { usualExtension } from "./scripts/usualExtension.ts"

/** Whether a file with this name exists. */
export type Exists = (file: string) => Effect.Effect<boolean>

/** A program that reads code on stdin without running it, and exits with 0 if the code is valid. */
interface CodeReader {
  /** A program of the system. Absent: this Node. */
  readonly command?: string
  readonly args: ReadonlyArray<string>
  /** Finds the line number in its message. */
  readonly line: RegExp
}

const bash: CodeReader = { command: "bash", args: ["--norc", "--noprofile", "-n"], line: /line (\d+): (.*)/ }

const extendedBash: CodeReader = { ...bash, args: ["--norc", "--noprofile", "-O", "extglob", "-n"] }

const python: CodeReader = {
  command: "python3",
  args: [
    "-I",
    "-S",
    "-c",
    "import ast, sys; compile(sys.stdin.buffer.read(), 'item', 'exec', ast.PyCF_ONLY_AST, True)"
  ],
  line: /"item", line (\d+)()/
}

/** Compiles without running: it also finds errors that a syntax tree does not show. */
const pythonCompiler: CodeReader = {
  command: "python3",
  args: ["-I", "-S", "-W", "ignore", "-c", "import sys; compile(sys.stdin.buffer.read(), 'item', 'exec', 0, True)"],
  line: /"item", line (\d+)[^]*\n(?:Syntax|Indentation|Tab)Error: (.*)/
}

const node = (kind: "module" | "commonjs"): CodeReader => ({
  args: ["--check", `--input-type=${kind}`],
  line: /\[stdin\]:(\d+)()/
})

/** Erases the types as Node does, then compiles as a module or as CommonJS. */
const typescript: CodeReader = {
  args: [
    "--no-warnings",
    "--experimental-vm-modules",
    "-e",
    `const { stripTypeScriptTypes, wrap } = require("node:module")
const { Script, SourceTextModule } = require("node:vm")
const code = stripTypeScriptTypes(require("node:fs").readFileSync(0, "utf8"))
try { new SourceTextModule(code, { identifier: "item" }) } catch (cause) {
  try { new Script(wrap(code)) } catch { throw cause }
}`
  ],
  line: /(?:^|\n)(?:item)?:(\d+)()\n/
}

/** How much of a reader's output is kept, in bytes. */
const most = 8_192

const programOf = (command: string | undefined, programs: OwnPrograms) =>
  command === undefined ? thisNode : programs.find(command)

const notStarted = problem("the program that checks the code could not be started", "Install the tool's interpreter")

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

const lineOf = (bytes: Uint8Array, line: number): string => (decode(bytes).split("\n", line)[line - 1] ?? "").trim()

/** Asks a language's own program. Undefined: it accepts the code. */
export type AskReader = (reader: CodeReader, bytes: Uint8Array) => Effect.Effect<Problem | undefined>

export const makeAskReader = (runOwnChild: RunOwnChild): AskReader =>
  Effect.fnUntraced(
    function*({ args, command, line }, bytes) {
      const program = programOf(command, yield* systemPrograms)
      if (program === undefined) return notStarted
      const { code, stderr } = yield* runOwnChild({
        program,
        args,
        stdin: bytes,
        within: "10 seconds",
        most,
        longer: "is cut"
      })
      if (code === 0) return undefined
      const said = stderr.toString("utf8")
      const match = line.exec(said)
      return {
        ...problem("there is a syntax error", "Correct it; the file cannot run like this"),
        line: Number(match?.[1] ?? 0),
        column: match === null ? 0 : 1,
        // The last line of Node's output is its version.
        found: cut(
          match?.[2] ||
            (command === undefined ? lineOf(bytes, Number(match?.[1] ?? 0)) : said.trim().split("\n").at(-1) ?? "")
        )
      }
    },
    Effect.catch(({ issue }) =>
      Effect.succeed<Problem>(
        issue === "too-slow"
          ? {
            ...problem(
              "its syntax could not be checked within 10 seconds",
              "Try again when the machine is less busy; if it stays so, split the file, or move its data into a file of their own"
            ),
            retryable: true
          }
          : notStarted
      )
    )
  )

/** Kiwi's own grammar first. If it objects (or with `always`), the language's own program decides. */
const checkProgram = Effect.fnUntraced(function*(
  parsed: Result.Result<Program, Problem>,
  readers: ReadonlyArray<CodeReader>,
  bytes: Uint8Array,
  ask: AskReader | undefined,
  always = false
) {
  const doubt = Result.isFailure(parsed) ? parsed.failure : parsed.success.firstError
  if ((doubt === undefined && !always) || ask === undefined) return doubt
  let wrong: Problem | undefined
  for (const reader of readers) {
    wrong = yield* ask(reader, bytes)
    if (wrong === undefined) return undefined
  }
  return wrong
})

/**
 * Compiler messages for syntax that no Python 3 accepts. Any other error may be syntax newer than this machine's
 * Python.
 */
const neverPython =
  /^(?:Missing parentheses in call to|'(?:return|yield|yield from|await|break)' outside|'continue' not properly|duplicate argument|non-default argument|positional argument follows|keyword argument repeated|Generator expression must|cannot (?:assign|delete)|leading zeros|nonlocal declaration|name '.*' is|unexpected indent|unindent does|inconsistent use|expected 'except'|(?:unterminated|EOL|EOF) )/

/** Quotes nested in f-strings are new in 3.12. */
const formatted = /\b(?:[fFtT][rR]?|[rR][fFtT])["']/

/** Errors that the compiler finds in Python that Kiwi's grammar accepts. */
const compilePython = Effect.fnUntraced(function*(ask: AskReader, bytes: Uint8Array): Effect.fn.Return<Found> {
  const wrong = yield* ask(pythonCompiler, bytes)
  if (wrong === undefined || wrong.line === 0) return nothing
  const line = decode(bytes).split("\n", wrong.line)[wrong.line - 1] ?? ""
  return neverPython.test(wrong.found) && !(/^(?:unterminated|EO)/.test(wrong.found) && formatted.test(line))
    ? { ...nothing, problem: wrong }
    : {
      problem: undefined,
      unsure: [`is not valid for this machine's python3 (line ${wrong.line}: ${wrong.found})`]
    }
})

/** Options that a script sets for itself are not set while it is only read. */
const checkBash = Effect.fnUntraced(function*(ask: AskReader, bytes: Uint8Array): Effect.fn.Return<Found> {
  const wrong = yield* ask(bash, bytes)
  const shopt = wrong === undefined ? undefined : /^[^#\n]*\bshopt\s+-s\b[^#\n]*/gm
  const turnedOn = shopt === undefined ? "" : (decode(bytes).match(shopt) ?? []).join()
  if (turnedOn.includes("extglob") && (yield* ask(extendedBash, bytes)) === undefined) return nothing
  return wrong !== undefined && wrong.line > 0 && turnedOn.includes("expand_aliases")
    ? {
      problem: undefined,
      unsure: [`uses aliases, so its syntax cannot be checked (line ${wrong.line}: ${wrong.found})`]
    }
    : { ...nothing, problem: wrong }
})

/** `runs`: whether the file is part of what runs, not just in the folder. */
const checkCode = Effect.fnUntraced(function*(
  path: string,
  bytes: Uint8Array,
  ask: AskReader | undefined,
  runs: boolean
): Effect.fn.Return<Found> {
  const found = (wrong: Problem | undefined): Found => ({ ...nothing, problem: wrong })
  const extension = usualExtension(path, decode(bytes.subarray(0, 200)))
  switch (extension) {
    case ".sh":
      return ask === undefined ? nothing : yield* checkBash(ask, bytes)
    case ".py": {
      const parsed = yield* parsePython(decode(bytes))
      const isKnown = Result.isSuccess(parsed) && parsed.success.firstError === undefined
      return isKnown && ask !== undefined && runs
        ? yield* compilePython(ask, bytes)
        : found(yield* checkProgram(parsed, [python], bytes, ask))
    }
    case ".ts":
      // Only Node knows everything that it cannot erase.
      return found(yield* checkProgram(yield* parseJavascript(decode(bytes), true), [typescript], bytes, ask, true))
    case ".mjs":
      return found(
        yield* checkProgram(yield* parseJavascript(decode(bytes), false), [node("module")], bytes, ask, runs)
      )
    case ".js":
    case ".cjs":
      return found(
        yield* checkProgram(
          yield* parseJavascript(decode(bytes), false),
          extension === ".cjs"
            ? [node("commonjs")]
            : hasModuleSyntax(decode(bytes))
            ? [node("module")]
            : [node("module"), node("commonjs")],
          bytes,
          ask,
          runs
        )
      )
    default:
      return nothing
  }
})

/** Checks whether an import of this name finds Python's own module, whatever files are beside the script. */
const builtin = (module: string): CodeReader => ({
  command: "python3",
  args: [
    "-I",
    "-S",
    "-c",
    "import sys; sys.exit(not (sys.argv[1] in sys.builtin_module_names or sys.meta_path[1].find_spec(sys.argv[1])))",
    module
  ],
  line: /(\d+)()/
})

/** Checks whether Python's own library has a module with this name. */
const standard = (module: string): CodeReader => ({
  command: "python3",
  args: ["-I", "-S", "-c", "import sys; sys.exit(sys.argv[1] not in sys.stdlib_module_names)", module],
  line: /(\d+)()/
})

const both = (code: Found, script: Found): Found => ({
  problem: code.problem ?? script.problem,
  unsure: [...code.unsure, ...script.unsure]
})

const inProject = ({ root, tier }: ItemLocation, exists: Exists): IsInProject => (path) =>
  tier === "project" ? exists(`${root}/../${path}`) : Effect.succeed(true)

/** Where a single file runs. Of the files beside it today, only the names are checked. */
const alone = (location: ItemLocation, ask: AskReader | undefined, exists: Exists): ScriptLayout => {
  const folder = location.file.slice(0, location.file.lastIndexOf("/") + 1)
  return {
    _tag: "Alone",
    has: Effect.fnUntraced(function*(module) {
      const found = (yield* exists(`${folder}${module}.py`)) || (yield* exists(`${folder}${module}/__init__.py`))
      return found && (ask === undefined || (yield* ask(builtin(module), new Uint8Array())) !== undefined)
    }),
    hasFile: (path) => exists(`${folder}${path}`),
    isInProject: inProject(location, exists)
  }
}

/** How to write the version in this kind of file. */
const versionIn = ({ file, kind, type }: ItemLocation): string => {
  if (type === "directive") return `Write it into the directive: <directive name="…" version="1.0.0">`
  if (type === "knowledge") return `Write it between the --- lines: version: "1.0.0"`
  if (kind === "folder") return `Write it into tool.yaml: version: "1.0.0"`
  switch (file.slice(file.lastIndexOf("."))) {
    case ".py":
      return `Write it at the left margin: __version__ = "1.0.0"`
    case ".js":
    case ".mjs":
    case ".cjs":
    case ".ts":
      return `Write it at the left margin: const __version__ = "1.0.0"`
    case ".sh":
      return `Write it into the comments under # kiwi: as #   version: "1.0.0"`
    default:
      return `Write: version: "1.0.0"`
  }
}

/** A text file of the folder that a program would read differently from what a person is shown. */
const checkShown = ({ entrypoint }: Tool, { files }: ItemSnapshot): Problem | undefined => {
  for (const { bytes, path } of files) {
    const issue = toolFileIssue(path, bytes, path === entrypoint)
    if (issue !== undefined) return { ...issue, file: path, found: "" }
  }
  return undefined
}

/** `ask`: asks the language's own program if Kiwi's grammar does not suffice; without it, no program is asked. */
export const checkForSigning = Effect.fnUntraced(function*(
  item: Item,
  snapshot: ItemSnapshot,
  ask: AskReader | undefined,
  exists: Exists
): Effect.fn.Return<Found> {
  if (item.version === "0.0.0") {
    return { ...nothing, problem: problem("the item has no version, or 0.0.0", versionIn(snapshot.location)) }
  }
  if (item._tag !== "tool") return nothing
  const wrong = checkConfig(item, decode(snapshot.bytes))
  if (wrong !== undefined) return { ...nothing, problem: wrong }
  const found = snapshot.location.kind === "folder"
    ? yield* checkFolder(item, snapshot, ask, exists)
    : yield* checkFile(item, snapshot, ask, exists)
  if (found.problem !== undefined) return found
  const filled = checkPlaceholders(item, decode(snapshot.bytes))
  if (filled.problem !== undefined) return filled
  const [text, code] = [decode(snapshot.bytes), codeOf(item, snapshot)]
  const passed = checkPassed(item, text, code)
  return both(both(found, filled), { ...passed, problem: passed.problem ?? checkShift(item, text, code) })
})

const codeOf = ({ entrypoint }: Tool, { bytes, files, location: { kind, path } }: ItemSnapshot): Code => {
  if (entrypoint === undefined) return { extension: "", entry: "", all: [] }
  const all = kind === "folder" ? files : [{ path, bytes }]
  const entry = decode(
    (kind === "folder" ? files.find((one) => one.path === entrypoint)?.bytes : bytes) ?? new Uint8Array()
  )
  return { extension: usualExtension(entrypoint, entry), entry, all: all.map((one) => decode(one.bytes)) }
}

const checkFile = Effect.fnUntraced(function*(
  tool: Tool,
  { bytes, location }: ItemSnapshot,
  ask: AskReader | undefined,
  exists: Exists
) {
  const found = yield* checkScript(tool, location.path, decode(bytes), alone(location, ask, exists), "entry")
  return found.problem === undefined ? both(yield* checkCode(location.path, bytes, ask, true), found) : found
})

const checkFolder = Effect.fnUntraced(function*(
  tool: Tool,
  snapshot: ItemSnapshot,
  ask: AskReader | undefined,
  exists: Exists
) {
  const hidden = checkShown(tool, snapshot)
  if (hidden !== undefined) return { ...nothing, problem: hidden }
  const { files } = snapshot
  const { entrypoint = "" } = tool
  const standIns = yield* checkStandIns(
    tool,
    files,
    (module) =>
      ask === undefined
        ? Effect.succeed(false)
        : Effect.map(ask(standard(module), new Uint8Array()), (said) => said === undefined)
  )
  if (standIns.problem !== undefined) return standIns
  const place: ScriptLayout = {
    _tag: "Folder",
    files: new Set(files.map(({ path }) => path)),
    packageOf: (path) => packageOf(path, files),
    entrypoint,
    isInProject: inProject(snapshot.location, exists)
  }
  const imported = new Set((yield* reachedFrom(entrypoint, files)).map(({ path }) => path))
  const unsure: Array<string> = [...standIns.unsure]
  for (const { bytes, path } of files) {
    const part = path === entrypoint ? "entry" : imported.has(path) ? "imported" : "other"
    const found = yield* checkScript(tool, path, decode(bytes), place, part)
    const all = found.problem === undefined ? both(yield* checkCode(path, bytes, ask, part !== "other"), found) : found
    if (all.problem !== undefined) return { ...nothing, problem: { ...all.problem, file: path } }
    unsure.push(...all.unsure)
  }
  return { problem: undefined, unsure }
})
