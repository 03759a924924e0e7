// Each character that a question shows as it is, drawn by a real terminal, which is asked for the cursor after each.
import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { exactText, mostColumns } from "../../../src/services/error/exactText.ts"
import { describeWith } from "../../support/realParts.ts"

const measure = `
import os, re, sys, tty
tty.setraw(0)
texts = open(sys.argv[1], encoding="utf8").read().split("\\n")
columns, left = [], b""
for at in range(0, len(texts), 200):
    part = texts[at:at + 200]
    os.write(1, "".join("\\r\\x1b[K" + text + "\\x1b[6n" for text in part).encode())
    found = []
    while len(found) < len(part):
        left += os.read(0, 65536)
        found = re.findall(rb"\\x1b\\[\\d+;(\\d+)R", left)
    left = b""
    columns += [str(int(column) - 1) for column in found]
open(sys.argv[2] + ".part", "w").write(" ".join(columns))
os.rename(sys.argv[2] + ".part", sys.argv[2])
`

const points = Array.from({ length: 0x110000 }, (_, point) => point).filter((point) => point < 0xd800 || point > 0xdfff)
const characters = points.map((point) => String.fromCodePoint(point)).filter((one) => one >= " ")
const alone = characters.filter((character) => exactText(character) === character)

/** On a letter of each script that writes marks. */
const letters = "אبकকਕકକகకಕകකกກཀကአក"
const marks = characters.filter((character) => /\p{M}/u.test(character))
const onLetters = Array.from(letters).flatMap((letter) =>
  marks.map((mark) => letter + mark).filter((text) => exactText(text) === text)
)

describeWith(["tmux", "python3"], "a terminal", () => {
  it("draws all that is shown as it is, and on no more columns than are counted", { timeout: 120_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), "kiwi-drawn-"))
    const tmux = (...args: ReadonlyArray<string>) =>
      spawnSync("tmux", ["-u", "-f", "/dev/null", "-S", join(folder, "tmux"), ...args], {
        env: { ...process.env, LC_ALL: "C.UTF-8", TMUX: "" },
        encoding: "utf8"
      })
    try {
      const texts = [...alone, ...onLetters]
      const [script, input, output] = ["measure.py", "texts", "columns"].map((name) => join(folder, name)) as [
        string,
        string,
        string
      ]
      writeFileSync(script, measure)
      writeFileSync(input, texts.join("\n"))
      const command = `python3 '${script}' '${input}' '${output}'; tmux wait-for -S done`
      tmux("new-session", "-d", "-x", "80", "-y", "24", command)
      tmux("wait-for", "done")
      assert.isTrue(existsSync(output))
      const columns = readFileSync(output, "utf8").split(" ").map(Number)
      assert.strictEqual(columns.length, texts.length)
      assert.isAbove(alone.length, 40_000)
      assert.isAbove(onLetters.length, 300)
      const wrong = texts.flatMap((text, at) => {
        const drawn = columns[at]!
        return drawn >= 1 && drawn <= mostColumns(text) ? [] : [`${JSON.stringify(text)}: ${drawn}`]
      })
      assert.deepStrictEqual(wrong, [])
    } finally {
      tmux("kill-server")
      rmSync(folder, { recursive: true })
    }
  })
})
