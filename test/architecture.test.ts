import { assert, describe, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { type House, parseModule, parseModules, rules } from "./support/architecture.ts"

const root = new URL("../", import.meta.url)
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"))

const house: House = {
  kernelDomains: new Set([
    "approval",
    "audit",
    "auth",
    "cache",
    "call",
    "capability",
    "chain",
    "dependency",
    "env",
    "error",
    "files",
    "filesystem",
    "format",
    "git",
    "identity",
    "integrity",
    "item",
    "limit",
    "lockfile",
    "outbound",
    "permission",
    "presence",
    "primitive",
    "process",
    "proxy",
    "sandbox",
    "schema",
    "search",
    "settings",
    "sqlite",
    "template",
    "text",
    "trust",
    "upstream",
    "vault",
    "workspace"
  ]),
  harnessDomains: new Set(["anneal", "budget", "checkpoint", "cost", "intent", "llm", "pipeline", "thread"]),
  never: [
    ["item", "integrity"],
    ["upstream", "proxy"]
  ],
  adapters: {
    "src/layers/files/readRegular.ts": ["process"],
    "src/layers/files/replaceFiles.ts": ["process"],
    "src/layers/item/watchTiers.ts": ["timer"],
    "src/layers/presence/LineagePs.ts": ["process"],
    "src/layers/process/ChildProcessesNode.ts": ["process"],
    "src/layers/process/isRunning.ts": ["process"],
    "src/layers/process/ownPrograms.ts": ["process"],
    "src/layers/process/processTree.ts": ["process"],
    "src/layers/trust/humanGate/HumanGateEmbedder.ts": ["process"],
    "src/layers/trust/projectFolder.ts": ["process"],
    "src/layers/workspace/ProcessLockSqlite.ts": ["process"]
  },
  heavy: [
    "@cfworker/json-schema",
    "@lezer",
    "@modelcontextprotocol/client",
    "@napi-rs/keyring",
    "ajv",
    "re2js",
    "yaml"
  ],
  installed: new Set(Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })),
  isEntry: (path) => /^src\/programs\/(bin\/[^/]+|embed|testing)\.ts$/.test(path)
}

describe("src", () => {
  const modules = parseModules(
    new Map(
      globSync("src/**/*.ts", { cwd: root.pathname }).map((path) => [path, readFileSync(new URL(path, root), "utf8")])
    )
  )

  for (const [name, rule] of Object.entries(rules)) {
    it(name, () => {
      const complaints = rule(modules, house)
      assert.strictEqual(complaints.join("\n"), "", `\n${complaints.join("\n")}\n`)
    })
  }
})

type RuleName = keyof typeof rules

/** Small houses that break one rule, and where the complaint must point. */
const broken: ReadonlyArray<
  readonly [what: string, rule: RuleName, sources: Record<string, string>, complaint: string, changes?: Partial<House>]
> = [
  ["a service imports a layer", "imports point down", {
    "src/services/item/A.ts": `// first line\nimport type { B } from "../../layers/item/B.ts"`,
    "src/layers/item/B.ts": ""
  }, "src/services/item/A.ts:2 is in services and imports src/layers/item/B.ts"],
  ["a layer imports a program, lazily", "imports point down", {
    "src/layers/item/A.ts": `export const load = () => import("../../programs/run.ts")`,
    "src/programs/run.ts": ""
  }, "src/layers/item/A.ts:1 is in layers"],
  ["a layer re-exports a program", "imports point down", {
    "src/layers/item/A.ts": `export * from "../../programs/run.ts"`,
    "src/programs/run.ts": ""
  }, "src/layers/item/A.ts:1 is in layers"],
  ["a type is imported in place", "imports point down", {
    "src/services/item/A.ts": `export type B = import("../../layers/item/B.ts").B`,
    "src/layers/item/B.ts": ""
  }, "src/services/item/A.ts:1 is in services"],
  ["an import leaves src", "imports point down", {
    "src/programs/a.ts": `import "../../test/support/x.ts"`
  }, "src/programs/a.ts:1 imports test/support/x.ts, which is no module of src"],
  ["a contract imports Node", "contracts import nothing of a platform", {
    "src/services/item/A.ts": `import { join } from "node:path"`
  }, "src/services/item/A.ts:1 is a contract and imports node:path"],
  ["a contract imports a type of Node's", "contracts import nothing of a platform", {
    "src/services/item/A.ts": `import type { Stats } from "node:fs"`
  }, "src/services/item/A.ts:1 is a contract"],
  ["a contract imports the platform package", "contracts import nothing of a platform", {
    "src/services/item/A.ts": `import * as NodeServices from "@effect/platform-node/NodeServices"`
  }, "src/services/item/A.ts:1 is a contract"],
  ["a domain has no place", "every domain is named as kernel or harness", {
    "src/services/gadget/A.ts": ""
  }, "src/services/gadget is a domain that the house does not name"],
  ["the kernel imports the harness", "the kernel does not know the harness", {
    "src/layers/proxy/A.ts": `import { B } from "../../services/budget/B.ts"`,
    "src/services/budget/B.ts": ""
  }, "src/layers/proxy/A.ts:1 is in the kernel and imports src/services/budget/B.ts"],
  ["the kernel's graph imports the harness's", "the kernel does not know the harness", {
    "src/layers/Kernel.ts": `import * as Harness from "./Harness.ts"`,
    "src/layers/Harness.ts": ""
  }, "src/layers/Kernel.ts:1 is in the kernel"],
  ["item verifies", "domains that must not know each other do not", {
    "src/layers/item/A.ts": `import { B } from "../../services/integrity/B.ts"`,
    "src/services/integrity/B.ts": ""
  }, "item never imports integrity"],
  ["an upstream calls back", "domains that must not know each other do not", {
    "src/services/upstream/A.ts": `import { B } from "../proxy/B.ts"`,
    "src/services/proxy/B.ts": ""
  }, "upstream never imports proxy"],
  ["three files in a ring", "no import cycles", {
    "src/services/item/A.ts": `import { b } from "./B.ts"`,
    "src/services/item/B.ts": `import type { c } from "./C.ts"`,
    "src/services/item/C.ts": `export { a } from "./A.ts"`
  }, "import cycle: src/services/item/A.ts → src/services/item/B.ts → src/services/item/C.ts → src/services/item/A.ts"],
  ["a drawer", "no file or folder with a name that says nothing", { "src/services/item/Utils.ts": "" }, `"Utils"`],
  ["a folder that is a drawer", "no file or folder with a name that says nothing", {
    "src/programs/common/a.ts": ""
  }, `"common"`],
  ["a test file's name does not hide it", "no file or folder with a name that says nothing", {
    "src/programs/index.d.ts": ""
  }, `"index"`],
  ...([
    ["process", `const home = process.env["HOME"]`, "process.env"],
    ["process", `const env = globalThis.process`, "process"],
    ["process", `const { env } = process`, "process"],
    ["process", `import { env } from "node:process"`, "import of node:process"],
    ["console", `console.log("x")`, "console.log"],
    ["clock", `const now = Date.now()`, "Date.now"],
    ["clock", `const now = new Date()`, "new Date()"],
    ["clock", `const now = performance["now"]()`, "performance.now"],
    ["random", `const n = Math.random()`, "Math.random"],
    ["timer", `setTimeout(() => {}, 1)`, "setTimeout"],
    ["timer", `const later = globalThis.setTimeout`, "setTimeout"],
    ["timer", `import { setTimeout } from "node:timers/promises"`, "import of node:timers/promises"],
    ["run", `Effect.runSync(program)`, "Effect.runSync"],
    ["run", `import { runPromise } from "effect/Effect"`, "runPromise"],
    ["async", `const f = async () => 1`, "async function"],
    ["async", `class A { async f() {} }`, "async function"]
  ] as const).map(([use, source, text]) =>
    [
      `${use}: ${source}`,
      "clock, randomness, process, console, timers, promises and runs stay at the edge",
      { "src/layers/item/A.ts": `\n${source}` },
      `src/layers/item/A.ts:2 uses ${text} (${use})`
    ] as const
  ),
  [
    "an adapter uses more than it says",
    "clock, randomness, process, console, timers, promises and runs stay at the edge",
    {
      "src/layers/item/A.ts": `const f = async () => Date.now()`
    },
    "src/layers/item/A.ts:1 uses Date.now (clock)",
    { adapters: { "src/layers/item/A.ts": ["async"] } }
  ],
  [
    "an adapter no longer is one",
    "clock, randomness, process, console, timers, promises and runs stay at the edge",
    {
      "src/layers/item/A.ts": ""
    },
    "src/layers/item/A.ts is named as an adapter for async",
    { adapters: { "src/layers/item/A.ts": ["async"] } }
  ],
  ["a second door to SQLite", "one file imports node:sqlite", {
    "src/layers/search/A.ts": `const sqlite = await import("node:sqlite")`
  }, "src/layers/search/A.ts:1 imports node:sqlite"],
  ["the platform's barrel", "modules are imported, not barrels", {
    "src/programs/bin/a.ts": `import { NodeServices } from "@effect/platform-node"`
  }, "src/programs/bin/a.ts:1 imports the barrel"],
  ["a development dependency", "users have every package that is imported", {
    "src/programs/a.ts": `import { it } from "vitest/config"`
  }, "src/programs/a.ts:1 imports vitest, which package.json does not give to users"],
  ["a name made up while running", "users have every package that is imported", {
    "src/programs/a.ts": `const load = (name: string) => import(name)`
  }, "src/programs/a.ts:1 imports a computed name"],
  ["a heavy package that is imported for its types, and loaded for nothing", "no start loads a heavy package", {
    "src/programs/bin/kiwi.ts": `import { type Ajv } from "ajv"`
  }, "src/programs/bin/kiwi.ts → ajv"],
  ["a heavy package passed on", "no start loads a heavy package", {
    "src/programs/embed.ts": `export { parse } from "yaml"`
  }, "src/programs/embed.ts → yaml"],
  ["a heavy package three imports from a start", "no start loads a heavy package", {
    "src/programs/bin/kiwi.ts": `import "../run.ts"`,
    "src/programs/run.ts": `import { p } from "../layers/format/Parse.ts"`,
    "src/layers/format/Parse.ts": `import { parser } from "@lezer/python"`
  }, "src/programs/bin/kiwi.ts → src/programs/run.ts → src/layers/format/Parse.ts → @lezer/python"]
]

describe("the rules find", () => {
  for (const [what, rule, sources, complaint, changes] of broken) {
    it(what, () => {
      const complaints = rules[rule](parseModules(new Map(Object.entries(sources))), {
        ...house,
        adapters: {},
        ...changes
      })
      assert.strictEqual(complaints.length, 1, complaints.join("\n"))
      assert.include(complaints[0], complaint)
    })
  }
})

describe("the rules let pass", () => {
  it("names in comments, strings, keys and properties", () => {
    const { ambient, imports } = parseModule(
      "src/layers/item/A.ts",
      [
        `// import { x } from "node:sqlite"; process.env; async () => Date.now()`,
        `const text = "setTimeout(() => console.log(Math.random()))"`,
        "const template = `import('yaml') ${text}`",
        `const record = { process: 1, console: 2 }`,
        `const time = new Date(0)`,
        `const spawned = child.process.pid`
      ].join("\n")
    )
    assert.deepStrictEqual(imports, [])
    assert.deepStrictEqual(ambient, [])
  })

  it("a heavy package as a type, on first use, and behind a module that is itself loaded on first use", () => {
    const complaints = rules["no start loads a heavy package"](
      parseModules(
        new Map([
          [
            "src/programs/bin/kiwi.ts",
            `import type { Ajv } from "ajv"
             const yaml = () => import("yaml")
             const parse = () => import("../../layers/format/Parse.ts")`
          ],
          ["src/layers/format/Parse.ts", `import { parser } from "@lezer/python"`]
        ])
      ),
      house
    )
    assert.deepStrictEqual(complaints, [])
  })

  it("everything at the edge", () => {
    const rule = rules["clock, randomness, process, console, timers, promises and runs stay at the edge"]
    const modules = parseModules(
      new Map([
        ["src/programs/bin/kiwi.ts", `Effect.runFork(main); console.log(process.argv, Date.now())`],
        ["src/layers/item/A.ts", `const f = async () => 1`]
      ])
    )
    assert.deepStrictEqual(rule(modules, { ...house, adapters: { "src/layers/item/A.ts": ["async"] } }), [])
  })
})

it("a file outside the three folders is refused", () => {
  assert.throws(() => parseModule("src/kiwi.ts", ""), /is in none of/)
})

it("a file that does not parse is named", () => {
  assert.throws(() => parseModule("src/programs/a.ts", "const ="), /src\/programs\/a\.ts/)
})
