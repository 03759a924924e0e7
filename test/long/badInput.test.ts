// Broken and oversized items, broken machines and clients that go away, against the built program: each gets an error
// that says what helps, or is shown escaped; nothing crashes, and the server goes on.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll } from "vitest"
import { agrees, type Connection, kiwi, makeWorld, type World } from "../support/builtKiwi.ts"
import { initialize, openStdio } from "../support/mcp/start.ts"
import { describeWith } from "../support/realParts.ts"
import { addSignedTools } from "../support/signedTools.ts"

const ping = async (client: Connection) => assert.strictEqual((await client.execute("ping")).status, "success")
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"))
  } catch {
    return false
  }
}

/** Ends a process that may be ending by itself. */
const endNow = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It was faster.
  }
}

/** Waits until it holds, for ten seconds at most. */
const until = async (holds: () => boolean) => {
  for (let n = 0; n < 200 && !holds(); n++) await wait(50)
  return holds()
}

const python = (text: string, category = "bad") =>
  `${text}\n__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n__category__ = "${category}"\n`
const directive = (inner: string, before = "") =>
  `# D\n\n\`\`\`xml\n${before}<directive name="bad" version="1.0.0">\n<metadata><description>d</description><category>bad</category></metadata>\n` +
  `${inner}\n</directive>\n\`\`\`\n`
const subprocessTool = (rest: string) =>
  `tool_id: bad\nversion: "1.0.0"\ntool_type: subprocess\nexecutor_id: subprocess\ncategory: bad\ndescription: x\n${rest}`
const bomb = [
  "a: &a [x, x]",
  ...Array.from(
    { length: 20 },
    (_, n) =>
      `${"abcdefghijklmnopqrstuvw"[n + 1]}: &${"abcdefghijklmnopqrstuvw"[n + 1]} [*${"abcdefghijklmnopqrstuvw"[n]}, *${
        "abcdefghijklmnopqrstuvw"[n]
      }]`
  )
].join("\n")
const entities = `<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa">${
  Array.from({ length: 12 }, (_, n) => `<!ENTITY a${n + 1} "${`&a${n === 0 ? "" : n};`.repeat(10)}">`).join("")
}]>\n`

describe("items that are none", () => {
  const world = makeWorld()
  let project = ""
  let client: Connection
  beforeAll(async () => {
    project = await world.init()
    client = await world.connect({ project, person: agrees })
  }, 60_000)
  afterAll(() => world.close())

  const broken: ReadonlyArray<readonly [what: string, path: string, bytes: string | Uint8Array]> = [
    ["ten megabytes", "tools/bad/bad.py", python(`"""${"x".repeat(10 * 1024 * 1024)}"""`)],
    ["binary", "tools/bad/bad.py", Uint8Array.from({ length: 4096 }, (_, n) => (n * 7919) % 256)],
    [
      "invalid UTF-8",
      "tools/bad/bad.py",
      Buffer.concat([Buffer.from(python("\"\"\"x\"\"\"")), Buffer.of(0x22, 0xff, 0xfe, 0x0a)])
    ],
    ["a NUL", "tools/bad/bad.py", python("\"\"\"x\u0000y\"\"\"")],
    ["a lone CR", "tools/bad/bad.py", python("\"\"\"x\"\"\"\r# kiwi-mcp:signed:2:x")],
    ["U+2028 beside a signature", "tools/bad/bad.py", python("# kiwi-mcp:signed:2:\u2028x\n\"\"\"x\"\"\"")],
    ["deep Python", "tools/bad/bad.py", python(`CONFIG = ${"[".repeat(50_000)}`)],
    [
      "deep JavaScript",
      "tools/bad/bad.mjs",
      `export const __version__ = "1.0.0"\nexport const CONFIG = ${"[".repeat(50_000)}`
    ],
    ["deep YAML", "tools/bad/bad.yaml", subprocessTool(`config: ${"[".repeat(10_000)}`)],
    ["deep XML", "directives/bad/bad.md", directive("<a>".repeat(50_000))],
    [
      "an entity bomb",
      "directives/bad/bad.md",
      directive("<process><step name=\"a\"><action>&a12;</action></step></process>", entities)
    ],
    [
      "an external entity",
      "directives/bad/bad.md",
      directive("<process/>", "<!DOCTYPE d [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>\n")
    ],
    ["an alias bomb", "tools/bad/bad.yaml", subprocessTool(bomb)],
    ["a YAML tag", "tools/bad/bad.yaml", subprocessTool("config: !!js/function 'x'")],
    ["two documents", "tools/bad/bad.yaml", `${subprocessTool("")}---\n${subprocessTool("")}`],
    ["a merge key", "tools/bad/bad.yaml", subprocessTool("defaults: &d {command: sh}\nconfig:\n  <<: *d")],
    ["an empty file", "tools/bad/bad.py", ""],
    ["an empty directive", "directives/bad/bad.md", ""],
    ["front matter that never ends", "knowledge/bad/bad.md", `---\n${"a: b\n".repeat(10_000)}`],
    [
      "a wrong category",
      "directives/elsewhere/bad.md",
      directive("<process><step name=\"a\"><action>x</action></step></process>")
    ]
  ]
  for (const [what, path, bytes] of broken) {
    it(what, async () => {
      for (const type of ["tools", "directives", "knowledge"]) {
        for (const category of ["bad", "elsewhere"]) {
          fs.rmSync(join(project, ".ai", type, category), { recursive: true, force: true })
        }
      }
      world.write(join("project/.ai", path), bytes)
      const began = Date.now()
      const ran = await client.execute("bad")
      assert.include(
        ["ITEM_INVALID", "ITEM_UNREADABLE", "ITEM_NOT_FOUND", "UNSIGNED"],
        ran.code,
        ran.text.slice(0, 1000)
      )
      assert.isNotEmpty(ran.error?.remediation)
      assert.isBelow(ran.text.length, 8000)
      const signed = await client.call("sign", { item_id: "bad" })
      assert.isDefined(signed.code, signed.text.slice(0, 1000))
      assert.isNotEmpty(signed.error?.remediation)
      const loaded = await client.call("load", { item_id: "bad" })
      assert.isTrue(loaded.code !== undefined || !loaded.text.includes("\"state\":\"ok\""), loaded.text.slice(0, 1000))
      assert.strictEqual((await client.call("search", { query: "bad" })).status, "success")
      assert.strictEqual((await client.call("help")).status, "success")
      await ping(client)
      assert.isBelow(Date.now() - began, 20_000)
      const cli = await world.run([
        "run",
        path.startsWith("tools") ? "tool" : path.startsWith("dir") ? "directive" : "knowledge",
        "bad",
        "--project",
        project
      ])
      assert.strictEqual(cli.code, 1, cli.stderr)
      assert.match(cli.stderr, /error\[[A-Z_]+\]: [\s\S]+\n\nhint: \S/)
      assert.notInclude(cli.stderr, "UNEXPECTED")
    })
  }

  it("two items of one id are named, and neither runs", async () => {
    for (const category of ["one", "two"]) {
      world.write(`project/.ai/tools/${category}/twin.py`, python("\"\"\"x\"\"\"", category))
    }
    const { code, error } = await client.execute("twin")
    assert.strictEqual(code, "ITEM_AMBIGUOUS")
    assert.include(error?.message, "tools/one/twin.py")
    assert.include(error?.remediation, "category")
    world.write("project/.ai/tools/one/twin.yaml", subprocessTool("").replace("bad", "twin").replace("bad", "one"))
    assert.isDefined((await client.execute("one/twin")).code)
    await ping(client)
  })

  it("chains that go round, go too deep, or end nowhere", async () => {
    const link = (id: string, executor: string) =>
      world.write(
        `project/.ai/tools/chains/${id}.yaml`,
        `tool_id: ${id}\nversion: "1.0.0"\ntool_type: runtime\nexecutor_id: ${executor}\ncategory: chains\ndescription: x\n`
      )
    link("self", "self")
    link("round1", "round2")
    link("round2", "round1")
    for (let n = 0; n < 15; n++) link(`deep${n}`, `deep${n + 1}`)
    link("nowhere", "missing_runtime")
    const codes: ReadonlyArray<readonly [string, string]> = [
      ["self", "CHAIN_CYCLE"],
      ["round1", "CHAIN_CYCLE"],
      ["deep0", "CHAIN_TOO_DEEP"],
      ["nowhere", "CHAIN_LINK_MISSING"]
    ]
    for (const [id, code] of codes) {
      const answer = await client.execute(id)
      assert.strictEqual(answer.code, code, answer.text)
      assert.isNotEmpty(answer.error?.remediation)
    }
    await ping(client)
  })

  it("links out of the tree, pipes and folders in the place of files", async () => {
    const secret = world.write("secret.py", python("\"\"\"outside-secret\"\"\"", ""))
    const tools = join(project, ".ai/tools")
    fs.symlinkSync(secret, join(tools, "linked.py"))
    fs.symlinkSync("/etc", join(tools, "folder"))
    fs.symlinkSync(join(tools, "loop"), join(tools, "loop"))
    fs.mkdirSync(join(tools, "directory.py"))
    assert.strictEqual(spawnSync("mkfifo", [join(tools, "pipe.py")]).status, 0)
    for (const id of ["linked", "folder/passwd", "loop", "directory", "pipe"]) {
      const ran = await client.execute(id)
      assert.include(["ITEM_NOT_FOUND", "ITEM_UNREADABLE", "ITEM_ID_INVALID", "ITEM_INVALID"], ran.code, ran.text)
      const loaded = await client.call("load", { item_id: id })
      assert.isDefined(loaded.code)
      assert.notInclude(loaded.text + ran.text, "outside-secret")
    }
    assert.notInclude((await client.call("search", { query: "outside secret linked" })).text, "outside-secret")
    await ping(client)
  })

  it("a thousand broken files do not keep it from what is whole", async () => {
    for (let n = 0; n < 1000; n++) world.write(`project/.ai/tools/heap/b${n}.py`, "\u0000")
    const found = await client.call("search", { query: "add two numbers" })
    assert.include(found.text, "add(a: number, b: number)")
    assert.isBelow((await client.call("help")).text.length, 20_000)
    fs.rmSync(join(project, ".ai/tools/heap"), { recursive: true })
    await ping(client)
  })
})

describe("terminal escapes in every field that is printed", () => {
  const world = makeWorld()
  afterAll(() => world.close())
  const evil = "\u001b[2J\u001b]0;x\u0007\u202egnp\u2066\u200b\u{e0041}\u009b1A\u007f"

  it("are shown escaped, on every command", async () => {
    const project = await world.init()
    const quoted = JSON.stringify(evil)
    const yaml =
      `tool_id: evil\nversion: ${
        JSON.stringify(`1.0.0${evil}`)
      }\ntool_type: subprocess\nexecutor_id: subprocess\ncategory: ""\n` +
      `description: ${quoted}\ntags: [${quoted}]\nrequires: {commands: [${quoted}], environment: []}\n` +
      `input_schema: {type: object, properties: {${quoted}: {type: string, description: ${quoted}}}}\nconfig: {command: printf, args: [${quoted}]}\n`
    world.write("project/.ai/tools/evil.yaml", yaml)
    world.write(
      "project/.ai/tools/plain.yaml",
      yaml.replace("evil", "plain").replace(/version: .*/, "version: \"1.0.0\"").replace(/requires: .*\n/, "").replace(
        /input_schema: .*\n/,
        ""
      )
    )
    world.write(
      "project/.ai/tools/says.sh",
      `#!/usr/bin/env bash\n# ${evil}\n# kiwi:\n#   version: "1.0.0"\n#   tool_type: bash\n#   executor_id: bash_runtime\nprintf '${evil}'; printf '${evil}' >&2; exit 3\n`
    )
    world.write(`project/.ai/tools/${evil.replaceAll("/", "")}.py`, python("\"\"\"x\"\"\"", ""))
    world.write(
      "project/.ai/knowledge/evil.md",
      `---\nid: evil\ntitle: ${quoted}\nversion: "1.0.0"\nentry_type: reference\ncategory: ""\ntags: [${quoted}]\n---\n${evil}\n`
    )
    world.write("project/.ai/config/trust.yaml", `signers:\n  - name: ${quoted}\n    public_key: ${"A".repeat(43)}\n`)
    world.write("project/.env", `${evil}=x\nGOOD=${evil}\n`)
    const commands: ReadonlyArray<ReadonlyArray<string>> = [
      ["search", evil],
      ["search", "evil"],
      ["load", "tool", "evil"],
      ["load", "tool", evil],
      ["load", "knowledge", "evil"],
      ["run", "tool", "evil"],
      ["run", "tool", evil],
      ["run", "tool", "add", "--params", JSON.stringify({ [evil]: evil })],
      ["run", "tool", "add", "--params", evil],
      ["explain", "evil"],
      ["explain", evil],
      ["sign", "tool", "evil"],
      ["sign", "tool", "plain"],
      ["sign", "tool", "says"],
      ["run", "tool", "says"],
      ["run", "tool", "plain", "--json"],
      ["load", "tool", "plain"],
      ["search", "plain"],
      ["explain", "plain"],
      ["trust", "project", "--yes"],
      ["trust", "add", evil, "--name", evil],
      ["trust", "remove", evil],
      ["trust", "list"],
      ["doctor"],
      ["logs"],
      ["audit", "show"],
      [evil]
    ]
    let escaped = 0
    for (const args of commands) {
      const { stderr, stdout } = await world.run(args[0] === evil ? args : [...args, "--project", project])
      const all = `${stdout}${stderr}`.replaceAll(/[\n\t]/g, "")
      assert.notMatch(all, /[\p{Cc}\p{Cf}]/u, `${args.map((a) => JSON.stringify(a)).join(" ")}: ${JSON.stringify(all)}`)
      assert.notInclude(all, "UNEXPECTED", args.join(" "))
      if (/\\u(?:001b|\{1b\})/i.test(all)) escaped++
    }
    assert.isAtLeast(escaped, 12)
  }, 120_000)
})

describe("clients that go away", () => {
  const worlds: Array<World> = []
  afterEach(async () => {
    await Promise.all(worlds.splice(0).map((world) => world.close()))
  })
  const lingering = async () => {
    const world = makeWorld()
    worlds.push(world)
    const project = await world.init()
    await addSignedTools(world, project)
    const pids = () => {
      const file = join(project, "pids")
      return fs.existsSync(file) ? fs.readFileSync(file, "utf8").trim().split("\n").map(Number) : []
    }
    const server = openStdio([kiwi, "serve", "--project", project], world.env)
    server.send(initialize())
    await server.until(({ id }) => id === "init")
    server.send({ jsonrpc: "2.0", method: "notifications/initialized" })
    server.send({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "execute", arguments: { item_id: "linger" } }
    })
    assert.isTrue(await until(() => pids().length === 3), server.said())
    assert.isTrue(pids().every(isAlive))
    const audit = async () => {
      const { value } = await world.json(["audit", "show", "--limit", "100", "--project", project])
      return value.entries.filter((entry: { kind: string; subject?: { item: string } }) =>
        entry.kind === "result" && entry.subject?.item === "linger"
      )
        .map(({ outcome }: { outcome: string }) => outcome)
    }
    return { world, project, pids, server, audit }
  }

  it("by closing stdin: the tool and all it started end, and the audit says so", async () => {
    const { audit, pids, project, server, world } = await lingering()
    server.child.stdin.end()
    assert.deepStrictEqual(await server.over, { code: 0, signal: null })
    assert.isTrue(await until(() => !pids().some(isAlive)))
    assert.deepStrictEqual(await audit(), ["interrupted"])
    assert.strictEqual((await world.json(["audit", "verify", "--project", project])).value.intact, true)
  })

  it("by cancelling: the tool and all it started end, and the server goes on", async () => {
    const { audit, pids, server } = await lingering()
    server.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })
    assert.isTrue(await until(() => !pids().some(isAlive)))
    server.send({
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "execute", arguments: { item_id: "ping" } }
    })
    assert.include(JSON.stringify(await server.until(({ id }) => id === 2)), "success")
    assert.deepStrictEqual(await audit(), ["interrupted"])
    server.child.stdin.end()
    await server.over
  })

  it("the server is killed: the next one finds the record whole, and says what was open", async () => {
    const { pids, project, server, world } = await lingering()
    server.child.kill("SIGKILL")
    await server.over
    pids().filter(isAlive).forEach(endNow)
    const client = await world.connect({ project })
    await ping(client)
    const { code, value } = await world.json(["audit", "verify", "--project", project])
    assert.deepStrictEqual([code, value.intact], [0, true], JSON.stringify(value))
  })

  it("a tool that ends by a signal is a failure, and no more", async () => {
    const world = makeWorld()
    worlds.push(world)
    const project = await world.init()
    await addSignedTools(world, project)
    const client = await world.connect({ project })
    const { code, error } = await client.execute("die")
    assert.strictEqual(code, "TOOL_FAILED")
    assert.include(error?.message, "SIGKILL")
    await ping(client)
  })

  it("two servers on one project share what they know, and harm nothing", async () => {
    const world = makeWorld()
    worlds.push(world)
    const project = await world.init()
    const [one, two] = await Promise.all([
      world.connect({ project, person: agrees }),
      world.connect({ project, transport: "http", person: agrees })
    ])
    const file = world.write(
      "project/.ai/tools/fresh.py",
      `${python("\"\"\"Fresh words.\"\"\"", "")}\nif __name__ == "__main__":\n    print("fresh")\n`
    )
    assert.strictEqual((await two.execute("fresh")).code, "UNSIGNED")
    assert.strictEqual((await one.call("sign", { item_id: "fresh" })).status, "success")
    assert.strictEqual((await two.execute("fresh")).data, "fresh\n")
    assert.include((await two.call("search", { query: "fresh words" })).text, "\"state\":\"ok\"")
    const both = await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? one : two).execute("add", { a: n, b: 1 }))
    )
    assert.deepStrictEqual(both.map(({ data }) => data), Array.from({ length: 20 }, (_, n) => ({ sum: n + 1 })))
    fs.appendFileSync(file, "# changed\n")
    for (const client of [one, two]) assert.strictEqual((await client.execute("fresh")).code, "TAMPERED")
    await Promise.all([one, two].map(({ client }) => client.close()))
    const { value } = await world.json(["audit", "verify", "--project", project])
    assert.strictEqual(value.intact, true, JSON.stringify(value))
    const { value: shown } = await world.json([
      "audit",
      "show",
      "--limit",
      "1000",
      "--item",
      "add",
      "--project",
      project
    ])
    const results = shown.entries.filter(({ kind }: { kind: string }) => kind === "result")
    assert.strictEqual(results.length, 20)
  })
})

describe("machines that are broken", () => {
  const worlds: Array<World> = []
  afterEach(async () => {
    await Promise.all(worlds.splice(0).map((world) => world.close()))
  })

  describeWith(["tinyDisk"], "full or read-only", () => {
    const mounted: Array<string> = []
    afterEach(() => {
      for (const folder of mounted.splice(0)) spawnSync("umount", ["-l", folder])
    })
    const mount = (folder: string, options: string) => {
      fs.mkdirSync(folder, { recursive: true })
      const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], {
        encoding: "utf8"
      })
      assert.strictEqual(status, 0, stderr)
      mounted.push(folder)
    }
    const fill = (folder: string) => {
      const file = fs.openSync(join(folder, "filling"), "w")
      try {
        for (const size of [4096, 64, 1]) for (let n = 0; n < 100_000; n++) fs.writeSync(file, "x".repeat(size))
      } catch {
        // It is full.
      } finally {
        fs.closeSync(file)
      }
    }

    it("a full project: nothing runs, since nothing can be recorded, and it runs again when there is room", async () => {
      const world = makeWorld()
      worlds.push(world)
      mount(join(world.root, "project"), "size=512k")
      const project = await world.init()
      const client = await world.connect({ project, person: agrees })
      assert.deepStrictEqual((await client.execute("add", { a: 1, b: 2 })).data, { sum: 3 })
      fs.cpSync(join(project, ".ai/tools/math/add.py"), join(project, ".ai/tools/math/add_again.py"))
      fill(project)
      let refused = await client.execute("add", { a: 1, b: 2 })
      // What is left of a block that was begun can still take an entry or two.
      for (let n = 0; n < 40 && refused.code === undefined; n++) refused = await client.execute("add", { a: n, b: 2 })
      assert.strictEqual(refused.code, "AUDIT_UNAVAILABLE", refused.text)
      assert.isNotEmpty(refused.error?.remediation)
      assert.strictEqual((await client.call("search", { query: "add" })).status, "success")
      assert.strictEqual((await client.call("sign", { item_id: "add_again" })).code, "AUDIT_UNAVAILABLE")
      fs.rmSync(join(project, "filling"))
      assert.deepStrictEqual((await client.execute("add", { a: 1, b: 2 })).data, { sum: 3 })
      await client.client.close()
      const { value } = await world.json(["audit", "verify", "--project", project])
      assert.strictEqual(value.intact, true, JSON.stringify(value))
    })

    it("a full home: a typed error with a remedy, and the server goes on", async () => {
      const world = makeWorld()
      worlds.push(world)
      const project = await world.init()
      const home = join(world.root, "small")
      mount(home, "size=64k,mode=700")
      fill(home)
      const env = { KIWI_HOME: home }
      const client = await world.connect({ project, env, person: agrees })
      for (
        const [tool, args] of [
          ["execute", { item_id: "add", parameters: { a: 1, b: 2 } }],
          ["sign", { item_id: "add" }],
          ["load", { item_id: "add" }],
          ["search", { query: "add" }],
          ["help", {}]
        ] as const
      ) {
        const answer = await client.call(tool, args)
        assert.isTrue(answer.code === undefined || answer.error?.remediation !== undefined, answer.text)
        assert.notInclude(["INTERNAL_ERROR", "UNEXPECTED"], answer.code, answer.text)
      }
      const { code, stderr } = await world.run(["init", join(world.root, "new")], env)
      assert.notInclude(stderr, "UNEXPECTED")
      assert.isTrue(code === 0 || stderr.includes("hint: "), stderr)
    })

    it("a read-only .ai: nothing runs, and it says why", async () => {
      const world = makeWorld()
      worlds.push(world)
      const project = await world.init()
      const copy = join(world.root, "copy")
      fs.cpSync(join(project, ".ai"), copy, { recursive: true })
      fs.cpSync(join(copy, "tools/math/add.py"), join(copy, "tools/math/add_again.py"))
      mount(join(project, ".ai"), "size=1m")
      fs.cpSync(copy, join(project, ".ai"), { recursive: true })
      assert.strictEqual(spawnSync("mount", ["-o", "remount,ro", join(project, ".ai")]).status, 0)
      const client = await world.connect({ project, person: agrees })
      for (
        const [tool, args] of [["execute", { item_id: "add", parameters: { a: 1, b: 2 } }], ["execute", {
          item_id: "ping"
        }], ["sign", { item_id: "add_again" }]] as const
      ) {
        const answer = await client.call(tool, args)
        assert.strictEqual(answer.code, "AUDIT_UNAVAILABLE", answer.text)
        assert.include(answer.error?.remediation, ".ai/logs/audit")
      }
      for (const [tool, args] of [["load", { item_id: "add" }], ["search", { query: "add" }], ["help", {}]] as const) {
        assert.strictEqual((await client.call(tool, args)).status, "success", tool)
      }
    })
  })
})
