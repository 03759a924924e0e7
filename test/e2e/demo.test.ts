// The demo, as a newcomer starts it: it goes as told, says so where it does not, and leaves nothing behind.
import { assert, describe, it } from "@effect/vitest"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { stripVTControlCharacters } from "node:util"
import { afterAll } from "vitest"
import { describeWith } from "../support/realParts.ts"

const kiwi = new URL("../../bin/kiwi.cjs", import.meta.url).pathname
const folder = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "kiwi-demo-test-")))
afterAll(() => fs.rmSync(folder, { recursive: true }))

let next = 0
/** A machine that has a home and a temporary folder of its own, and on its PATH what `path` says. */
const machine = (path = process.env["PATH"] ?? "") => {
  const root = join(folder, `${next++}`)
  for (const name of ["home", "tmp"]) fs.mkdirSync(join(root, name), { recursive: true })
  const env = { PATH: path, HOME: join(root, "home"), TMPDIR: join(root, "tmp") }
  return { env, left: () => fs.readdirSync(root, { recursive: true, encoding: "utf8" }).toSorted() }
}

const untouched = ["home", "tmp"]

const run = (command: ReadonlyArray<string>, env: Record<string, string>) =>
  new Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>((resolve) => {
    const [program = "", ...args] = command
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] })
    const said = { stdout: "", stderr: "" }
    child.stdout.on("data", (data: Buffer) => said.stdout += data.toString())
    child.stderr.on("data", (data: Buffer) => said.stderr += data.toString())
    child.on("close", (code) => resolve({ code, ...said }))
  })

const demo = (env: Record<string, string>, ...args: ReadonlyArray<string>) =>
  run([process.execPath, kiwi, "demo", ...args], env)

/** A folder for PATH with these programs, which are shell scripts or links. */
const programs = (scripts: Readonly<Record<string, string>>) => {
  const path = join(folder, `bin-${next++}`)
  fs.mkdirSync(path)
  for (const [name, text] of Object.entries(scripts)) fs.writeFileSync(join(path, name), text, { mode: 0o755 })
  return path
}

describeWith(["python3", "bash"], "kiwi demo", () => {
  it("plays every scene, in colour on a terminal, and leaves nothing behind", async () => {
    const inTerminal =
      "import os,pty,sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:], lambda fd: os.read(fd, 1024))))"
    const { env, left } = machine()
    // What an agent's environment or a person's own settings say does not matter to it.
    const { code, stdout } = await run(["python3", "-c", inTerminal, process.execPath, kiwi, "demo"], {
      ...env,
      CLAUDECODE: "1",
      KIWI_PASSPHRASE: "mine",
      NODE_OPTIONS: "--no-warnings"
    })
    assert.strictEqual(code, 0, stdout)
    assert.include(stdout, "\u001b[31m")
    const plain = stripVTControlCharacters(stdout).replaceAll("\r\n", "\n")
    assert.deepStrictEqual(plain.match(/^ ?\d+(?=  \S)/gm)?.map(Number), Array.from({ length: 12 }, (_, n) => n + 1))
    for (
      const shown of [
        "(Python)",
        "(bash)",
        "(Node)",
        "(HTTP)",
        "UNSIGNED",
        "you are played",
        "TAMPERED",
        "PROJECT_RESTRICTED",
        "intact: "
      ]
    ) assert.include(plain, shown)
    // What is under way is written over itself.
    for (const line of plain.split(/[\r\n]/)) assert.isAtMost(line.length, 80, line)
    assert.deepStrictEqual(left(), untouched)
  })

  it("is one JSON value with --json, also where a coding agent runs it", async () => {
    const { env, left } = machine()
    const agent = join(folder, "node_modules/@anthropic-ai/claude-code/cli.js")
    fs.mkdirSync(dirname(agent), { recursive: true })
    fs.writeFileSync(
      agent,
      `const [program, ...args] = process.argv.slice(2)
      const { status } = require("node:child_process").spawnSync(program, args, { stdio: "inherit" })
      process.exitCode = status`
    )
    const { code, stderr, stdout } = await run([process.execPath, agent, process.execPath, kiwi, "demo", "--json"], env)
    const { duration_ms, passed, scenes } = JSON.parse(stdout)
    assert.deepInclude({ code, passed, scenes: scenes.length, stderr }, {
      code: 0,
      passed: true,
      scenes: 12,
      stderr: ""
    })
    assert.isAbove(duration_ms, 0)
    assert.deepStrictEqual(left(), untouched)
  })

  it("names the scene that went otherwise, in plain text where it is piped, and ends with 1", async () => {
    const real = process.env["PATH"] ?? ""
    const path = programs({
      python3: `#!/bin/sh\ncase "$1" in --version) echo Python 3;; *) echo '{"sum": 4}';; esac\n`
    })
    const { env, left } = machine(`${path}:${real}`)
    const { code, stderr, stdout } = await demo(env)
    assert.strictEqual(code, 1)
    assert.include(stdout, " 4  ")
    assert.notInclude(stdout + stderr, "\u001b")
    for (const line of stdout.split("\n")) assert.isAtMost(line.length, 80, line)
    assert.include(stderr, "DEMO_FAILED")
    assert.include(
      stderr,
      "Scene 5 of the demo, \"It runs Python, bash and Node\", failed: add answered {\"sum\":4}"
    )
    assert.deepStrictEqual(left(), untouched)
  })
})

describe("kiwi demo, on a machine without a language", () => {
  for (const missing of ["python3", "bash"]) {
    it(`says that ${missing} is missing, and ends with 1`, async () => {
      const here = Object.fromEntries(
        ["python3", "bash"].filter((name) => name !== missing).map((name) => [name, "#!/bin/sh\n"])
      )
      const { env, left } = machine(`${dirname(process.execPath)}:${programs(here)}`)
      const { code, stderr, stdout } = await demo(env, "--json")
      assert.strictEqual(code, 1, stderr)
      assert.include(JSON.parse(stdout).error.message, `${missing} does not run here`)
      assert.deepStrictEqual(left(), untouched)
    })
  }
})
