// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON, and each assertion says what it is
// The git tools on a real repository that somebody else prepared: whatever would run leaves a mark.
import { assert, describe } from "@effect/vitest"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { describeWith } from "../../support/realParts.ts"
import { type FileWorld, inWorld } from "../filesystem/fileWorld.ts"

const gitIn = (folder: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", ...args], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] ?? "", HOME: "/nonexistent" }
  })

const repository = ({ project, put }: FileWorld) => {
  put(".gitignore", ".ai/\n")
  put("a.txt", "one\ntwo\n")
  gitIn(project, "init", "-q", "-b", "main")
  gitIn(project, "add", "-A")
  gitIn(project, "commit", "-q", "-m", "first")
  put("a.txt", "one\n2\n")
  gitIn(project, "commit", "-q", "-a", "-m", "second")
}

describeWith(["git"], "the git tools", () => {
  it.effect("show status, differences, commits and one commit", () =>
    inWorld({ engine: true }, (world) =>
      Effect.gen(function*() {
        const { asked, project, put, run } = world
        repository(world)
        put("new.txt", "new\n")
        put("a.txt", "one\n3\n")
        assert.strictEqual(yield* run("git.status", {}), "## main\n M a.txt\n?? new.txt\n")
        assert.deepStrictEqual(asked(), ["fs.read(.)"])
        assert.include(yield* run("git.diff", {}), "-2\n+3\n")
        assert.include(yield* run("git.diff", { from: "HEAD~1", to: "HEAD" }), "-two\n+2\n")
        assert.strictEqual(yield* run("git.diff", { paths: ["new.txt"] }), "")
        assert.deepStrictEqual(asked(), ["fs.read(new.txt)"])
        gitIn(project, "add", "-A")
        assert.include(yield* run("git.diff", { staged: true }), "+3\n")
        const log = yield* run("git.log", { limit: 1 })
        assert.match(log, /^[0-9a-f]{40}\n {2}Ada, .*\n {2}second\n/)
        assert.include(yield* run("git.show", { ref: "main" }), "-two\n+2\n")
      })))

  it.effect("take no value as an option, a range or a search", () =>
    inWorld({ engine: true }, (world) =>
      Effect.gen(function*() {
        const { project, refused } = world
        repository(world)
        const mark = join(project, "owned")
        for (
          const ref of [
            `--output=${mark}`,
            "-O/etc/passwd",
            "--ext-diff",
            "--no-index",
            "-c",
            "--upload-pack=touch owned",
            "HEAD..main",
            "main...HEAD",
            ":/first",
            "HEAD^{/first}",
            "HEAD --output=x",
            "$(touch owned)",
            "HEAD;id",
            "main\n--output=x",
            "@{-1}\0"
          ]
        ) {
          for (
            const [tool, field] of [["git.diff", "from"], ["git.diff", "to"], ["git.log", "ref"], [
              "git.show",
              "ref"
            ]] as const
          ) {
            const { _tag, issue } = yield* refused(tool, { [field]: ref })
            assert.deepStrictEqual([_tag, issue], ["GitRefUnreadable", "name"], `${tool} ${ref}`)
          }
        }
        for (const path of [`--output=${mark}`, ":(top,exclude)a.txt", "*.txt"]) {
          yield* Effect.result(world.run("git.diff", { from: "HEAD~1", paths: [path] }))
        }
        assert.isFalse(fs.existsSync(mark))
      })))

  it.effect("start nothing that the repository names", () =>
    inWorld({ engine: true }, (world) =>
      Effect.gen(function*() {
        const { project, put, run } = world
        repository(world)
        const mark = join(project, "..", "owned")
        const evil = join(project, "evil.sh")
        fs.writeFileSync(evil, `#!/bin/sh\ntouch ${mark}\ncat 2>/dev/null\n`, { mode: 0o755 })
        for (
          const [key, value] of [
            ["core.fsmonitor", evil],
            ["core.pager", evil],
            ["pager.log", evil],
            ["pager.diff", evil],
            ["diff.external", evil],
            ["diff.evil.command", evil],
            ["diff.evil.textconv", evil],
            ["filter.evil.clean", evil],
            ["filter.evil.smudge", evil],
            ["filter.other.process", evil],
            ["filter.other.required", "true"],
            ["gpg.program", evil],
            ["log.showSignature", "true"],
            ["core.editor", evil],
            ["core.sshCommand", evil],
            ["interactive.diffFilter", evil],
            ["alias.status", `!${evil}`],
            ["core.hooksPath", join(project, "hooks")],
            ["status.submoduleSummary", "true"]
          ] as const
        ) gitIn(project, "config", key, value)
        fs.writeFileSync(join(project, ".git/included"), `[filter "third"]\n\tclean = ${evil}\n`)
        gitIn(project, "config", "include.path", "included")
        put("hooks/post-index-change", fs.readFileSync(evil, "utf8"))
        fs.chmodSync(join(project, "hooks/post-index-change"), 0o755)
        put(".gitattributes", "a.txt filter=evil diff=evil\nb.txt filter=other\nc.txt filter=third\n")
        fs.writeFileSync(join(project, ".git/info/attributes"), "* diff=evil\n")
        for (const name of ["a", "b", "c"]) put(`${name}.txt`, "changed\n")
        for (
          const [tool, parameters] of [
            ["git.status", {}],
            ["git.diff", {}],
            ["git.diff", { from: "HEAD~1" }],
            ["git.diff", { from: "HEAD~1", to: "HEAD" }],
            ["git.log", {}],
            ["git.show", {}]
          ] as const
        ) {
          yield* run(tool, parameters)
          assert.isFalse(fs.existsSync(mark), `${tool} ${JSON.stringify(parameters)}`)
        }
      })))

  it.effect("say what is wrong where there is no repository, no such commit, or a file that would block", () =>
    inWorld({ engine: true }, (world) =>
      Effect.gen(function*() {
        const { project, refused } = world
        assert.strictEqual((yield* refused("git.status", {})).issue, "no-repository")
        repository(world)
        assert.strictEqual((yield* refused("git.show", { ref: "nothing" })).issue, "missing")
        fs.rmSync(join(project, ".git/HEAD"))
        execFileSync("mkfifo", [join(project, ".git/HEAD")])
        assert.strictEqual((yield* refused("git.status", {})).issue, "failed")
      })))
})

describe("a path of a git tool", () => {
  it.effect("that may not be read is not shown", () =>
    inWorld(
      { engine: true, denies: (access) => access._tag === "Path" && access.path === ".env" },
      ({ put, refused }) =>
        Effect.gen(function*() {
          put(".env", "SECRET=1")
          assert.strictEqual((yield* refused("git.diff", { paths: [".env"] }))._tag, "PermissionDenied")
          assert.strictEqual((yield* refused("git.diff", { paths: ["./.env"] }))._tag, "PermissionDenied")
        })
    ))
})
