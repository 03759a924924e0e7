// A whole line as a rule names it.
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseLine, setsItsVariables, showLine } from "../../../../src/services/capability/command/exactLine.ts"
import { parseRuleLine } from "../../../../src/services/permission/rule/Rule.ts"

const lines = [
  { text: "for f in src/*.js; do wc -l $f; done", folder: "." },
  { text: "echo $HOME", folder: "src" },
  { text: "echo 'a b' \"c\" | wc", folder: "a b/it's (1), in x" },
  { text: "FOO=1 node --version", folder: "packages/a" },
  { text: "ls *", folder: "." },
  { text: "'' in x", folder: "." },
  { text: "a, b) in (c", folder: "x,y" }
]

describe("a line in a rule", () => {
  for (const line of lines) {
    it(`is read back as it was shown: ${showLine(line)}`, () => {
      assert.deepStrictEqual(parseLine(showLine(line)), line)
      const rule = Result.getOrThrow(parseRuleLine(`allow: process.exec(${showLine(line)})`))
      assert.deepStrictEqual(rule.scopes, { Command: [], Line: line })
    })
  }

  for (
    const scope of ["npm test", "'npm' test", "'git'", "git commit -m 'a b'", "'a b' c", "'a b' in", "''", "'a' 'b'"]
  ) {
    it(`is not meant by ${scope}`, () => assert.isUndefined(parseLine(scope)))
  }

  for (const outcome of ["deny", "ask"]) {
    it(`is in no rule that would ${outcome}`, () => {
      const rule = parseRuleLine(`${outcome}: process.exec('echo $HOME')`)
      assert.include(Result.isFailure(rule) ? rule.failure : "", "gets around it")
    })
  }
})

describe("variables of a line", () => {
  for (
    const text of [
      "echo a",
      "echo $HOME ${PWD}",
      "for f in *; do cat $f ${f}; done",
      "for i in 1 2; do for j in 3; do echo $i$j; done; done"
    ]
  ) {
    it(`are its own: ${text}`, () => assert.isTrue(setsItsVariables(text)))
  }
  const others = [
    "echo $X",
    "for f in $FILES; do cat $f; done",
    "for f in *; do cat $g; done",
    "for f in $f; do cat $f; done",
    "$EDITOR",
    "echo \"${TOKEN}\"",
    "cat $f; for f in a; do b; done"
  ]
  for (const text of others) it(`are not its own: ${text}`, () => assert.isFalse(setsItsVariables(text)))
})
