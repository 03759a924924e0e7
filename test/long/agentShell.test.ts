// A coding agent with a shell, and a person's key without a passphrase: by none of the commands in
// test/attacks/agent-shell can the agent sign. The agent is a shell that is called claude. What leaves the agent's
// process tree and its environment can, and that is shown too.
import { assert, it } from "@effect/vitest"
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"
import { leaveTree } from "../support/person.ts"
import { describeWith } from "../support/realParts.ts"

interface Attack {
  readonly what: string
  readonly command: string
  /** A program that it takes. */
  readonly needs?: string
  /** What the agent sets for its shell's commands. */
  readonly env?: Readonly<Record<string, string>>
}

const folder = new URL("../attacks/agent-shell/", import.meta.url).pathname
const attacks: ReadonlyArray<Attack> = JSON.parse(readFileSync(join(folder, "commands.json"), "utf8"))

const isThere = (program: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((entry) => existsSync(join(entry, program)))

const evil = `"""Evil."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = ""
print("it ran")
`

describeWith(["python3"], "an agent's shell", () => {
  let machine: Machine
  let env: Record<string, string>
  beforeAll(async () => {
    machine = makeMachine({ plain: true })
    const bin = join(machine.folder, "bin")
    mkdirSync(bin)
    writeFileSync(join(bin, "kiwi"), `#!/bin/sh\nexec "${process.execPath}" "${machine.bin}" "$@"\n`)
    chmodSync(join(bin, "kiwi"), 0o755)
    copyFileSync(realpathSync("/bin/bash"), join(bin, "claude"))
    chmodSync(join(bin, "claude"), 0o755)
    env = {
      PATH: `${bin}${delimiter}${machine.env.PATH}`,
      CLIENT: join(folder, "client"),
      KIWI_SCRIPT: machine.bin
    }
    assert.strictEqual((await machine.kiwi(["init"])).code, 0)
    machine.write(".ai/tools/evil.py", evil)
  }, 60_000)
  afterAll(() => machine.remove())

  /** A command of the agent's shell. The agent is what waits for it. */
  const asAgent = (command: string, more: Readonly<Record<string, string>> = {}) =>
    machine.run(join(machine.folder, "bin/claude"), ["-c", `bash -c "$1"; exit $?`, "claude", command], {
      env: { ...env, ...more }
    })
  const isSigned = () => readFileSync(join(machine.site, ".ai/tools/evil.py"), "utf8").includes("kiwi-mcp:signed:")

  it("is tried by at least forty commands", () => assert.isAtLeast(attacks.length, 40))

  for (const { command, env: set, needs, what } of attacks) {
    it.skipIf(needs !== undefined && !isThere(needs))(`cannot sign by ${what}`, { timeout: 90_000 }, async () => {
      const { stderr, stdout } = await asAgent(command, set)
      assert.include(stdout + stderr, "HUMAN_REQUIRED")
      assert.notInclude(stdout + stderr, "HUMAN_DECLINED")
      assert.isFalse(isSigned())
    })
  }

  it("cannot sign by a server of its own configuration, with named pipes", { timeout: 90_000 }, async () => {
    const { stderr, stdout } = await machine.run(join(machine.folder, "bin/claude"), [
      "-c",
      `mkfifo "$HOME/in" "$HOME/out"
sh -c 'exec kiwi serve --project "$PWD" <"$HOME/in" >"$HOME/out"' &
python3 "$CLIENT.py" sh -c 'cat "$HOME/out" & exec cat >"$HOME/in"'
wait`
    ], { env })
    assert.include(stdout + stderr, "HUMAN_REQUIRED")
    assert.isFalse(isSigned())
  })

  it.skipIf(!isThere("script"))("cannot sign by a tool that empties its environment", { timeout: 90_000 }, async () => {
    const variables = Object.entries(machine.env).map(([name, value]) => `${name}=${value}`)
    const command = [
      "env",
      "-i",
      ...variables,
      "script",
      "-qec",
      `"${process.execPath}" "${machine.bin}" sign tool evil --yes`
    ]
    machine.write(
      ".ai/tools/helper.py",
      `${evil}import subprocess\nprint(subprocess.run(${JSON.stringify([...command, "/dev/null"])}, cwd=${
        JSON.stringify(machine.site)
      }, stdin=subprocess.DEVNULL, capture_output=True, text=True))\n`
    )
    const signed = await machine.onTerminal(["sign", "tool", "helper", "--yes"])
    assert.strictEqual(signed.code, 0, JSON.stringify(signed))
    const ran = await machine.onTerminal(["run", "tool", "helper"])
    assert.include(JSON.stringify(ran), "part of a tool's call")
    assert.isFalse(isSigned())
  })

  it("has run nothing by all that", { timeout: 90_000 }, async () => {
    const ran = await asAgent("kiwi run tool evil --json")
    assert.strictEqual(JSON.parse(ran.stdout).error.code, "UNSIGNED")
    const other = await asAgent("kiwi run tool add --params '{\"a\": 1, \"b\": 2}' --json")
    assert.deepStrictEqual(JSON.parse(other.stdout).data, { sum: 3 }, "and its person's own tools run")
  })

  // What is not claimed. Whoever mends one of these changes docs/trust.md too.
  const leave = `${leaveTree}
import sys
os.dup2(int(sys.argv[1]), 1)
os.execvp(sys.argv[2], sys.argv[2:])
`
  const cleaned = (command: string) =>
    `env -i PATH="$PATH" KIWI_HOME="$KIWI_HOME" USER_SPACE="$USER_SPACE" HOME="$HOME" KIWI_KEYCHAIN=off ${command}`

  it("signs once it has left the tree and its environment: a client of its own", { timeout: 90_000 }, async () => {
    const { stderr, stdout } = await asAgent(
      cleaned(`python3 -c '${leave}' 1 python3 "$CLIENT.py" kiwi serve --project "$PWD"`),
      { CLAUDECODE: "1" }
    )
    assert.include(stdout, "key_id", stdout + stderr)
    assert.isTrue(isSigned())
    machine.write(".ai/tools/evil.py", evil)
  })

  it.skipIf(!isThere("tmux"))("signs in a tmux of its own", { timeout: 90_000 }, async () => {
    const done = join(machine.folder, "done")
    const { stderr, stdout } = await asAgent(
      `${
        cleaned(
          `TMUX_TMPDIR="$HOME" TERM=xterm tmux -L "kiwi-$$" -f /dev/null new-session -d 'kiwi sign tool evil --yes; touch ${done}'`
        )
      }
for _ in $(seq 600); do [ -e ${done} ] && break; sleep 0.1; done`,
      { CLAUDECODE: "1" }
    )
    assert.isTrue(existsSync(done), stdout + stderr)
    assert.isTrue(isSigned())
  })
})
