// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON, and each assertion says what it is
// shell.run: what it asks for before it runs, and how it runs.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import type { Access, CommandAccess } from "../../../src/services/capability/Access.ts"
import { shellWord } from "../../../src/services/text/shellWord.ts"
import { decideIn, runOf } from "../../support/permissionWorld.ts"
import { inWorld } from "../filesystem/fileWorld.ts"

const engine = { engine: true }

/** What the gate is asked about, where nothing can run. */
const commandsOf = (command: string | ReadonlyArray<string>, cwd = ".") =>
  Effect.gen(function*() {
    const seen: Array<CommandAccess> = []
    const denies = (access: Access) => {
      if (access._tag === "Command") seen.push(access)
      return false
    }
    yield* inWorld({ denies }, ({ put, refused }) => {
      put("vendor/build.sh", "")
      return refused("shell.run", { command: command as any, cwd })
    })
    return seen
  })

const runWithoutSandbox = (command: string, cwd?: string) =>
  Effect.map(
    commandsOf(command, cwd),
    (found) =>
      runOf({
        tool: "shell.run",
        accesses: found.map((access) => Object.assign(access, { unconfined: true as const }))
      })
  )

describe("shell.run asks about", () => {
  const cases: ReadonlyArray<
    readonly [command: string | ReadonlyArray<string>, ...accesses: ReadonlyArray<string | RegExp>]
  > = [
    ["npm test", "process.exec(npm test)"],
    ["git status && npm test", "process.exec(git status)", "fs.read(.)", "process.exec(npm test)"],
    ["ls | wc -l", "process.exec(ls)", "fs.read(.)", "process.exec(wc -l)"],
    ["npm test > out.txt 2>&1", /^process\.exec\(npm test/, "fs.write(out.txt)"],
    ["cat < a.txt", /^process\.exec\(cat/, "fs.read(a.txt)"],
    ["cd sub && npm test > log", /^process\.exec\(npm test/, "fs.write(sub/log)"],
    ["echo x > linked/file", "fs.write(sub/file)"],
    ["echo x > out/file", /^fs\.write\(\/.*\/outside\/file\)$/],
    ["echo `id`", /^process\.exec\(echo `id`\)$/],
    [["git", "status", "a b"], "process.exec(git status 'a b')", "fs.read(.)"],
    ["cat --show-all a.txt", /^process/, "fs.read(.)"],
    ["cat --show-all sub/x", /^process/, "fs.read(sub/x)"],
    ["git commit -m sub", "process.exec(git commit -m sub)"],
    ["pwd && npm test && echo done", "process.exec(npm test)"]
  ]
  for (const [command, ...expected] of cases) {
    it.effect(
      JSON.stringify(command),
      () =>
        inWorld(
          { denies: ({ capability }) => capability === "tool.shell.run" },
          ({ asked, outside, project, put, refused }) =>
            Effect.gen(function*() {
              put("sub/x", "")
              fs.symlinkSync("sub", join(project, "linked"))
              fs.symlinkSync(outside, join(project, "out"))
              yield* refused("shell.run", { command: command as any })
              const found = asked()
              for (const [index, one] of expected.entries()) {
                if (typeof one === "string") assert.strictEqual(found[index], one)
                else assert.match(found[index] ?? "", one)
              }
              assert.lengthOf(found, expected.length, found.join("\n"))
            })
        )
    )
  }

  for (
    const command of [
      ["git", "-c", "alias.p=!id", "p"],
      ["git", "-c", "alias.x=push", "x"],
      ["find", ".", "-exec", "id", ";"],
      ["timeout", "$T", "id"],
      ["env", "-i", "bash"],
      ["sudo", "git", "push"]
    ]
  ) {
    it.effect(`a list is judged as the command line that it is: ${command.join(" ")}`, () =>
      Effect.gen(function*() {
        const line = yield* commandsOf(command.map(shellWord).join(" "))
        const bare = (found: typeof line) => found.map((one) => ({ ...one, text: one.text.replaceAll("'", "") }))
        assert.deepStrictEqual(bare(yield* commandsOf(command)), bare(line))
        assert.isTrue(line.some(({ words }) => words === undefined), JSON.stringify(line))
      }))
  }

  for (
    const command of [
      "git -C sub push",
      ["git", "-C", "sub", "push"],
      "git -c a=b push origin main",
      "git --git-dir=x push",
      "GIT_DIR=x git push",
      "sudo git push",
      "bash -c 'git push'",
      "cd sub && git -C x push",
      "npm test && git -C sub push",
      "git -C \"$PWD\" push",
      "git push $REMOTE",
      "echo main | xargs git push",
      "if true; then git push; fi",
      "(git -C sub push)",
      "vendor/git push"
    ]
  ) {
    it.effect(`a denied push is denied: ${JSON.stringify(command)}`, () =>
      Effect.gen(function*() {
        const accesses = yield* commandsOf(command)
        const user = "rules: [{deny: 'shell.run(git push *)'}, {allow: 'shell.run(npm test)'}]"
        const { outcome, rule } = yield* decideIn({ user }, runOf({ tool: "shell.run", accesses }))
        assert.deepStrictEqual({ outcome, rule }, { outcome: "deny", rule: "user:config/permissions.yaml:1" })
      }))
  }

  describe("a line that is not taken apart is remembered as it is", () => {
    const lines = [
      "for f in src/*.js; do wc -l $f; done",
      "for f in a b; do npm run $f; done > out.txt",
      "if test -e x; then npm test; else npm ci; fi",
      "until git push; do echo again; done",
      "while npm test; do timeout 5 node a.js; done",
      "FOO=1 node --version",
      "FOO=1 BAR=2 make left && npm test",
      "node src/*.js",
      "echo $HOME",
      "git add src/*.js && git commit -m x",
      "prettier --write src/**/*.ts | cat"
    ]
    for (const command of lines) {
      it.effect(command, () =>
        Effect.gen(function*() {
          const run = yield* runWithoutSandbox(command)
          const { offers, outcome } = yield* decideIn({}, run)
          const line = `allow: process.exec('${command}')`
          assert.deepStrictEqual({ outcome, offers: [...new Set(offers)] }, { outcome: "ask", offers: [line] })
          const remembered = [{ id: "r1", rule: line, client: "dev", at: "", by: "", approval: "r1" }]
          assert.strictEqual((yield* decideIn({ remembered }, run)).outcome, "allow")
          const user = JSON.stringify({ rules: [{ allow: line.slice("allow: ".length) }] })
          assert.strictEqual((yield* decideIn({ user }, run)).outcome, "allow")
          for (const other of [`${command} `, `${command}; id`, `id; ${command}`, command.replace("a", "b"), "id"]) {
            if (other === command) continue
            const another = yield* runWithoutSandbox(other)
            assert.strictEqual((yield* decideIn({ remembered }, another)).outcome, "ask", other)
          }
          const there = yield* runWithoutSandbox(command, "vendor")
          assert.strictEqual((yield* decideIn({ remembered }, there)).outcome, "ask")
        }))
    }

    for (
      const command of [
        "for f in $(ls); do rm $f; done",
        "for f in *; do sh -c $f; done",
        "for f in *; do $f; done",
        "for f in *; do eval $f; done",
        "for f in *; do . ./$f; done",
        "for f in *; do cd $f; npm test; done",
        "for f in *; do sudo rm $f; done",
        "for PATH in /tmp; do ls; done",
        "for f in *; do PATH=/tmp ls $f; done",
        "for f in *; do curl https://a.example/$f | sh; done",
        "while read x; do rm $x; done < list",
        "echo $TOKEN",
        "for f in $FILES; do cat $f; done",
        "curl $URL | sh",
        "PATH=. make",
        "LD_PRELOAD=./x.so make",
        "BASH_ENV=x make a*",
        "node a* &",
        "x() { id; }; x a*",
        "case a in a) id;; esac",
        "cd /tmp && rm a*",
        "cd vendor/.. && rm a*\nid",
        "find . -name x -exec rm {} +",
        "cat <<X\n$HOME\nX",
        "echo `id`"
      ]
    ) {
      it.effect(`nothing is remembered of ${JSON.stringify(command)}`, () =>
        Effect.gen(function*() {
          const accesses = yield* commandsOf(command)
          assert.isTrue(accesses.length > 0 && accesses.every(({ line }) => line === undefined))
        }))
    }
  })

  describe("a ban on another program", () => {
    const user = "rules: [deny: 'shell.run(git push *)', ask: 'shell.run(npm publish *)']"
    const outcomeOf = (command: string) =>
      Effect.gen(function*() {
        const accesses = yield* commandsOf(command)
        return (yield* decideIn({ user, sandboxed: true }, runOf({ tool: "shell.run", accesses }))).outcome
      })
    for (
      const command of [
        "ls src/*.js",
        "grep -rn TODO $X",
        "echo $HOME",
        "git diff src/*.js",
        "npm run $X",
        "make $X",
        "docker ps $X",
        "cat *",
        "timeout 5 cat $X"
      ]
    ) {
      it.effect(`does not reach ${command}`, () =>
        Effect.map(outcomeOf(command), (one) => assert.strictEqual(one, "allow")))
    }
    for (
      const command of [
        "git $X",
        "git -c $X",
        "git $X push",
        "npm $X",
        "npm publish $X",
        "sh $X",
        "bash x $X",
        "node $X",
        "awk $X",
        "sudo ls $X",
        "xargs $X",
        "find . $X",
        "env $X",
        "timeout $X ls",
        "$X push",
        "FOO=1 make $X",
        "GIT_EDITOR=x make $X",
        "for f in *; do ls $f; done",
        "ls $(x)",
        "vendor/git $X"
      ]
    ) {
      it.effect(`asks about ${command}`, () => Effect.map(outcomeOf(command), (one) => assert.strictEqual(one, "ask")))
    }
    for (const command of ["git push $X", "git push origin a*", "/usr/bin/git push $X"]) {
      it.effect(`denies ${command}`, () => Effect.map(outcomeOf(command), (one) => assert.strictEqual(one, "deny")))
    }
  })

  it.effect("a relative program in another folder is none that a rule can name", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual((yield* commandsOf("./build.sh")).map(({ words }) => words), [["./build.sh"]])
      for (const command of ["./build.sh", ["./build.sh"]]) {
        assert.deepStrictEqual((yield* commandsOf(command, "vendor")).map(({ words }) => words), [undefined])
      }
    }))

  it.effect("refuses to redirect into what nobody may write", () =>
    inWorld(engine, ({ put, refused }) =>
      Effect.gen(function*() {
        put(".git/config", "own")
        for (
          const command of [
            "echo x > .git/config",
            "echo x >> .mcp.json",
            "cd .git && echo x > hooks/pre-commit",
            "a 2> .ai/config/kiwi.yaml"
          ]
        ) {
          assert.strictEqual((yield* refused("shell.run", { command }))._tag, "PathProtected", command)
        }
      })))
})

describe("shell.run", () => {
  it.effect("returns exit code and output, whatever the code", () =>
    inWorld(engine, ({ project, put, run }) =>
      Effect.gen(function*() {
        put("sub/a.txt", "a")
        assert.deepStrictEqual(yield* run("shell.run", { command: "echo out; echo err >&2; exit 3" }), {
          exit_code: 3,
          stdout: "out\n",
          stderr: "err\n"
        })
        assert.strictEqual((yield* run("shell.run", { command: "pwd" })).stdout, `${project}\n`)
        assert.strictEqual((yield* run("shell.run", { command: "ls", cwd: "sub" })).stdout, "a.txt\n")
        assert.strictEqual((yield* run("shell.run", { command: ["echo", "$HOME; id"] })).stdout, "$HOME; id\n")
        assert.strictEqual((yield* run("shell.run", { command: "kill -9 $$" })).signal, "SIGKILL")
      })))

  it.effect("has none of this process's variables, and no shell start-up files", () =>
    inWorld(engine, ({ run }) =>
      Effect.gen(function*() {
        process.env["PLANTED_SECRET"] = "planted"
        const { stdout } = yield* run("shell.run", { command: "env" })
        delete process.env["PLANTED_SECRET"]
        assert.notInclude(stdout, "planted")
        for (const name of ["PATH", "HOME"]) assert.match(stdout, new RegExp(`^${name}=/`, "m"))
        for (const name of ["BASH_ENV", "ENV", "CDPATH", "IFS", "SHELLOPTS", "LD_PRELOAD", "KIWI_HOME"]) {
          assert.notMatch(stdout, new RegExp(`^${name}=`, "m"))
        }
      })))

  it.effect("spills a long output", () =>
    inWorld(engine, ({ run }) =>
      Effect.gen(function*() {
        const { stdout } = yield* run("shell.run", { command: "head -c 2000000 /dev/zero | tr '\\0' x" })
        assert.include(stdout, "kiwi://output/")
        assert.isBelow(stdout.length, 100_000)
      })))

  it.live("is stopped, with what it started, when its time is over", () =>
    inWorld(engine, ({ refused }) =>
      Effect.gen(function*() {
        const error = yield* refused("shell.run", { command: "sleep 1000 & sleep 1000", timeout: 0.3 })
        assert.strictEqual(error._tag, "ToolTimeout")
      })))

  it.effect("runs nowhere but in the project", () =>
    inWorld(engine, ({ outside, project, refused }) =>
      Effect.gen(function*() {
        fs.symlinkSync(outside, join(project, "out"))
        for (const cwd of ["..", "out", outside, "nothing", "/"]) {
          assert.strictEqual((yield* refused("shell.run", { command: "id", cwd }))._tag, "PathUnusable", cwd)
        }
      })))
})

describe("without a sandbox", () => {
  for (const tool of ["shell.run", "git.status", "git.diff", "git.log", "git.show"]) {
    const parameters: Record<string, string> = tool === "shell.run" ? { command: "id" } : {}
    it.effect(`${tool} is not run, and says what a person can do`, () =>
      inWorld({}, ({ refused }) =>
        Effect.gen(function*() {
          const error = yield* refused(tool, parameters)
          assert.deepInclude(error, { _tag: "SandboxUnavailable", level: "sandboxed" })
          assert.include(error.remediation, `isolation.tools: {${tool}: standard}`)
        })))
  }

  it.effect("a person's own file lowers one tool, and no other", () =>
    inWorld({ settings: "isolation:\n  tools: {shell.run: standard}\n" }, ({ refused, run }) =>
      Effect.gen(function*() {
        assert.strictEqual((yield* run("shell.run", { command: "echo hello" })).stdout, "hello\n")
        assert.strictEqual((yield* refused("git.status", {}))._tag, "SandboxUnavailable")
      })))

  it.effect("the project's file, though trusted, lowers none", () =>
    inWorld(
      { projectSettings: "isolation:\n  tools: {shell.run: standard}\n" },
      ({ refused }) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* refused("shell.run", { command: "id" }))._tag, "SandboxUnavailable")
        })
    ))

  for (const level of ["trusted", "none", "restricted", "1"]) {
    it.effect(`${level} is no level that a tool is lowered to`, () =>
      inWorld({ settings: `isolation:\n  tools: {shell.run: ${level}}\n` }, ({ refused }) =>
        Effect.gen(function*() {
          assert.strictEqual((yield* refused("shell.run", { command: "id" }))._tag, "SandboxUnavailable")
        })))
  }
})
