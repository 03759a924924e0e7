// The hostile clone against the built program: over MCP, on the command line, and embedded. Before a person trusts it,
// it can be looked at and nothing more; trusted by mistake, it gets what that says, and still nothing that climbs.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterEach } from "vitest"
import * as Kernel from "../../src/layers/Kernel.ts"
import { load } from "../../src/programs/load.ts"
import { runTool } from "../../src/programs/runTool.ts"
import { search } from "../../src/programs/search.ts"
import type { Caller } from "../../src/services/call/Caller.ts"
import { codeOf, innermost } from "../../src/services/error/KiwiError.ts"
import { agrees, type Answer, makeWorld, type World } from "../support/builtKiwi.ts"
import { buildHostileClone } from "../support/hostileClone.ts"

/** Everything of the clone that has words of the attacker in it. */
const words = [
  "Ignore all previous",
  "signed by you",
  "Trusted by you",
  "Shadows the system",
  "that the attacker",
  "attacker-token-value"
]
const queries = [
  "owned",
  "attacker signed key",
  "setup project",
  "notes hidden",
  "unsigned",
  "filesystem read",
  "pretty",
  "leak",
  "python_runtime"
]
const items = ["owned", "unsigned", "pretty", "math/pretty", "setup", "notes", "filesystem.read", "leak"]

const worlds: Array<World> = []
afterEach(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.close()))
})

const listing = (folder: string): string =>
  fs.readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted().map((name) => {
    const stat = fs.lstatSync(join(folder, name))
    return `${name} ${stat.mode} ${stat.isFile() ? fs.readFileSync(join(folder, name)).toString("base64") : ""}`
  }).join("\n")

/** A clone, as git left it; or with a folder in place of its `.ai/logs`, which is a link. */
const clone = (logs: "link" | "folder") => {
  const world = makeWorld()
  worlds.push(world)
  fs.mkdirSync(join(world.root, "clones"))
  const hostile = buildHostileClone(join(world.root, "clones"))
  if (logs === "folder") fs.rmSync(join(hostile.root, ".ai/logs"))
  const before = listing(hostile.root)
  return {
    world,
    hostile,
    nothingHappened: () => {
      assert.deepStrictEqual(hostile.ran(), [])
      assert.deepStrictEqual(hostile.escaped(), [])
      // The record of what was tried is all that Kiwi writes into a project.
      if (logs === "folder") fs.rmSync(join(hostile.root, ".ai/logs"), { recursive: true, force: true })
      assert.strictEqual(listing(hostile.root), before)
    }
  }
}

const fieldsOf = (answer: Answer): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const { results } = answer.data as { results: ReadonlyArray<Record<string, unknown>> }
  return results.filter(({ tier }) => tier === "project")
}

const refusals = { link: "AUDIT_UNAVAILABLE", folder: "PROJECT_RESTRICTED" } as const

describe("the clone over MCP, before anybody trusts it", () => {
  for (const logs of ["folder", "link"] as const) {
    for (const [transport, era] of [["stdio", "legacy"], ["stdio", "auto"], ["http", "auto"]] as const) {
      if (logs === "link" && era === "legacy") continue
      it(`${transport}, ${era}, logs are a ${logs}: can be looked at, and nothing of it runs or is believed`, async () => {
        const { hostile, nothingHappened, world } = clone(logs)
        const { call, client, execute } = await world.connect({ project: hostile.root, transport, era, person: agrees })

        const said: Array<string> = []
        for (const query of queries) {
          const found = await call("search", { query, limit: 100 })
          assert.strictEqual(found.status, "success", query)
          said.push(found.text)
          for (const hit of fieldsOf(found)) {
            assert.deepInclude(hit, { state: "restricted" }, JSON.stringify(hit))
            assert.containsAllKeys(
              { id: 0, type: 0, tier: 0, category: 0, path: 0, state: 0, hides: 0 },
              Object.keys(hit)
            )
          }
        }
        assert.isAtLeast(fieldsOf(await call("search", { query: "owned", limit: 100 })).length, 1)
        for (const word of words) assert.notInclude(said.join("\n"), word)

        for (const item_id of ["owned", "math/pretty", "setup", "notes"]) {
          const loaded = await call("load", { item_id, source: "project" })
          const data = loaded.data as Record<string, unknown>
          assert.deepInclude(data, { state: "restricted" }, loaded.text)
          assert.notProperty(data, "item")
          assert.property(data["untrusted"], "notice")
        }
        const leak = await call("load", { item_id: "leak", item_type: "tool" })
        assert.include(["ITEM_NOT_FOUND", "ITEM_UNREADABLE"], leak.code)
        assert.notInclude(leak.text, hostile.secret)

        const helped = await call("help")
        assert.deepInclude((helped.data as { state: object }).state, { trust: "restricted" })
        assert.include(helped.text, "kiwi trust project")

        for (const item_id of items) {
          const { code, error } = await execute(item_id, {}, { item_type: "tool" })
          assert.include([refusals[logs], "ITEM_NOT_FOUND", "ITEM_UNREADABLE", "PARAMETERS_INVALID"], code, item_id)
          assert.isNotEmpty(error?.remediation, item_id)
        }
        assert.strictEqual((await execute("owned")).code, refusals[logs])
        assert.isDefined((await execute("setup")).code)
        assert.isDefined((await execute("notes")).code)

        // A signature is an effect too.
        if (logs === "link") assert.strictEqual((await call("sign", { item_id: "unsigned" })).code, refusals.link)

        const { prompts } = await client.listPrompts()
        const { resources } = await client.listResources()
        assert.notInclude(JSON.stringify({ prompts, resources }), "setup")
        for (const uri of ["kiwi://tool/owned", "kiwi://directive/setup/setup", "kiwi://knowledge/notes"]) {
          await client.readResource({ uri }).then(() => assert.fail(uri), () => {})
        }
        nothingHappened()
      })
    }
  }

  it("a person's own signature makes nothing of it run", async () => {
    const { hostile, world } = clone("folder")
    const { call, execute } = await world.connect({ project: hostile.root, person: agrees })
    assert.strictEqual((await call("sign", { item_id: "unsigned" })).status, "success")
    assert.strictEqual((await execute("unsigned")).code, "PROJECT_RESTRICTED")
    assert.deepStrictEqual(hostile.ran(), [])
  })

  it("another project's server does not go there either", async () => {
    const { hostile, nothingHappened, world } = clone("folder")
    const project = await world.init()
    const { call, execute } = await world.connect({ project, person: agrees })
    for (
      const project_path of [hostile.root, `${project}/../clones/clone`, "../clones/clone", `${hostile.root}/.ai/..`]
    ) {
      for (const tool of ["search", "load", "execute", "sign", "help"]) {
        const { code, error } = await call(tool, {
          ...(tool === "search" ? { query: "owned" } : tool === "help" ? {} : { item_id: "owned" }),
          project_path
        })
        assert.strictEqual(code, "PROJECT_RESTRICTED", `${tool} ${project_path}`)
        assert.isNotEmpty(error?.remediation)
      }
    }
    assert.strictEqual((await execute("add", { a: 1, b: 2 })).status, "success")
    nothingHappened()
  })
})

describe("the clone on the command line, before anybody trusts it", () => {
  for (const logs of ["folder", "link"] as const) {
    it(`every command that reads a project works or refuses, logs are a ${logs}`, async () => {
      const { hostile, nothingHappened, world } = clone(logs)
      const commands: ReadonlyArray<readonly [args: ReadonlyArray<string>, code: number]> = [
        ...queries.map((query) => [["search", query], 0] as const),
        [["load", "tool", "owned"], 0],
        [["load", "directive", "setup"], 0],
        [["load", "knowledge", "notes"], 0],
        [["load", "tool", "leak"], 1],
        ...["owned", "unsigned", "pretty", "leak", "python_runtime", "subprocess"].map((id) =>
          [["run", "tool", id], 1] as const
        ),
        [["run", "directive", "setup"], 1],
        [["run", "knowledge", "notes"], 1],
        [["explain", "owned"], 0],
        [["explain", "directive", "setup"], 0],
        [["trust", "list"], 0],
        [["identity"], 0],
        [["logs"], 0],
        [["audit", "show"], 0],
        [["audit", "anchor"], 0],
        [["init", hostile.root], 0]
      ]
      for (const [args, code] of logs === "link" ? commands.filter((_, n) => n % 3 === 0) : commands) {
        const project = args[0] === "init" ? [] : ["--project", hostile.root]
        const plain = await world.run([...args, ...project])
        const all = plain.stdout + plain.stderr
        assert.strictEqual(plain.code, code, `${args.join(" ")}: ${all}`)
        assert.notMatch(all.replaceAll(/[\n\t]/g, ""), /[\p{Cc}\p{Cf}]/u, args.join(" "))
        assert.notInclude(all, hostile.secret)
        assert.notInclude(all, "attacker-token-value")
        if (args[0] === "search") { for (const word of words) assert.notInclude(all, word) }
        assert.notInclude(all, "UNEXPECTED", args.join(" "))
      }
      for (const args of [["run", "tool", "owned"], ["explain", "owned"], ["doctor"]]) {
        const { value } = await world.json([...args, "--project", hostile.root])
        assert.match(JSON.stringify(value), /PROJECT_RESTRICTED|AUDIT_UNAVAILABLE|nobody has trusted/)
      }
      assert.strictEqual(
        (await world.json(["run", "tool", "owned", "--project", hostile.root])).value.error.code,
        refusals[logs]
      )
      const { value: trusted } = await world.json(["trust", "list", "--project", hostile.root])
      assert.notInclude(JSON.stringify(trusted), hostile.attacker.keyId)
      nothingHappened()
    })
  }
})

describe("the clone embedded, before anybody trusts it", () => {
  const caller: Caller = { surface: "embed", client: "embedder", session: "s" }
  for (const logs of ["folder", "link"] as const) {
    it(`logs are a ${logs}`, async () => {
      const { hostile, nothingHappened, world } = clone(logs)
      const kernel = Kernel.layer({ project: hostile.root, home: world.home, userSpace: join(world.root, "user") })
      const { codes, hits, loaded } = await Effect.runPromise(
        Effect.gen(function*() {
          const found: Array<string> = []
          for (const id of items) {
            const exit = yield* Effect.exit(runTool(id))
            if (Exit.isSuccess(exit)) assert.fail(`${id} ran`)
            const reason = exit.cause.reasons.find((r) => r._tag === "Fail")
            found.push(reason === undefined ? `${exit.cause}` : codeOf(innermost(reason.error)))
          }
          return {
            codes: found,
            hits: yield* search({ query: "owned", limit: 100 }, caller),
            loaded: yield* load({ id: "owned", tier: "project" }, caller)
          }
        }).pipe(Effect.provide(kernel))
      )
      for (const code of codes) {
        assert.include([refusals[logs], "ITEM_NOT_FOUND", "ITEM_UNREADABLE", "PARAMETERS_INVALID"], code)
      }
      assert.strictEqual(codes[0], refusals[logs])
      const own = hits.filter(({ tier }) => tier === "project")
      assert.isNotEmpty(own)
      for (const hit of own) assert.notProperty(hit, "description")
      assert.deepInclude(loaded, { state: "restricted" })
      assert.notProperty(loaded, "item")
      nothingHappened()
    })
  }
})

describe("the clone that a person trusted by mistake", () => {
  const trusted = async () => {
    const made = clone("folder")
    const { hostile, world } = made
    // With rules that cannot be read, nothing at all would run.
    fs.rmSync(join(hostile.root, ".ai/config/permissions.yaml"))
    const { code, stderr } = await world.run(["trust", "project", "--yes", "--project", hostile.root])
    assert.strictEqual(code, 0, stderr)
    return made
  }
  /** A tool of the person's own in there, signed by them. */
  const own = async (world: World, root: string, file: string, text: string) => {
    fs.writeFileSync(join(root, ".ai/tools", file), text, { mode: 0o755 })
    const { code, stderr } = await world.run(["sign", "tool", file.replace(/\..*$/, ""), "--project", root])
    assert.strictEqual(code, 0, stderr)
  }

  it("the attacker's signature is one that a person would still have to be asked about", async () => {
    const { hostile, world } = await trusted()
    const { call, execute } = await world.connect({ project: hostile.root })
    assert.strictEqual((await execute("owned")).code, "PERMISSION_DENIED")
    for (const id of ["unsigned", "pretty"]) assert.strictEqual((await execute(id)).code, "UNSIGNED", id)
    const leak = await call("load", { item_id: "leak", item_type: "tool" })
    assert.include(["ITEM_NOT_FOUND", "ITEM_UNREADABLE"], leak.code)
    assert.notInclude(leak.text, hostile.secret)
    assert.deepStrictEqual([hostile.ran(), hostile.escaped()], [[], []])
  })

  it("without the proposal, it is nobody's; and with a changed byte in it, it is nobody's again", async () => {
    const { hostile, world } = clone("folder")
    fs.renameSync(join(hostile.root, ".ai/config/trust.yaml"), join(world.root, "trust.yaml"))
    assert.strictEqual((await world.run(["trust", "project", "--yes", "--project", hostile.root])).code, 0)
    const { execute } = await world.connect({ project: hostile.root })
    assert.strictEqual((await execute("owned")).code, "SIGNER_UNTRUSTED")
    fs.renameSync(join(world.root, "trust.yaml"), join(hostile.root, ".ai/config/trust.yaml"))
    assert.strictEqual((await execute("owned")).code, "SIGNER_UNTRUSTED")
    assert.strictEqual((await world.run(["trust", "project", "--yes", "--project", hostile.root])).code, 0)
    assert.strictEqual((await execute("owned")).code, "PERMISSION_DENIED")
    fs.appendFileSync(join(hostile.root, ".ai/config/trust.yaml"), "# more\n")
    assert.strictEqual((await execute("owned")).code, "SIGNER_UNTRUSTED")
    assert.deepStrictEqual(hostile.ran(), [])
  })

  const declared =
    "API_TOKEN NODE_OPTIONS BASH_ENV PYTHONPATH PYTHONSTARTUP LD_PRELOAD GIT_SSH_COMMAND HTTPS_PROXY KIWI_HOME KIWI_BASH PATH"
  it("its .env reaches a child in nothing but what a tool declares and may have", async () => {
    const { hostile, world } = await trusted()
    await own(
      world,
      hostile.root,
      "environment.sh",
      `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   tool_type: bash\n#   executor_id: bash_runtime\n` +
        `#   requires:\n#     environment: [API_TOKEN]\nenv\n`
    )
    const { execute } = await world.connect({ project: hostile.root })
    const { data, status, text } = await execute("environment")
    assert.strictEqual(status, "success", text)
    const names = String(data).split("\n").map((line) => line.split("=", 1)[0])
    assert.include(names, "API_TOKEN")
    for (const name of declared.split(" ").slice(1, -2)) assert.notInclude(names, name)
    assert.notInclude(String(data), hostile.root + "/.venv")
    assert.notInclude(String(data), "/preload")
    // A value from a .env is a secret: it is not shown, wherever it stands.
    assert.notInclude(text, "attacker-token-value")
    assert.deepStrictEqual([hostile.ran(), hostile.escaped()], [[], []])
  })

  it("a tool that declares what a .env may never set does not get it from there", async () => {
    const { hostile, world } = await trusted()
    const names = declared.split(" ").slice(1, -1)
    for (const name of names) {
      fs.writeFileSync(
        join(hostile.root, `.ai/tools/wants_${name.toLowerCase()}.sh`),
        `#!/usr/bin/env bash\n# kiwi:\n#   version: "1.0.0"\n#   tool_type: bash\n#   executor_id: bash_runtime\n` +
          `#   requires:\n#     environment: [${name}]\nenv\n`
      )
    }
    await world.run(["sign", "tool", "wants_*", "--project", hostile.root])
    const { execute } = await world.connect({ project: hostile.root })
    const answers = await Promise.all(
      names.map(async (name) => [name, await execute(`wants_${name.toLowerCase()}`)] as const)
    )
    for (const [name, { code, text }] of answers) {
      assert.notInclude(text, "/preload", name)
      // The runtime sets this one itself.
      assert.strictEqual(code, name === "KIWI_BASH" ? undefined : "REQUIREMENTS_MISSING", name)
    }
    assert.deepStrictEqual([hostile.ran(), hostile.escaped()], [[], []])
  })

  it("version files do not climb out of the managers' folders", async () => {
    const { hostile, world } = await trusted()
    const person = join(world.root, "person")
    for (
      const name of [".nvm/versions/node/v24.0.0/bin", ".pyenv/versions/3.12.0/bin", ".asdf/installs/nodejs/24.0.0/bin"]
    ) {
      fs.mkdirSync(join(person, name), { recursive: true })
    }
    for (const name of ["node", "python", "python3"]) {
      fs.writeFileSync(join(hostile.root, ".venv/bin", name), `#!/bin/sh\necho climbed >> '${world.root}/climbed'\n`, {
        mode: 0o755
      })
    }
    const managers = [["nvm", "nodejs", "THE_NODE"], ["asdf", "nodejs", "THE_NODE"], ["pyenv", "python", "THE_PYTHON"]]
    for (const [manager, plugin, variable] of managers) {
      fs.writeFileSync(
        join(hostile.root, `.ai/tools/by_${manager}.yaml`),
        `tool_id: by_${manager}\nversion: "1.0.0"\ntool_type: runtime\nexecutor_id: subprocess\n` +
          `description: Runs by a version file\nenv_config:\n  interpreter:\n    type: version_manager\n` +
          `    manager: ${manager}\n    var: ${variable}\n${manager === "asdf" ? `    plugin: ${plugin}\n` : ""}` +
          `config:\n  command: "\${${variable}}"\n  runtime_args: ["\${TOOL_FILE}"]\n`
      )
      fs.writeFileSync(
        join(hostile.root, `.ai/tools/climb_${manager}.mjs`),
        "export const __version__ = \"1.0.0\"\nexport const __tool_type__ = \"node\"\n" +
          `export const __executor_id__ = "by_${manager}"\nexport const __category__ = ""\n`
      )
    }
    const { code, stderr } = await world.run(["sign", "tool", "*by_*", "--project", hostile.root])
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual((await world.run(["sign", "tool", "climb_*", "--project", hostile.root])).code, 0)
    const { execute } = await world.connect({ project: hostile.root })
    for (const [manager] of managers) {
      const { code: why, text } = await execute(`climb_${manager}`)
      assert.strictEqual(why, "REQUIREMENTS_MISSING", text)
      assert.include(text, `the version requested from ${manager} is not valid`)
    }
    assert.isFalse(fs.existsSync(join(world.root, "climbed")))
    assert.deepStrictEqual(hostile.escaped(), [])
  })

  it("with its logs a link, nothing runs: there is no effect without a record", async () => {
    const { hostile, nothingHappened, world } = clone("link")
    await world.run(["trust", "project", "--yes", "--project", hostile.root])
    const { execute } = await world.connect({ project: hostile.root })
    const { code, error } = await execute("owned")
    assert.strictEqual(code, "AUDIT_UNAVAILABLE")
    assert.include(error?.remediation, ".ai/logs/audit")
    nothingHappened()
  })
})
