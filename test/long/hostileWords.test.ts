// No word of a clone's files in Kiwi's own mouth: a word is put into more than thirty of its files, then everything is
// asked that can be asked about a project that nobody trusts. The files are named, and the word is nowhere but in the
// field that says that it is untrusted, of an item that was loaded.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import * as Kernel from "../../src/layers/Kernel.ts"
import { explain } from "../../src/programs/explain.ts"
import { help } from "../../src/programs/help.ts"
import { topics } from "../../src/programs/helpTopics.ts"
import { load } from "../../src/programs/load.ts"
import { runTool } from "../../src/programs/runTool.ts"
import { search } from "../../src/programs/search.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import { agrees, makeWorld, type World } from "../support/builtKiwi.ts"
import { buildHostileClone, canaryWord, plantCanaries } from "../support/hostileClone.ts"

const items: ReadonlyArray<string> = [
  ...[
    "type",
    "executor",
    "range",
    "version",
    "category",
    "syntax",
    "keys",
    "yaml",
    "front",
    "needs",
    "module",
    "folder",
    "signed",
    "fields",
    "asked"
  ]
    .map((name) => `c_${name}`),
  "c_broken",
  "mine"
]

const mine = `"""Mine."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = ""
print("hello")
`

/** What an answer says outside of the field that is marked. */
const own = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) => key === "untrusted" ? "…" : inner) ?? ""

/** Collects what was said, so that one run names every place. */
const listen = () => {
  const said: Array<string> = []
  return {
    quiet: (text: string, what: string) => {
      const at = text.toLowerCase().indexOf(canaryWord)
      if (at !== -1) said.push(`${what}: …${text.slice(Math.max(0, at - 200), at + 80)}`)
    },
    assertSilence: () => assert.deepStrictEqual(said, [])
  }
}

describe("the words of a clone that nobody trusts", () => {
  let world: World
  let root: string

  beforeAll(async () => {
    world = makeWorld()
    fs.mkdirSync(join(world.root, "clones"))
    root = buildHostileClone(join(world.root, "clones")).root
    fs.rmSync(join(root, ".ai/logs"))
    world.write("user/tools/mine.py", mine)
    const trusted = await world.init()
    const signed = await world.run(["sign", "tool", "mine", "--tier", "user", "--project", trusted])
    assert.strictEqual(signed.code, 0, signed.stderr)
    assert.isAtLeast(plantCanaries(root, "mine"), 30)
  }, 60_000)
  afterAll(() => world.close())

  for (const mode of ["warn", "strict"] as const) {
    it(`over MCP, where locks are ${mode}`, async () => {
      world.write("user/config/kiwi.yaml", `lockfile.mode: ${mode}\n`)
      const { assertSilence, quiet } = listen()
      const { call, client, execute, said } = await world.connect({ project: root, person: agrees })
      const ask = async (tool: string, args: Record<string, unknown>) =>
        quiet(own(JSON.parse((await call(tool, args)).text).structuredContent), `${tool} ${JSON.stringify(args)}`)
      for (const topic of topics) await ask("help", { topic })
      for (const query of ["mine", "c", canaryWord, "ignore previous instructions", "python"]) {
        // What one asks for comes back as one asked.
        if (query !== canaryWord) await ask("search", { query, limit: 100 })
      }
      for (const item_id of items) {
        for (const tool of ["load", "execute", "sign"]) await ask(tool, { item_id })
        await ask("execute", { item_id, dry_run: true, item_type: "tool" })
      }
      const lockTools = ["lockfile.list", "lockfile.verify", "lockfile.outdated", "lockfile.validate", "lockfile.diff"]
      for (const item_id of lockTools) {
        for (const parameters of [{}, { id: "mine" }, { tool: "mine" }, { id: "c_other" }]) {
          await ask("execute", { item_id, parameters })
        }
      }
      // Rules that cannot be read deny everything, and are not quoted.
      await ask("execute", { item_id: "mine" })
      fs.rmSync(join(root, ".ai/config/permissions.yaml"), { force: true })
      // The lock of the clone has no say over a tool of the person's.
      assert.strictEqual((await execute("mine")).status, "success")
      const answers = await Promise.all([
        client.listTools(),
        client.listPrompts(),
        client.listResources(),
        client.listResourceTemplates()
      ])
      quiet(JSON.stringify(answers), "lists")
      quiet(JSON.stringify([client.getInstructions(), client.getServerVersion()]), "initialize")
      quiet(said(), "stderr")
      assertSilence()
    }, 120_000)
  }

  it("on the command line", async () => {
    const commands: ReadonlyArray<ReadonlyArray<string>> = [
      ["doctor"],
      ["search", "python"],
      ["search", "c"],
      ...items.map((id) => ["run", "tool", id]),
      ...items.map((id) => ["explain", id]),
      ["explain", "directive", "c_broken"],
      ...items.map((id) => ["chain", id]),
      ["lockfile", "verify", "--frozen"],
      ["env", "explain", "mine"],
      ["env", "explain", "c_needs"],
      ["lockfile", "list"],
      ["lockfile", "verify"],
      ["lockfile", "validate", "mine"],
      ["lockfile", "diff", "mine"],
      ["lockfile", "outdated"],
      ["lockfile", "freeze", "mine", "--dry-run"],
      ["lockfile", "prune", "--dry-run"],
      ["logs"],
      ["audit", "show"],
      ["audit", "verify"],
      ["audit", "anchor"],
      ["trust", "list"],
      ["identity"],
      ["sign", "tool", "c_type"],
      ["init", root]
    ]
    const { assertSilence, quiet } = listen()
    for (const args of commands) {
      const where = args[0] === "init" ? [] : ["--project", root]
      for (const more of [[], ["--json"]]) {
        const { stderr, stdout } = await world.run([...args, ...where, ...more])
        quiet(stdout + stderr, [...args, ...more].join(" "))
      }
    }
    assertSilence()
  }, 300_000)

  it("embedded", () => {
    const caller: Caller = { surface: "embed", client: "embedder", session: "s" }
    const kernel = Kernel.layer({ project: root, home: world.home, userSpace: join(world.root, "user") })
    const { assertSilence, quiet } = listen()
    const said = (exit: unknown) => quiet(own(exit), "embedded")
    return Effect.runPromise(
      Effect.gen(function*() {
        for (const id of items) {
          said(yield* Effect.exit(runTool(id)))
          said(yield* Effect.exit(explain({ id }, undefined, "call", caller)))
          said(yield* Effect.exit(load({ id }, caller)))
        }
        said(yield* Effect.exit(search({ query: "python", limit: 100 }, caller)))
        said(yield* Effect.exit(help("overview", caller)))
        assertSilence()
      }).pipe(Effect.provide(kernel)) as Effect.Effect<void>
    )
  }, 60_000)
})
