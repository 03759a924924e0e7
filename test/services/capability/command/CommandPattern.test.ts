import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  anyWord,
  type CommandPattern,
  intersectPatterns,
  matchesCommand,
  parsePattern,
  parsePatterns,
  patternWithin,
  reachesCommand,
  showPattern,
  whyNeverAllowed
} from "../../../../src/services/capability/command/CommandPattern.ts"
import { readCommand } from "../../../../src/services/capability/command/readCommand.ts"
import type { SimpleCommand, Word } from "../../../../src/services/capability/command/SimpleCommand.ts"
import { suggestPattern } from "../../../../src/services/capability/command/suggestPattern.ts"
import { pick, type Random, randomFrom, randomWord, times } from "./randomCommands.ts"

const pattern = (text: string) => Result.getOrThrow(parsePattern(text))

const only = (text: string): SimpleCommand => {
  const { commands, opaque } = readCommand(text)
  assert.deepStrictEqual([commands.length, opaque.length], [1, 0], text)
  return commands[0]!
}

describe("parsePattern", () => {
  it("reads words, stars, quotes and variables", () => {
    const read = (text: string) => parsePattern(text)
    assert.deepStrictEqual(
      read("npm test"),
      Result.succeed({ assignments: [], program: "npm", words: ["test"], open: false })
    )
    assert.deepStrictEqual(
      read("A=1 git * 'a b' *"),
      Result.succeed({ assignments: [{ name: "A", value: "1" }], program: "git", words: [anyWord, "a b"], open: true })
    )
    assert.deepStrictEqual(read("find . -name '*'"), read("find . -name \\*"))
    assert.deepStrictEqual(read("  git\tstatus  "), read("git status"))
    assert.deepStrictEqual(read("git --no-pager log *"), read("git log *"))
  })

  it("reads several, separated by commas outside quotes", () => {
    const texts = Result.map(parsePatterns("npm test, git log --format='%h,%s' *,ls *"), (all) => all.map(showPattern))
    assert.deepStrictEqual(texts, Result.succeed(["npm test", "git log '--format=%h,%s' *", "ls *"]))
  })

  const wrong: ReadonlyArray<readonly [string, string]> = [
    ["", "needs a program"],
    ["  ", "needs a program"],
    ["A=1", "needs a program"],
    ["*", "must be named"],
    ["* test", "must be named"],
    ["git log,", "needs a program"],
    [",git log", "needs a program"],
    ["git log, ls", "comma"],
    ["npm run test:*", "stands for whole words"],
    ["git log *.ts", "stands for whole words"],
    ["git *log", "stands for whole words"],
    ["ls ~/x", "would change"],
    ["ls $HOME", "would change"],
    ["ls a?", "would change"],
    ["ls {a,b}", "comma"],
    ["git log | head", "one command"],
    ["git log && ls", "one command"],
    ["git log; ls", "one command"],
    ["git log > x", "one command"],
    ["git log 2>&1", "one command"],
    ["(git log)", "one command"],
    ["git log $(x)", "substitutes"],
    ["git log `x`", "substitutes"],
    ["git 'log", "not closed"],
    ["git \"log", "not closed"],
    ["'git log'", "not the name of a program"],
    ["'' log", "not the name of a program"],
    ["A=1 A=2 git", "twice"],
    ["gіt log", "shells read differently"],
    ["git\u00a0log", "shells read differently"]
  ]
  for (const [text, issue] of wrong) {
    it(`says what is wrong with ${JSON.stringify(text)}`, () => {
      const read = parsePattern(text)
      assert.isTrue(Result.isFailure(read))
      assert.include(Result.isFailure(read) ? read.failure : "", issue)
    })
  }
})

describe("matchesCommand", () => {
  const rows: ReadonlyArray<readonly [pattern: string, matched: ReadonlyArray<string>, not: ReadonlyArray<string>]> = [
    ["git *", ["git", "git log", "git log -3 a", "git --no-pager log"], [
      "github",
      "GIT log",
      "./git log",
      "/usr/bin/git"
    ]],
    ["git log", ["git log", "git 'log'", "git -P log"], ["git log -3", "git", "git logs", "git LOG", "git log ''"]],
    ["git log *", ["git log", "git log -3", "git log -- --output=x"], [
      "git",
      "git show",
      "git log --output=x",
      "git log $X"
    ]],
    ["git log --output=x *", ["git log --output=x a"], ["git log --output=y a", "git log a --output=x"]],
    ["git * main", ["git switch main", "git merge main"], ["git main", "git log main x", "git push origin main"]],
    ["npm run * *", ["npm run a", "npm run a b"], ["npm run", "npm test"]],
    ["ls a", ["ls a", "ls \"a\"", "ls \\a"], ["ls $a", "ls [a]", "ls a*", "ls {a,}", "ls ~a"]],
    ["ls * b", ["ls a b", "ls '$a' b"], ["ls $a b", "ls * b"]],
    ["ls *", ["ls $a", "ls *", "ls \"$a\" b"], ["la"]],
    ["ls '*'", ["ls '*'", "ls \\*"], ["ls *", "ls a"]],
    ["make", ["make", "CI=1 make"], ["FOO=1 make", "CI=../x make"]],
    ["FOO=1 make", ["FOO=1 make", "CI=1 FOO=1 make", "env FOO=1 make"], ["make", "FOO=2 make", "BAR=1 FOO=1 make"]],
    ["CI=1 make", ["CI=1 make"], ["make", "CI=2 make"]],
    ["/usr/bin/git log", ["/usr/bin/git log", "cd a && /usr/bin/git log"], ["git log", "/tmp/git log"]],
    ["./run.sh *", ["./run.sh a"], ["cd a && ./run.sh a", "cd a; ./run.sh a", "run.sh a", "/run.sh a"]],
    ["npm test", ["timeout 5 npm test", "time npm test", "cd a && npm test", "npm test 2>&1"], ["npm test --prefix x"]],
    [
      "npm test *",
      ["npm test -- --prefix x"],
      ["npm test --prefix x", "npm test -C x"]
    ],
    ["cargo test *", ["cargo test -- --config"], ["cargo test --config x", "cargo test --config=x"]],
    ["rg *", ["rg x", "rg -- --pre x"], ["rg --pre x", "rg --pre=x", "rg -e -- --pre x", "rg *"]]
  ]
  for (const [text, matched, not] of rows) {
    it(text, () => {
      const last = (command: string) => readCommand(command).commands.at(-1)!
      for (const command of matched) assert.isTrue(matchesCommand(pattern(text), last(command)), command)
      for (const command of not) assert.isFalse(matchesCommand(pattern(text), last(command)), command)
    })
  }
})

describe("reachesCommand", () => {
  const rows: ReadonlyArray<readonly [pattern: string, reached: ReadonlyArray<string>, not: ReadonlyArray<string>]> = [
    ["git push *", [
      "git push",
      "git push -f",
      "/usr/bin/git push",
      "GIT push",
      "A=1 git push",
      "git -C x push",
      "git -c a=b --no-pager push origin",
      "git $X",
      "git p*",
      "git push $(x)",
      "sudo git push",
      "sudo -u me git push",
      "env -i git push",
      "xargs git push",
      "find . -exec git push ;",
      "sh -c 'git push'",
      "bash -lc \"cd x && git push\"",
      "eval git push",
      "exec git push",
      "timeout 5 git push",
      "if true; then git push; fi",
      "a & git push",
      "cd x && git push"
    ], ["git status", "git commit -m push", "git log push", "github push", "echo git push", "npm push"]],
    ["rm -rf *", ["rm -rf x", "/bin/rm -rf x", "rm -v -rf x"], ["rm x", "rmdir -rf"]],
    ["sudo *", ["sudo ls", "/usr/bin/sudo ls", "time sudo ls"], ["ls sudo"]],
    ["npm publish", ["npm publish", "npm --prefix x publish", "npm $X"], ["npm publish x", "npm test"]]
  ]
  for (const [text, reached, not] of rows) {
    it(text, () => {
      const reaches = (command: string) => {
        const { commands, opaque } = readCommand(command)
        return [...commands, ...opaque.flatMap((part) => part.command ?? [])].some((one) =>
          reachesCommand(pattern(text), one)
        )
      }
      for (const command of reached) assert.isTrue(reaches(command), command)
      for (const command of not) assert.isFalse(reaches(command), command)
    })
  }
})

const vocabulary = ["a", "b", "--", "--output=x", "-O"]
const unknown: Word = { text: "$x", fixed: false }

const allCommands: ReadonlyArray<SimpleCommand> = (() => {
  const words: ReadonlyArray<Word> = [...vocabulary.map((text) => ({ text, fixed: true })), unknown]
  const lists: Array<ReadonlyArray<Word>> = [[]]
  for (let from = 0, length = 1; length <= 4; length++) {
    const to = lists.length
    for (; from < to; from++) for (const word of words) lists.push([...lists[from]!, word])
  }
  const assignments = [[], [{ name: "CI", value: "1" }], [{ name: "FOO", value: "1" }]]
  return lists.flatMap((list) =>
    assignments.map((set) => ({
      program: "git",
      words: list,
      assignments: set,
      redirections: [],
      folders: ["."],
      text: ""
    }))
  )
})()

const randomPattern = (random: Random, words: ReadonlyArray<string> = vocabulary): CommandPattern => {
  const open = random(2) === 0
  const any = times(random(4), () => random(3) === 0 ? anyWord : pick(random, words))
  // A last `*` is any further words.
  const list = open ? any : any.slice(0, any.findLastIndex((word) => word !== anyWord) + 1)
  const assignments = pick(random, [[], [], [{ name: "CI", value: "1" }], [{ name: "FOO", value: "1" }]])
  return { assignments, program: pick(random, ["git", "git", "git", "rg"]), words: list, open }
}

describe("patterns", () => {
  it("that are within others match nothing beside, and the others are never narrower", () => {
    const random = randomFrom(1)
    let within = 0
    for (let i = 0; i < 1500; i++) {
      const [child, parent] = [randomPattern(random), randomPattern(random)]
      const beside = allCommands.some((one) => matchesCommand(child, one) && !matchesCommand(parent, one))
      if (patternWithin(child, parent)) {
        within++
        assert.isFalse(beside, `${showPattern(child)} in ${showPattern(parent)}`)
      }
      // Without words that have to be named, it finds every inclusion.
      const [plainChild, plainParent] = [randomPattern(random, ["a", "b"]), randomPattern(random, ["a", "b"])]
      if (!patternWithin(plainChild, plainParent) && plainChild.program === "git") {
        assert.isTrue(
          allCommands.some((one) => matchesCommand(plainChild, one) && !matchesCommand(plainParent, one)),
          `${showPattern(plainChild)} in ${showPattern(plainParent)}`
        )
      }
      assert.isTrue(patternWithin(plainChild, plainChild))
    }
    assert.isAbove(within, 50)
  })

  it("intersect to what both match", () => {
    const random = randomFrom(2)
    let found = 0
    for (let i = 0; i < 500; i++) {
      const words = i % 2 === 0 ? vocabulary : ["a", "b"]
      const [a, b] = [randomPattern(random, words), randomPattern(random, words)]
      const both = intersectPatterns(a, b)
      if (both !== undefined) found++
      for (const one of allCommands) {
        const expected = matchesCommand(a, one) && matchesCommand(b, one)
        const matched = both !== undefined && matchesCommand(both, one)
        if (matched ? !expected : expected && i % 2 === 1) assert.fail(`${showPattern(a)} and ${showPattern(b)}`)
      }
      assert.deepStrictEqual(intersectPatterns(a, a)?.words, patternWithin(a, a) ? a.words : undefined)
    }
    assert.isAbove(found, 50)
  })

  it("are read back from their text", () => {
    const random = randomFrom(3)
    for (let i = 0; i < 5000; i++) {
      const words = times(4, () => randomWord(random))
      const one = { ...randomPattern(random, words), program: pick(random, ["git", "a", "./x", "["]) }
      const shown = showPattern(one)
      assert.deepStrictEqual(parsePattern(shown), Result.succeed(one), shown)
    }
  })

  it("say why they would never allow anything", () => {
    const never = [
      "sudo *",
      "xargs *",
      "bash -c *",
      "git -C x status",
      "PATH=/tmp git status",
      "eval *",
      "if *",
      "timeout 5 npm test"
    ]
    for (const text of never) assert.isString(whyNeverAllowed(pattern(text)), text)
    for (const text of ["git *", "npm test", "python3 *", "FOO=1 make", "find . *", "bash x.sh"]) {
      assert.isUndefined(whyNeverAllowed(pattern(text)), text)
    }
  })
})

describe("suggestPattern", () => {
  it("proposes no program alone that runs others, deletes or goes to the network", () => {
    const programs =
      ("python3 node ruby perl awk bash sh curl wget ssh scp rsync nc rm mv cp dd find npx uvx bunx sed tee " +
        "psql mysql git npm docker kubectl gh aws terraform make env kill chmod tar open unheard-of").split(" ")
    for (const program of programs) {
      for (const words of ["a", "a b c", "-x a", "--x=1 a"]) {
        for (const command of readCommand(`${program} ${words}`).commands) {
          const rule = suggestPattern(command, true)
          assert.isFalse(rule?.open, `${program} ${words}`)
        }
      }
    }
  })

  it("opens no subcommand that publishes, deletes, configures, downloads or runs", () => {
    const commands =
      ("git push x,git config a b,git fetch x,git pull,git clean -fd,git reset --hard x,git rebase -i x,git rm a," +
        "git submodule foreach a,git bisect run a,git filter-branch a,git remote add a b,git checkout .,git restore a," +
        "npm publish x,npm exec a b,npm install a,npm config set a b,npm run,npm start,pnpm dlx a,yarn dlx a,cargo run x," +
        "cargo install x,cargo publish x,go run x,go install x,go generate x,gh api x,gh pr merge 1,gh secret set a," +
        "docker run a,docker exec a b,docker push a,pip install a,kubectl get secrets,brew install a,terraform apply a," +
        "systemctl stop a,apt install a").split(",")
    for (const command of commands) assert.isFalse(suggestPattern(only(command), true)?.open, command)
  })

  it("proposes the exact command beside variables, and nothing where it is not known", () => {
    const shown = (text: string) => {
      const rule = suggestPattern(only(text), true)
      return rule === undefined ? undefined : showPattern(rule)
    }
    assert.strictEqual(shown("GIT_PAGER=x git log -3"), "GIT_PAGER=x git log -3")
    assert.strictEqual(shown("CI=1 git log -3"), "git log *")
    assert.strictEqual(shown("git log --output=x"), "git log --output=x")
    assert.strictEqual(shown("rm '*'"), "rm '*'")
    for (
      const text of ["rm *", "rm $X", "python3 -c 'a\nb'", "cd a && ./run.sh", "git log $X", "GIT_PAGER=x git log $X"]
    ) {
      assert.isUndefined(shown(text), text)
    }
  })
})
