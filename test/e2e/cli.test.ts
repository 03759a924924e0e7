// The built program as a person uses it: the whole story, and what it says to programs.
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"
import * as Kernel from "../../src/layers/Kernel.ts"
import { version } from "../../src/programs/version.ts"
import { runCli } from "../programs/cli/runCli.ts"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"
import { describeWith } from "../support/realParts.ts"

const add = `{"a": 1, "b": 2}`

/** The one JSON value on stdout. */
const json = (stdout: string) => {
  assert.match(stdout, /^[^\n]+\n$/, "exactly one value on one line")
  return JSON.parse(stdout)
}

/** Every file below a folder, with what it holds. */
const contents = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: "utf8" }).toSorted()
      .filter((path) => statSync(join(folder, path)).isFile())
      .map((path) => [path, readFileSync(join(folder, path), "utf8")])
  )

describe("from nothing to a tool of your own", () => {
  let machine: Machine
  beforeAll(() => {
    machine = makeMachine()
  })
  afterAll(() => machine.remove())

  it("init makes a project that works at once", async () => {
    const { code, stderr, stdout } = await machine.kiwi(["init"])
    assert.strictEqual(code, 0, stderr)
    for (const word of ["add.py", "Claude Code", "Cursor", "VS Code", "Codex", "Commit", machine.site]) {
      assert.include(stdout, word)
    }
    assert.deepStrictEqual(readdirSync(machine.home), [], "nothing but the project and Kiwi's own folder is written")
    assert.deepStrictEqual(readdirSync(machine.site), [".ai"])
  })

  it("init says what to type, also where there is no kiwi on PATH", async () => {
    const { typed } = json((await machine.kiwi(["init", "--json"], { env: { PATH: "/usr/bin" } })).stdout)
    assert.strictEqual(typed, `${process.execPath} ${machine.bin}`)
    const { stdout } = await machine.kiwi(["init"])
    assert.match(stdout, /\nWhere Kiwi says kiwi, type: \S+ \S+\n$/)
  })

  it("a long text goes into a pipe whole", async () => {
    const name = ".ai/tools/custom/long.sh"
    machine.write(
      name,
      "#!/bin/bash\n# kiwi:\n#   version: \"1.0.0\"\n#   executor_id: bash_runtime\nawk 'BEGIN { for (i = 0; i < 700000; i++) print \"ä\" }'\n"
    )
    await machine.kiwi(["sign", "tool", "long"])
    const { code, stderr, stdout } = await machine.kiwi(["run", "tool", "long"])
    assert.deepStrictEqual([code, stdout.length, stderr], [0, 1_400_000, ""])
    assert.strictEqual(new Set(stdout.split("\n")).size, 2, "no character is cut in two")
  })

  it("its examples run, in all three languages, on parameters from wherever", async () => {
    const ran = await machine.kiwi(["run", "tool", "add", "--params", add])
    assert.deepStrictEqual([ran.code, JSON.parse(ran.stdout)], [0, { sum: 3 }], ran.stderr)
    const slug = await machine.kiwi(["run", "tool", "slug", "--params", "-"], { input: `{"title": "Été, 2026!"}` })
    assert.deepStrictEqual(JSON.parse(slug.stdout), { slug: "ete-2026" }, slug.stderr)
    writeFileSync(join(machine.site, "notes.txt"), "one\nfind $(me) here\n")
    writeFileSync(join(machine.folder, "params.json"), `{"text": "find $(me)"}`)
    const found = await machine.kiwi(["run", "tool", "find_text", "--params", `@${machine.folder}/params.json`])
    assert.strictEqual(found.stdout, "./notes.txt:2:find $(me) here\n", found.stderr)
  })

  it("search and load show what can be used", async () => {
    const { stdout } = await machine.kiwi(["search", "add", "numbers"])
    assert.match(stdout, /^add\(a: number, b: number\)  ok {2}project:tools\/math\/add.py\n  Add two numbers/)
    const loaded = await machine.kiwi(["load", "directive", "write_tool"])
    assert.include(loaded.stdout, "state      ok")
    const followed = await machine.kiwi(["run", "directive", "write_tool", "--params", `{"name": "n", "purpose": "P"}`])
    assert.include(followed.stdout, `Search for "P".`)
  })

  it("a new tool is refused until it is signed, and explain says so", async () => {
    machine.write(
      ".ai/tools/custom/hello.py",
      `"""Greet."""\n__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n` +
        `__category__ = "custom"\nprint("hello")\n`
    )
    const refused = await machine.kiwi(["run", "tool", "hello"])
    assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
    assert.match(refused.stderr, /^error\[UNSIGNED\]: .*hello\.py is not signed\n[^]*\n\nhint: kiwi sign tool hello\n$/)
    const hit = json((await machine.kiwi(["search", "hello", "--json"])).stdout).results[0]
    assert.deepStrictEqual([hit.id, hit.state, hit.description], ["hello", "unsigned", undefined])
    const explained = await machine.kiwi(["explain", "hello"])
    assert.include(explained.stdout, "cannot run now")
    assert.include(explained.stdout, "hint: kiwi sign tool hello")
    assert.strictEqual(explained.code, 0)
  })

  it("signed it runs", async () => {
    const signed = await machine.kiwi(["sign", "tool", "hello"])
    assert.deepStrictEqual([signed.code, signed.stderr], [0, ""])
    assert.include(signed.stdout, "signed  tool  hello  1.0.0  project:tools/custom/hello.py")
    const ran = await machine.kiwi(["run", "tool", "hello"])
    assert.deepStrictEqual([ran.code, ran.stdout], [0, "hello\n"], ran.stderr)
    const again = await machine.kiwi(["sign", "tool", "**", "--changed"])
    assert.deepStrictEqual([again.code, again.stdout], [0, ""])
    assert.include(again.stderr, "nothing has changed since")
  })

  it("changed it does not, from any folder below", async () => {
    appendFileSync(join(machine.site, ".ai/tools/custom/hello.py"), `print("and more")\n`)
    mkdirSync(join(machine.site, "deep/er"), { recursive: true })
    const refused = await machine.kiwi(["run", "tool", "hello", "--json"], { cwd: join(machine.site, "deep/er") })
    assert.strictEqual(refused.code, 1)
    assert.strictEqual(refused.stderr, "")
    const { error } = json(refused.stdout)
    assert.strictEqual(error.code, "TAMPERED")
    assert.strictEqual(error.failed_at.config_path, "project:tools/custom/hello.py")
    assert.include(error.remediation, "kiwi sign tool hello")
  })

  it("all of that is in the audit", async () => {
    const { stdout } = await machine.kiwi(["logs"])
    assert.match(stdout, /denied +hello .*is not signed/)
    assert.match(stdout, /success +hello/)
    assert.match(stdout, /done +Sign tool hello 1\.0\.0/)
    assert.match(stdout, /denied +hello .*is not what was signed/)
    const denied = json((await machine.kiwi(["logs", "--outcome", "denied", "--json"])).stdout)
    assert.strictEqual(denied.entries.length, 2)
    const verified = json((await machine.kiwi(["audit", "verify", "--json"])).stdout)
    assert.deepStrictEqual([verified.intact, verified.problems], [true, []])
  })

  it("init again changes nothing, and says what is there", async () => {
    const before = contents(join(machine.site, ".ai/tools"))
    const again = await machine.kiwi(["init"])
    assert.strictEqual(again.code, 0)
    assert.include(again.stdout, "has an .ai already: nothing was written, trusted or signed")
    assert.include(again.stdout, " sign tool '**' --changed")
    assert.deepStrictEqual(contents(join(machine.site, ".ai/tools")), before)
  })
})

describe("for programs", () => {
  let machine: Machine
  beforeAll(async () => {
    machine = makeMachine()
    await machine.kiwi(["init"])
  })
  afterAll(() => machine.remove())

  const answers: ReadonlyArray<readonly [args: ReadonlyArray<string>, has: string]> = [
    [[], "version"],
    [["--version"], "version"],
    [["--help"], "usage"],
    [["init"], "connect"],
    [["search", "add"], "results"],
    [["load", "tool", "add"], "digest"],
    [["run", "tool", "add", "--params", add], "data"],
    [["run", "tool", "add", "--params", add, "--dry-run"], "data"],
    [["run", "knowledge", "how-tools-run"], "data"],
    [["explain", "add"], "checks"],
    [["explain", "directive", "write_tool"], "checks"],
    [["sign", "tool", "add"], "signed"],
    [["identity"], "public_key"],
    [["trust", "project", "--yes"], "trust"],
    [["trust", "list"], "signers"],
    [["logs"], "entries"],
    [["audit", "show", "--limit", "3"], "entries"],
    [["audit", "verify"], "intact"],
    [["audit", "anchor"], "head"],
    [["doctor"], "findings"],
    [["completions", "bash"], "script"]
  ]
  it("kiwi trust remove of somebody who is not trusted ends with 1, and says so", async () => {
    const { code, stdout } = await machine.kiwi(["trust", "remove", "0123456789abcdef", "--yes", "--json"])
    assert.deepStrictEqual([code, JSON.parse(stdout).error.code], [1, "SIGNER_NOT_TRUSTED"])
  })

  for (const [args, has] of answers) {
    it(`kiwi ${args.join(" ")} --json answers with one value, and ends with 0`, async () => {
      const { code, stderr, stdout } = await machine.kiwi([...args, "--json"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.property(json(stdout), has)
    })
  }

  const failures: ReadonlyArray<readonly [args: ReadonlyArray<string>, exit: number, code: string]> = [
    [["run", "tool", "nothing"], 1, "ITEM_NOT_FOUND"],
    [["run", "directive", "write_tool"], 1, "PARAMETERS_INVALID"],
    [["run", "tool", "../add"], 1, "ITEM_ID_INVALID"],
    [["run", "tool", "add", "--params", `{"a": "1", "b": 2}`], 1, "PARAMETERS_INVALID"],
    [["load", "tool", "nothing"], 1, "ITEM_NOT_FOUND"],
    [["explain", "nothing"], 1, "ITEM_NOT_FOUND"],
    [["sign", "tool", "nothing"], 1, "ITEM_NOT_FOUND"],
    [["trust", "add", "short", "--name", "x"], 1, "SIGNER_INVALID"],
    [["search", "x", "--project", "/nowhere/at/all"], 1, "PROJECT_NOT_FOUND"],
    [["search", "x", "--project", "/etc/hostname"], 1, "PROJECT_NOT_FOUND"],
    [["init", "/"], 1, "INIT_REFUSED"],
    [["serve", "--client", "nobody"], 1, "CLIENT_NOT_ADDED"],
    [["serve", "--http", "--client", "nobody"], 1, "CLIENT_NOT_ADDED"],
    [["unknown"], 2, "INVALID_USAGE"],
    [["run", "tool"], 2, "INVALID_USAGE"],
    [["search", "x", "--frob"], 2, "INVALID_USAGE"],
    [["trust"], 2, "INVALID_USAGE"]
  ]
  /** The same program, without a start of its own. */
  const inProcess = (args: ReadonlyArray<string>) =>
    runCli(args, { env: machine.env, cwd: machine.site, kernel: Kernel.layerProjects() }).pipe(
      Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(machine.env))),
      Effect.runPromise
    )
  for (const [args, exit, code] of failures) {
    it(`kiwi ${args.join(" ")} --json fails with ${exit} and ${code}`, async () => {
      const ran = await machine.kiwi([...args, "--json"])
      assert.deepStrictEqual([ran.code, ran.stderr], [exit, ""])
      const { error } = json(ran.stdout)
      assert.strictEqual(error.code, code)
      assert.isString(error.message)
      assert.notMatch(ran.stdout, /at .*\.[jt]s:\d/)
      const plain = await inProcess(args)
      assert.deepStrictEqual([plain.code, plain.stdout], [exit, ""])
      assert.match(plain.stderr, new RegExp(`error\\[${code}\\]: `))
    })
  }

  it("logs --follow has no end, so it has no JSON", async () => {
    const { code, stdout } = await machine.kiwi(["logs", "--follow", "--json"])
    assert.deepStrictEqual([code, json(stdout).error.code], [2, "INVALID_USAGE"])
  })

  it("a reader that goes away is no failure", async () => {
    const { code, stderr } = await machine.run("sh", [
      "-c",
      `"${process.execPath}" "${machine.bin}" completions bash | true; "${process.execPath}" "${machine.bin}" doctor | head -n 1`
    ])
    assert.strictEqual(code, 0)
    assert.notMatch(stderr, /EPIPE|Error/)
  })

  it("completions are a script that bash takes, and that knows the commands", async () => {
    const { stdout } = await machine.kiwi(["completions", "bash"])
    writeFileSync(join(machine.folder, "kiwi.bash"), stdout)
    const script = `source "${machine.folder}/kiwi.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"
      COMP_POINT=\${#COMP_LINE}; complete_kiwi=$(complete -p kiwi | sed 's/.*-F \\([^ ]*\\).*/\\1/')
      "$complete_kiwi" kiwi "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\n' "\${COMPREPLY[@]}"`
    const complete = async (...words: ReadonlyArray<string>) => {
      const { stdout: said } = await machine.run("bash", ["-c", script, "bash", ...words])
      return said.trim().split("\n")
    }
    assert.deepStrictEqual((await complete("kiwi", "ex")).map((word) => word.trim()), ["explain"])
    assert.include(await complete("kiwi", "run", "tool", "add", "--dr"), "--dry-run")
    assert.include(await complete("kiwi", "sign", "d"), "directive")
  })

  it("serve answers on stdio and ends with its client", async () => {
    const initialize = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
    }
    assert.strictEqual((await machine.kiwi(["client", "add", "laptop"])).code, 0)
    const { code, stdout } = await machine.kiwi(["serve", "--project", machine.site, "--client", "laptop"], {
      input: `${JSON.stringify(initialize)}\n`
    })
    assert.strictEqual(code, 0)
    const answer = JSON.parse(stdout.split("\n")[0] ?? "")
    assert.deepStrictEqual(answer.result.serverInfo.version, version)
  })
})

describe("init", () => {
  let machine: Machine
  beforeEach(() => {
    machine = makeMachine()
  })
  afterEach(() => machine.remove())

  it("makes the folder that it is given, and says how to go there", async () => {
    const { code, stdout } = await machine.kiwi(["init", "a new/project"])
    assert.strictEqual(code, 0)
    assert.include(stdout, `cd '${machine.site}/a new/project'`)
    assert.isTrue(existsSync(join(machine.site, "a new/project/.ai/tools/math/add.py")))
    assert.isFalse(existsSync(join(machine.site, ".ai")))
  })

  it("keeps what Kiwi writes out of git", async () => {
    await machine.kiwi(["init"])
    await machine.kiwi(["run", "tool", "add", "--params", add])
    writeFileSync(join(machine.site, ".ai/.env"), "SECRET=1\n")
    await machine.run("git", ["init", "--quiet"])
    const { stdout } = await machine.run("git", ["status", "--short", "--untracked-files=all"])
    const paths = stdout.trimEnd().split("\n").map((line) => line.slice(3))
    assert.deepStrictEqual(paths.toSorted(), [
      ".ai/.gitattributes",
      ".ai/.gitignore",
      ".ai/directives/authoring/write_tool.md",
      ".ai/knowledge/authoring/how-tools-run.md",
      ".ai/lockfiles/files/find_text@1.0.0.lock.json",
      ".ai/lockfiles/math/add@1.0.0.lock.json",
      ".ai/lockfiles/text/slug@1.0.0.lock.json",
      ".ai/tools/files/find_text.sh",
      ".ai/tools/math/add.py",
      ".ai/tools/text/slug.mjs"
    ])
  })

  it("leaves an .ai that was there as it is, untrusted, and names the next command", async () => {
    machine.write(
      ".ai/tools/x/evil.py",
      `__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\nprint("ran")\n`
    )
    machine.write(".ai/config/trust.yaml", "signers: []\n")
    const before = contents(machine.site)
    const report = json((await machine.kiwi(["init", "--json"])).stdout)
    assert.deepStrictEqual(contents(machine.site), before)
    assert.deepStrictEqual([report.existed, report.created, report.signed, report.trust], [true, [], [], "restricted"])
    assert.strictEqual(report.next[0], "kiwi trust project")
    const refused = json((await machine.kiwi(["run", "tool", "evil", "--json"])).stdout)
    assert.include(["PROJECT_RESTRICTED", "UNSIGNED"], refused.error.code)
  })

  it("takes a link in place of .ai for somebody's", async () => {
    await machine.run("ln", ["-s", machine.home, join(machine.site, ".ai")])
    const report = json((await machine.kiwi(["init", "--json"])).stdout)
    assert.deepStrictEqual([report.existed, report.trust], [true, "restricted"])
    assert.deepStrictEqual(readdirSync(machine.home), [])
    await machine.run("sh", ["-c", "rm .ai && ln -s /nowhere/at/all .ai"])
    assert.isTrue(json((await machine.kiwi(["init", "--json"])).stdout).existed)
  })

  it("refuses folders that are no project", async () => {
    writeFileSync(join(machine.site, "file"), "")
    const tries: ReadonlyArray<readonly [dir: string, why: RegExp]> = [
      [machine.home, /user tier/],
      ["/", /disk/],
      [join(machine.folder, "kiwi/x"), /Kiwi's own folder/],
      [join(machine.site, "file"), /not a folder/],
      [join(machine.site, "file/below"), /not a folder|cannot be made/],
      ["/proc/kiwi", /no permission to write|cannot be made/]
    ]
    await Promise.all(tries.map(async ([dir, why]) => {
      const { error } = json((await machine.kiwi(["init", dir, "--json"])).stdout)
      assert.strictEqual(error.code, "INIT_REFUSED", dir)
      assert.match(error.message, why)
    }))
    assert.deepStrictEqual(readdirSync(machine.home), [])
    assert.isFalse(existsSync(join(machine.folder, "kiwi/x")))
  })

  it("writes nothing where no key can be made by the passphrase that is given", async () => {
    const plain = makeMachine({ plain: true })
    try {
      for (const passphrase of ["short", "1234567", "aaaaaaaaaaaa", "with\ttabulator"]) {
        for (const dir of [".", "new/folder"]) {
          const env = { KIWI_PASSPHRASE: passphrase }
          const { code, stdout } = await plain.kiwi(["init", dir, "--json"], { env })
          assert.deepStrictEqual([code, json(stdout).error.code], [1, "KEY_UNAVAILABLE"], passphrase)
          assert.match(json(stdout).error.message, /KIWI_PASSPHRASE (has|is|contains) .*, so no key was made/)
          assert.notInclude(stdout, passphrase)
        }
      }
      assert.deepStrictEqual(readdirSync(plain.site), [])
      assert.isFalse(existsSync(join(plain.folder, "kiwi/identity.json")))
      assert.isFalse(existsSync(join(plain.folder, "kiwi/projects")))
      const { code, stdout } = await plain.kiwi(["init", "--json"], { env: { KIWI_PASSPHRASE: "long enough now" } })
      assert.deepStrictEqual([code, json(stdout).trust], [0, "trusted"])
      const known = await plain.kiwi(["init", "two", "--json"], { env: { KIWI_PASSPHRASE: "short" } })
      assert.strictEqual(known.code, 0, "the key is there, and the passphrase is only another one")
    } finally {
      plain.remove()
    }
  })

  it("lists the clients of this machine, their servers and skills, by name only and escaped", async () => {
    mkdirSync(join(machine.home, ".cursor"))
    mkdirSync(join(machine.home, ".claude/skills/review"), { recursive: true })
    writeFileSync(join(machine.home, ".claude/skills/review/SKILL.md"), "")
    writeFileSync(
      join(machine.home, ".cursor/mcp.json"),
      JSON.stringify({ mcpServers: { "git\u001b[31mhub": { command: "x", env: { TOKEN: "s3cret" } } } })
    )
    const { stdout } = await machine.kiwi(["init"])
    assert.match(stdout, /Cursor +servers: git\\u\{1b\}\[31mhub/)
    assert.match(stdout, /Claude Code +no servers/)
    assert.include(stdout, "~/.claude/skills/review")
    assert.notInclude(stdout, "s3cret")
  })

  it("names a command that starts this Kiwi", async () => {
    const { connect } = json((await machine.kiwi(["init", "--json"])).stdout)
    const { code } = await machine.run(connect.command, connect.args, { cwd: "/" })
    assert.strictEqual(code, 0)
    assert.deepStrictEqual(connect.args.slice(-3), ["serve", "--project", machine.site])
  })
})

describeWith(["tinyDisk"], "init on a disk that takes nothing", () => {
  let machine: Machine
  beforeEach(() => {
    machine = makeMachine()
  })
  afterEach(async () => {
    await machine.run("umount", [machine.site], { cwd: "/" })
    machine.remove()
  })

  for (const [what, options, fill] of [["is full", "size=64k", true], ["is read-only", "ro", false]] as const) {
    it(`because it ${what} says so, and leaves nothing half done`, async () => {
      await machine.run("mount", ["-t", "tmpfs", "-o", options, "tmpfs", machine.site], { cwd: "/" })
      if (fill) await machine.run("sh", ["-c", "head -c 60000 /dev/zero > filler; cat /dev/zero > rest || true"])
      const { code, stderr, stdout } = await machine.kiwi(["init", machine.site, "--json"], { cwd: "/" })
      assert.deepStrictEqual([code, stderr], [1, ""])
      assert.strictEqual(json(stdout).error.code, "WRITE_REFUSED")
      assert.notInclude(readdirSync(machine.site), ".ai")
    })
  }
})

describe("doctor", () => {
  // What a test puts there it takes away.
  let machine: Machine
  beforeAll(async () => {
    machine = makeMachine()
    await machine.kiwi(["init"])
  })
  afterAll(() => machine.remove())

  interface Finding {
    readonly check: string
    readonly result: string
    readonly found: string
    readonly remedy?: string
  }
  const findings = async (options?: Parameters<Machine["kiwi"]>[1]) => {
    const { code, stdout } = await machine.kiwi(["doctor", "--json"], options)
    const all: ReadonlyArray<Finding> = json(stdout).findings
    return { code, all, of: (check: string) => all.filter((finding) => finding.check === check) }
  }

  it("finds nothing to mend in what init made", async () => {
    const { all, code } = await findings()
    assert.strictEqual(code, 0)
    assert.deepStrictEqual(all.filter(({ result }) => result === "fail"), [])
    for (const { remedy, result } of all) assert.strictEqual(remedy !== undefined, result !== "ok")
    const plain = await machine.kiwi(["doctor"])
    assert.match(plain.stdout, /^ok {4}node {6}Node 2/)
  })

  it("names what is missing, and what then does not run", async () => {
    const { code, of } = await findings({ env: { PATH: machine.folder } })
    assert.strictEqual(code, 0)
    assert.deepStrictEqual(of("python3").map(({ result }) => result), ["warn"])
    assert.include(of("bash")[0]?.found, "not found")
  })

  it("fails for a home that others can write", async () => {
    chmodSync(machine.env.KIWI_HOME, 0o777)
    const { code, of } = await findings()
    chmodSync(machine.env.KIWI_HOME, 0o700)
    assert.strictEqual(code, 1)
    assert.deepStrictEqual(of("home").map(({ remedy, result }) => [result, remedy]), [
      ["fail", `chmod 700 ${machine.env.KIWI_HOME}`]
    ])
    assert.include(of("project")[0]?.result, "warn")
  })

  it("names files that are no items, and settings that nobody has accepted", async () => {
    const files = [
      machine.write(".ai/tools/x/Bad Name.py", ""),
      machine.write(".ai/config/kiwi.yaml", "calls: {concurrency: 1}\nno_such: 1\n")
    ]
    const { of } = await findings()
    for (const file of files) rmSync(file)
    assert.isTrue(of("items").some(({ found, result }) => result === "warn" && found.includes("Bad Name.py")))
    assert.isTrue(
      of("settings").some(({ found, remedy }) => found.includes("kiwi.yaml") && remedy === "kiwi trust project")
    )
    assert.isTrue(
      of("settings").some(({ found }) => found.startsWith("project:config/kiwi.yaml:2: this line sets nothing"))
    )
  })

  it("names items that are not well formed, and those that nobody has signed", async () => {
    const python = `__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n`
    const files = [
      machine.write(".ai/tools/x/broken.py", `${python}CONFIG = compute()\n`),
      machine.write(".ai/tools/x/fresh.py", python)
    ]
    const { of } = await findings()
    for (const file of files) rmSync(file)
    const items = of("items").filter(({ result }) => result === "warn")
    assert.deepStrictEqual(items.map(({ remedy }) => remedy?.slice(0, 29)), [
      "kiwi sign tool '**' --changed",
      "Only literals are metadata: t"
    ])
    assert.include(items[0]?.found, "fresh")
    assert.include(items[1]?.found, "broken.py:4")
  })

  it("works where there is no project, and where there is one that nobody trusts", async () => {
    const outside = await findings({ cwd: "/" })
    assert.deepStrictEqual([outside.code, outside.of("project")[0]?.remedy], [0, "kiwi init"])
    mkdirSync(join(machine.folder, "clone/.ai"), { recursive: true })
    const clone = await findings({ cwd: join(machine.folder, "clone") })
    assert.deepStrictEqual([clone.code, clone.of("project")[0]?.remedy], [0, "kiwi trust project"])
  })
})
