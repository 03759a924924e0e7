// kiwi permissions: the files are real, the person is the terminal's.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fs from "node:fs"
import { kernelOfSurfaces } from "../errors/surfaces.ts"
import { type RealProject, realProject } from "../support/realProject.ts"
import { runCli } from "./cli/runCli.ts"

const run = (place: RealProject, args: ReadonlyArray<string>, answers: ReadonlyArray<string> = ["y"]) =>
  runCli(["permissions", ...args], {
    cwd: place.project,
    kernel: kernelOfSurfaces(place),
    terminal: true,
    terminalStdin: true,
    answers: [...answers]
  })

const userFile = ({ userSpace }: RealProject) => `${userSpace}/config/permissions.yaml`
const text = (place: RealProject) => fs.readFileSync(userFile(place), "utf8")
const put = (place: RealProject, content: string) => {
  fs.mkdirSync(`${place.userSpace}/config`, { recursive: true })
  fs.writeFileSync(userFile(place), content, { mode: 0o600 })
}

const project = realProject({})

describe("kiwi permissions", () => {
  it.live("adds, lists and removes rules, and keeps comments", () =>
    Effect.gen(function*() {
      const place = yield* project
      const first = yield* run(place, ["allow", "shell.run(npm test)", "--json"])
      assert.strictEqual(first.code, 0, first.stdout)
      assert.deepInclude(JSON.parse(first.stdout).added, { rule: "allow: shell.run(npm test)", accepted: true })
      assert.strictEqual(fs.statSync(userFile(place)).mode & 0o777, 0o600)
      put(place, `${text(place)}  # by hand\n  - deny: fs.write(infra/**) # never\n`)
      yield* run(place, ["deny", "deploy", "--caller", "ci", "--reason", "only by hand"])
      assert.strictEqual(
        text(place),
        `# What agents may do: kiwi permissions --help. In each file deny beats ask, and ask beats allow.
rules:
  - allow: shell.run(npm test)
  # by hand
  - deny: fs.write(infra/**) # never
  - deny: deploy
    caller: ci
    reason: only by hand
`
      )
      const listed = JSON.parse((yield* run(place, ["list", "--json"])).stdout)
      assert.deepStrictEqual(listed.rules.map(({ id, rule }: Record<string, string>) => [id, rule]), [
        ["user:3", "allow: shell.run(npm test)"],
        ["user:5", "deny: fs.write(infra/**)"],
        ["user:6", "deny: deploy [caller ci]"]
      ])
      yield* run(place, ["remove", "user:3"])
      assert.notInclude(text(place), "npm test")
      assert.include(text(place), "infra")
      put(place, "rules:\n  - allow: shell.run(npm test)\n")
      yield* run(place, ["remove", "user:2"])
      yield* run(place, ["allow", "shell.run(npm test)"])
      yield* run(place, ["deny", "deploy"])
      assert.strictEqual(text(place), "rules:\n  - allow: shell.run(npm test)\n  - deny: deploy\n")
    }).pipe(Effect.scoped))

  it.live("shows the change first, and changes nothing without a yes", () =>
    Effect.gen(function*() {
      const place = yield* project
      const { code, shown } = yield* run(place, ["deny", "deploy"], ["n"])
      assert.notStrictEqual(code, 0)
      assert.include(shown, "+  - deny: deploy")
      assert.isFalse(fs.existsSync(userFile(place)))
    }).pipe(Effect.scoped))

  it.live("is a person's: an agent's --yes does not replace one", () =>
    Effect.gen(function*() {
      const place = yield* project
      const { stdout } = yield* runCli(["permissions", "allow", "deploy", "--yes", "--json"], {
        cwd: place.project,
        kernel: kernelOfSurfaces(place)
      })
      assert.strictEqual(JSON.parse(stdout).error.code, "HUMAN_REQUIRED")
      assert.isFalse(fs.existsSync(userFile(place)))
    }).pipe(Effect.scoped))

  for (
    const [args, message] of [
      [["allow", "*"], /everything/],
      [["allow", "fs.wriet(a)"], /did you mean fs.write/],
      [["deny", "fs.write(a/../b)"], /\.\./],
      [["deny", "a\u001b[2Jb"], /control character/],
      [["remove", "user:9"], /is not the id/],
      [["remove", "nothing"], /is not the id/],
      [["allow", "fs.read"], /which paths/],
      [["allow", "shell.run(npm test; ls)"], /one command, without ;/],
      [["deny", "shell.run(npm test | tee x)"], /one command, without \|/],
      [["deny", "shell.run(git push*)"], /whole words/],
      [["deny", "shell.run(echo $HOME)"], /double quotes/],
      [["ask", "shell.run(make > out)"], /one command, without >/]
    ] as const
  ) {
    it.live(`${args.join(" ")} is refused`, () =>
      Effect.gen(function*() {
        const place = yield* project
        const { stdout } = yield* run(place, [...args, "--json"])
        const { error } = JSON.parse(stdout)
        assert.strictEqual(error.code, "RULE_REFUSED")
        assert.match(error.message, message)
        assert.notInclude(stdout, "\u001b")
      }).pipe(Effect.scoped))
  }

  it.live("does not edit a file that is invalid, and says where", () =>
    Effect.gen(function*() {
      const place = yield* project
      put(place, "rules:\n  - alow: x\n")
      const { stdout } = yield* run(place, ["deny", "deploy", "--json"])
      assert.strictEqual(JSON.parse(stdout).error.code, "RULES_INVALID")
      assert.include(JSON.parse(stdout).error.message, "line 2")
      assert.strictEqual(text(place), "rules:\n  - alow: x\n")
    }).pipe(Effect.scoped))

  it.live("checks for lines that are wrong, and rules that never decide", () =>
    Effect.gen(function*() {
      const place = yield* project
      const check = Effect.map(run(place, ["check", "--json"]), ({ stdout }) => JSON.parse(stdout))
      assert.deepStrictEqual(yield* check, { valid: true, problems: [] })
      put(
        place,
        `rules:
  - allow: fs.write(infra/a/**)
  - deny: fs.write(infra/**)
  - allow: fs.read(src/**)
  - deny: ping
  - ask: ping
  - allow: fs.read(src/**)
  - allow: net.http(a.example)
    caller: ci
`
      )
      const shadowed = yield* check
      assert.isTrue(shadowed.valid)
      assert.deepStrictEqual(shadowed.problems.map(({ line }: { line: number }) => line), [2, 6, 7])
      put(place, "rules:\n  - alow: x\n  - deny: x\n    deni: y\n")
      const invalid = yield* check
      assert.isFalse(invalid.valid)
      assert.deepStrictEqual(invalid.problems.map(({ line }: { line: number }) => line), [2, 4])
      put(place, "rules: []\n")
      place.write(".ai/config/permissions.yaml", "rules:\n  - allow: fs.write(**)\n  - deny: ping\n")
      const ignored = yield* check
      assert.match(ignored.problems[0].issue, /1 rule that allows does not count/)
    }).pipe(Effect.scoped))

  const misleading: ReadonlyArray<readonly [rule: string, issue: RegExp]> = [
    ["allow: filesystem.write", /not the files that filesystem.write touches/],
    ["allow: core/filesystem.edit", /not the files/],
    ["allow: shell.run", /not the commands/],
    ["allow: http.fetch", /not the hosts/],
    ["allow: git.*", /not the files/],
    ["allow: fs.write(.git/**)", /allows no change: .git is always protected/],
    ["allow: fs.delete(**/.git)", /allows no change/],
    ["allow: fs.write(packages/a/.husky/pre-commit)", /allows no change/],
    ["allow: filesystem.write(.vscode/**)", /allows no change/],
    ["allow: fs.write(~/.bashrc)", /allows no change/],
    ["deny: shell.run(npm*)", /shell.run touches commands/],
    ["allow: http.fetch(~/notes/**)", /http.fetch touches hosts/],
    ["deny: nosuchtool", /there is no tool/],
    ["ask: nosuchserver/*", /there is no tool/]
  ]
  it.live("checks for rules that mean something else than they seem to", () =>
    Effect.gen(function*() {
      const place = yield* project
      const check = Effect.map(run(place, ["check", "--json"]), ({ stdout }) => JSON.parse(stdout))
      put(place, `rules:\n${misleading.map(([rule]) => `  - ${rule}\n`).join("")}`)
      const found = yield* check
      for (const [index, [rule, issue]] of misleading.entries()) {
        const issues = found.problems.flatMap((one: Record<string, unknown>) =>
          one.line === index + 2 ? [one.issue] : []
        )
        assert.match(issues.join("\n"), issue, rule)
      }
      const plain =
        "allow: fs.write(src/**)|allow: fs.write(.ai/tools/**)|ask: filesystem.write|deny: fs.write(.git/**)|" +
        "allow: shell.run(npm test)|allow: http.fetch(docs.rs)|deny: filesystem.write(docs/**)|allow: core/ping|ask: \"*\""
      put(place, `rules:\n${plain.split("|").map((rule) => `  - ${rule}\n`).join("")}`)
      const texts = (yield* check).problems.map(({ issue }: { issue: string }) => issue)
      assert.deepStrictEqual(texts.filter((issue: string) => !issue.includes("never decides")), [])
    }).pipe(Effect.scoped))

  it.live("checks the other file's rules, and those of profiles", () =>
    Effect.gen(function*() {
      const place = yield* project
      const check = Effect.map(run(place, ["check", "--json"]), ({ stdout }) => JSON.parse(stdout).problems)
      put(place, "rules:\n  - deny: fs.write(infra/**)\n")
      place.write(".ai/config/permissions.yaml", "rules:\n  - ask: fs.write(infra/a/**)\n")
      const [other] = yield* check
      assert.strictEqual(other.file, "project:config/permissions.yaml")
      assert.match(other.issue, /user:config\/permissions.yaml, line 2/)
      place.write(".ai/config/permissions.yaml", "rules: []\n")
      const profiles = `${place.userSpace}/config/profiles.yaml`
      fs.writeFileSync(
        profiles,
        "profiles:\n  review:\n    rules:\n      - allow: shell.run\n      - allow: fs.write(infra/x)\n"
      )
      const problems = yield* check
      assert.deepStrictEqual(
        problems.map(({ file, line }: { file: string; line: number }) => [file, line]),
        [["user:config/profiles.yaml", 5], ["user:config/profiles.yaml", 4]]
      )
      assert.match(problems[0].issue, /^profile review: /)
      fs.writeFileSync(profiles, "profiles:\n  review:\n    ruls: []\n")
      assert.deepInclude((yield* check)[0], { file: "user:config/profiles.yaml", line: 3, fatal: true })
    }).pipe(Effect.scoped))

  it.live("explains which rule decides", () =>
    Effect.gen(function*() {
      const place = yield* project
      const explain = Effect.map(run(place, ["explain", "core/ping", "--json"]), ({ stdout }) => JSON.parse(stdout))
      assert.deepStrictEqual((yield* explain).accesses, [
        { access: "tool.ping", outcome: "allow", rule: "system-tools", speaks: [] }
      ])
      put(place, "rules:\n  - allow: ping\n  - deny: core/*\n")
      assert.strictEqual((yield* explain).outcome, "deny")
      const [only] = (yield* explain).accesses
      assert.strictEqual(only.outcome, "deny")
      assert.strictEqual(only.rule, "user:config/permissions.yaml:3")
      assert.deepStrictEqual(only.speaks.map(({ decides }: { decides: boolean }) => decides), [false, true])
      const { stdout } = yield* run(place, ["explain", "core/ping"])
      assert.include(stdout, "It is refused.")
      put(place, "rules:\n  - allow: ping\n    parameters: {text: {enum: [a]}}\n")
      const asked = yield* explain
      assert.strictEqual(asked.outcome, "ask")
      assert.include(asked.accesses[0].reason, "allows it with other parameters")
      const unknown = JSON.parse((yield* run(place, ["explain", "core/ping", "--profile", "no", "--json"])).stdout)
      assert.strictEqual(unknown.error.code, "PROFILE_UNKNOWN")
    }).pipe(Effect.scoped))

  it.live("edits the project's file, and renews its acceptance", () =>
    Effect.gen(function*() {
      const place = yield* project
      yield* runCli(["trust", "project"], {
        cwd: place.project,
        kernel: kernelOfSurfaces(place),
        terminal: true,
        terminalStdin: true,
        answers: ["y"]
      })
      const { stdout } = yield* run(place, ["ask", "fs.write(migrations/**)", "--tier", "project", "--json"])
      assert.isTrue(JSON.parse(stdout).added.accepted)
      const listed = JSON.parse((yield* run(place, ["list", "--json"])).stdout)
      assert.strictEqual(listed.rules[0].id, "project:3")
      assert.deepStrictEqual(listed.problems, [])
    }).pipe(Effect.scoped))
})
