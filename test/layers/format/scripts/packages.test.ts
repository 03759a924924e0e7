// A Node tool finds the packages that it declares, and no others; a file is a module or CommonJS, never both.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ToolFailed } from "../../../../src/services/primitive/PrimitiveErrors.ts"
import { ToolProxy } from "../../../../src/services/proxy/ToolProxy.ts"
import { accept, kernelOf, realProject } from "../../../support/realProject.ts"
import { caller } from "../../proxy/calls.ts"
import { checkFiles, type Files, invalid } from "../parsing.ts"

const esm = `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n`
const cjs = esm.replaceAll("export ", "")
const own = (text: string) => text.replaceAll("node_runtime", "bun_runtime")
const folder = (main: string, code: string, more: Files = {}, fields = ""): Files => ({
  "tools/f/tool.yaml":
    `tool_id: f\nversion: "1.0.0"\ntool_type: node\nexecutor_id: node_runtime\nentrypoint: ${main}\n${fields}`,
  [`tools/f/${main}`]: code,
  ...more
})
const manifest = (fields: object) => ({ "tools/f/package.json": JSON.stringify(fields) })

const refused: ReadonlyArray<readonly [files: Files, line: number, issue: string, hint: string]> = [
  [
    { "tools/a.mjs": `${esm}import chalk from "chalk"\n` },
    3,
    "the package chalk",
    `Write at the left margin export const DEPENDENCIES = ["chalk"]`
  ],
  [{ "tools/a.mjs": `${esm}import x from "@a/b/deep.js"\nimport "c/d"\n` }, 3, "the package @a/b", `["@a/b", "c"]`],
  [{ "tools/a.ts": `${esm}import { type A } from "zod"\n` }, 3, "the package zod", "export const DEPENDENCIES"],
  [{ "tools/a.ts": `${esm}export { z } from "zod"\n` }, 3, "the package zod", "export const"],
  [{ "tools/a.ts": `${esm}const { z } = await import("zod")\n` }, 3, "the package zod", "export const"],
  [
    { "tools/a.js": `${cjs}const chalk = require("chalk")\n` },
    3,
    "the package chalk",
    `margin const DEPENDENCIES = ["chalk"]`
  ],
  [{ "tools/a.cjs": `${cjs}module.exports = require("x/y")\n` }, 3, "the package x", "margin const DEPENDENCIES"],
  [{ "tools/a.mjs": `${esm}console.log(import.meta.resolve("chalk"))\n` }, 3, "the package chalk", "DEPENDENCIES"],
  [
    { "tools/a.mjs": `${esm}import test from "test"\nimport fs from "fs/promises"\n` },
    3,
    "the package test",
    "DEPENDENCIES"
  ],
  [{ "tools/a.ts": `${esm}import { x } from "@/lib/x"\n` }, 3, "@/lib/x: an alias", "./lib/x.ts"],
  [{ "tools/a.ts": `${esm}import { x } from "~/x"\n` }, 3, "~/x: an alias", "folder"],
  [{ "tools/a.ts": `${esm}import { x } from "#x"\n` }, 3, "#x: a name for the imports", "folder"],
  [
    { "tools/a.ts": `${esm}export const DEPENDENCIES = ["zod@^3"]\nimport { x } from "@/x"\n` },
    4,
    "an alias",
    "folder"
  ],
  [{ "tools/a.mjs": `${esm}import x from "https://esm.sh/x"\n` }, 3, "by https:", "package of npm"],
  [{ "tools/a.ts": `${esm}import x from "npm:chalk@5"\n` }, 3, "by npm:", "package of npm"],
  [folder("main.mjs", `import chalk from "chalk"\n`), 1, "the package chalk", `dependencies: ["chalk"]`],
  [
    folder("main.mjs", `import "./lib.mjs"\n`, { "tools/f/lib.mjs": `\nimport "chalk"\n` }),
    2,
    "the package chalk",
    "tool.yaml"
  ],
  [folder("main.mjs", `import "#x"\n`, manifest({ type: "module" })), 1, "#x: a name", "./lib/x.ts"],
  // Of both kinds.
  [
    { "tools/a.js": `${esm}const fs = require("fs")\n` },
    3,
    "is a module by its import or export, and a module has no require",
    "const __version__"
  ],
  [{ "tools/a.js": `${cjs}import fs from "fs"\nmodule.exports = fs\n` }, 4, "a module has no module", "import"],
  [{ "tools/a.mjs": `${esm}const fs = require("fs")\n` }, 3, "is a module, and a module has no require", "import"],
  [{ "tools/a.ts": `${esm}exports.x = 1\n` }, 3, "a module has no exports", "import"],
  [{ "tools/a.cjs": `${cjs}import fs from "fs"\n` }, 3, "a.cjs is CommonJS, and has import fs", ".mjs"],
  [folder("main.js", `import fs from "fs"\n`, manifest({ type: "commonjs" })), 1, `is CommonJS by the "type"`, ".mjs"],
  [folder("main.js", `const fs = require("fs")\n`, manifest({ type: "module" })), 1, `a module by the "type"`, ".cjs"],
  [folder("src/main.js", `\nmodule.exports = 1\n`, manifest({ type: "module" })), 2, `a module by the "type"`, ".cjs"]
]

const accepted: ReadonlyArray<Files> = [
  {
    "tools/a.mjs":
      `${esm}import fs from "fs"\nimport "node:os"\nimport { readFile } from "fs/promises"\nimport "node:test"\n`
  },
  { "tools/a.ts": `${esm}import type { A } from "zod"\nexport type { B } from "zod"\n` },
  { "tools/a.mjs": `${esm}export const DEPENDENCIES = ["chalk@^5", "@a/b@1"]\nimport "chalk"\nimport "@a/b/c"\n` },
  { "tools/a.js": `${cjs}const DEPENDENCIES = ["chalk@^4"]\nconst c = require("chalk")\n` },
  { "tools/a.mjs": own(`${esm}import "chalk"\nimport "bun"\n`) },
  {
    "tools/a.ts":
      `${esm}import { createRequire } from "node:module"\nconst require = createRequire(import.meta.url)\nrequire("fs")\n`
  },
  { "tools/a.js": `${esm}if (typeof require !== "undefined" && require.main === module) console.log(1)\n` },
  { "tools/a.js": `${cjs}const fs = require("fs")\nmodule.exports = { fs }\nexports.x = 1\n` },
  {
    "tools/a.ts":
      `${cjs}import type { A } from "x"\nexport type B = 1\nexport interface C {}\nconst fs = require("fs")\n`
  },
  { "tools/a.mjs": `${esm}const page = "import x from 'y'"\n// import "z"\n` },
  folder("main.mjs", `import chalk from "chalk"\n`, {}, `dependencies: ["chalk@^5"]\n`),
  folder("main.mjs", `import chalk from "chalk"\n`, manifest({ dependencies: { chalk: "^5" } })),
  folder("main.mjs", `import "me/x"\nimport "#y"\n`, manifest({ name: "me", imports: { "#y": "./y.mjs" } })),
  folder("main.js", `import fs from "fs"\n`, manifest({ type: "module" })),
  folder("main.js", `const fs = require("fs")\n`, manifest({ type: "commonjs" })),
  folder("main.mjs", "1\n", { "tools/f/other.mjs": `import "chalk"\n` })
]

const doubted: ReadonlyArray<readonly [text: string, name: string]> = [
  [`${cjs}let c\ntry { c = require("chalk") } catch {}\n`, "chalk"],
  [`${esm}try { await import("chalk") } catch {}\n`, "chalk"],
  [`${esm}const c = await import("chalk").catch(() => undefined)\n`, "chalk"],
  [`${esm}import("chalk").then(console.log).catch(() => {})\n`, "chalk"],
  [`${esm}export const DEPENDENCIES = ["a@1"]\nimport "b"\n`, "b"]
]

describe("the packages of a Node tool", () => {
  it.live("are declared, or the tool is refused with the line and what to write", () =>
    Effect.gen(function*() {
      const wrong: Array<string> = []
      for (const [files, line, issue, hint] of refused) {
        const error = yield* Effect.match(invalid(checkFiles(files)), {
          onFailure: () => undefined,
          onSuccess: (one) => one
        })
        if (error?.line !== line || !error.issue.includes(issue) || !error.hint.includes(hint)) {
          wrong.push(
            `${Object.values(files).at(-1) as string}: ${error?.message ?? "is signed"} (${error?.hint ?? ""})`
          )
        }
      }
      assert.deepStrictEqual(wrong, [])
    }), 60_000)

  it.live(
    "are not asked for where Node finds them, or nothing is imported",
    () =>
      Effect.forEach(accepted, (files) =>
        Effect.gen(function*() {
          const item = yield* checkFiles(files)
          assert.isUndefined(item._tag === "tool" ? item.unsure : [], JSON.stringify(files))
        })),
    60_000
  )

  it.live("are a doubt where the tool goes on without them", () =>
    Effect.forEach(doubted, ([text, name]) =>
      Effect.gen(function*() {
        const item = yield* checkFiles({ "tools/a.js": text })
        assert.include(item._tag === "tool" ? item.unsure?.join() : "", `imports ${name}, which it does not`, text)
      })))

  it("of Python are named where the call fails for want of them", () => {
    const said = (output: string) => new ToolFailed({ tool: "a", how: "exit code 1", output }).remediation
    assert.include(said("Traceback …\nModuleNotFoundError: No module named 'yaml.deep'\n"), `DEPENDENCIES = ["yaml"]`)
    assert.notInclude(said("it says ModuleNotFoundError"), "DEPENDENCIES")
  })

  it.live("CommonJS of a single file runs, and a hint for it says no export", () =>
    Effect.gen(function*() {
      const read = yield* invalid(checkFiles({ "tools/a.js": `${cjs}const fs = require("fs")\nprocess.argv[2]\n` }))
      assert.include(read.hint, "const INPUT_SCHEMA")
      assert.notInclude(read.hint, "export")
      const bare = yield* invalid(checkFiles({ "tools/a.js": `const fs = require("fs")\n` }))
      assert.notInclude(bare.hint, "export")
      const project = yield* realProject({
        ".ai/tools/a.js": `${cjs}const fs = require("fs")\nconst { x } = module\nconsole.log(fs.existsSync("/"))\n`,
        ".ai/tools/b.ts":
          `${cjs}import type { A } from "x"\nconst fs = require("fs")\nconsole.log(fs.existsSync("/"))\n`,
        ".ai/tools/c.js": `${cjs}let c\ntry { c = require("chalk") } catch {}\nconsole.log(c === undefined)\n`
      })
      yield* Effect.gen(function*() {
        yield* accept
        const proxy = yield* ToolProxy
        for (const item of ["a", "b", "c"]) {
          const { data } = yield* proxy.call({ callId: "call", caller, item, parameters: {}, dryRun: false })
          assert.strictEqual(String(data).trim(), "true", item)
        }
      }).pipe(Effect.provide(kernelOf(project)))
    }), 60_000)

  it.live("a syntax error that Node finds quotes the line", () =>
    Effect.gen(function*() {
      for (
        const [name, code] of [["a.mjs", "const x = 1; const x = 2"], ["a.js", "let y; let y"], [
          "a.ts",
          "let z; let z"
        ]] as const
      ) {
        const error = yield* invalid(checkFiles({ [`tools/${name}`]: `${esm}${code}\n` }))
        assert.deepInclude(error, { found: code, line: 3 }, name)
      }
    }))
})
