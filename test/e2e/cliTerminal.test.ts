// The built program on a real terminal: questions and colours.
import { assert, it } from "@effect/vitest"
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach } from "vitest"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"
import { passphrase, person } from "../support/person.ts"
import { giveKey } from "../support/personKey.ts"
import { describeWith } from "../support/realParts.ts"
import { runOnTerminal } from "../support/terminal.ts"

const escape = "\u001b"
const ask = "[y/N] "

const python = (name: string, body: string, docstring = "Greet.") =>
  `"""${docstring}"""\n__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n` +
  `__category__ = "x"\nCONFIG = {"output": "text"}\n# ${name}\n${body}\n`

let tools = 0
/** An unsigned tool in the machine's project that no other test has. */
const newTool = (machine: Machine) => {
  const name = `hello${++tools}`
  const file = machine.write(`.ai/tools/x/${name}.py`, python(name, `print("hello")`))
  return { name, isSigned: () => readFileSync(file, "utf8").includes("kiwi-mcp:signed:") }
}

describeWith(["python3"], "the command line on a terminal", () => {
  let machine: Machine
  let name: string
  let isSigned: () => boolean
  beforeAll(async () => {
    machine = makeMachine()
    await machine.kiwi(["init"])
  })
  beforeEach(() => {
    ;({ isSigned, name } = newTool(machine))
  })
  afterAll(() => machine.remove())

  it("sign shows what it signs, and does it for a yes", async () => {
    const { code, shown, unasked } = await machine.onTerminal(["sign", "tool", name], { answers: [[ask, "y\r"]] })
    assert.deepStrictEqual([code, unasked], [0, 0], shown)
    assert.include(shown, `Sign tool ${name} 1.0.0`)
    assert.include(shown, `+print("hello")`)
    assert.isTrue(isSigned())
  })

  for (const reply of ["n\r", "\r", "\u0004"]) {
    it(`and not for ${JSON.stringify(reply)}`, async () => {
      const { code, shown, unasked } = await machine.onTerminal(["sign", "tool", name], { answers: [[ask, reply]] })
      assert.deepStrictEqual([code, unasked], [1, 0], shown)
      assert.include(shown, "HUMAN_DECLINED")
      assert.isFalse(isSigned())
    })
  }

  for (const [ahead, reply] of [["y\r", "\r"], ["y", "\r"], ["y\ry\ry\r", "n\r"], ["yes\r", "\u0004"]] as const) {
    it(`what was typed before the question (${JSON.stringify(ahead)}) is no answer to it`, async () => {
      const { code, shown, unasked } = await runOnTerminal(
        ["/bin/sh", "-c", `echo READY; read line; exec "${process.execPath}" "${machine.bin}" sign tool ${name}`],
        { env: machine.env, cwd: machine.site, answers: [["READY", `x\r${ahead}`], [ask, reply]] }
      )
      assert.deepStrictEqual([code, unasked], [1, 0], shown)
      assert.include(shown, "HUMAN_DECLINED")
      assert.isFalse(isSigned())
    })
  }

  it("Ctrl-C at the question signs nothing and leaves the terminal alone", async () => {
    const { code } = await machine.onTerminal(["sign", "tool", name], { answers: [[ask, "\u0003"]] })
    assert.strictEqual(code, 130)
    assert.isFalse(isSigned())
  })

  it("--yes asks nothing", async () => {
    const { code, shown } = await machine.onTerminal(["sign", "tool", name, "--yes"])
    assert.strictEqual(code, 0, shown)
    assert.notInclude(shown, "[y/N]")
    assert.isTrue(isSigned())
  })

  it("colours on a terminal, and not with NO_COLOR", async () => {
    assert.include((await machine.onTerminal(["search", "add"])).shown, `${escape}[`)
    assert.notInclude((await machine.onTerminal(["search", "add"], { env: { NO_COLOR: "1" } })).shown, escape)
    assert.notInclude((await machine.kiwi(["search", "add"])).stdout, escape)
  })

  it("says after a second that something takes its time, on a terminal only", async () => {
    machine.write(".ai/tools/x/slow.py", python("slow", `import time; time.sleep(1.8); print("done")`))
    await machine.kiwi(["sign", "tool", "slow"])
    const { shown } = await machine.onTerminal(["run", "tool", "slow"], { env: { NO_COLOR: "1" } })
    assert.match(shown, /Running slow… \d\.\d s/)
    assert.include(shown, `\r${escape}[2Kdone\r\n`)
    const piped = await machine.kiwi(["run", "tool", "slow"])
    assert.deepStrictEqual([piped.stdout, piped.stderr], ["done\n", ""])
  })
})

describeWith(["python3"], "a signing key without a passphrase", () => {
  let machine: Machine
  let name: string
  let isSigned: () => boolean
  beforeAll(async () => {
    machine = makeMachine({ plain: true })
    await machine.kiwi(["init"])
  })
  beforeEach(() => {
    ;({ isSigned, name } = newTool(machine))
  })
  afterAll(() => machine.remove())

  const onTerminal = (command: string, reply: string) =>
    runOnTerminal(["/bin/sh", "-c", command.replace("kiwi", `"${process.execPath}" "${machine.bin}"`)], {
      env: machine.env,
      cwd: machine.site,
      answers: [[ask, reply]]
    })

  it("is used by a person at the terminal of an editor, and the record says what was seen", async () => {
    const env = { TERM_PROGRAM: "vscode", CURSOR_TRACE_ID: "1", ZED_TERM: "true" }
    const { code, shown } = await machine.onTerminal(["sign", "tool", name], { env, answers: [[ask, "y\r"]] })
    assert.strictEqual(code, 0, shown)
    assert.isTrue(isSigned())
    const { entries } = JSON.parse((await machine.kiwi(["logs", "--json"])).stdout)
    const made = entries.find((entry: { readonly act?: string }) => entry.act === "trust-project")
    assert.strictEqual(made.by, "init")
    const { by, outcome, seen } = entries.findLast((entry: { readonly kind: string }) => entry.kind === "act")
    assert.deepStrictEqual([by, outcome], ["terminal", "done"])
    assert.match(seen, /^answered at \/dev\/pts\/\d+$/)
  })

  it("is not used from a pipe, to a pipe, nor without a terminal, with --yes or not", async () => {
    for (const flag of ["", " --yes"]) {
      const fed = await onTerminal(`yes | kiwi sign tool ${name}${flag}`, "y\r")
      assert.include(fed.shown, "stdin is not a terminal")
      const read = await onTerminal(`kiwi sign tool ${name}${flag} 2>&1 | cat`, "y\r")
      assert.include(read.shown, "stdout is not a terminal")
      const bare = await machine.kiwi(["sign", "tool", name, "--json", ...flag.trim().split(" ").filter(Boolean)])
      assert.strictEqual(JSON.parse(bare.stdout).error.code, "HUMAN_REQUIRED")
    }
    assert.isFalse(isSigned())
  })

  for (const agent of ["CLAUDECODE", "OPENCODE"]) {
    it(`is not used where ${agent} is set, by yes or by --yes`, async () => {
      const env = { [agent]: "1" }
      const typed = await machine.onTerminal(["sign", "tool", name], { env, answers: [[ask, "y\r"]] })
      assert.strictEqual(typed.code, 1, typed.shown)
      assert.include(typed.shown, "HUMAN_REQUIRED")
      assert.include(typed.shown, `${agent} is set`)
      const trust = await machine.onTerminal(["trust", "project", "--yes"], { env })
      assert.include(trust.shown, "HUMAN_REQUIRED")
      assert.isFalse(isSigned())
      const ran = await machine.kiwi(["run", "tool", "add", "--params", `{"a": 1, "b": 1}`], { env })
      assert.strictEqual(ran.code, 0, "what a person signed, it may run")
    })
  }

  it("is made by an agent's init in a new home alone", async () => {
    const own = makeMachine({ plain: true })
    await own.kiwi(["init"])
    const env = { CLAUDECODE: "1" }
    const used = JSON.parse((await own.kiwi(["init", "other", "--json"], { env })).stdout)
    assert.deepStrictEqual([used.trust, used.signed, used.not_signed.code], ["restricted", [], "HUMAN_REQUIRED"])
    renameSync(join(own.env.KIWI_HOME, "identity.json"), join(own.folder, "aside"))
    const made = JSON.parse((await own.kiwi(["init", "third", "--json"], { env })).stdout)
    assert.deepStrictEqual([made.trust, made.signed, made.not_signed.code], ["restricted", [], "HUMAN_REQUIRED"])
    assert.isFalse(existsSync(join(own.env.KIWI_HOME, "identity.json")))
    const empty = { ...env, KIWI_HOME: join(own.folder, "empty") }
    const fresh = JSON.parse((await own.kiwi(["init", "fourth", "--json"], { env: empty })).stdout)
    assert.deepStrictEqual([fresh.trust, fresh.signed.length], ["trusted", 5])
    own.remove()
  })

  it("gets no passphrase from an agent that makes it: it would sign by it", async () => {
    const env = { CLAUDECODE: "1", KIWI_HOME: join(machine.folder, "empty"), KIWI_PASSPHRASE: "an agent's own words" }
    const made = JSON.parse((await machine.kiwi(["init", "other", "--json"], { env })).stdout)
    assert.deepStrictEqual([made.trust, made.signed.length], ["trusted", 5])
    machine.write("other/.ai/tools/x/hello.py", python("hello", `print("hello")`))
    const key = JSON.parse((await machine.kiwi(["identity", "--json"], { env })).stdout)
    assert.strictEqual(key.stored_in, "key file (0600)")
    for (
      const act of [
        ["sign", "tool", "hello"],
        ["trust", "project", "--yes"],
        ["trust", "add", key.public_key, "--as", "me", "--name", "mallory", "--everywhere"],
        ["identity", "encrypt"]
      ]
    ) {
      const { code, stdout } = await machine.kiwi([...act, "--json"], { env, cwd: join(machine.site, "other") })
      assert.strictEqual(code, 1, act.join(" "))
      assert.strictEqual(JSON.parse(stdout).error.code, "HUMAN_REQUIRED", act.join(" "))
    }
  })

  it("trusts no restricted project by an agent's init, after its .ai was moved away", async () => {
    machine.write("clone/.ai/tools/x/hello.py", python("hello", `print("hello")`))
    await machine.onTerminal(["sign", "tool", name, "--yes"])
    const clone = join(machine.site, "clone")
    renameSync(join(clone, ".ai"), join(clone, "aside"))
    await machine.kiwi(["init", "clone"], { env: { CLAUDECODE: "1" } })
    const { stdout } = await machine.kiwi(["run", "tool", "add", "--params", `{"a":1,"b":2}`, "--json"], { cwd: clone })
    assert.strictEqual(JSON.parse(stdout).error.code, "PROJECT_RESTRICTED")
  })
})

describeWith(["python3"], "a signing key with a passphrase", () => {
  let machine: Machine
  let name: string
  let isSigned: () => boolean
  beforeAll(async () => {
    machine = makeMachine({ plain: true })
    giveKey(machine.env.KIWI_HOME)
    await machine.kiwi(["init"], { env: person })
  })
  beforeEach(() => {
    ;({ isSigned, name } = newTool(machine))
  })
  afterAll(() => machine.remove())

  it("is used by KIWI_PASSPHRASE, below an agent and without a terminal", async () => {
    const env = { CLAUDECODE: "1", ...person }
    const signed = await machine.kiwi(["sign", "tool", name, "--json"], { env })
    assert.strictEqual(signed.code, 0, signed.stdout)
    const { entries } = JSON.parse((await machine.kiwi(["logs", "--json"])).stdout)
    const audit = entries.findLast((entry: { readonly kind: string }) => entry.kind === "act")
    assert.deepStrictEqual([audit.act, audit.by, audit.seen, audit.outcome], [
      "sign",
      "passphrase",
      "KIWI_PASSPHRASE",
      "done"
    ])
  })

  it("is asked for once by init, which trusts nothing without it", async () => {
    const unasked = JSON.parse((await machine.kiwi(["init", "other", "--json"])).stdout)
    assert.deepStrictEqual([unasked.trust, unasked.not_signed.code], ["restricted", "HUMAN_REQUIRED"])
    const { code, shown } = await machine.onTerminal(["init", "third"], {
      answers: [["Passphrase: ", `${passphrase}\r`]]
    })
    assert.strictEqual(code, 0, shown)
    assert.include(shown, "It is trusted")
    assert.include(shown, "5 items are signed")
    assert.strictEqual(shown.split("Passphrase: ").length, 2)
  })

  it("is no answer to a question that was not shown yet, whenever it was typed", async () => {
    const typed = `${passphrase}\r`
    const sign = (args: string, answers: ReadonlyArray<readonly [string, string]>) =>
      runOnTerminal(
        [
          "/bin/sh",
          "-c",
          `stty rows 40 cols 100; echo READY; read line; exec "${process.execPath}" "${machine.bin}" sign tool ${name} ${args}`
        ],
        { env: machine.env, cwd: machine.site, answers }
      )
    const early = [["", typed], ["", passphrase], ["", `y\r${typed}`], ["--yes", `${typed}${typed}`]] as const
    for (const [args, ahead] of early) {
      const run = await sign(args, [["READY", `x\r${ahead}`], ["Passphrase: ", "\r"]])
      assert.deepStrictEqual([run.code, run.unasked, isSigned()], [1, 0, false], run.shown)
      assert.include(run.shown, "HUMAN_DECLINED")
    }
    const mine = join(machine.site, `.ai/tools/x/${name}.py`)
    const lines = Array.from({ length: 12_000 }, (_, n) => `# line ${n}`)
    writeFileSync(mine, `${readFileSync(mine, "utf8")}${lines.join("\n")}\n`)
    for (const ahead of [typed, `y\r${typed}`]) {
      const run = await sign("", [
        ["READY", "x\r"],
        ["q: stop", "a"],
        ["# line 300", ahead],
        ["Passphrase: ", "\r"]
      ])
      assert.deepStrictEqual([run.code, run.unasked, isSigned()], [1, 0, false], run.shown.slice(-500))
    }
  })

  it("is used for every act, by who types it", async () => {
    const typed = await machine.onTerminal(["trust", "project"], {
      answers: [["Passphrase: ", "y\r"], ["Passphrase: ", `${passphrase}\r`]]
    })
    assert.strictEqual(typed.code, 0, typed.shown)
    assert.notInclude(typed.shown, passphrase)
  })

  it("and by nobody else", async () => {
    const below = await machine.onTerminal(["trust", "project"], { env: { CLAUDECODE: "1" }, answers: [] })
    assert.include(below.shown, "HUMAN_REQUIRED", "what is typed below an agent passes through it")
    assert.notInclude(below.shown, "Passphrase: ")
    const wrong = await machine.onTerminal(["sign", "tool", name, "--yes"], {
      answers: [["Passphrase: ", "a\r"], ["Passphrase: ", "b\r"], ["Passphrase: ", "c\r"]]
    })
    assert.deepStrictEqual([wrong.code, wrong.unasked], [1, 0], wrong.shown)
    assert.include(wrong.shown, "the passphrase was not right")
    const atTerminal = await machine.onTerminal(["trust", "project", "--yes"], { answers: [["Passphrase: ", "\r"]] })
    assert.include(atTerminal.shown, "HUMAN_DECLINED", "a terminal alone is not enough")
    const guessed = await machine.kiwi(["sign", "tool", name, "--yes", "--json"], {
      env: { KIWI_PASSPHRASE: "guess" },
      input: `${passphrase}\n`
    })
    assert.strictEqual(JSON.parse(guessed.stdout).error.code, "HUMAN_REQUIRED")
  })
})
