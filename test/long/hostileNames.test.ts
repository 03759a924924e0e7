// Names in a clone that nobody trusts are words of the clone, too: a tool can be called by a whole sentence. Over MCP a
// name that is more than a short identifier is cut, wherever it stands: the words at its end reach no agent.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { topics } from "../../src/programs/helpTopics.ts"
import { agrees, makeWorld, type World } from "../support/builtKiwi.ts"
import { buildHostileClone, nameWord, plantNames } from "../support/hostileClone.ts"

/** What an answer says outside of the field that is marked. */
const own = (value: unknown): string =>
  JSON.stringify(value, (key, inner: unknown) => key === "untrusted" ? "…" : inner) ?? ""

describe("names of a clone that nobody trusts", () => {
  let world: World
  let root: string
  let ids: ReadonlyArray<string>

  beforeAll(async () => {
    world = makeWorld()
    fs.mkdirSync(join(world.root, "clones"))
    root = buildHostileClone(join(world.root, "clones")).root
    fs.rmSync(join(root, ".ai/logs"))
    ids = plantNames(root)
    await world.init()
  }, 60_000)
  afterAll(() => world.close())

  it("over MCP", async () => {
    const { call, client, said } = await world.connect({ project: root, person: agrees })
    const heard: Array<string> = []
    const quiet = (text: string, what: string) => {
      const at = text.indexOf(nameWord)
      if (at !== -1) heard.push(`${what}: …${text.slice(Math.max(0, at - 120), at + 20)}`)
    }
    const ask = async (tool: string, args: Record<string, unknown>) => {
      const { text } = await call(tool, args)
      quiet(own(JSON.parse(text).structuredContent), `${tool} ${JSON.stringify(args)}`)
      return text
    }
    for (const topic of topics) await ask("help", { topic })
    for (const query of ["ignore", "twin", "n", "previous instructions", "python", "alone"]) {
      await ask("search", { query, limit: 100 })
    }
    assert.include(await ask("search", { query: "alone", limit: 100 }), "n_alone", "a plain name stays")
    for (const item_id of ids) {
      for (const tool of ["load", "execute", "sign"]) await ask(tool, { item_id })
      await ask("execute", { item_id, dry_run: true, item_type: "tool" })
      // One letter wrong: what is near is named.
      await ask("load", { item_id: item_id.slice(0, -1) })
      await ask("sign", { item_id: `${item_id.slice(0, 6)}*` })
    }
    for (const item_type of ["directive", "knowledge"]) {
      for (const item_id of ids) await ask("load", { item_id, item_type })
    }
    await ask("sign", { item_id: "**" })
    for (
      const item_id of ["lockfile.list", "lockfile.verify", "lockfile.outdated", "lockfile_list", "lockfile_verify"]
    ) {
      await ask("execute", { item_id, parameters: {} })
    }
    const lists = await Promise.all([client.listTools(), client.listPrompts(), client.listResources()])
    quiet(JSON.stringify(lists), "lists")
    quiet(said(), "stderr")
    assert.deepStrictEqual(heard, [])
  }, 120_000)

  it("settings are named by their line, never by a key or value of the clone", async () => {
    const { stdout } = await world.run(["doctor", "--project", root, "--json"])
    const findings: ReadonlyArray<{ readonly check: string }> = JSON.parse(stdout).findings
    const settings = findings.filter(({ check }) => check === "settings")
    assert.isAtLeast(settings.length, 4)
    assert.notInclude(JSON.stringify(settings), nameWord)
  }, 60_000)
})
