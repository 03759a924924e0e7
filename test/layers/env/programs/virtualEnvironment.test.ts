// The homes that a pyvenv.cfg may mean, beside what a real Python takes from it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { homesOf } from "../../../../src/layers/env/programs/virtualEnvironment.ts"
import { temporary } from "../../../support/temporary.ts"

const texts: ReadonlyArray<readonly [what: string, text: string]> = [
  ["one", "home = /good\n"],
  ["two", "home = /good\nhome = /evil\n"],
  ["two, the other way round", "home = /evil\nhome = /good\n"],
  ["after a carriage return", "x = y\rhome = /good\nhome = /evil\n"],
  ["a carriage return in the last", "home = /good\nx = y\rhome = /evil"],
  ["lines of Windows", "home = /good\r\nhome = /evil\r\n"],
  ["lines of an old Mac", "home = /good\rhome = /evil\r"],
  ["a form feed", "x = y\fhome = /good\nhome = /evil\n"],
  ["a vertical tab before it", "\vhome = /evil\n"],
  ["a next line", "x = y\u0085home = /good\nhome = /evil\n"],
  ["a line separator", "x = y\u2028home = /good\nhome = /evil\n"],
  ["a paragraph separator", "x = y\u2029home = /good\nhome = /evil\n"],
  ["capital letters", "home = /good\nHOME = /evil\n"],
  ["blanks that only Python knows", "\x1chome\x1f=\x1d/evil\x1e\n"],
  ["a blank that only Unicode has", "\u00a0home\u3000=\u2003/evil\u00a0\n"],
  ["an equals sign in it", "home = /evil=x\n"],
  ["a carriage return in its name", "home = /good\rx\n"],
  ["no blanks", "home=/evil"],
  ["an empty one first", "home =\nhome = /evil\n"]
]

const python = "/usr/bin/python3"

const script = `import site, sys
sys._home = None
site.venv(set())
print(ascii(sys._home))`

describe.skipIf(!fs.existsSync(python))("home of pyvenv.cfg", () => {
  for (const [what, text] of texts) {
    it.effect(`is taken as Python takes it: ${what}`, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        fs.mkdirSync(`${folder}/bin`)
        fs.symlinkSync(fs.realpathSync(python), `${folder}/bin/python`)
        fs.writeFileSync(`${folder}/pyvenv.cfg`, text)
        const homes = homesOf("/project", `${folder}/pyvenv.cfg`) ?? []
        const ran = spawnSync(`${folder}/bin/python`, ["-S", "-c", script], { encoding: "utf8" })
        assert.strictEqual(ran.status, 0, ran.stderr)
        const last = JSON.parse(ran.stdout.trim().replaceAll(/^'|'$/g, "\"").replaceAll(/\\x(..)/g, "\\u00$1"))
        assert.include(homes, last)
        // What starts Python takes the first, up to a line feed.
        const first = text.split("\n").find((line) => /^\s*home\s*=/i.test(line))?.replace(/^[^=]*=/, "").trim() ?? last
        if (first !== "") assert.include(homes, first)
      }))
  }

  it.effect("is none of what another key says", () =>
    Effect.gen(function*() {
      const folder = yield* temporary
      fs.writeFileSync(`${folder}/pyvenv.cfg`, "x = home = /evil\nhomes = /evil\n# home /evil\nhome\n=/evil\n")
      assert.deepStrictEqual(homesOf("/project", `${folder}/pyvenv.cfg`), [])
    }))
})
