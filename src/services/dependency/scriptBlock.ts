// Python's inline script metadata (PEP 723): a comment block `# /// script` … `# ///` with TOML. Kiwi reads only
// `dependencies` and `requires-python`; `[tool]` is for other programs.
import { Result } from "effect"
import * as Toml from "effect/encoding/Toml"

export interface ScriptBlock {
  readonly dependencies: ReadonlyArray<string>
  readonly requiresPython: string | undefined
}

const maxLines = 1000

/** The TOML of the block. Undefined if there is none. */
const blockText = (source: string): Result.Result<string | undefined, string> => {
  if (!source.includes("# /// script")) return Result.succeed(undefined)
  const lines = source.split("\n").map((line) => line.endsWith("\r") ? line.slice(0, -1) : line)
  let found: string | undefined
  for (let start = 0; start < lines.length; start++) {
    if (!/^# \/\/\/ [A-Za-z0-9-]+$/.test(lines[start]!)) continue
    let end: number | undefined
    let last = start + 1
    // The last `# ///` in the run of comment lines ends the block: the TOML may contain such a line itself.
    for (; last < lines.length && (lines[last] === "#" || lines[last]!.startsWith("# ")); last++) {
      if (lines[last] === "# ///") end = last
    }
    if (end === undefined) continue
    if (lines[start] === "# /// script") {
      if (found !== undefined) return Result.fail("there are two script blocks")
      if (end - start > maxLines) return Result.fail(`the script block has more than ${maxLines} lines`)
      found = lines.slice(start + 1, end).map((line) => line.slice(2)).join("\n")
    }
    start = end
  }
  return Result.succeed(found)
}

const isTexts = (value: unknown): value is ReadonlyArray<string> =>
  Array.isArray(value) && value.every((entry) => typeof entry === "string")

export const readScriptBlock = (source: string): Result.Result<ScriptBlock | undefined, string> =>
  Result.gen(function*() {
    const text = yield* blockText(source)
    if (text === undefined) return undefined
    const parsed = yield* Result.mapError(Toml.parse(text), () => "the script block is not valid TOML")
    const dependencies = Object.hasOwn(parsed, "dependencies") ? parsed["dependencies"] : []
    if (!isTexts(dependencies)) return yield* Result.fail("dependencies of the script block is not a list of texts")
    const requiresPython = Object.hasOwn(parsed, "requires-python") ? parsed["requires-python"] : undefined
    if (requiresPython !== undefined && typeof requiresPython !== "string") {
      return yield* Result.fail("requires-python of the script block is not text")
    }
    return { dependencies, requiresPython }
  })
