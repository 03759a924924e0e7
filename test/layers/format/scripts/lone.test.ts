// A Python script that names no executor says with the same constants what it needs.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { describeEffects } from "../../../../src/services/integrity/SigningPlan.ts"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { describeWith } from "../../../support/realParts.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"
import { checkFiles, invalid, parseTool } from "../parsing.ts"

const head = `"""Does something."""\n__version__ = "1.0.0"\n`
const mark = `__executor_id__ = "python_runtime"\n`
const schema = `INPUT_SCHEMA = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}\n`

const counted: Readonly<Record<string, string>> = {
  dependencies: `DEPENDENCIES = ["humanize"]\n`,
  dunder: `__dependencies__ = ["humanize>=4"]\n`,
  tuple: `DEPENDENCIES = ("humanize", "rich")\n`,
  environment: `REQUIRES = {"environment": ["MY_TOKEN"]}\n`,
  commands: `REQUIRES = {"commands": ["git"], "capabilities": ["fs.read"]}\n`,
  stdin: `${schema}CONFIG = {"input": "stdin"}\n`,
  args: `${schema}CONFIG = {"args": ["{file}"]}\n`,
  options: `${schema}CONFIG = {"options": {"file": {"as": "positional"}}}\n`,
  timeout: `CONFIG = {"timeout": 3, "output": "json"}\n`,
  argparse:
    `${schema}CONFIG = {"timeout": 3}\nimport argparse\np = argparse.ArgumentParser()\np.add_argument("file")\n`,
  fixed: `CONFIG = {"args": ["make"]}\n`,
  block: `# /// script\n# dependencies = ["humanize"]\n# ///\n`
}

/** Settings of a script's own. */
const own: ReadonlyArray<string> = [
  `CONFIG = {"host": "localhost", "timeout": 3}\n`,
  `CONFIG = {"output": "out.txt"}\n`,
  `CONFIG = {}\n`,
  `CONFIG = ["a"]\n`,
  `REQUIRES = {"python": "3.9"}\n`,
  `REQUIRES = ["requests"]\n`,
  `__requires__ = "yq==3.1.0"\n`,
  `INPUT_SCHEMA = "a.json"\n`
]

/** What cannot count, and what has to be written. */
const refused: ReadonlyArray<readonly [text: string, issue: string]> = [
  [`CONFIG = {"args": ["{file}"], "host": "x"}\n`, "CONFIG has args"],
  [`CONFIG = {"limits": {}, "retries": 3}\n`, "CONFIG has limits"],
  [`DEPENDENCIES = {"a": 1}\n`, "DEPENDENCIES is not a list"],
  [`DEPENDENCIES = ["a"] + more\n`, ""],
  [`CONFIG = {"args": "x"}\n`, "config.args is not valid"],
  [`REQUIRES = {"environment": ["A"], "other": 1}\n`, "unknown member"]
]

describe("a script without marks", () => {
  it.effect("counts what the same script with them counts", () =>
    Effect.gen(function*() {
      for (const [name, text] of Object.entries(counted)) {
        const [lone, marked] = [
          yield* parseTool("x.py", head + text),
          yield* parseTool("x.py", head + mark + text)
        ]
        for (const key of ["dependencies", "requires", "config", "executorId", "version", "description"] as const) {
          assert.deepStrictEqual(lone[key], marked[key], `${name}: ${key}`)
        }
        if (text.includes("INPUT_SCHEMA")) assert.deepStrictEqual(lone.parameters, marked.parameters, name)
      }
    }))

  it.effect("keeps what is its own", () =>
    Effect.gen(function*() {
      for (const text of own) {
        const lone = yield* parseTool("x.py", head + text)
        assert.deepStrictEqual([lone.config, lone.dependencies, lone.requires.environment], [{}, [], []], text)
      }
    }))

  it.live("is refused for what could be meant, with what to write", () =>
    Effect.gen(function*() {
      for (const [text, issue] of refused) {
        const error = yield* invalid(checkFiles({ "tools/x.py": head + text }))
        assert.include(error.issue, issue, text)
        assert.isAbove(error.line, 0, text)
        assert.notStrictEqual(error.hint, "", text)
      }
    }))

  it.effect("names its packages in the question, wherever it declares them", () =>
    Effect.gen(function*() {
      for (const name of ["dependencies", "block"]) {
        const lone = yield* parseTool("x.py", head + counted[name]!)
        const about = { hides: [], overruledBy: undefined, past: { signed: [] }, forgotten: undefined, unreadable: [] }
        assert.include(describeEffects(lone, about as never).join("; "), "needs the packages humanize", name)
      }
    }))
})

describeWith(["python3"], "a script without marks", () => {
  it.live("gets its parameters as its CONFIG says", () =>
    Effect.gen(function*() {
      const read = {
        ".ai/tools/by_stdin.py":
          `${head}${schema}CONFIG = {"input": "stdin"}\nimport json, sys\nprint(json.load(sys.stdin)["file"])\n`,
        ".ai/tools/by_place.py": `${head}${schema}CONFIG = {"args": ["{file}"]}\nimport sys\nprint(sys.argv[1])\n`
      }
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const item of ["by_stdin", "by_place"]) {
          const { data } = yield* proxy.call({ callId: "call", caller, item, parameters: { file: "a" }, dryRun: false })
          assert.strictEqual(data, "a\n", item)
        }
      }).pipe(Effect.provide(kernelOf(yield* realProject(read))))
    }), 60_000)
})
