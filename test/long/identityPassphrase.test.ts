// kiwi identity encrypt as a person types it, and what signing asks for afterwards.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, assert, beforeEach, it } from "vitest"
import { agrees, makeWorld } from "../support/builtKiwi.ts"
import { makeMachine } from "../support/kiwiProgram.ts"
import type { Machine } from "../support/kiwiProgram.ts"
import { person } from "../support/person.ts"
import { describeWith } from "../support/realParts.ts"

const [present, fresh, again] = ["Passphrase: ", "not shown): ", "Repeat the new passphrase: "]
const words = "open sesame"

describeWith(["python3"], "kiwi identity encrypt", () => {
  let machine: Machine
  const keys = () => {
    const folder = join(machine.folder, "kiwi/keys")
    return existsSync(folder) ? readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8")) : []
  }
  const encrypt = (...answers: ReadonlyArray<readonly [string, string]>) =>
    machine.onTerminal(["identity", "encrypt"], { answers })
  const touch = (text: string) => writeFileSync(join(machine.site, ".ai/tools/math/add.py"), text)
  beforeEach(async () => {
    machine = makeMachine({ plain: true })
    await machine.kiwi(["init"])
  })
  afterEach(() => machine.remove())

  it("keeps the key and its signatures, and from then on signing asks, hidden, three times", async () => {
    const before = JSON.parse((await machine.kiwi(["identity", "--json"])).stdout)
    const done = await encrypt([fresh, `${words}\r`], [again, `${words}\r`])
    assert.deepStrictEqual([done.code, done.unasked], [0, 0], done.shown)
    assert.notInclude(done.shown, "sesame")
    assert.include(done.shown, "key file (encrypted)")
    const after = JSON.parse((await machine.kiwi(["identity", "--json"])).stdout)
    assert.deepStrictEqual([after.key_id, after.public_key], [before.key_id, before.public_key])
    assert.deepStrictEqual(keys().map((text) => JSON.parse(text).protection), ["scrypt-aes-256-gcm"])
    assert.strictEqual((await machine.kiwi(["run", "tool", "add", "--params", `{"a": 1, "b": 2}`])).code, 0)

    const tool = join(machine.site, ".ai/tools/math/add.py")
    touch(`${readFileSync(tool, "utf8")}\n# changed\n`)
    const right = await machine.onTerminal(["sign", "tool", "add"], {
      answers: [[present, "wrong\r"], [present, `${words}\r`]]
    })
    assert.deepStrictEqual([right.code, right.unasked], [0, 0], right.shown)
    assert.notInclude(right.shown, "sesame")
    assert.include(right.shown, "That is not the passphrase.")

    touch(`${readFileSync(tool, "utf8")}\n# changed again\n`)
    const wrong = await machine.onTerminal(["sign", "tool", "add"], {
      answers: [[present, "a\r"], [present, "b\r"], [present, "c\r"]]
    })
    assert.deepStrictEqual([wrong.code, wrong.unasked], [1, 0], wrong.shown)
    assert.include(wrong.shown, "HUMAN_DECLINED")
    assert.include(wrong.shown, "the passphrase was not right")
    assert.notInclude(wrong.shown, "the person")
  }, 120_000)

  it("refuses what is too short, typed differently, given up, or not the old one, and changes nothing", async () => {
    const plain = keys()
    for (
      const [answers, code] of [
        [[[fresh, "\r"]], "HUMAN_DECLINED"],
        [[[fresh, "short\r"], [fresh, "short\r"], [fresh, "short\r"]], "PASSPHRASE_REFUSED"],
        [
          [[fresh, "aaaaaaaaaa\r"], [fresh, `${words}\r`], [again, `${words}.\r`], [fresh, "short\r"]],
          "PASSPHRASE_REFUSED"
        ],
        [[[fresh, "short\r"], [fresh, "\r"]], "HUMAN_DECLINED"],
        [[[fresh, `${words}\r`], [again, "\u0003"]], "HUMAN_DECLINED"]
      ] as const
    ) {
      const refused = await encrypt(...answers)
      assert.deepStrictEqual([refused.code, refused.unasked], [1, 0], refused.shown)
      assert.include(refused.shown, code)
    }
    assert.deepStrictEqual(keys(), plain)
    await encrypt([fresh, "short\r"], [fresh, `${words}\r`], [again, `${words}\r`])
    const sealed = keys()
    const guessed = await encrypt([present, "a\r"], [present, "b\r"], [present, "c\r"], [fresh, "another one\r"], [
      again,
      "another one\r"
    ])
    assert.strictEqual(guessed.code, 1, guessed.shown)
    assert.deepStrictEqual(keys(), sealed)
    const changed = await encrypt([present, `${words}\r`], [fresh, "another one\r"], [again, "another one\r"])
    assert.strictEqual(changed.code, 0, changed.shown)
    assert.notDeepEqual(keys(), sealed)
    const off = await machine.onTerminal(["identity", "decrypt"], { answers: [[present, "another one\r"]] })
    assert.strictEqual(off.code, 0, off.shown)
    assert.deepStrictEqual(keys(), plain)
  }, 180_000)

  it("takes the passphrase from no variable, pipe or argument", async () => {
    const plain = keys()
    const env = person
    for (const args of [["encrypt"], ["encrypt", "--json"], ["decrypt"], ["encrypt", words], ["encrypt", "--yes"]]) {
      const input = `${words}\n${words}\n`
      assert.notStrictEqual((await machine.kiwi(["identity", ...args], { env, input })).code, 0, args.join(" "))
    }
    assert.deepStrictEqual(keys(), plain)
    const { stdout } = await machine.kiwi(["identity", "encrypt", "--json"], { env, input: `${words}\n` })
    assert.strictEqual(JSON.parse(stdout).error.code, "HUMAN_REQUIRED")
  }, 120_000)

  it("is offered by init and doctor, until it was done", async () => {
    const offer = "No program can sign as you then without the passphrase"
    const other = makeMachine({ plain: true })
    assert.include((await other.onTerminal(["init"])).shown.replaceAll(/\s+/g, " "), offer)
    assert.notInclude((await other.onTerminal(["init", "two"])).shown.replaceAll(/\s+/g, " "), offer)
    other.remove()
    const said = async () => (await machine.kiwi(["doctor"])).stdout.replaceAll(/\s+/g, " ")
    const before = await said()
    assert.include(before, "kiwi identity encrypt")
    assert.include(before, offer)
    assert.notInclude(before, "identity.json")
    await encrypt([fresh, `${words}\r`], [again, `${words}\r`])
    const after = await said()
    assert.notInclude(after, "kiwi identity encrypt")
    assert.include(after, "key file (encrypted)")
  }, 120_000)
})

describeWith(["python3"], "an encrypted key over MCP", () => {
  it("is not opened by a yes alone: the agent is told what to tell the person, and nothing is lost", async () => {
    const world = makeWorld()
    try {
      const project = join(world.root, "project")
      const env = person
      assert.strictEqual((await world.run(["init", project], env)).code, 0)
      const file = join(project, ".ai/tools/math/add.py")
      const changed = `${readFileSync(file, "utf8")}\n# changed\n`
      writeFileSync(file, changed)
      const client = await world.connect({ project, person: agrees, env: { KIWI_PASSPHRASE: "" } })
      const refused = await client.call("sign", { item_id: "add" })
      assert.strictEqual(refused.code, "KEY_LOCKED", refused.text)
      assert.include(
        refused.error?.remediation,
        "Ask the person to type, at a terminal of their own, where Kiwi asks for the passphrase (you never do): kiwi sign tool"
      )
      assert.notInclude(refused.text, "KIWI_PASSPHRASE")
      assert.strictEqual(client.asked.length, 0, "nobody is asked for a yes that opens nothing")
      assert.strictEqual(readFileSync(file, "utf8"), changed)
      const open = await world.connect({ project, person: agrees, env })
      assert.strictEqual((await open.call("sign", { item_id: "add" })).code, undefined)
    } finally {
      await world.close()
    }
  }, 120_000)
})
