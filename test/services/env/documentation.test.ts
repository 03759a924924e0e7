// docs/environment.md says what the code does.
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { parseEnv } from "node:util"
import { cutDotenv } from "../../../src/services/env/dotenvText.ts"
import { isDeniedVariable } from "../../../src/services/env/variableNames.ts"

const text = readFileSync(new URL("../../../docs/environment.md", import.meta.url), "utf8")

describe("docs/environment.md", () => {
  it("its example of a .env file is read as its own values say", () => {
    const example = /```sh\n([^]*?)```/.exec(text)?.[1] ?? ""
    const { entries, problems } = cutDotenv(example)
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(Object.fromEntries(entries.map((e) => [e.name, parseEnv(e.text)[e.name]])), {
      TOKEN: "plain text up to the end of the line",
      NAME: "in single quotes: $nothing and \\n stay as they are",
      TEXT: "in double quotes \n is a line end,\nand the text may go on",
      EITHER: "in backquotes, for 'both' \"others\""
    })
  })

  it("the variables that it names as never supplied are refused", () => {
    const list = /whom it believes: `([^`]+)`/.exec(text)?.[1]?.split(/\s+/) ?? []
    assert.isAbove(list.length, 20)
    for (const name of list) assert.isTrue(isDeniedVariable(name.replace("*", "X")), name)
  })
})
