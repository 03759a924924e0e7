// Locks as an agent meets them over MCP, and a person on the command line, by the built program: with a tool that is
// edited and signed again in between, in a project that nobody trusts, and in a fresh clone.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { agrees, type Connection, makeWorld, type World } from "../support/builtKiwi.ts"

let world: World
let project: string
beforeEach(async () => {
  world = makeWorld()
  project = await world.init()
})
afterEach(() => world.close())

const toolFile = () => join(project, ".ai/tools/math/add.py")
const lock = () => join(project, ".ai/lockfiles/math/add@1.0.0.lock.json")

/** What the lock tools answer, as far as it is looked at. */
interface Report {
  readonly ok: boolean
  readonly tools: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly locks: ReadonlyArray<Readonly<Record<string, unknown>>>
  readonly invalid: ReadonlyArray<unknown>
  readonly removed: ReadonlyArray<unknown>
  readonly refused: ReadonlyArray<unknown>
  readonly links: ReadonlyArray<{ readonly diff?: string }>
}

/** Edits the tool and signs it, and leaves its lock as it was. */
const moveOn = async () => {
  fs.appendFileSync(toolFile(), "# moved on\n")
  const { code, stderr } = await world.run(["sign", "tool", "add", "--no-freeze", "--project", project])
  assert.strictEqual(code, 0, stderr)
}

const dataOf = async (connection: Connection, id: string, parameters = {}): Promise<Report> => {
  const answer = await connection.execute(id, parameters)
  assert.strictEqual(answer.status, "success", answer.text)
  return answer.data as Report
}

for (const transport of ["stdio", "http"] as const) {
  it(`an agent freezes, validates, lists, prunes, diffs and verifies over ${transport}`, async () => {
    const agent = await world.connect({ project, transport })
    const found = (await agent.call("search", { query: "lockfile", source: "system", limit: 20 })).data as {
      readonly results: ReadonlyArray<{ readonly id: string; readonly state: string }>
    }
    const ids = found.results.map((hit) => `${hit.id} ${hit.state}`)
    for (const what of ["freeze", "validate", "list", "prune", "diff", "verify"]) {
      assert.include(ids, `lockfile_${what} ok`)
    }
    fs.rmSync(lock())
    assert.strictEqual((await dataOf(agent, "lockfile_validate", { tool: "add" })).tools[0]?.["state"], "missing")
    assert.strictEqual(
      (await dataOf(agent, "lockfile_freeze", { tool: "add", dry_run: true })).locks[0]?.["change"],
      "new"
    )
    assert.isFalse(fs.existsSync(lock()), "a dry run writes nothing")
    assert.strictEqual((await dataOf(agent, "lockfile_freeze", { tool: "add" })).locks[0]?.["change"], "new")
    assert.isTrue(fs.existsSync(lock()))
    const [first] = (await dataOf(agent, "lockfile_validate", { tool: "add" })).tools
    assert.deepInclude(first, { state: "locked", lockfile: "project:lockfiles/math/add@1.0.0.lock.json" })
    const listed = await dataOf(agent, "lockfile_list", { tool: "add" })
    assert.deepInclude(listed.locks[0], { tool_id: "add", version: "1.0.0", category: "math", scope: "project" })
    assert.isTrue((await dataOf(agent, "lockfile_verify")).ok)

    await moveOn()
    assert.strictEqual((await dataOf(agent, "lockfile_validate", { tool: "add" })).tools[0]?.["state"], "changed")
    const verified = await dataOf(agent, "lockfile_verify", { category: "math" })
    assert.deepStrictEqual([verified.ok, verified.locks.map((row) => row["state"])], [false, [
      "changed"
    ]])
    const diff = await dataOf(agent, "lockfile_diff", { tool: "add" })
    assert.include(diff.links[0]?.diff, "+# moved on")
    const ran = await agent.execute("add", { a: 1, b: 2 })
    assert.include(ran.text, "LOCK_MISMATCH", "the call warns")
    assert.strictEqual((await agent.execute("add", { a: 1, b: 2 }, { lockfile_mode: "strict" })).code, "LOCK_MISMATCH")

    const before = fs.readFileSync(lock(), "utf8")
    for (const tool of ["add", "math/add", "*"]) {
      const refused = await agent.execute("lockfile_freeze", { tool })
      assert.strictEqual(refused.code, "HUMAN_REQUIRED", tool)
      assert.include(refused.error?.remediation, `kiwi lockfile freeze ${tool === "*" ? "'*'" : tool}`)
    }
    assert.strictEqual(fs.readFileSync(lock(), "utf8"), before)
    const sooner = await agent.execute("lockfile_prune", { older_than_days: 0 })
    assert.deepInclude(sooner, { code: "HUMAN_REQUIRED" })
    assert.include(sooner.error?.remediation, "kiwi lockfile prune --older-than 0")
    assert.deepStrictEqual((await dataOf(agent, "lockfile_prune")).removed, [])

    // The index would say so of a lock that held a moment ago.
    const old = JSON.parse(before)
    fs.writeFileSync(lock(), JSON.stringify({ ...old, generated_at: "2020-01-01T00:00:00.000Z" }))
    assert.lengthOf((await dataOf(agent, "lockfile_prune", { dry_run: true })).removed, 1)
    assert.lengthOf((await dataOf(agent, "lockfile_prune")).removed, 1)
    assert.isFalse(fs.existsSync(lock()))
    assert.strictEqual((await dataOf(agent, "lockfile_freeze", { tool: "add" })).locks[0]?.["change"], "new")
  })
}

it("even an agent whose client can ask replaces no lock: that is typed", async () => {
  const agent = await world.connect({ project, person: agrees })
  await moveOn()
  assert.strictEqual((await agent.execute("lockfile_freeze", { tool: "add" })).code, "HUMAN_REQUIRED")
  assert.deepStrictEqual(agent.asked, [])
})

it("wrong parameters, paths and names are refused as such", async () => {
  const agent = await world.connect({ project })
  const codes = async (id: string, parameters: Readonly<Record<string, unknown>>) =>
    (await agent.execute(id, parameters)).code
  assert.strictEqual(await codes("lockfile_validate", {}), "PARAMETERS_INVALID")
  assert.strictEqual(await codes("lockfile_freeze", { tool: "add", force: true }), "PARAMETERS_INVALID")
  assert.strictEqual(await codes("lockfile_prune", { older_than_days: -1 }), "PARAMETERS_INVALID")
  for (const tool of ["../../etc/passwd", "a/../b", "a\0b", "/etc/*", "..", "", "{a,b}", "A B"]) {
    for (const id of ["lockfile_freeze", "lockfile_validate", "lockfile_diff"]) {
      assert.include(
        ["ITEM_ID_INVALID", "ITEM_NOT_FOUND", "PARAMETERS_INVALID"],
        await codes(id, { tool }),
        `${id} ${tool}`
      )
    }
  }
  for (const category of ["..", "../..", "/etc", "a\0b"]) {
    for (const id of ["lockfile_freeze", "lockfile_validate"]) {
      assert.strictEqual(await codes(id, { tool: "add", category }), "ITEM_ID_INVALID", `${id} ${category}`)
    }
    assert.strictEqual(await codes("lockfile_prune", { category }), "ITEM_ID_INVALID")
    assert.deepStrictEqual((await dataOf(agent, "lockfile_list", { category })).locks, [])
  }
})

it("in a project that nobody trusts, locks can be looked at, and none is made", async () => {
  const cloned = join(world.root, "clone")
  fs.cpSync(project, cloned, { recursive: true })
  const agent = await world.connect({ project: cloned })
  const listed = await dataOf(agent, "lockfile_list")
  assert.deepStrictEqual([listed.locks.length, listed.invalid.length], [0, 3], "named, and not read")
  for (const id of ["lockfile_freeze", "lockfile_validate", "lockfile_diff"]) {
    const refused = await agent.execute(id, { tool: "add" })
    assert.strictEqual(refused.code, "PROJECT_RESTRICTED", id)
    assert.match(refused.error?.remediation ?? "", /^Tell the person to type.*: kiwi trust project$/)
  }
  const all = await dataOf(agent, "lockfile_freeze", { tool: "*" })
  assert.deepStrictEqual([all.locks, all.refused.length], [[], 3])
  assert.isFalse((await dataOf(agent, "lockfile_verify")).ok)
  assert.deepStrictEqual((await dataOf(agent, "lockfile_prune")).removed, [])
})

describe("on the command line", () => {
  const json = (...args: ReadonlyArray<string>) => world.json(["lockfile", ...args, "--project", project])

  it("the same operations, and those of a person", async () => {
    assert.deepStrictEqual((await json("validate", "*")).value.ok, true)
    await moveOn()
    const { code, value } = await json("validate", "add")
    assert.deepStrictEqual([code, value.tools[0]?.["state"]], [1, "changed"])
    assert.strictEqual((await json("verify")).code, 1)
    assert.lengthOf((await json("outdated")).value.outdated, 1)
    assert.strictEqual((await json("freeze", "add", "--dry-run")).value.locks[0]?.["change"], "changed")
    assert.strictEqual((await json("diff", "add")).value.same, false)
    const agent = await world.json(["lockfile", "freeze", "add", "--project", project], {
      CLAUDECODE: "1",
      KIWI_PASSPHRASE: ""
    })
    assert.deepStrictEqual([agent.code, agent.value.error.code], [1, "HUMAN_REQUIRED"], "an agent types it")
    assert.strictEqual((await json("update")).value.locks[0]?.["change"], "changed")
    assert.strictEqual((await json("verify")).code, 0)
    assert.deepStrictEqual((await json("update")).value.locks, [])
    assert.strictEqual((await json("freeze", "add")).value.locks[0]?.["change"], "same")
    const acts = await world.run(["logs", "--project", project])
    assert.include(acts.stdout, "Lock add 1.0.0 as it is now")
    assert.lengthOf((await json("prune", "--older-than", "0s")).value.removed, 3)
    assert.deepStrictEqual((await json("list")).value, { locks: [], invalid: [] })
  })

  it("a lock of every chain that a changed runtime is in is renewed in one act", async () => {
    const own = (name: string, text: string) => world.write(`project/.ai/tools/own/${name}.yaml`, text)
    const runtime = (version: string) =>
      `tool_id: own_runtime\nversion: "${version}"\ntool_type: runtime\nexecutor_id: subprocess\ndescription: Echoes\nconfig: {command: echo}\n`
    own("own_runtime", runtime("1.0.0"))
    for (const name of ["one", "two"]) {
      own(name, `tool_id: ${name}\nversion: "1.0.0"\ntool_type: bash\nexecutor_id: own_runtime\ndescription: Says it\n`)
    }
    await world.run(["sign", "tool", "own/*", "--project", project])
    own("own_runtime", runtime("1.1.0"))
    await world.run(["sign", "tool", "own_runtime", "--no-freeze", "--project", project])
    const outdated = (await json("outdated")).value.outdated
    assert.deepStrictEqual(outdated.map((one: { tool_id: string }) => one.tool_id), ["one", "two"])
    const done = (await json("freeze", "--dependents-of", "own_runtime")).value
    assert.deepStrictEqual(
      done.locks.map((one: { tool_id: string; change: string }) => `${one.tool_id} ${one.change}`),
      ["one changed", "two changed"]
    )
    const acts = (await world.json(["logs", "--project", project])).value.entries
      .filter((entry: { act?: string }) => entry.act === "loosen-lock")
    assert.deepStrictEqual(acts.map((entry: { outcome: string }) => entry.outcome), ["agreed", "done"])
    assert.deepStrictEqual((await json("outdated")).value.outdated, [])
    const variant = (await json("freeze", "one", "--variant")).value.locks[0]
    assert.match(variant.path, /^own\/one@1\.0\.0\.[0-9a-f]{12}\.lock\.json$/)
    assert.deepStrictEqual(
      (await json("diff", "one", "--against", join(project, ".ai/lockfiles", variant.path))).value.same,
      true
    )
    assert.strictEqual((await json("diff", "one", "--against", "9.9.9")).value.error.code, "LOCK_MISSING")
  })

  it("hostile lockfiles are named, and nothing waits or breaks", async () => {
    const at = (name: string) => join(project, ".ai/lockfiles/math", name)
    fs.mkdirSync(at("dir@1.0.0.lock.json"))
    fs.symlinkSync("/etc/passwd", at("link@1.0.0.lock.json"))
    fs.writeFileSync(at("text@1.0.0.lock.json"), Uint8Array.from([0xff, 0xfe]))
    fs.writeFileSync(at("huge@1.0.0.lock.json"), "{")
    fs.truncateSync(at("huge@1.0.0.lock.json"), 100 * 1024 * 1024)
    fs.writeFileSync(at("evil\u001b[2J@1.0.0.lock.json"), "{}")
    const { value } = await json("list")
    assert.lengthOf(value.locks, 3)
    assert.lengthOf(value.invalid, 5)
    const plain = await world.run(["lockfile", "list", "--project", project])
    assert.notInclude(plain.stdout + plain.stderr, "\u001b")
    assert.notInclude(plain.stdout + plain.stderr, "root:x:")
    assert.strictEqual((await json("verify")).code, 1)
    assert.strictEqual((await json("validate", "add")).code, 0)
    for (const file of ["dir", "link", "text", "huge"]) {
      const against = await json("diff", "add", "--against", at(`${file}@1.0.0.lock.json`))
      assert.deepStrictEqual([against.code, against.value.error.code], [1, "LOCK_INVALID"], file)
    }
    fs.rmSync(lock())
    fs.mkdirSync(lock())
    assert.strictEqual((await json("validate", "add")).value.tools[0]?.["state"], "invalid")
    const replaced = await json("freeze", "add")
    assert.deepInclude(replaced, { code: 1 }, "a folder is not replaced")
    assert.strictEqual(replaced.value.error.code, "WRITE_REFUSED")
  })

  it("wrong usage is told", async () => {
    for (
      const args of [["freeze"], ["verify", "--base", "main"], ["verify", "--frozen", "--category", "x"], [
        "prune",
        "--older-than",
        "soon"
      ]]
    ) {
      assert.strictEqual((await json(...args)).code, 2, args.join(" "))
    }
  })

  it("verify --frozen proves a fresh clone with nothing on the machine, by whom an outside file names", async () => {
    const cloned = join(world.root, "clone")
    fs.cpSync(project, cloned, { recursive: true })
    const { value: me } = await world.json(["identity", "--project", project])
    const trust = world.write("ci/trust.yaml", `signers:\n  - name: Mia\n    public_key: ${me.public_key}\n`)
    const bare = { KIWI_HOME: join(world.root, "empty"), USER_SPACE: join(world.root, "nobody") }
    const frozen = (more: ReadonlyArray<string>, env: Record<string, string> = {}) =>
      world.json(["lockfile", "verify", "--frozen", "--project", cloned, ...more], { ...bare, ...env })
    const good = await frozen(["--trust", trust])
    assert.deepStrictEqual([good.code, good.value.ok, good.value.trust.signers[0].name], [0, true, "Mia"])
    assert.isFalse(fs.existsSync(bare.KIWI_HOME), "and nothing is left there")
    assert.strictEqual((await frozen([], { KIWI_TRUST_ROOT: trust })).value.trust.from, "file")
    assert.strictEqual((await frozen([])).code, 1, "the clone names nobody itself")
    for (const unset of [await frozen([], { KIWI_TRUST_ROOT: "" }), await frozen(["--trust", ""])]) {
      assert.deepStrictEqual([unset.code, unset.value.error.code], [1, "TRUST_ROOT_REFUSED"])
    }
    fs.writeFileSync(join(cloned, "trust.yaml"), fs.readFileSync(trust))
    const inside = await frozen(["--trust", join(cloned, "trust.yaml")])
    assert.deepStrictEqual([inside.code, inside.value.error.code], [1, "TRUST_ROOT_REFUSED"])
    assert.strictEqual(
      (await frozen(["--trust", trust, "--base=--upload-pack=touch x"])).value.error.code,
      "GIT_REF_UNREADABLE"
    )
    fs.appendFileSync(join(cloned, ".ai/tools/math/add.py"), "#")
    const bad = await frozen(["--trust", trust])
    assert.deepStrictEqual(
      [bad.code, bad.value.problems.map((p: { code: string }) => p.code)],
      [1, ["TAMPERED", "LOCK_MISMATCH"]]
    )
    const shown = await world.run(["lockfile", "verify", "--frozen", "--project", cloned], bare)
    assert.include(shown.stdout, "Whoever")
    assert.notInclude(shown.stdout, "\u001b")
  })
})
