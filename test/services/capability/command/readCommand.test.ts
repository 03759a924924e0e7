import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { matchesCommand, parsePatterns } from "../../../../src/services/capability/command/CommandPattern.ts"
import { isHarmless } from "../../../../src/services/capability/command/judgeCommand.ts"
import { readCommand } from "../../../../src/services/capability/command/readCommand.ts"
import { type CommandReading, openedFiles } from "../../../../src/services/capability/command/SimpleCommand.ts"
import { suggestPattern } from "../../../../src/services/capability/command/suggestPattern.ts"
import { agentCommands } from "./agentCommands.ts"
import { commandAttacks } from "./commandAttacks.ts"
import { showReading, showRules } from "./showReading.ts"

/** What a person may well have allowed. */
const rules = Result.getOrThrow(parsePatterns(
  "git status *, git log *, git diff *, git show *, git add *, git commit *, git grep *, npm test *, npm run build *, " +
    "cargo test *, cargo build *, go test *, go build *, rg *, sort *, cat *, ls *, grep *, eslint *, pylint *, " +
    "pytest *, tsc *, jest *, vitest *, mocha *, prettier *, date *, mypy *, ./gradlew *, fd *, kubectl get *, docker ps *, gh pr view *"
))

/** Whether the rules cover all of the text, where it may neither open files nor leave the folder. */
const covered = ({ commands, opaque }: CommandReading) =>
  opaque.length === 0 &&
  commands.every((command) =>
    openedFiles(command).length === 0 && command.folders.join() === "." &&
    (isHarmless(command) || rules.some((rule) => matchesCommand(rule, command)))
  )

describe("the commands of coding agents", () => {
  it("are read", () => {
    assert.isAtLeast(agentCommands.length, 200)
    const read = agentCommands.map(([text]) => [text, showReading(readCommand(text)), showRules(readCommand(text))])
    assert.deepStrictEqual(read, agentCommands.map((row) => [...row]))
  })

  it("are matched by the rules that are proposed for them", () => {
    for (const [text] of [...agentCommands, ...commandAttacks]) {
      for (const command of readCommand(text).commands) {
        const rule = suggestPattern(command, true)
        if (rule !== undefined) assert.isTrue(matchesCommand(rule, command), text)
      }
    }
  })

  it("are read alike in bash, where nothing is opaque", () => {
    for (const [text] of agentCommands) {
      const reading = readCommand(text)
      if (reading.opaque.length === 0) assert.deepStrictEqual(readCommand(text, "bash"), reading, text)
    }
  })
})

describe("attacks on rules for programs", () => {
  it("are read", () => {
    assert.isAtLeast(commandAttacks.length, 200)
    const read = commandAttacks.map(([text]) => [text, showReading(readCommand(text))])
    assert.deepStrictEqual(read, commandAttacks.map((row) => [...row]))
  })

  it("are not covered", () => {
    assert.isTrue(covered(readCommand("git log -3 && npm test | sort")))
    for (const [text] of commandAttacks) {
      assert.isFalse(covered(readCommand(text)), text)
      // In bash, `$'…'` is one word.
      if (!text.includes("$'")) assert.isFalse(covered(readCommand(text, "bash")), text)
    }
  })
})

describe("readCommand", () => {
  it("gives the files of redirections in every folder that is possible", () => {
    const files = (text: string) => readCommand(text).commands.flatMap(openedFiles)
    assert.deepStrictEqual(files("a <in 2>err >>/tmp/out <>both"), [
      { direction: "read", path: "in" },
      { direction: "write", path: "err" },
      { direction: "append", path: "/tmp/out" },
      { direction: "read", path: "both" },
      { direction: "write", path: "both" }
    ])
    assert.deepStrictEqual(files("cd a && b > c"), [{ direction: "write", path: "a/c" }])
    assert.deepStrictEqual(files("cd a; b > ../c"), [
      { direction: "write", path: "../c" },
      { direction: "write", path: "a/../c" }
    ])
    assert.deepStrictEqual(files("cd /p/q && cd .. && b > c"), [
      { direction: "write", path: "/p/c" },
      { direction: "write", path: "/p/q/../c" }
    ])
    assert.deepStrictEqual(files("> a"), [{ direction: "write", path: "a" }])
    assert.deepStrictEqual(files("(cd a && b) > c"), [{ direction: "write", path: "c" }])
    assert.deepStrictEqual(files("a 2>&1 >/dev/null 2>/dev/stderr <&- >&2"), [])
  })

  it("shows what could be read of an opaque part", () => {
    const parts = readCommand("git push \"$(x)\"; git status").opaque
    assert.strictEqual(parts.length, 1)
    assert.strictEqual(parts[0]!.text, "git push \"$(x)\"; git status")
    assert.strictEqual(parts[0]!.command?.program, "git")
    assert.deepStrictEqual(parts[0]!.command?.words, [{ text: "push", fixed: true }, { text: "…", fixed: false }])
  })

  it("reads on in bash where only bash agrees with itself", () => {
    assert.strictEqual(showReading(readCommand("a $'b\\tc' &>d", "bash")), "a \"b\tc\" >d")
    assert.isNotEmpty(readCommand("a 1&>d", "bash").opaque)
  })

  it("ends, however long and deep the text is", () => {
    const long = [
      "a;".repeat(30_000),
      "(".repeat(30_000),
      "( ".repeat(30_000),
      "{ ".repeat(30_000),
      "cd a;".repeat(10_000),
      "cd a || ".repeat(5000),
      "'".repeat(60_001),
      "a ".repeat(30_000),
      ">a".repeat(30_000),
      "$".repeat(60_000),
      "{a,".repeat(20_000),
      "\\\n".repeat(30_000),
      "a".repeat(70_000)
    ]
    for (const text of long) {
      const { commands, opaque } = readCommand(text)
      assert.isAtMost(commands.length + opaque.length, 501)
    }
    assert.isNotEmpty(readCommand("cd a;".repeat(10)).opaque)
  })

  it("needs a few microseconds for a typical command", () => {
    const text = "cd packages/a && npm test -- --grep 'adds two' 2>&1 | head -20"
    const round = () => {
      const from = performance.now()
      for (let i = 0; i < 2000; i++) readCommand(text)
      return (performance.now() - from) / 2
    }
    // 3 on a quiet machine; the best of many rounds, since other processes run beside them.
    assert.isAtMost(Math.min(...Array.from({ length: 30 }, round)), 50)
  })
})
