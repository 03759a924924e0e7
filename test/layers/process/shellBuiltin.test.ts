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

describe("shell.run asks about", () => {
  const cases: ReadonlyArray<
    readonly [command: string | ReadonlyArray<string>, ...accesses: ReadonlyArray<string | RegExp>]
  > = [
    ["npm test", "process.exec(npm test)"],
    ["git status && npm test", "process.exec(git status)", "process.exec(npm test)"],
    ["ls | wc -l", "process.exec(ls)", "fs.read(.)", "process.exec(wc -l)"],
    ["npm test > out.txt 2>&1", /^process\.exec\(npm test/, "fs.write(out.txt)"],
    ["cat < a.txt", /^process\.exec\(cat/, "fs.read(a.txt)"],
    ["cd sub && npm test > log", /^process\.exec\(npm test/, "fs.write(sub/log)"],
    ["echo x > linked/file", "fs.write(sub/file)"],
    ["echo x > out/file", /^fs\.write\(\/.*\/outside\/file\)$/],
    ["echo `id`", /^process\.exec\(echo `id`\)$/],
    [["git", "status", "a b"], "process.exec(git status 'a b')"],
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
