import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { showExecutor } from "../../../src/services/item/Item.ts"
import { invalid, parseFiles, parseTool } from "./parsing.ts"

const yaml = (rest: string) => parseTool("a.yaml", `version: "1.0.0"\ntool_type: runtime\n${rest}`)

describe("executor_id", () => {
  it.effect("may be qualified by a category, and by the versions that will do", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [string, string, string | undefined]> = [
        ["python_runtime", "python_runtime", undefined],
        ["runtimes/python_runtime", "runtimes/python_runtime", undefined],
        ["python_runtime@^2.0", "python_runtime", "^2.0"],
        ["a/b/run.it@>=2.1.0-rc.1 <4 || 1.x", "a/b/run.it", ">=2.1.0-rc.1 <4 || 1.x"]
      ]
      for (const [written, id, range] of cases) {
        const tool = yield* yaml(`executor_id: ${JSON.stringify(written)}\n`)
        assert.deepStrictEqual([tool.executorId, tool.executorRange], [id, range])
        assert.strictEqual(showExecutor(tool), written)
      }
    }))

  it.effect("is read in every language", () =>
    Effect.gen(function*() {
      const files: ReadonlyArray<readonly [string, string]> = [
        ["a.py", "__version__ = \"1.0.0\"\n__tool_type__ = \"python\"\n__executor_id__ = \"python_runtime@^2.0\"\n"],
        ["a.ts", "export const __version__ = \"1.0.0\"\nexport const __executor_id__ = \"python_runtime@^2.0\"\n"],
        ["a.sh", "#!/bin/bash\n# kiwi:\n#   version: \"1.0.0\"\n#   executor_id: python_runtime@^2.0\n"],
        ["a.yml", "version: \"1.0.0\"\ntool_type: x\nexecutor: python_runtime@^2.0\n"]
      ]
      for (const [path, text] of files) {
        const tool = yield* parseTool(path, text)
        assert.deepStrictEqual([tool.executorId, tool.executorRange], ["python_runtime", "^2.0"], path)
      }
    }))

  it.effect("is refused where it is no id or no range, with its line", () =>
    Effect.gen(function*() {
      for (const written of ["Python", "../x", "/x", "a//b", "@^2", "x y", "", "a\\b", "C:/x"]) {
        const error = yield* invalid(yaml(`executor_id: ${JSON.stringify(written)}\n`))
        assert.include(error.issue, "not the id of a tool", written)
        assert.strictEqual(error.line, 3)
      }
      for (const written of ["x@", "x@latest", "x@v2", "x@^2@3", "x@ ^2"]) {
        const error = yield* invalid(yaml(`executor_id: ${JSON.stringify(written)}\n`))
        assert.include(error.issue, "not a range of versions", written)
        assert.include(error.hint, "x@^2.0")
      }
    }))
})

describe("validation.child_schemas", () => {
  const schemas = [
    { match: { tool_type: "python", "manifest.entrypoint": "main.py" }, schema: { required: ["version"] } },
    { match: {}, schema: undefined }
  ]

  it.effect("has a place of its own, whatever language the tool is written in", () =>
    Effect.gen(function*() {
      const python =
        `VALIDATION = {"child_schemas": [{"match": {"tool_type": "python", "manifest.entrypoint": "main.py"}, ` +
        `"schema": {"required": ["version"]}}, {"match": {}}]}\n`
      const javascript = python.replace("VALIDATION", "export const VALIDATION")
      const text = "validation:\n  child_schemas:\n" +
        "    - match: {tool_type: python, manifest.entrypoint: main.py}\n      schema: {required: [version]}\n" +
        "    - match: {}\n"
      const bash = `#!/bin/bash\n# kiwi:\n#   version: "1.0.0"\n#   executor_id: x\n${
        text.trim().replace(/^/gm, "#   ")
      }\n`
      const tools = [
        yield* parseTool("a.py", `__version__ = "1.0.0"\n__tool_type__ = "x"\n__executor_id__ = "x"\n${python}`),
        yield* parseTool(
          "a.mjs",
          `export const __version__ = "1.0.0"\nexport const __executor_id__ = "x"\n${javascript}`
        ),
        yield* parseTool("a.sh", bash),
        yield* yaml(`executor_id: x\n${text}`)
      ]
      for (const tool of tools) {
        assert.deepStrictEqual<unknown>(tool.childSchemas, schemas, tool.location.path)
        assert.deepStrictEqual(tool.extra, {})
      }
      const folder = yield* parseFiles({
        "tools/a/tool.yaml": `version: "1.0.0"\ntool_type: x\nexecutor_id: x\n${text}`
      })
      assert.deepStrictEqual<unknown>(folder._tag === "tool" && folder.childSchemas, schemas)
      assert.isUndefined((yield* yaml("executor_id: x\n")).childSchemas)
    }))

  it.effect("is refused where it says nothing or something else", () =>
    Effect.gen(function*() {
      const cases = [
        "validation: []",
        "validation: {}",
        "validation: {child_schemas: []}",
        "validation: {child_schemas: {}}",
        "validation: {childSchemas: [{match: {}}]}",
        "validation: {child_schemas: [{match: {}}], more: 1}",
        "validation: {child_schemas: [1]}",
        "validation: {child_schemas: [{schema: {}}]}",
        "validation: {child_schemas: [{match: [a]}]}",
        "validation: {child_schemas: [{match: {a: {}}}]}",
        "validation: {child_schemas: [{match: {a: 1}, schema: true}]}",
        "validation: {child_schemas: [{match: {a: 1}, scheme: {}}]}"
      ]
      for (const text of cases) {
        const error = yield* invalid(yaml(`executor_id: x\n${text}\n`))
        assert.strictEqual(error.line, 4, text)
        assert.notStrictEqual(error.hint, "")
      }
    }))
})
