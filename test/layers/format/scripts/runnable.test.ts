// What cannot run is refused when it is signed: config that nothing reads, TypeScript that Node cannot erase, imports
// that the copy will not have. Where a real Node or Python can be asked, it is.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as Fs from "node:fs"
import { join } from "node:path"
import { Signatures } from "../../../../src/services/integrity/Signatures.ts"
import { kernelOf, realProject } from "../../../support/realProject.ts"
import { temporary } from "../../../support/temporary.ts"
import { checkFiles, invalid } from "../parsing.ts"
import type { Files } from "../parsing.ts"

const head = `export const __version__ = "1.0.0"\nexport const __executor_id__ = "node_runtime"\n`
const pyHead = `__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n`
const yaml = (fields: string) => `version: "1.0.0"\n${fields}\n`

describe("config that nothing reads", () => {
  const refused: ReadonlyArray<readonly [fields: string, issue: string, hint: string]> = [
    [`tool_type: api\nexecutor_id: http_client\nconfig: {endpoint: "https://a.example"}`, "endpoint", "config.url"],
    [`tool_type: http\nexecutor_id: http_client\nconfig: {uri: "https://a.example"}`, "uri", "config.url"],
    [
      `tool_type: http\nexecutor_id: primitives/http_client\nconfig: {url: "https://a.example", header: {}}`,
      "header",
      "headers"
    ],
    [`tool_type: http\nexecutor_id: http_client\nconfig: {url: "https://a.example", params: {}}`, "params", "query"],
    [`tool_type: http\nexecutor_id: http_client\nconfig: {url: "https://a.example", tineout: 3}`, "tineout", "timeout"],
    [
      `tool_type: http\nexecutor_id: http_client@^1.0\nconfig: {url: "https://a.example", zzzzzz: 3}`,
      "zzzzzz",
      "may have"
    ],
    [`tool_type: script\nexecutor_id: http_client\nconfig: {method: GET}`, "no http(s) address", "config.url"],
    [`tool_type: script\nexecutor_id: subprocess\nconfig: {cmd: ls}`, "cmd", "config.command"],
    [`tool_type: script\nexecutor_id: subprocess\nconfig: {comand: ls}`, "comand", "config.command"],
    [`tool_type: script\nexecutor_id: subprocess\nconfig: {args: [x]}`, "no program", "config.command"],
    [
      `tool_type: script\nexecutor_id: subprocess\nconfig: {command: ls, limits: {ram: 1GiB}}`,
      "config.limits.ram",
      "memory"
    ],
    [`tool_type: runtime\nexecutor_id: subprocess\nconfig: {runtime_arg: [x]}`, "runtime_arg", "runtime_args"],
    [`tool_type: api\nexecutor: {type: api, endpoint: "https://a.example"}`, "endpoint", "config.url"]
  ]
  it.live("is named, with what was probably meant", () =>
    Effect.forEach(refused, ([fields, issue, hint]) =>
      Effect.gen(function*() {
        const error = yield* invalid(checkFiles({ "tools/a.yaml": yaml(fields) }))
        assert.include(error.issue, issue, fields)
        assert.include(error.hint, hint, fields)
      })))

  it.live("is so in Python and JavaScript too", () =>
    Effect.gen(function*() {
      const python = yield* invalid(checkFiles({ "tools/a.py": `${pyHead}CONFIG = {"timout": 3}\n` }))
      assert.include(python.hint, "config.timeout")
      const node = yield* invalid(checkFiles({ "tools/a.mjs": `${head}export const CONFIG = { environment: {} }\n` }))
      assert.include(node.hint, "config.env")
    }))

  it.live("is left to the chain where an executor is not Kiwi's own", () =>
    Effect.asVoid(checkFiles({ "tools/a.yaml": yaml("tool_type: script\nexecutor_id: my_runtime\nconfig: {own: 1}") })))
})

/** Each with what Kiwi calls it; `undefined` where Node runs it. */
const typescript: ReadonlyArray<readonly [code: string, what: string | undefined]> = [
  ["enum A { x }", "an enum"],
  ["const enum B { y }", "an enum"],
  ["export enum B { y }", "an enum"],
  ["declare enum C {}", undefined],
  ["declare const enum C { a }", undefined],
  ["namespace N { export const x = 1 }", "a namespace"],
  ["namespace N { declare const x: number }", "a namespace"],
  ["namespace N { export function f() {} }", "a namespace"],
  ["namespace N { namespace M { const x = 1 } }", "a namespace"],
  ["namespace T { export type x = 1 }", undefined],
  ["namespace T {}", undefined],
  ["namespace T { interface X {} export interface Y {} }", undefined],
  ["namespace T { namespace U { type x = 1 } }", undefined],
  ["module M { type x = 1 }", "the keyword module"],
  ["declare module M { const x: number }", "the keyword module"],
  ["declare module \"x\" { }", undefined],
  ["declare namespace N { const x: number; enum E { A } }", undefined],
  ["class P { constructor(private x: number) {} }", "a parameter that declares"],
  ["class P { constructor(readonly x: number) {} }", "a parameter that declares"],
  ["class P { constructor(a: number, public readonly x = 1) {} }", "a parameter that declares"],
  ["class P { constructor(x: number, y?: string) {} private z = 1; readonly w = 2 }", undefined],
  ["class P { constructor(x: number); constructor(x: any) {} }", undefined],
  ["class P { accessor x = 1 }", "an accessor"],
  ["class P { static accessor x = 1 }", "an accessor"],
  ["class P { private accessor x: number = 1 }", "an accessor"],
  ["class P { accessor = 1; static accessor() {} get accessor2() { return 1 } }", undefined],
  ["declare class P { accessor x: number }", undefined],
  ["class Q {}\nabstract class P extends Q { override toString() { return \"\" } }", undefined],
  ["class P { declare x: number; [k: string]: unknown }", undefined],
  ["class B {}\nclass P extends B { constructor(protected x = 1) { super() } }", "a parameter that declares"],
  ["let x = 1\nlet y = <const>x", "a cast"],
  ["function dec(..._: any[]): any {}\nclass P { @dec m() {} }", "a decorator"],
  ["function dec(..._: any[]): any {}\n@dec class Q {}", "a decorator"],
  ["import fs = require(\"fs\")", "import ="],
  ["export import K = globalThis.x", "import ="],
  ["import type fs = require(\"fs\")", undefined],
  ["export = 1", "export ="],
  ["const z = <number>(3 as unknown)", "a cast"],
  ["const z = <T>(x: T) => x", undefined],
  ["const f = function(this: void) {}", undefined],
  ["const x = 1 as const satisfies number; let v!: number", undefined],
  ["type X = { [k in \"a\"]: 1 }; interface Y extends Object {}", undefined]
]

describe("TypeScript", () => {
  it.live("is refused where Node cannot erase it, and only there", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      for (const [index, [code, what]] of typescript.entries()) {
        const file = join(folder, `${index}.ts`)
        Fs.writeFileSync(file, code)
        const { status } = spawnSync(process.execPath, ["--no-warnings", file])
        assert.strictEqual(status === 0, what === undefined, `Node: ${code}`)
        const checked = checkFiles({ "tools/a.ts": `${head}${code}\n` })
        if (what === undefined) {
          yield* checked
          continue
        }
        const error = yield* invalid(checked)
        assert.include(error.issue, `Node cannot run ${what}`, code)
        assert.strictEqual(error.line, 2 + code.split("\n").length, code)
        assert.notStrictEqual(error.hint, "")
      }
    }), 120_000)

  it.live("a decorator is refused in JavaScript, and every file of a folder is looked at", () =>
    Effect.gen(function*() {
      assert.include((yield* invalid(checkFiles({ "tools/a.mjs": `${head}@dec class A {}\n` }))).issue, "a decorator")
      const folder = {
        "tools/f/tool.yaml": yaml("tool_id: f\ntool_type: node\nexecutor_id: node_runtime\nentrypoint: main.ts"),
        "tools/f/main.ts": "import { A } from \"./lib/a.ts\"\nconsole.log(A)\n",
        "tools/f/lib/a.ts": "export const A = 1\n"
      }
      yield* checkFiles(folder)
      for (const name of ["a.ts", "b.mts", "c.cts"]) {
        const error = yield* invalid(
          checkFiles({ ...folder, [`tools/f/lib/${name}`]: "export enum A { x }\nexport const B = A\n" })
        )
        assert.include(error.issue, "Node cannot run an enum")
        assert.strictEqual(error.item, `project:tools/f/lib/${name}`)
      }
    }))
})

describe("a single JavaScript file that imports another", () => {
  const refused: ReadonlyArray<readonly [name: string, code: string]> = [
    ["a.mjs", "import { x } from \"./helper.js\""],
    ["a.mjs", "import \"./helper.js\""],
    ["a.mjs", "export * from '../lib/x.mjs'"],
    ["a.mjs", "const x = await import(\"./x.mjs\")"],
    ["a.mjs", "new Worker(new URL(\"./x.js\", import.meta.url))"],
    ["a.mjs", "new Worker(new URL('x.js', import.meta.url), { type: \"module\" })"],
    ["a.mjs", "const text = readFileSync(new URL(\"./data/x.json\", import.meta.url))"],
    ["a.mjs", "console.log(import.meta.resolve(\"./x.js\"))"],
    ["a.mjs", "const x = await import(`./x.mjs`)"],
    ["a.mjs", "const x = createRequire(import.meta.url)(\"./x.cjs\")"],
    ["a.ts", "const x = await import(\"./x.ts\") as { y: number }"],
    ["a.cjs", "const path = require.resolve(\"./x\")"],
    ["a.cjs", "const x = module.require(\"./x\")"],
    ["a.cjs", "import(\"./x.mjs\").then(console.log)"],
    ["a.mjs", "import data from \"./data.json\" with { type: \"json\" }"],
    ["a.mjs", "import {\n  a,\n  b\n} from \"./helper.js\""],
    ["a.js", "const x = require(\"./x\")"],
    ["a.js", "const { y } = require('../x.cjs')"],
    ["a.cjs", "const x = require(\".\")"],
    ["a.ts", "import { x } from \"./x.ts\""],
    ["a.ts", "import { type A, x } from \"./x.ts\""],
    ["a.ts", "export { x } from \"./x.ts\""]
  ]
  it.live("is refused, with the line and that a folder would do", () =>
    Effect.forEach(refused, ([name, code]) =>
      Effect.gen(function*() {
        const cjs = head.replaceAll("export ", "")
        const error = yield* invalid(checkFiles({ [`tools/${name}`]: `${name === "a.cjs" ? cjs : head}\n${code}\n` }))
        assert.include(error.issue, "runs alone", code)
        assert.strictEqual(error.line, 4, code)
        assert.include(error.hint, "a/tool.yaml", code)
      })))

  it.live("is not, where it imports packages, types, or what may be missing", () =>
    Effect.forEach([
      "import fs from \"node:fs\"",
      "try { await import(\"some-package/deep.js\") } catch {}",
      "const root = new URL(\"..\", import.meta.url), here = new URL(\".\", import.meta.url), below = new URL(\"./x/\", import.meta.url)",
      "const page = new URL(\"./x.js\", \"https://a.example/\")",
      "const absolute = new URL(\"https://a.example/x.js\", import.meta.url)",
      "console.log(import.meta.resolve(\"node:os\"))",
      "import type { A } from \"./types.ts\"",
      "export type { A } from \"./types.ts\"",
      "try { await import(\"./optional.js\") } catch {}",
      "const s = \"import x from './y.js'\"",
      "// import x from './y.js'",
      "await import(process.env.MODULE ?? \"node:os\")"
    ], (code) => checkFiles({ "tools/a.ts": `${head}${code}\n` })))
})

describe("a JavaScript folder tool", () => {
  const folder = (main: string, more: Files = {}) => ({
    "tools/f/tool.yaml": yaml("tool_id: f\ntool_type: node\nexecutor_id: node_runtime\nentrypoint: main.mjs"),
    "tools/f/main.mjs": main,
    "tools/f/lib/x.mjs": "export const x = 1\n",
    "tools/f/lib/y.ts": "export const y = 1\n",
    "tools/f/lib/c.cjs": "module.exports = require('./d')\n",
    "tools/f/lib/d/index.js": "\n",
    ...more
  })
  it.live("imports what is in it, by its whole name", () =>
    Effect.gen(function*() {
      yield* checkFiles(folder("import { x } from \"./lib/x.mjs\"\nimport { y } from './lib/../lib/y.ts?v=1'\n"))
      const refused: ReadonlyArray<readonly [main: string, issue: string, hint: string]> = [
        ["import \"../other.mjs\"", "leaves the folder", "into the folder"],
        ["import \"./lib/../../x.mjs\"", "leaves the folder", "into the folder"],
        ["import \"./lib/x\"", "no file lib/x", "x.mjs"],
        ["import \"./lib/y.js\"", "no file lib/y.js", "y.ts"],
        ["import \"./nothing.mjs\"", "no file nothing.mjs", "Add"],
        ["export * from \"./lib\"", "no file lib", "Add"],
        ["new Worker(new URL(\"./work.mjs\", import.meta.url))", "no file work.mjs", "Add"],
        ["import.meta.resolve(\"./lib/nothing.mjs\")", "no file lib/nothing.mjs", "Add"]
      ]
      for (const [main, issue, hint] of refused) {
        const error = yield* invalid(checkFiles(folder(`\n${main}\n`)))
        assert.strictEqual(error.item, "project:tools/f/main.mjs", main)
        assert.include(error.issue, issue, main)
        assert.include(error.hint, hint, main)
        assert.strictEqual(error.line, 2)
      }
      const required = { "tools/f/lib/c.cjs": "require('./nothing')\n" }
      const { issue, item } = yield* invalid(checkFiles(folder("\n", required)))
      assert.include(issue, "the folder has no file")
      assert.strictEqual(item, "project:tools/f/lib/c.cjs")
    }))

  it.live("has the entrypoint that it names", () =>
    Effect.gen(function*() {
      const { "tools/f/main.mjs": _, ...without } = folder("")
      assert.include((yield* invalid(checkFiles(without))).issue, "entrypoint")
    }))
})

describe("a Python file", () => {
  it.live("that imports from its folder is refused, with the line and that a folder would do", () =>
    Effect.gen(function*() {
      const code = [
        "import importlib\nimportlib.import_module('.x', package=__package__)",
        "from . import x",
        "from .x import y",
        "from ..a.b import c",
        "if True:\n    from . import x"
      ]
      for (const one of code) {
        const error = yield* invalid(checkFiles({ "tools/a.py": `${pyHead}${one}\n` }))
        assert.include(error.issue, "runs alone", one)
        assert.strictEqual(error.line, 3 + one.split("\n").length, one)
        assert.include(error.hint, "a/tool.yaml", one)
      }
      yield* checkFiles({
        "tools/a.py":
          `${pyHead}try:\n    from . import x\nexcept ImportError:\n    x = None\nif TYPE_CHECKING:\n    from .t import T\n"from . import x"\n`
      })
    }))

  it.live(
    "that imports a file beside it is refused, and one that imports a package is not",
    () =>
      Effect.gen(function*() {
        const sibling = (name: string) => `"""T"""\n__version__ = "1.0.0"\n${name}\n`
        const refused = {
          "one.py": sibling("import helper"),
          "two.py": sibling("import os, helper as h"),
          "three.py": sibling("from helper import x"),
          "four.py": sibling("import pack.deep"),
          "five.py": sibling("def f():\n    from _hidden import x"),
          "named.py": sibling("import importlib\nimportlib.import_module('helper')"),
          "named_from.py": sibling("from importlib import import_module\nx = import_module(\"pack.deep\")"),
          "dunder.py": sibling("x = __import__('helper')"),
          "runs.py": sibling("import runpy\nrunpy.run_module('helper')"),
          "random.py": sibling("import random"),
          "six.py": sibling("import random")
        }
        const accepted = {
          "seven.py": sibling("import requests, json, helpers"),
          "eight.py": sibling("import time"),
          "time.py": sibling("import time"),
          "nine.py": sibling("try:\n    import helper\nexcept ImportError:\n    helper = None")
        }
        const project = yield* realProject({
          ...Object.fromEntries(
            Object.entries({ ...refused, ...accepted }).map(([name, text]) => [`.ai/tools/${name}`, text])
          ),
          ".ai/tools/helper.py": sibling("x = 1"),
          ".ai/tools/_hidden.py": "x = 1\n",
          ".ai/tools/pack/__init__.py": sibling("x = 1")
        })
        yield* Effect.gen(function*() {
          const { refused: found } = yield* (yield* Signatures).plan({ id: "**", tier: "project" })
          const messages = Object.fromEntries(found.map(({ error, item }) => [item.replace(/.*\//, ""), error.message]))
          assert.sameMembers(Object.keys(messages), Object.keys(refused))
          for (const [path, message] of Object.entries<string>(messages)) {
            assert.match(message, path === "random.py" ? /finds itself/ : /runs alone|leaves/, path)
          }
        }).pipe(Effect.provide(kernelOf(project)))
      }),
    60_000
  )

  it.live("of a folder imports from the folder alone", () =>
    Effect.gen(function*() {
      const folder = (files: Files) => ({
        "tools/f/tool.yaml": yaml(
          "tool_id: f\ntool_type: python\nexecutor_id: python_runtime\nentrypoint: src/main.py"
        ),
        "tools/f/src/main.py": "import lib.a\n",
        "tools/f/src/lib/__init__.py": "",
        "tools/f/src/lib/a.py": "from . import b\nfrom .b import c\n",
        "tools/f/src/lib/b.py": "c = 1\n",
        "tools/f/src/lib/deep/x.py": "from .. import b\n",
        ...files
      })
      yield* checkFiles(folder({}))
      const above = yield* invalid(checkFiles(folder({ "tools/f/src/main.py": "\nfrom src.lib import a\n" })))
      assert.include(above.issue, "Python looks for src beside the entrypoint")
      assert.deepInclude(above, { line: 2, item: "project:tools/f/src/main.py" })
      yield* checkFiles(folder({
        "tools/f/src/main.py": "import sys\nsys.path.insert(0, sys.path[0] + '/..')\nfrom src.lib import a\n"
      }))
      const main = yield* invalid(checkFiles(folder({ "tools/f/src/main.py": "\nfrom .lib import a\n" })))
      assert.deepInclude(main, { line: 2 })
      assert.include(main.issue, "this file is not part of a package")
      const left = yield* invalid(checkFiles(folder({ "tools/f/src/lib/a.py": "from .. import b\n" })))
      assert.include(left.issue, "the import leaves the folder")
      assert.strictEqual(left.item, "project:tools/f/src/lib/a.py")
      const deep = yield* invalid(checkFiles(folder({ "tools/f/src/lib/deep/x.py": "from ... import b\n" })))
      assert.include(deep.issue, "leaves the folder")
    }))
})
