// Real git over repositories that somebody else prepared. Whatever would run leaves a mark.
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import * as GitTreeProcess from "../../../src/layers/git/GitTreeProcess.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import { GitTree, isRef } from "../../../src/services/git/GitTree.ts"
import { temporary } from "../../support/temporary.ts"

const gitIn = (home: string, project: string) => (args: ReadonlyArray<string>, cwd = project) =>
  execFileSync("git", args, {
    cwd,
    encoding: "utf8",
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: home,
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@example.org",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@example.org"
    },
    stdio: ["ignore", "pipe", "pipe"]
  }).trim()

const writeIn = (project: string) => (path: string, text: string, mode = 0o644) => {
  fs.mkdirSync(dirname(join(project, path)), { recursive: true })
  fs.writeFileSync(join(project, path), text, { mode })
}

// Made once: each test gets a copy.
const original = fs.mkdtempSync(join(tmpdir(), "kiwi-test-"))
afterAll(() => fs.rmSync(original, { recursive: true }))
beforeAll(() => {
  const project = join(original, "project")
  const git = gitIn(original, project)
  const write = writeIn(project)
  fs.mkdirSync(project)
  git(["init", "-q", "-b", "main"])
  write(".ai/config/kiwi.yaml", "calls.concurrency: 2\n")
  write(".ai/tools/math/add.py", "print(1)\n")
  write(".env", "A=1\n")
  git(["add", "-A", "-f"])
  git(["commit", "-q", "-m", "first"])
})

const repository = Effect.map(temporary, (folder) => {
  const project = join(folder, "project")
  const home = join(folder, "home")
  fs.mkdirSync(home)
  fs.cpSync(join(original, "project"), project, { recursive: true })
  const git = gitIn(home, project)
  const write = writeIn(project)
  const layer = GitTreeProcess.layer.pipe(
    Layer.provide(ChildProcessesNode.layer),
    Layer.provide(KiwiHomeNode.layerWith({ home, userSpace: join(folder, "user"), userHome: folder }))
  )
  const mark = join(folder, "mark")
  return {
    folder,
    project,
    git,
    write,
    mark,
    /** A program that leaves the mark. */
    marker: () => {
      const file = join(folder, "marker.sh")
      fs.writeFileSync(file, `#!/bin/sh\necho "$0 $*" >> ${mark}\nexit 1\n`, { mode: 0o755 })
      return file
    },
    read: (ref: string, at = project, wanted: (path: string) => boolean = () => true) =>
      Effect.flatMap(GitTree, (tree) => tree.read(at, ref, wanted)).pipe(Effect.provide(layer))
  }
})

const text = (bytes: Uint8Array | undefined) => bytes === undefined ? undefined : new TextDecoder().decode(bytes)

describe("a commit's files", () => {
  it.live("come as git keeps them, whatever the working tree says", () =>
    Effect.gen(function*() {
      const { git, project, read, write } = yield* repository
      write(".ai/config/kiwi.yaml", "calls.concurrency: 99\n")
      const { commit, files } = yield* read("main")
      assert.strictEqual(commit, git(["rev-parse", "HEAD"]))
      assert.deepStrictEqual([...files.keys()].toSorted(), [".ai/config/kiwi.yaml", ".ai/tools/math/add.py", ".env"])
      assert.strictEqual(text(files.get(".ai/config/kiwi.yaml")?.bytes), "calls.concurrency: 2\n")
      const some = yield* read("HEAD", project, (path) => path.startsWith(".ai/config/"))
      assert.deepStrictEqual([...some.files.keys()], [".ai/config/kiwi.yaml"])
    }))

  it.live("are those of the project's own folder where it lies in a larger repository", () =>
    Effect.gen(function*() {
      const { git, project, read, write } = yield* repository
      write("site/.ai/config/trust.yaml", "signers: []\n")
      git(["add", "-A"])
      git(["commit", "-q", "-m", "second"])
      const { files } = yield* read("HEAD", join(project, "site"))
      assert.deepStrictEqual([...files.keys()], [".ai/config/trust.yaml"])
    }))

  it.live("have no bytes where they are a link, and are empty before there were any", () =>
    Effect.gen(function*() {
      const { git, project, read } = yield* repository
      fs.symlinkSync("/etc/passwd", join(project, ".ai/config/trust.yaml"))
      git(["add", "-A"])
      git(["commit", "-q", "-m", "second"])
      const { files } = yield* read("HEAD")
      assert.deepStrictEqual(files.get(".ai/config/trust.yaml"), { bytes: undefined })
      git(["rm", "-r", "-q", "-f", "."])
      git(["commit", "-q", "-m", "third", "--allow-empty"])
      assert.strictEqual((yield* read("HEAD")).files.size, 0)
    }))
})

describe("a hostile repository", () => {
  it("gets no option, range or search in as a ref", () => {
    for (const ref of ["main", "origin/main", "v1.0.0", "HEAD~2", "@", "main@{1}", "größe", "HEAD^2", "a#1"]) {
      assert.isTrue(isRef(ref), ref)
    }
    for (
      const ref of [
        "",
        "--upload-pack=touch /tmp/x",
        "-c",
        "main..HEAD",
        "^main",
        ":/text",
        "HEAD^{/a}",
        "main:.ai/x",
        "a b",
        "a\nb",
        "a\0b",
        "$(id)",
        "a;b",
        "\u202emain",
        "x".repeat(300)
      ]
    ) {
      assert.isFalse(isRef(ref), JSON.stringify(ref))
    }
  })

  it.live("starts nothing that its config names", () =>
    Effect.gen(function*() {
      const { git, mark, marker, project, read, write } = yield* repository
      const program = marker()
      write(".gitattributes", "* filter=evil diff=evil text=auto\n.ai/** filter=evil diff=evil\n")
      write(".ai/extractors/tool/rb.yaml", "extensions: ['.rb']\n")
      git(["add", "-A"])
      git(["commit", "-q", "-m", "second"])
      fs.mkdirSync(join(project, "hooks"), { recursive: true })
      for (const hook of ["post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"]) {
        fs.copyFileSync(program, join(project, "hooks", hook))
        fs.chmodSync(join(project, "hooks", hook), 0o755)
      }
      for (
        const [name, value] of [
          ["core.fsmonitor", program],
          ["core.hooksPath", join(project, "hooks")],
          ["core.pager", program],
          ["core.editor", program],
          ["core.sshCommand", program],
          ["core.askPass", program],
          ["core.alternateRefsCommand", program],
          ["diff.external", program],
          ["diff.evil.textconv", program],
          ["diff.evil.command", program],
          ["filter.evil.smudge", program],
          ["filter.evil.clean", program],
          ["filter.evil.process", program],
          ["filter.evil.required", "true"],
          ["gpg.program", program],
          ["credential.helper", `!${program}`],
          ["alias.rev-parse", `!${program}`],
          ["alias.ls-tree", `!${program}`],
          ["alias.cat-file", `!${program}`],
          ["pager.ls-tree", program],
          ["pager.cat-file", program],
          ["pager.rev-parse", program],
          ["trace2.eventTarget", mark]
        ] as const
      ) {
        git(["config", name, value])
      }
      const { files } = yield* read("HEAD")
      assert.isTrue(files.has(".ai/extractors/tool/rb.yaml"))
      assert.isFalse(fs.existsSync(mark), "nothing ran")
    }))

  it.live("fetches nothing for an object that is not there", () =>
    Effect.gen(function*() {
      const { folder, git, mark, marker, project, read } = yield* repository
      const program = marker()
      const id = git(["rev-parse", "HEAD:.ai/config/kiwi.yaml"])
      fs.rmSync(join(project, ".git/objects", id.slice(0, 2), id.slice(2)))
      for (const url of [`ext::${program} x`, folder, `ssh://host.invalid/x`, "foo::x"]) {
        git(["config", "extensions.partialClone", "origin"])
        git(["config", "core.repositoryFormatVersion", "1"])
        git(["config", "remote.origin.url", url])
        git(["config", "remote.origin.promisor", "true"])
        git(["config", "remote.origin.uploadpack", program])
        git(["config", "protocol.allow", "always"])
        git(["config", "protocol.ext.allow", "always"])
        git(["config", "core.sshCommand", program])
        const refused = yield* Effect.flip(read("HEAD"))
        assert.strictEqual(refused.issue, "failed", url)
        assert.isFalse(fs.existsSync(mark), `${url}: nothing ran`)
      }
    }))

  it.live("is not believed to be one where its folder only looks like one", () =>
    Effect.gen(function*() {
      const { folder, mark, marker, read } = yield* repository
      const fake = join(folder, "fake")
      execFileSync("git", ["init", "-q", "--bare", fake], { env: { PATH: process.env["PATH"] ?? "", HOME: folder } })
      fs.appendFileSync(join(fake, "config"), `[core]\n\tfsmonitor = ${marker()}\n`)
      assert.strictEqual((yield* Effect.flip(read("HEAD", fake))).issue, "no-repository")
      assert.isFalse(fs.existsSync(mark))
    }))

  it.live("cannot have a commit stand for another", () =>
    Effect.gen(function*() {
      const { git, read, write } = yield* repository
      const first = git(["rev-parse", "HEAD"])
      write(".ai/config/kiwi.yaml", "calls.concurrency: 99\n")
      git(["commit", "-q", "-a", "-m", "second"])
      git(["replace", first, git(["rev-parse", "HEAD"])])
      const { files } = yield* read(first)
      assert.strictEqual(text(files.get(".ai/config/kiwi.yaml")?.bytes), "calls.concurrency: 2\n")
    }))

  it.live("does not become the git that reads it", () =>
    Effect.gen(function*() {
      const { mark, marker, project, read } = yield* repository
      fs.mkdirSync(join(project, "bin"))
      fs.copyFileSync(marker(), join(project, "bin/git"))
      fs.chmodSync(join(project, "bin/git"), 0o755)
      const PATH = `${join(project, "bin")}:${process.env["PATH"]}`
      yield* Effect.provide(read("HEAD"), ConfigProvider.layer(ConfigProvider.fromUnknown({ PATH })))
      assert.isFalse(fs.existsSync(mark))
    }))
})

describe("what is not there", () => {
  it.live("is told with the command that brings it", () =>
    Effect.gen(function*() {
      const { folder, git, project, read } = yield* repository
      const missing = yield* Effect.flip(read("origin/main"))
      assert.deepStrictEqual([missing.issue, missing.remediation], [
        "missing",
        "Fetch it: git fetch --depth=1 origin main:refs/remotes/origin/main, then name origin/main"
      ])
      git(["commit", "-q", "--allow-empty", "-m", "second"])
      const shallow = join(folder, "shallow")
      git(["clone", "-q", "--depth=1", `file://${project}`, shallow], folder)
      const cut = yield* Effect.flip(read("HEAD~1", shallow))
      assert.deepStrictEqual([cut.issue, cut.remediation], [
        "shallow",
        "Fetch the whole history: git fetch --unshallow"
      ])
      assert.strictEqual((yield* Effect.flip(read("--upload-pack=x"))).issue, "name")
      fs.mkdirSync(join(folder, "none"))
      assert.strictEqual((yield* Effect.flip(read("HEAD", join(folder, "none")))).issue, "no-repository")
    }))
})

describe("a repository that git would not come back from", () => {
  const places = [
    "HEAD",
    "config",
    "refs/heads/main",
    "refs/tags/v1",
    "packed-refs",
    "shallow",
    "info/grafts",
    "objects/info/alternates"
  ]
  const kinds: Readonly<Record<string, (path: string) => void>> = {
    "a pipe": (path) => execFileSync("mkfifo", [path]),
    "a device that never ends": (path) => fs.symlinkSync("/dev/zero", path),
    "a terabyte": (path) => {
      fs.writeFileSync(path, "")
      fs.truncateSync(path, 1e12)
    }
  }
  const refusalOf = <A, E extends { readonly _tag: string }>(reading: Effect.Effect<A, E>) =>
    Effect.map(Effect.flip(reading), (error) => "detail" in error ? error.detail : error._tag)
  const put = (project: string, place: string, kind: (path: string) => void) => {
    const path = join(project, ".git", place)
    fs.mkdirSync(dirname(path), { recursive: true })
    fs.rmSync(path, { force: true })
    kind(path)
  }

  for (const place of places) {
    for (const [what, kind] of Object.entries(kinds)) {
      it.live(`is refused by the name of the file: ${what} at ${place}`, () =>
        Effect.gen(function*() {
          const { project, read } = yield* repository
          put(project, place, kind)
          for (const at of [project, join(project, ".ai")]) {
            const detail = yield* refusalOf(read("HEAD", at))
            assert.match(String(detail), new RegExp(`^\\.git/${place} is (?:not a file|larger than 67108864 bytes)$`))
          }
        }))
    }
  }

  it.live("or of the object", () =>
    Effect.gen(function*() {
      const { git, project, read } = yield* repository
      const id = git(["rev-parse", "HEAD"])
      const place = `objects/${id.slice(0, 2)}/${id.slice(2)}`
      put(project, place, kinds["a pipe"]!)
      assert.strictEqual(yield* refusalOf(read("HEAD")), `.git/${place} is not a file`)
    }))

  it.live("also where the project is a worktree", () =>
    Effect.gen(function*() {
      const { folder, git, project, read } = yield* repository
      const tree = join(folder, "tree")
      git(["worktree", "add", "-q", tree])
      assert.isTrue((yield* read("HEAD", tree)).files.has(".env"))
      put(project, "worktrees/tree/HEAD", kinds["a pipe"]!)
      assert.strictEqual(yield* refusalOf(read("HEAD", tree)), ".git/HEAD is not a file")
      put(project, "worktrees/tree/HEAD", (path) => fs.writeFileSync(path, "ref: refs/heads/tree\n"))
      put(project, "packed-refs", kinds["a pipe"]!)
      assert.strictEqual(yield* refusalOf(read("HEAD", tree)), ".git/packed-refs is not a file")
    }))

  it.live("and what git does not read is left alone", () =>
    Effect.gen(function*() {
      const { project, read } = yield* repository
      for (const place of ["index", "fsmonitor--daemon.ipc", "hooks/post-checkout", "COMMIT_EDITMSG", "info/exclude"]) {
        put(project, place, kinds["a pipe"]!)
      }
      fs.renameSync(join(project, ".git/refs"), join(project, ".git/elsewhere"))
      fs.symlinkSync("elsewhere", join(project, ".git/refs"))
      assert.isTrue((yield* read("main")).files.has(".env"))
    }))
})
