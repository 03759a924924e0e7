// Text that would take a terminal over, in every place where the built program prints what others wrote.
import { assert, it } from "@effect/vitest"
import { afterEach, beforeEach } from "vitest"
import { safeText } from "../../src/services/error/safeText.ts"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"
import { describeWith } from "../support/realParts.ts"

const escape = "\u001b"

const python = (body: string, docstring: string) =>
  `"""${docstring}"""\n__version__ = "1.0.0"\n__tool_type__ = "python"\n__executor_id__ = "python_runtime"\n` +
  `__category__ = "x"\nCONFIG = {"output": "text"}\n${body}\n`

describeWith(["python3"], "the command line on a terminal", () => {
  let machine: Machine
  beforeEach(async () => {
    machine = makeMachine()
    await machine.kiwi(["init"])
  })
  afterEach(() => machine.remove())

  it("shows everything that others wrote escaped, in every place where it is printed", async () => {
    const attack = "\u001b]0;owned\u0007\u001b[2J\u202egnp.\u200b\u{e0041}\u009b1m"
    const literal = JSON.stringify(attack).slice(1, -1).replaceAll("\u{e0041}", "\\U000e0041")
      .replaceAll("\u202e", "\\u202e").replaceAll("\u200b", "\\u200b").replaceAll("\u009b", "\\u009b")
    machine.write(".ai/tools/x/loud.py", python(`print("out ${literal}")`, `About ${attack}.`))
    machine.write(
      ".ai/tools/x/broken.py",
      python(`import sys\nprint("err ${literal}", file=sys.stderr)\nsys.exit(3)`, "Fails.")
    )
    machine.write(
      ".ai/directives/x/steps.md",
      "```xml\n<directive name=\"steps\" version=\"1.0.0\"><metadata>" +
        `<description>Do \u202ethis</description><category>x</category><model tier="fast"/>` +
        `<permissions><read resource="filesystem" path="**"/></permissions></metadata>` +
        `<process><step name="one"><action>Type \u202eit</action></step></process></directive>\n\`\`\`\n`
    )
    machine.write(
      ".ai/knowledge/x/note.md",
      `---\ntitle: Title\nversion: "1.0.0"\ntags: ["t\u202eag"]\n---\nText ${attack}\n`
    )
    const env = { NO_COLOR: "1" }
    const signing = await machine.onTerminal(["sign", "tool", "loud"], { env, answers: [["[y/N] ", "y\r"]] })
    const signed = await machine.kiwi(["sign", "tool", "**", "--yes", "--json"])
    await machine.kiwi(["sign", "directive", "**", "--yes"])
    await machine.kiwi(["sign", "knowledge", "**", "--yes"])
    assert.strictEqual(signed.code, 0, signed.stdout)
    const commands: ReadonlyArray<ReadonlyArray<string>> = [
      ["search", "about"],
      ["search", "title", "text"],
      ["load", "tool", "loud"],
      ["load", "knowledge", "note"],
      ["run", "tool", "loud"],
      ["run", "tool", "broken"],
      ["run", "directive", "steps"],
      ["run", "knowledge", "note"],
      ["explain", "loud"],
      ["logs"],
      ["audit", "show"],
      ["doctor"],
      ["run", "tool", attack.replaceAll("\u0000", "")],
      ["search", attack],
      ["trust", "remove", attack, "--yes"],
      ["search", "x", "--project", `/nowhere/${attack}`],
      [attack]
    ]
    const runs = await commands.reduce(
      async (before, args) => [...await before, await machine.onTerminal(args, { env })],
      Promise.resolve([signing])
    )
    // A slow machine sees progress, which wipes its own line away.
    const shown = runs.map((run) => run.shown.replaceAll(`\r${escape}[2K`, ""))
    for (const [at, text] of shown.entries()) {
      const lines = text.replaceAll("\r\n", "\n")
      assert.strictEqual(lines, safeText(lines), at === 0 ? "sign" : commands[at - 1]?.join(" "))
    }
    assert.include(shown[5], "out \\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{202e}gnp.\\u{200b}\\u{e0041}\\u{9b}1m")
    const raw = JSON.parse((await machine.kiwi(["run", "tool", "loud", "--json"])).stdout)
    assert.strictEqual(raw.data.trimEnd(), `out ${attack}`)
    assert.strictEqual((await machine.kiwi(["run", "tool", "loud"])).stdout, `out ${attack}\n`, "a pipe gets the data")
  })
})
