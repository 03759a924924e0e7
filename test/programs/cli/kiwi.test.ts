import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeTree } from "../../../src/programs/cli/kiwi.ts"
import { version } from "../../../src/programs/version.ts"
import { commandPaths, noKernel, runCli } from "./runCli.ts"

const errorOf = (stdout: string): { readonly code: string; readonly message: string; readonly remediation: string } =>
  JSON.parse(stdout).error

describe("help", () => {
  for (const path of commandPaths) {
    it.effect(`of ${["kiwi", ...path].join(" ")} teaches, fits, and needs no kernel`, () =>
      Effect.gen(function*() {
        const { code, stderr, stdout } = yield* runCli([...path, "--help"])
        assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
        assert.match(stdout, /^\S.{20}/)
        assert.include(stdout, `Usage\n  ${["kiwi", ...path].join(" ")}`)
        assert.match(stdout, /\nExamples\n(  # .*\n)?  \S/)
        assert.include(stdout, "--json")
        for (const line of stdout.split("\n")) {
          if (!/kiwi |npx /.test(line)) assert.isAtMost(line.length, 80, line)
        }
      }))
  }

  it("is tested for every command that there is", () => {
    const paths: Array<ReadonlyArray<string>> = []
    const visit = (
      command: ReturnType<typeof makeTree>["subcommands"][number]["commands"][number],
      path: ReadonlyArray<string>
    ) => {
      paths.push(path)
      for (const { commands } of command.subcommands) {
        for (const child of commands) visit(child, [...path, child.name])
      }
    }
    visit(makeTree(noKernel), [])
    assert.deepStrictEqual(paths, [...commandPaths])
  })

  it.effect("is one JSON value with --json", () =>
    Effect.gen(function*() {
      const { stdout } = yield* runCli(["run", "--help", "--json"])
      const help = JSON.parse(stdout)
      assert.strictEqual(help.usage, "kiwi run <type> <id> [flags]")
      assert.isAbove(help.examples.length, 0)
    }))

  it.effect("names the version", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* runCli(["--version"])).stdout, `kiwi ${version}\n`)
      assert.deepStrictEqual(JSON.parse((yield* runCli(["--version", "--json"])).stdout), { name: "kiwi", version })
    }))
})

describe("wrong usage ends with 2, says what is wrong on stderr, and nothing on stdout", () => {
  const wrong: ReadonlyArray<readonly [args: ReadonlyArray<string>, message: RegExp]> = [
    [["serch"], /Unknown command "serch".*\n.*Did you mean this\?\n\s+search/],
    [["frobnicate"], /Unknown command "frobnicate"/],
    [["search"], /query/],
    [["run"], /type/],
    [["run", "tool"], /Missing required argument: id/],
    [["run", "thing", "add"], /"thing"/],
    [["run", "tool", "add", "--parms", "{}"], /--parms[^]*--params/],
    [["run", "tool", "add", "--params"], /params/],
    [["run", "tool", "add", "--params", "{"], /JSON object/],
    [["run", "tool", "add", "--params", "@/dev/zero"], /regular file/],
    [["run", "tool", "add", "--params", "[1]"], /JSON object/],
    [["run", "tool", "add", "--params", "@/nowhere/at/all"], /regular file that can be read/],
    [["search", "x", "--limit", "0"], /1 to 100/],
    [["search", "x", "--limit", "many"], /many/],
    [["sign", "tool", "add", "--tier", "system"], /"project" \| "user"/],
    [["trust"], /needs a command/],
    [["trust", "ad", "key"], /Unknown command "ad"[^]*add/],
    [["trust", "add"], /who/],
    [["explain", "gadget", "add"], /directive, tool or knowledge/],
    [["explain", "a", "b", "c"], /item/],
    [["serve", "--port", "80"], /--http/],
    [["serve", "--no-auth"], /--http/],
    [["serve", "--http", "--port", "70000"], /65535/],
    [["completions", "tcsh"], /tcsh/],
    [["identity", "extra"], /extra/],
    [["--frob"], /--frob/]
  ]
  for (const [args, message] of wrong) {
    it.effect(args.join(" "), () =>
      Effect.gen(function*() {
        const { code, stderr, stdout } = yield* runCli(args)
        assert.strictEqual(code, 2)
        assert.strictEqual(stdout, "")
        assert.match(stderr, message)
        assert.match(stderr, /error\[INVALID_USAGE\]: /)
        assert.match(stderr, /\n\nhint: kiwi.* --help\n$/)
        const json = yield* runCli([...args, "--json"])
        assert.strictEqual(json.code, 2)
        assert.strictEqual(json.stderr, "")
        assert.strictEqual(errorOf(json.stdout).code, "INVALID_USAGE")
        assert.match(errorOf(json.stdout).message, message)
      }))
  }

  it.effect("shows what was typed escaped", () =>
    Effect.gen(function*() {
      const { stderr } = yield* runCli(["\u001b[2Jserch\u202e"], { terminal: true, env: { NO_COLOR: "1" } })
      assert.notInclude(stderr, "\u001b")
      assert.include(stderr, "\\u{1b}[2Jserch\\u{202e}")
    }))
})

describe("a failure that should not be possible", () => {
  it.effect("ends with 1, shows no trace, and has an id that is the same for the same failure", () =>
    Effect.gen(function*() {
      const first = yield* runCli(["search", "x"])
      const second = yield* runCli(["search", "x"])
      assert.strictEqual(first.code, 1)
      assert.match(first.stderr, /^error\[UNEXPECTED\]: .*\([0-9a-f]{8}\)\n\nhint: Run `kiwi doctor`/)
      assert.notMatch(first.stderr, /at .*\.ts|the kernel was built/)
      assert.strictEqual(first.stderr, second.stderr)
      const json = yield* runCli(["search", "x", "--json"])
      assert.deepStrictEqual([json.code, json.stderr, errorOf(json.stdout).code], [1, "", "UNEXPECTED"])
    }))
})

describe("colour", () => {
  const esc = "\u001b["
  it.effect("only on a terminal, and not against NO_COLOR or a dumb one", () =>
    Effect.gen(function*() {
      const help = (options: Parameters<typeof runCli>[1]) => Effect.map(runCli(["--help"], options), (r) => r.stdout)
      assert.include(yield* help({ terminal: true }), esc)
      assert.notInclude(yield* help({}), esc)
      assert.notInclude(yield* help({ env: { FORCE_COLOR: "1" } }), esc)
      assert.notInclude(yield* help({ terminal: true, env: { NO_COLOR: "1" } }), esc)
      assert.include(yield* help({ terminal: true, env: { NO_COLOR: "" } }), esc)
      assert.notInclude(yield* help({ terminal: true, env: { TERM: "dumb" } }), esc)
    }))
})

describe("completions", () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    it.effect(`for ${shell} know commands and their flags`, () =>
      Effect.gen(function*() {
        const { code, stderr, stdout } = yield* runCli(["completions", shell])
        assert.deepStrictEqual({ code, stderr }, { code: 0, stderr: "" })
        for (const word of ["search", "explain", "params", "dry-run", "project"]) assert.include(stdout, word)
      }))
  }
})
