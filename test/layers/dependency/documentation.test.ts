// The tools of docs/dependencies.md, signed, installed and run as the page says.
import { assert, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { readFileSync } from "node:fs"
import { envPrune, envSync } from "../../../src/programs/envSync.ts"
import { npmRegistry, pythonIndex } from "../../support/packageServers.ts"
import { describeWith } from "../../support/realParts.ts"
import { call, caller, syncWorld } from "./syncWorld.ts"

const page = readFileSync(new URL("../../../docs/dependencies.md", import.meta.url), "utf8")
const examples = Object.fromEntries(
  Array.from(page.matchAll(/^```[a-z]+ \.ai\/tools\/(\S+)\n([^]*?)^```$/gm), (match) => [match[1]!, match[2]!] as const)
)

describeWith(["pip", "npm"], "docs/dependencies.md", () => {
  it.live(
    "its tools run once they are synced",
    () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(Object.keys(examples), ["said.py", "scripted.py", "loud.mjs"])
        const index = yield* pythonIndex([
          { name: "kiwi-greet", version: "1.0", files: { "kiwi_greet.py": "def hello():\n    return 'hello'\n" } }
        ])
        const registry = yield* npmRegistry([{
          name: "kiwi-shout",
          version: "1.0.1",
          manifest: { type: "module" },
          files: { "index.js": "export const shout = (text) => text.toUpperCase()\n" }
        }])
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
            "loud installed",
            "said installed",
            "scripted installed"
          ])
          assert.deepStrictEqual(planned.toSorted(), ["loud", "said", "scripted"])
          assert.isAbove(told.length, 0)
          assert.strictEqual(`${yield* call("said")}`.trim(), "hello")
          assert.strictEqual(`${yield* call("scripted")}`.trim(), "hello")
          assert.strictEqual(`${yield* call("loud")}`.trim(), "HELLO")
          const again = yield* envSync({ ...input, tool: "loud" }, caller)
          assert.deepStrictEqual(again.map(({ state }) => state), ["up-to-date"])
          assert.deepStrictEqual(yield* envPrune(Duration.zero, caller), [])
        }))
      }),
    120_000
  )
})
