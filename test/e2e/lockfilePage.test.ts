// docs/lockfiles.md, typed in by a person: every command of its examples, in one project, with what the page says that it
// answers. `…` in the page stands for anything.
import { assert, describe, it } from "@effect/vitest"
import { chmodSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { type Machine, makeMachine } from "../support/kiwiProgram.ts"

const text = readFileSync(new URL("../../docs/lockfiles.md", import.meta.url), "utf8")

interface Typed {
  readonly command: string
  readonly answers: ReadonlyArray<string>
}

const typed = Array.from(
  text.matchAll(/```console\n([^]*?)```/g),
  ([, block = ""]): ReadonlyArray<Typed> =>
    block.split(/^\$ /m).slice(1).map((part) => {
      const [command = "", ...answers] = part.trimEnd().split("\n")
      return { command, answers: answers.filter((line) => line.trim() !== "…") }
    })
).flat()

/** A whole line; columns are as wide as they have to be. */
const pattern = (line: string): RegExp => {
  const parts = line.trim().split(/(…|\s+)/).map((part) =>
    part === "…" ? ".*" : /^\s+$/.test(part) ? "\\s+" : part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
  )
  return new RegExp(`^\\s*${parts.join("")}\\s*$`, "m")
}

describe("docs/lockfiles.md", () => {
  let machine: Machine
  beforeAll(() => {
    machine = makeMachine()
    const kiwi = join(machine.folder, "kiwi-command")
    writeFileSync(kiwi, `#!/bin/sh\nexec ${process.execPath} ${machine.bin} "$@"\n`)
    chmodSync(kiwi, 0o755)
  })
  afterAll(() => machine.remove())

  it("has examples", () => assert.isAbove(typed.length, 20))

  it("they answer what it says", { timeout: 180_000 }, async () => {
    for (const { answers, command } of typed) {
      const script = `kiwi() { "${join(machine.folder, "kiwi-command")}" "$@"; }\n${command}`
      const { stderr, stdout } = await machine.run("bash", ["-c", script])
      const said = `${stdout}\n${stderr}`
      for (const line of answers) assert.match(said, pattern(line), `${command}\n${said}\n`)
    }
  })
})
