// The built program: the live inbox on a real terminal.
import { assert, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"
import { describeWith } from "../support/realParts.ts"

const down = "\u001b[B"
const params = (value: object) => ["--params", JSON.stringify(value)]
const read = ["run", "tool", "filesystem.read", ...params({ path: "/etc/hostname" })]
const write = (path: string) => ["run", "tool", "filesystem.write", ...params({ path, content: "one\n" })]

describeWith(["python3"], "kiwi inbox on a terminal", () => {
  let machine: Machine
  beforeAll(async () => {
    machine = makeMachine({ plain: true })
    await machine.kiwi(["init"])
  })
  afterAll(() => machine.remove())

  const errorOf = async (args: ReadonlyArray<string>) => {
    const { stdout } = await machine.kiwi([...args, "--json"])
    return JSON.parse(stdout).error?.code
  }

  /** Types the keys, each once the screen shows its text. */
  const inbox = async (
    answers: ReadonlyArray<readonly [string, string]>,
    env: Readonly<Record<string, string>> = {}
  ) => {
    const { shown, unasked } = await machine.onTerminal(["inbox"], { answers, env: { NO_COLOR: "1", ...env } })
    return { shown, unasked }
  }

  it("one key allows the call that waits, once", async () => {
    assert.strictEqual(await errorOf(write("a.txt")), "APPROVAL_PENDING")
    const { shown, unasked } = await inbox([
      ["- never:", "o"],
      ["is answered: once", "q"]
    ])
    assert.strictEqual(unasked, 0, shown)
    assert.strictEqual(await errorOf(write("a.txt")), undefined)
    assert.strictEqual(await errorOf(write("a.txt")), "APPROVAL_PENDING")
  })

  it("shows a request that comes while it is open", async () => {
    const open = inbox([["2 waiting", down], ["Would: fs.write(b.txt)", "n"], ["is answered: no", "q"]])
    assert.strictEqual(await errorOf(write("b.txt")), "APPROVAL_PENDING")
    const { shown, unasked } = await open
    assert.strictEqual(unasked, 0, shown)
  })

  it("a refusal has the rule that would allow it, which one key makes after the change was shown", async () => {
    assert.strictEqual(await errorOf(read), "PERMISSION_DENIED")
    assert.include((await machine.kiwi(["inbox"])).stdout, "to allow it: kiwi permissions allow")
    const { shown, unasked } = await inbox([
      ["1 refused", down],
      ["This rule would allow it: fs.read(/etc/hostname)", "r"],
      ["[y/N] ", "y\r"],
      ["The rules are changed", "q"]
    ])
    assert.strictEqual(unasked, 0, shown)
    assert.include(shown, "+  - allow: fs.read(/etc/hostname)")
    assert.strictEqual(await errorOf(read), undefined)
  })

  it("below a coding agent it is the plain list", async () => {
    const { shown } = await inbox([], { CLAUDECODE: "1" })
    assert.include(shown, "Answer one: kiwi approve ID")
    assert.notInclude(shown, "\u001b")
  })
})
