// The tools of docs/dependencies.md, signed, installed and run as the page says.
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { readdirSync, readFileSync } from "node:fs"
import { envPrune, envSync } from "../../../src/programs/envSync.ts"
import { npmRegistry, pythonIndex } from "../../support/packageServers.ts"
import { describeWith } from "../../support/realParts.ts"
import { call, caller, syncWorld } from "./syncWorld.ts"

const page = readFileSync(new URL("../../../docs/dependencies.md", import.meta.url), "utf8")
const examples = Object.fromEntries(
  Array.from(page.matchAll(/^```[a-z]+ \.ai\/tools\/(\S+)\n([^]*?)^```$/gm), (match) => [match[1]!, match[2]!] as const)
)

/** The package as the registry has it: its files as they were installed here. */
const yamlFolder = new URL("../../../node_modules/yaml/", import.meta.url)
const { exports, main, type, version } = JSON.parse(
  readFileSync(new URL("package.json", yamlFolder), "utf8")
) as Record<
  "exports" | "main" | "type" | "version",
  string
>
const realYaml = {
  name: "yaml",
  version,
  manifest: { exports, main, ...(type === undefined ? {} : { type }) },
  files: Object.fromEntries(
    readdirSync(yamlFolder, { recursive: true, encoding: "utf8" })
      .filter((file) => /\.m?js$/.test(file) || file.endsWith("package.json") && file !== "package.json")
      .map((file) => [file, readFileSync(new URL(file, yamlFolder), "utf8")])
  )
}

describeWith(["pip", "npm"], "docs/dependencies.md", () => {
  it.live(
    "its tools run once they are synced",
    () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(Object.keys(examples), ["thousands.py", "million.py", "as_yaml.mjs"])
        // PyPI is not reached from a test: a wheel of that name, with the one function that the page calls.
        const index = yield* pythonIndex([
          { name: "humanize", version: "4.9", files: { "humanize.py": "def intcomma(n):\n    return f'{n:,}'\n" } }
        ])
        const registry = yield* npmRegistry([realYaml])
        const world = yield* syncWorld(examples, { PIP_INDEX_URL: index.url, npm_config_registry: registry.url })
        const told: Array<string> = []
        const planned: Array<string> = []
        yield* world.inKernel(Effect.gen(function*() {
          const input = {
            upgrade: false,
            allowBuild: false,
            plan: (all: ReadonlyArray<{ readonly tool: string }>) =>
              Effect.sync(() => void planned.push(...all.map(({ tool }) => tool))),
            progress: (what: string) => Effect.sync(() => void told.push(what))
          }
          const synced = yield* envSync(input, caller)
          assert.deepStrictEqual(synced.map(({ state, tool }) => `${tool} ${state}`).toSorted(), [
            "as_yaml installed",
            "million installed",
            "thousands installed"
          ])
          assert.deepStrictEqual(planned.toSorted(), ["as_yaml", "million", "thousands"])
          assert.isAbove(told.length, 0)
          assert.strictEqual(`${yield* call("thousands", { number: -1234567 })}`.trim(), "-1,234,567")
          assert.strictEqual(`${yield* call("million")}`.trim(), "1,000,000")
          assert.strictEqual(`${yield* call("as_yaml", { word: ["a", "-b"] })}`.trim(), "word:\n  - a\n  - -b")
          const again = yield* envSync({ ...input, tool: "as_yaml" }, caller)
          assert.deepStrictEqual(again.map(({ state }) => state), ["up-to-date"])
          assert.deepStrictEqual(yield* envPrune(Duration.zero, caller), [])
        }))
      }),
    120_000
  )
})
