// What `kiwi env explain` says is what happens: tools of five kinds, in a project whose interpreters a person was shown.
import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join, resolve } from "node:path"
import { afterAll, beforeAll } from "vitest"
import type { EnvExplanation } from "../../src/programs/envExplain.ts"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"

const program = (file: string, text: string | Uint8Array) => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, 0o755)
}

const which = {
  "which_python.py": `"""Says which Python runs it."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
CONFIG = {"output": "json"}

if __name__ == "__main__":
    import json, os, sys
    print(json.dumps({
        "path": sys.executable,
        "declared": os.environ["KIWI_PYTHON"],
        "alias": os.environ["PROJECT_VENV_PYTHON"],
        "version": ".".join(str(n) for n in sys.version_info[:3]),
        "isolated": sys.prefix != sys.base_prefix,
        "variables": sorted(os.environ)
    }))
`,
  "which_node.mjs": `/** Says which Node runs it. */
export const __version__ = "1.0.0"
export const __tool_type__ = "node"
export const __executor_id__ = "node_runtime"
export const CONFIG = { output: "json" }
console.log(JSON.stringify({ path: process.execPath, declared: process.env.KIWI_NODE, version: process.versions.node }))
`,
  "which_bash.sh": `#!/bin/bash
# kiwi:
#   version: "1.0.0"
#   executor_id: bash_runtime
#   config: { output: json }
printf '{"path": "%s", "declared": "%s"}' "$BASH" "$KIWI_BASH"
`
}

const rubyRuntime = `tool_id: ruby_runtime
version: "1.0.0"
tool_type: runtime
executor_id: subprocess
env_config:
  interpreter: { type: version_manager, manager: rbenv, var: MY_RUBY }
config:
  command: "\${MY_RUBY}"
  runtime_args: ["\${TOOL_FILE}"]
  output: json
`

describe("runs with the interpreter that env explain named", () => {
  let machine: Machine
  const explain = async (tool: string): Promise<EnvExplanation> => {
    const { stderr, stdout } = await machine.kiwi(["env", "explain", tool, "--json"])
    assert.strictEqual(stderr, "")
    return JSON.parse(stdout) as EnvExplanation
  }
  const run = async (tool: string): Promise<Record<string, unknown>> => {
    const { code, stderr, stdout } = await machine.kiwi(["run", "tool", tool])
    assert.strictEqual(code, 0, stderr)
    return JSON.parse(stdout) as Record<string, unknown>
  }
  const named = ({ interpreter }: EnvExplanation) => resolve(machine.site, interpreter?.path ?? "")
  const ok = async (...args: ReadonlyArray<string>) => {
    const { code, stderr } = await machine.kiwi(args)
    assert.strictEqual(code, 0, stderr)
  }

  beforeAll(async () => {
    machine = makeMachine()
    await ok("init")
    for (const [name, text] of Object.entries(which)) machine.write(`.ai/tools/custom/${name}`, text)
    machine.write(".ai/tools/runtimes/ruby_runtime.yaml", rubyRuntime)
    machine.write(
      ".ai/tools/custom/which_ruby/tool.yaml",
      "version: \"1.0.0\"\ntool_type: script\nexecutor_id: ruby_runtime\nentrypoint: main.rb\n"
    )
    machine.write(".ai/tools/custom/which_ruby/main.rb", "puts 'read by the real one'\n")
    await ok("sign", "tool", "**")
  }, 60_000)
  afterAll(() => machine.remove())

  it("first says that a .venv which came after kiwi init is not used unseen, nor another in its place", async () => {
    assert.strictEqual((await explain("which_python")).interpreter?.kind, "system")
    assert.isFalse((await run("which_python"))["isolated"])
    const made = spawnSync("python3", ["-m", "venv", "--without-pip", ".venv"], { cwd: machine.site, encoding: "utf8" })
    assert.strictEqual(made.status, 0, made.stderr)
    const { code, stderr } = await machine.kiwi(["run", "tool", "which_python"])
    assert.strictEqual(code, 1)
    assert.match(stderr, /\.venv\/bin\/python is there, but nobody has been shown it since the project was trusted/)
    assert.match(stderr, /hint: kiwi trust project\n/)
    assert.match((await machine.kiwi(["doctor"])).stdout, /you have not accepted .*\.venv\/bin\/python/)
    const found = await explain("which_python")
    assert.isFalse(found.ready)
    assert.strictEqual(found.problem?.remediation, "kiwi trust project")
    await ok("trust", "project")
    assert.strictEqual((await explain("which_python")).interpreter?.kind, "project-venv")
  }, 60_000)

  it("Python: the project's virtual environment, under its old name too", async () => {
    const found = await explain("which_python")
    const ran = await run("which_python")
    assert.strictEqual(found.interpreter?.path, ".venv/bin/python")
    assert.strictEqual(found.interpreter?.kind, "project-venv")
    assert.strictEqual(found.interpreter?.version, ran["version"])
    assert.deepInclude(ran, { path: named(found), declared: named(found), alias: named(found), isolated: true })
    // Nothing reaches the child that was not explained, and the other way round.
    const explained = found.variables.filter(({ reaches }) => reaches === "child").map(({ name }) => name)
    // A program sets them itself, and Kiwi marks the processes of a call.
    const own = new Set(["KIWI_CALL", "LC_CTYPE", "__CF_USER_TEXT_ENCODING"])
    assert.deepStrictEqual(
      (ran["variables"] as ReadonlyArray<string>).filter((name) => !own.has(name)),
      explained.filter((name) => !own.has(name)).toSorted()
    )
  })

  it("Node: the one in the project's node_modules", async () => {
    const node = join(machine.site, "node_modules/.bin/node")
    program(node, readFileSync(process.execPath))
    assert.match(
      (await machine.kiwi(["run", "tool", "which_node"])).stderr,
      /node_modules\/\.bin\/node is there, but nobody/
    )
    await ok("trust", "project")
    const found = await explain("which_node")
    assert.strictEqual(found.interpreter?.kind, "project-node")
    const ran = await run("which_node")
    assert.deepInclude(ran, { path: named(found), declared: named(found) })
    assert.strictEqual(named(found), node)
  })

  it("a script: never", async () => {
    const node = join(machine.site, "node_modules/.bin/node")
    program(node, `#!/bin/sh\nexec '${process.execPath}' "$@"\n`)
    const shown = await machine.kiwi(["trust", "project", "--yes"])
    assert.match(
      shown.stdout + shown.stderr,
      /node_modules\/\.bin\/node[^;]*; it is a script, or not a program of this/
    )
    const { code, stderr } = await machine.kiwi(["run", "tool", "which_node"])
    assert.strictEqual(code, 1)
    assert.match(stderr, /node_modules\/\.bin\/node is a script.*make it a link to the interpreter itself/s)
  })

  it("Python: a venv that nobody activated", async () => {
    rmSync(join(machine.site, ".venv"), { recursive: true })
    const made = spawnSync("python3", ["-m", "venv", "--without-pip", "venv"], { cwd: machine.site, encoding: "utf8" })
    assert.strictEqual(made.status, 0, made.stderr)
    assert.match(
      (await machine.kiwi(["run", "tool", "which_python"])).stderr,
      /\.venv\/bin\/python was there when the project was trusted, and is gone/
    )
    await ok("trust", "project")
    const found = await explain("which_python")
    assert.strictEqual(found.interpreter?.path, "venv/bin/python")
    assert.deepInclude(await run("which_python"), { path: named(found), isolated: true })
  }, 60_000)

  it("bash: the one on PATH, and not one that lies in the project", async () => {
    program(join(machine.site, "bin/bash"), "#!/bin/sh\necho '\"hijacked\"'\n")
    const env = { PATH: `${machine.site}/bin:bin:${process.env["PATH"]}` }
    const { stdout } = await machine.kiwi(["env", "explain", "which_bash", "--json"], { env })
    const found = JSON.parse(stdout) as EnvExplanation
    assert.deepStrictEqual(found.path_skipped.slice(0, 2), ["bin", "bin"])
    assert.strictEqual(found.interpreter?.kind, "system")
    const ran = await machine.kiwi(["run", "tool", "which_bash"], { env })
    assert.deepStrictEqual(JSON.parse(ran.stdout), { path: named(found), declared: named(found) }, ran.stderr)
  })

  it("Ruby: the version that rbenv has for the project's .ruby-version", async () => {
    for (const version of ["3.2.0", "3.3.0"]) {
      program(
        join(machine.home, `.rbenv/versions/${version}/bin/ruby`),
        "#!/bin/sh\nprintf '{\"path\": \"%s\", \"declared\": \"%s\", \"file\": \"%s\"}' \"$0\" \"$MY_RUBY\" \"$(basename \"$1\")\"\n"
      )
    }
    machine.write(".ruby-version", "3.3.0\n")
    await ok("trust", "project")
    const found = await explain("which_ruby")
    assert.deepInclude(found.interpreter, { kind: "rbenv", version: "3.3.0", variable: "MY_RUBY" })
    assert.deepStrictEqual(await run("which_ruby"), { path: named(found), declared: named(found), file: "main.rb" })
  })

  it("HTTP: none", async () => {
    const server = createServer((request, response) => {
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ agent: request.headers["x-from"] }))
    })
    await new Promise<void>((done) => void server.listen(0, "127.0.0.1", done))
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    machine.write(
      ".ai/tools/custom/ask.yaml",
      `version: "1.0.0"\ntool_type: http\nexecutor_id: http_client\nconfig:\n  url: "http://${host}/"\n  private_hosts: ["${host}"]\n  headers: { x-from: "\${WHO:-nobody}" }\n`
    )
    await ok("sign", "tool", "ask")
    const found = await explain("ask")
    assert.isUndefined(found.interpreter)
    assert.deepStrictEqual(found.unset, [{ name: "WHO", required: false, refused: [] }])
    const { code, stderr, stdout } = await machine.kiwi(["run", "tool", "ask"])
    server.close()
    assert.strictEqual(code, 0, stderr)
    assert.include(stdout, "nobody")
  })

  it("masks every secret, as text and as JSON, and says where it came from and what it beat", async () => {
    const [file, process] = ["s3cret-from-file", "s3cret-from-process"]
    machine.write(".env", `API_TOKEN=${file}\nnonsense\nNODE_OPTIONS=--evil\n`)
    machine.write(
      ".ai/tools/custom/needs.sh",
      "#!/bin/bash\n# kiwi:\n#   version: \"1.0.0\"\n#   executor_id: bash_runtime\n#   requires: { environment: [API_TOKEN, OTHER] }\necho \"$API_TOKEN\"\n"
    )
    await ok("sign", "tool", "needs")
    await ok("trust", "project")
    const env = { API_TOKEN: process }
    const asJson = await machine.kiwi(["env", "explain", "needs", "--json"], { env })
    const asText = await machine.kiwi(["env", "explain", "needs"], { env })
    for (const { stderr, stdout } of [asJson, asText]) {
      assert.notInclude(stdout + stderr, file)
      assert.notInclude(stdout + stderr, process)
    }
    const found = JSON.parse(asJson.stdout) as EnvExplanation
    assert.deepStrictEqual(found.variables.find(({ name }) => name === "API_TOKEN"), {
      name: "API_TOKEN",
      value: "‹redacted›",
      secret: true,
      origin: "process",
      reaches: "child",
      beat: [{ origin: "project:.env", line: 1, value: "‹redacted›" }]
    })
    assert.deepStrictEqual(found.warnings, [{ file: "project:.env", line: 2, issue: "expected NAME=value" }])
    assert.match(
      asText.stdout,
      /API_TOKEN = ‹redacted› {2}the environment that Kiwi was started with\n {2}overrides ‹redacted› from \.env, line 1\n/
    )
    assert.match(asText.stdout, /OTHER is not set\n/)
    assert.match(asText.stdout, /warning: \.env:2: expected NAME=value/)
  })
})

describe("kiwi env secret", () => {
  const secret = "ghp_0123456789abcdef"
  let machine: Machine
  beforeAll(async () => {
    machine = makeMachine()
    await machine.kiwi(["init"])
    machine.write(
      ".ai/tools/custom/uses.sh",
      "#!/bin/bash\n# kiwi:\n#   version: \"1.0.0\"\n#   executor_id: bash_runtime\n#   requires: { environment: [GITHUB] }\necho \"${#GITHUB} $GITHUB\"\n"
    )
    machine.write(".env", "GITHUB=keychain:github\n")
    await machine.kiwi(["sign", "tool", "uses"])
    await machine.kiwi(["trust", "project"])
  }, 60_000)
  afterAll(() => machine.remove())

  it("says what to type while nothing is stored", async () => {
    const { code, stderr } = await machine.kiwi(["run", "tool", "uses"])
    assert.strictEqual(code, 1)
    assert.match(
      stderr,
      /error\[SECRET_MISSING\]: GITHUB refers to keychain:github[^]*hint: kiwi env secret set github\n/
    )
    assert.match((await machine.kiwi(["env", "explain", "uses"])).stdout, /not stored: kiwi env secret set github/)
  })

  it("takes a secret from stdin or a hidden prompt, gives it to the tool, and shows it nowhere", async () => {
    const set = await machine.kiwi(["env", "secret", "set", "github"], { input: `${secret}\n` })
    assert.strictEqual(set.code, 0, set.stderr)
    assert.include(set.stdout, "stored github in the file (encrypted)")
    const ran = await machine.kiwi(["run", "tool", "uses"])
    assert.strictEqual(ran.stdout, `${secret.length} ‹redacted›\n`, ran.stderr)
    const list = await machine.kiwi(["env", "secret", "list", "--json"])
    assert.deepStrictEqual(JSON.parse(list.stdout), { secrets: [{ name: "github", stored_in: "file (encrypted)" }] })
    const audit = await machine.kiwi(["audit", "show", "--json"])
    for (const said of [set, ran, list, audit]) assert.notInclude(said.stdout + said.stderr, secret)
    assert.include(audit.stdout, "Store a secret as github")
    assert.isTrue(JSON.parse((await machine.kiwi(["env", "explain", "uses", "--json"])).stdout).ready)
  })

  it("does not take one for an agent, nor without one, nor as an argument", async () => {
    const byAgent = await machine.kiwi(["env", "secret", "set", "other", "--yes"], {
      input: "value",
      env: { CLAUDECODE: "1", KIWI_PASSPHRASE: "" }
    })
    assert.deepStrictEqual([byAgent.code, byAgent.stdout], [1, ""])
    assert.include(byAgent.stderr, "error[HUMAN_REQUIRED]")
    const empty = await machine.kiwi(["env", "secret", "set", "other"])
    assert.include(empty.stderr, "error[NO_SECRET_GIVEN]")
    assert.strictEqual((await machine.kiwi(["env", "secret", "set", "other", secret])).code, 2)
    assert.include((await machine.kiwi(["env", "secret", "set", "../x"], { input: "v" })).stderr, "SECRET_NAME_INVALID")
    const list = await machine.kiwi(["env", "secret", "list", "--json"])
    assert.lengthOf(JSON.parse(list.stdout).secrets, 1)
  })

  it("asks on the terminal, and shows nothing of what is typed", async () => {
    const { code, shown } = await machine.onTerminal(["env", "secret", "set", "typed"], {
      answers: [["[y/N]", "y\r"], ["(not shown):", `${secret}-typed\r`]]
    })
    assert.strictEqual(code, 0, shown)
    assert.notInclude(shown, `${secret}-typed`)
    assert.match(shown, /stored\S* typed/)
  })

  it("forgets one", async () => {
    assert.include((await machine.kiwi(["env", "secret", "remove", "github"])).stdout, "removed github")
    assert.include((await machine.kiwi(["env", "secret", "remove", "github"])).stderr, "nothing was changed")
    assert.strictEqual((await machine.kiwi(["run", "tool", "uses"])).code, 1)
    assert.isFalse(existsSync(join(machine.folder, "kiwi/secrets/github.json")))
    assert.notInclude(readFileSync(join(machine.folder, "kiwi/secrets.json"), "utf8"), "github")
    rmSync(join(machine.folder, "kiwi/secrets.json"))
    assert.include((await machine.kiwi(["env", "secret", "list"])).stderr, "Nothing is stored yet")
  })
})
