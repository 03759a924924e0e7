// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON, and each assertion says what it is
// The filesystem tools on a real disk: what they answer, what they ask for, and that they open nothing else.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { getuid } from "node:process"
import { describeWith } from "../../support/realParts.ts"
import { type FileWorld, inWorld } from "./fileWorld.ts"

const isRoot = getuid?.() === 0
const noRules = {}

const test = (name: string, use: (world: FileWorld) => Generator<any, void, any>) =>
  it.effect(name, () => inWorld(noRules, (world) => Effect.gen(() => use(world) as never)))

describe("filesystem.read", () => {
  test("pages through a file by lines, with what comes next", function*({ put, run }) {
    put("a.txt", Array.from({ length: 5 }, (_, index) => `line ${index}\n`).join(""))
    const first = yield* run("read", { path: "a.txt", limit: 2 })
    assert.deepStrictEqual(first, {
      path: "a.txt",
      text: "line 0\nline 1\n",
      offset: 0,
      lines: 2,
      total: 5,
      next: 2,
      bytes: 35
    })
    const last = yield* run("read", { path: "a.txt", offset: 4 })
    assert.deepInclude(last, { text: "line 4\n", lines: 1, total: 5, next: null })
    assert.deepInclude(yield* run("read", { path: "a.txt", offset: 9 }), { text: "", lines: 0, total: 5, next: null })
  })

  test("reads all of a file by its pages, whatever its line ends and end", function*({ put, run }) {
    const long = "x".repeat(100_000)
    for (
      const text of ["", "one", "one\n", "a\r\nb\r\n", "\n\n\n", "a\nb", `${long}\n${long}\n${long}\n${long}`, "é\nü\n"]
    ) {
      put("a.txt", text)
      for (const limit of [1, 2, 10_000]) {
        let [read, lines] = ["", 0]
        for (let offset: number | null = 0; offset !== null;) {
          const page: any = yield* run("read", { path: "a.txt", offset, limit })
          read += page.text
          lines += page.lines
          offset = page.next
          if (offset === null) assert.strictEqual(lines, page.total, JSON.stringify(text.slice(0, 20)))
        }
        assert.strictEqual(read, text)
      }
    }
  })

  test("leaves out a byte order mark", function*({ put, run }) {
    put("a.txt", "\ufeffhello\n")
    assert.strictEqual((yield* run("read", { path: "a.txt" })).text, "hello\n")
  })

  test("says that a file is not text, and gives its bytes on demand", function*({ put, refused, run }) {
    const bytes = Uint8Array.from([0xff, 0xfe, 0, 65, 200])
    for (const content of [bytes, "a\0b", Uint8Array.from([0xc3, 0x28]), Buffer.from("wide", "utf16le")]) {
      put("a.bin", content)
      const error = yield* refused("read", { path: "a.bin" })
      assert.strictEqual(error._tag, "FileNotText")
      assert.include(error.remediation, "base64")
    }
    put("a.bin", bytes)
    assert.deepStrictEqual(yield* run("read", { path: "a.bin", encoding: "base64", offset: 1, limit: 2 }), {
      path: "a.bin",
      base64: Buffer.from(bytes.subarray(1, 3)).toString("base64"),
      offset: 1,
      length: 2,
      total: 5,
      next: 3
    })
  })

  test("cuts a line that is longer than a page, and says so", function*({ put, run }) {
    put("a.txt", `${"é".repeat(200_000)}\nend\n`)
    const page = yield* run("read", { path: "a.txt" })
    assert.match(page.text, /^é+$/)
    assert.include(page.cut, "base64")
    assert.strictEqual(page.next, 1)
  })

  test(
    "reads the beginning of a sparse terabyte at once, and not its end by lines",
    function*({ project, put, refused, run }) {
      put("huge", "begin\nsecond\n")
      fs.truncateSync(join(project, "huge"), 2 ** 40)
      assert.deepInclude(yield* run("read", { path: "huge", limit: 1 }), { text: "begin\n", total: null, next: 1 })
      assert.include((yield* refused("read", { path: "huge", offset: 3 })).message, "too far")
      const end = yield* run("read", { path: "huge", encoding: "base64", offset: 2 ** 40 - 3 })
      assert.deepInclude(end, { length: 3, next: null })
    }
  )

  test("names a folder, a missing file and one below a file as what they are", function*({ put, refused }) {
    put("folder/a.txt", "")
    assert.include((yield* refused("read", { path: "folder" })).message, "folder")
    assert.strictEqual((yield* refused("read", { path: "nothing" }))._tag, "FileAbsent")
    assert.strictEqual((yield* refused("read", { path: "folder/a.txt/b" })).issue, "not-a-file")
    assert.strictEqual((yield* refused("read", { path: "folder/a.txt/b/c" })).issue, "not-a-file")
  })

  test("does not block on a pipe, a socket or a device", function*({ project, refused }) {
    execFileSync("mkfifo", [join(project, "pipe")])
    const server = createServer()
    yield* Effect.callback<void>((resume) => void server.listen(join(project, "socket"), () => resume(Effect.void)))
    for (const path of ["pipe", "socket"]) {
      assert.strictEqual((yield* refused("read", { path })).issue, "not-a-file", path)
      assert.strictEqual((yield* refused("edit", { path, old: "a", new: "b" })).issue, "not-a-file", path)
    }
    server.close()
    if (isRoot) {
      execFileSync("mknod", [join(project, "zero"), "c", "1", "5"])
      assert.strictEqual((yield* refused("read", { path: "zero" })).issue, "not-a-file")
    }
  })
})

describe("paths are real before anything is decided:", () => {
  const cases: ReadonlyArray<readonly [path: string, access: string | RegExp]> = [
    ["a.txt", "fs.read(a.txt)"],
    ["./a.txt", "fs.read(a.txt)"],
    ["sub/../a.txt", "fs.read(a.txt)"],
    ["sub//b.txt", "fs.read(sub/b.txt)"],
    ["link.txt", "fs.read(a.txt)"],
    ["linked/b.txt", "fs.read(sub/b.txt)"],
    // The parent of the link's target, not of the link.
    ["deep/up/../a.txt", "fs.read(a.txt)"],
    ["out/secret", /^fs\.read\(\/.*\/outside\/secret\)$/],
    ["out/../outside/secret", /^fs\.read\(\/.*\/outside\/secret\)$/],
    ["../outside/secret", /^fs\.read\(\/.*\/outside\/secret\)$/],
    ["secret-link", /^fs\.read\(\/.*\/outside\/secret\)$/],
    ["chain", /^fs\.read\(\/.*\/outside\/secret\)$/]
  ]
  for (const [path, access] of cases) {
    it.effect(path, () =>
      inWorld(noRules, (world) =>
        Effect.gen(function*() {
          const { asked, outside, project, put, run } = world
          put("a.txt", "inside")
          put("sub/b.txt", "below")
          fs.mkdirSync(join(project, "deep"))
          fs.writeFileSync(join(outside, "secret"), "s3cret")
          for (
            const [name, target] of [
              ["link.txt", "a.txt"],
              ["linked", "sub"],
              ["deep/up", "../sub"],
              ["out", outside],
              ["secret-link", join(outside, "secret")],
              ["chain", "secret-link"]
            ] as const
          ) fs.symlinkSync(target, join(project, name))
          yield* run("read", { path })
          const [only, ...more] = asked()
          assert.deepStrictEqual(more, [])
          if (typeof access === "string") assert.strictEqual(only, access)
          else assert.match(only ?? "", access)
        })))
  }

  test("what cannot be a path on a disk is refused before the gate is asked", function*(world) {
    const { asked, home, outside, project, put, refused } = world
    put("a.txt", "")
    fs.symlinkSync("loop", join(project, "loop"))
    fs.symlinkSync("nowhere", join(project, "dangling"))
    fs.symlinkSync(home, join(project, "kiwi"))
    for (
      const path of [
        "a\0b",
        "nothing/../a.txt",
        "loop",
        "loop/x",
        "dangling",
        "a.txt/..",
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/dev/zero",
        "/dev/stdin",
        "/sys/kernel/hostname",
        "kiwi",
        join(home, "projects"),
        `${outside}/../home`
      ]
    ) {
      const error = yield* refused("read", { path })
      assert.include(["PathUnusable", "ReadRefused"], error._tag, path)
      assert.deepStrictEqual(asked(), [], path)
      assert.include(
        ["PathUnusable", "ReadRefused", "PathProtected"],
        (yield* refused("write", { path, content: "" }))._tag,
        path
      )
    }
  })

  test("a magic link of /proc is what it leads to", function*({ asked, put, run, project }) {
    put("a.txt", "inside")
    assert.strictEqual((yield* run("read", { path: `/proc/self/root${project}/a.txt` })).text, "inside")
    assert.deepStrictEqual(asked(), ["fs.read(a.txt)"])
  })
})

describe("between check and use", () => {
  const secret = "TOP SECRET"
  const swaps: ReadonlyArray<readonly [what: string, swap: (world: FileWorld) => void]> = [
    ["the file becomes a link", ({ outside, project }) => {
      fs.rmSync(join(project, "sub/a.txt"))
      fs.symlinkSync(join(outside, "a.txt"), join(project, "sub/a.txt"))
    }],
    ["its folder becomes a link", ({ outside, project }) => {
      fs.renameSync(join(project, "sub"), join(project, "was"))
      fs.symlinkSync(outside, join(project, "sub"))
    }],
    ["its folder becomes a link to its own parent", ({ project }) => {
      fs.renameSync(join(project, "sub"), join(project, "was"))
      fs.symlinkSync(".", join(project, "sub"))
    }],
    ["the file becomes a pipe", ({ project }) => {
      fs.rmSync(join(project, "sub/a.txt"))
      execFileSync("mkfifo", [join(project, "sub/a.txt")])
    }],
    ["the file becomes a link to a device", ({ project }) => {
      fs.rmSync(join(project, "sub/a.txt"))
      fs.symlinkSync("/dev/zero", join(project, "sub/a.txt"))
    }],
    ["the file becomes a link to Kiwi's memory", ({ project }) => {
      fs.rmSync(join(project, "sub/a.txt"))
      fs.symlinkSync("/proc/self/environ", join(project, "sub/a.txt"))
    }],
    ["the file becomes a folder", ({ project }) => {
      fs.rmSync(join(project, "sub/a.txt"))
      fs.mkdirSync(join(project, "sub/a.txt"))
    }],
    ["its folder becomes a file", ({ project }) => {
      fs.rmSync(join(project, "sub"), { recursive: true })
      fs.writeFileSync(join(project, "sub"), "")
    }],
    ["the project becomes a link", ({ outside, project }) => {
      fs.renameSync(project, `${project}-was`)
      fs.mkdirSync(join(outside, "sub"))
      fs.writeFileSync(join(outside, "sub/a.txt"), secret)
      fs.symlinkSync(outside, project)
    }]
  ]
  const calls = [
    ["read", { path: "sub/a.txt" }],
    ["read", { path: "sub/a.txt", encoding: "base64" }],
    ["write", { path: "sub/a.txt", content: "owned" }],
    ["edit", { path: "sub/a.txt", old: "old", new: "owned" }],
    ["delete", { path: "sub/a.txt" }],
    ["move", { from: "sub/a.txt", to: "moved.txt" }],
    ["move", { from: "other.txt", to: "sub/a.txt", overwrite: true }],
    ["move", { from: "sub", to: "moved" }],
    ["search", { path: "sub/a.txt", pattern: "SECRET" }],
    ["search", { path: "sub", pattern: "SECRET" }],
    ["list", { path: "sub" }],
    ["stat", { path: "sub/a.txt" }],
    ["delete", { path: "sub", recursive: true }]
  ] as const
  for (const [what, swap] of swaps) {
    for (const [tool, parameters] of calls) {
      it.effect(`${what}: ${tool} ${JSON.stringify(parameters)} touches nothing else`, () =>
        inWorld({ meanwhile: swap }, (world) =>
          Effect.gen(function*() {
            fs.writeFileSync(join(world.outside, "a.txt"), secret)
            fs.writeFileSync(join(world.outside, "outside-only.txt"), secret)
            fs.symlinkSync("/proc/self/environ", join(world.outside, "outside-link"))
            world.put("a.txt", "at the root")
            world.put("other.txt", "other")
            world.put("sub/a.txt", "old")
            const answer = yield* Effect.result(world.run(tool, parameters))
            assert.notInclude(JSON.stringify(answer), secret)
            assert.notInclude(JSON.stringify(answer), "outside-only")
            assert.notInclude(JSON.stringify(answer), "KIWI_HOME")
            assert.isTrue(fs.existsSync(join(world.outside, "outside-only.txt")))
            assert.strictEqual(fs.readFileSync(join(world.outside, "a.txt"), "utf8"), secret)
            if (what === "its folder becomes a link to its own parent") {
              assert.strictEqual(world.text("a.txt"), "at the root")
            }
            if (what === "the project becomes a link") {
              assert.strictEqual(fs.readFileSync(join(world.outside, "sub/a.txt"), "utf8"), secret)
              assert.isFalse(fs.existsSync(join(world.outside, "moved.txt")))
            }
          })))
    }
  }

  it.effect("an edit of a file that was changed is refused, and the change stays", () =>
    inWorld({}, (world) =>
      Effect.gen(function*() {
        world.put("a.txt", "old text")
        yield* world.run("edit", { path: "a.txt", old: "old", new: "new" })
        assert.strictEqual(world.text("a.txt"), "new text")
      })))
})

describe("filesystem.write", () => {
  test(
    "creates folders and the file, keeps its mode, and leaves nothing else behind",
    function*({ asked, project, put, run, text }) {
      assert.deepStrictEqual(yield* run("write", { path: "new/deep/a.txt", content: "hello\n" }), {
        path: "new/deep/a.txt",
        bytes: 6,
        created: true
      })
      assert.deepStrictEqual(asked(), ["fs.write(new/deep/a.txt)"])
      put("run.sh", "old")
      fs.chmodSync(join(project, "run.sh"), 0o750)
      assert.deepInclude(yield* run("write", { path: "run.sh", content: "new" }), { created: false })
      assert.strictEqual(fs.statSync(join(project, "run.sh")).mode & 0o777, 0o750)
      yield* run("write", { path: "a.bin", content: "AP8=", encoding: "base64" })
      assert.deepStrictEqual([...fs.readFileSync(join(project, "a.bin"))], [0, 255])
      assert.strictEqual(text("run.sh"), "new")
      assert.deepStrictEqual(fs.readdirSync(project).toSorted(), [".ai", "a.bin", "new", "run.sh"])
    }
  )

  test("does not overwrite where that was not wanted, nor a folder", function*({ put, refused, text }) {
    put("a.txt", "kept")
    put("folder/x", "")
    assert.strictEqual((yield* refused("write", { path: "a.txt", content: "x", overwrite: false })).issue, "exists")
    assert.strictEqual((yield* refused("write", { path: "folder", content: "x" }))._tag, "PathUnusable")
    assert.strictEqual(
      (yield* refused("write", { path: "a.txt", content: "%%%", encoding: "base64" }))._tag,
      "PathUnusable"
    )
    assert.strictEqual(text("a.txt"), "kept")
  })

  test("never writes through a hard link", function*({ outside, project, run }) {
    fs.writeFileSync(join(outside, "shared"), "shared")
    fs.linkSync(join(outside, "shared"), join(project, "a.txt"))
    assert.strictEqual((yield* run("read", { path: "a.txt" })).text, "shared")
    const written = yield* run("write", { path: "a.txt", content: "mine" })
    assert.include(written.note, "2 names")
    assert.strictEqual(fs.readFileSync(join(outside, "shared"), "utf8"), "shared")
    fs.linkSync(join(outside, "shared"), join(project, "b.txt"))
    assert.include((yield* run("edit", { path: "b.txt", old: "shared", new: "mine" })).note, "2 names")
    assert.strictEqual(fs.readFileSync(join(outside, "shared"), "utf8"), "shared")
  })

  test("replaces no pipe, socket or device, by name or by link", function*({ project, put, refused }) {
    put("a.txt", "kept")
    const server = createServer()
    yield* Effect.callback<void>((resume) => void server.listen(join(project, "socket"), () => resume(Effect.void)))
    execFileSync("mkfifo", [join(project, "pipe")])
    if (isRoot) {
      execFileSync("mknod", [join(project, "null"), "c", "1", "3"])
      execFileSync("mknod", [join(project, "disk"), "b", "7", "99"])
    }
    const names = ["pipe", "socket", ...(isRoot ? ["null", "disk"] : [])]
    for (const name of names) {
      fs.symlinkSync(name, join(project, `${name}-link`))
      const before = fs.lstatSync(join(project, name))
      const calls = [
        ["write", { path: name, content: "x" }],
        ["write", { path: name, content: "x", overwrite: false }],
        ["write", { path: `${name}-link`, content: "x" }],
        ["edit", { path: name, old: "a", new: "b" }],
        ["edit", { path: `${name}-link`, old: "a", new: "b" }],
        ["move", { from: "a.txt", to: name, overwrite: true }],
        ["move", { from: "a.txt", to: `${name}-link`, overwrite: true }]
      ] as const
      for (const [tool, parameters] of calls) {
        const what = `${tool} ${JSON.stringify(parameters)}`
        assert.include(["exists", "not-a-file"], (yield* refused(tool, parameters)).issue, what)
        const now = fs.lstatSync(join(project, name))
        assert.deepStrictEqual([now.ino, now.mode], [before.ino, before.mode], what)
      }
    }
    assert.strictEqual(fs.readFileSync(join(project, "a.txt"), "utf8"), "kept")
    server.close()
  })

  test("of a link writes the file that it leads to, and the link stays", function*({ asked, project, put, run, text }) {
    put("real.txt", "old")
    fs.symlinkSync("real.txt", join(project, "link.txt"))
    yield* run("write", { path: "link.txt", content: "new" })
    assert.deepStrictEqual(asked(), ["fs.write(real.txt)"])
    assert.isTrue(fs.lstatSync(join(project, "link.txt")).isSymbolicLink())
    assert.strictEqual(text("real.txt"), "new")
  })

  const protectedPaths = [
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/index",
    ".git",
    ".GIT/config",
    ".Git/Hooks/pre-commit",
    ".g\u200cit/config",
    ".git /config",
    ".git./config",
    "GIT~1/config",
    "sub/.git/config",
    "sub/.git/HEAD",
    ".ai/config/kiwi.yaml",
    ".ai/logs/audit/x",
    ".AI/tools/a.yaml",
    ".ai/TOOLS",
    "sub/.ai/tools/a.yaml",
    ".ai/lockfiles/x",
    ".mcp.json",
    "sub/.mcp.json",
    ".claude/settings.json",
    "packages/a/.claude/settings.local.json",
    ".cursor/mcp.json",
    ".vscode/tasks.json",
    ".VSCODE/tasks.json",
    ".envrc",
    ".bashrc",
    "home/.zshenv",
    "home/.profile",
    ".config/fish/config.fish"
  ]
  for (const path of protectedPaths) {
    it.effect(`changes nothing at ${JSON.stringify(path)}, whatever a rule says`, () =>
      inWorld(noRules, ({ asked, project, put, refused }) =>
        Effect.gen(function*() {
          put("a.txt", "a")
          // The audit is in .ai/logs.
          const now = () =>
            fs.readdirSync(project, { recursive: true, encoding: "utf8" }).filter((name) =>
              !/^\.ai\/(logs|cache)/.test(name)
            )
          const before = now()
          for (
            const [tool, parameters] of [
              ["write", { path, content: "x" }],
              ["edit", { path, old: "a", new: "b" }],
              ["move", { from: "a.txt", to: path }]
            ] as const
          ) {
            assert.strictEqual((yield* refused(tool, parameters))._tag, "PathProtected", tool)
            assert.deepStrictEqual(asked(), [])
          }
          assert.deepStrictEqual(now(), before)
          put(path.endsWith(".git") ? `${path}/HEAD` : path, "own")
          for (
            const [tool, parameters] of [
              ["delete", { path, recursive: true }],
              ["move", { from: path, to: "b.txt" }],
              ["delete", { path: path.split("/")[0]!, recursive: true }],
              ["move", { from: path.split("/")[0]!, to: "moved" }]
            ] as const
          ) assert.strictEqual((yield* refused(tool, parameters))._tag, "PathProtected", `${tool} ${parameters}`)
        })))
  }

  test("reaches no protected name by a link or by moving a folder around it", function*({ project, put, refused }) {
    put(".git/config", "own")
    put("plain/hooks/pre-commit", "evil")
    fs.symlinkSync(".git", join(project, "innocent"))
    fs.symlinkSync(".git/config", join(project, "notes.txt"))
    assert.strictEqual((yield* refused("write", { path: "innocent/config", content: "x" }))._tag, "PathProtected")
    assert.strictEqual((yield* refused("write", { path: "notes.txt", content: "x" }))._tag, "PathProtected")
    assert.strictEqual((yield* refused("edit", { path: "notes.txt", old: "own", new: "x" }))._tag, "PathProtected")
    assert.strictEqual((yield* refused("move", { from: "plain", to: "sub/.git" }))._tag, "PathProtected")
    put("packed/.claude/settings.json", "{}")
    assert.strictEqual((yield* refused("move", { from: "packed", to: "elsewhere" }))._tag, "PathProtected")
  })

  test("writes an item's file under kiwi.write too", function*({ asked, run }) {
    yield* run("write", { path: ".ai/tools/math/add.py", content: "" })
    assert.deepStrictEqual(asked(), ["fs.write(.ai/tools/math/add.py)", "kiwi.write"])
  })
})

describeWith(["tinyDisk"], "filesystem.write on a full disk", () => {
  test("leaves the old file as it was, and no other", function*({ project, refused, text }) {
    const disk = join(project, "disk")
    fs.mkdirSync(disk)
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk])
    try {
      fs.writeFileSync(join(disk, "a.txt"), "kept")
      const error = yield* refused("write", { path: "disk/a.txt", content: "x".repeat(200_000) })
      assert.strictEqual(error.issue, "no-space")
      assert.strictEqual(text("disk/a.txt"), "kept")
      assert.deepStrictEqual(fs.readdirSync(disk), ["a.txt"])
    } finally {
      execFileSync("umount", [disk])
    }
  })
})

describe("filesystem.edit", () => {
  test("replaces the only match, and says at which line", function*({ asked, put, run, text }) {
    put("a.ts", "one\ntwo\nthree\n")
    assert.deepStrictEqual(yield* run("edit", { path: "a.ts", old: "two", new: "2" }), {
      path: "a.ts",
      line: 2,
      changed: true
    })
    assert.deepStrictEqual(asked(), ["fs.write(a.ts)"])
    assert.strictEqual(text("a.ts"), "one\n2\nthree\n")
  })

  test("refuses none or several, and says how many and where", function*({ put, refused, text }) {
    put("a.ts", "  same\nother\nsame\nsame\n")
    const several = yield* refused("edit", { path: "a.ts", old: "same", new: "x" })
    assert.deepInclude(several, { _tag: "EditUnclear", found: 3, lines: [1, 3, 4] })
    const none = yield* refused("edit", { path: "a.ts", old: "\tsame\n\tother", new: "x" })
    assert.deepInclude(none, { _tag: "EditUnclear", found: 0, lines: [1, 3, 4] })
    const overlapping = yield* refused("edit", { path: "a.ts", old: "same\nsame\n", new: "x" }).pipe(Effect.option)
    assert.strictEqual(overlapping._tag, "None")
    assert.notInclude(text("a.ts"), "same\nsame")
  })

  test("keeps line ends, a byte order mark and the missing last newline", function*({ put, run, text }) {
    put("a.txt", "\ufeffone\r\ntwo\r\nthree")
    yield* run("edit", { path: "a.txt", old: "one\ntwo", new: "1\n1b\n2" })
    assert.strictEqual(text("a.txt"), "\ufeff1\r\n1b\r\n2\r\nthree")
    put("b.txt", "one\r\ntwo\nthree\n")
    yield* run("edit", { path: "b.txt", old: "two\n", new: "2\n" })
    assert.strictEqual(text("b.txt"), "one\r\n2\nthree\n")
  })

  test("takes the new text as it is, and no text that is not UTF-8", function*({ put, refused, run, text }) {
    put("a.txt", "price: X")
    yield* run("edit", { path: "a.txt", old: "X", new: "$& $1 $` \\n" })
    assert.strictEqual(text("a.txt"), "price: $& $1 $` \\n")
    put("b.txt", Uint8Array.from([65, 0xff]))
    assert.strictEqual((yield* refused("edit", { path: "b.txt", old: "A", new: "B" }))._tag, "FileNotText")
  })
})

describe("filesystem.list, search and stat", () => {
  const denies = { denies: (access: any) => access._tag === "Path" && /(^|\/)\.env|secret/.test(access.path) }

  it.effect("leave out what may not be read, and count it", () =>
    inWorld(denies, ({ put, run }) =>
      Effect.gen(function*() {
        put("src/a.ts", "const token = 1\n")
        put("src/secret.ts", "const token = 2\n")
        put(".env", "token=3\n")
        const listed = yield* run("list", { depth: 3 })
        assert.deepStrictEqual(listed.entries, [
          { path: ".ai", kind: "folder" },
          { path: "src", kind: "folder" },
          { path: "src/a.ts", kind: "file" }
        ])
        assert.strictEqual(listed.denied, 2)
        const found = yield* run("search", { pattern: "token" })
        assert.deepStrictEqual(found.matches, [{ path: "src/a.ts", line: 1, text: "const token = 1" }])
        assert.strictEqual(found.skipped.denied, 2)
      })))

  it.effect("a folder that may not be read is not listed or searched", () =>
    inWorld(denies, ({ put, refused }) =>
      Effect.gen(function*() {
        put("secrets/a.txt", "token")
        assert.strictEqual((yield* refused("list", { path: "secrets" }))._tag, "PermissionDenied")
        assert.strictEqual((yield* refused("search", { path: "secrets", pattern: "token" }))._tag, "PermissionDenied")
      })))

  test("do not follow links out of the folder", function*({ outside, project, put, run }) {
    put("a.txt", "needle")
    fs.writeFileSync(join(outside, "b.txt"), "needle")
    fs.symlinkSync(outside, join(project, "out"))
    fs.symlinkSync(join(outside, "b.txt"), join(project, "b.txt"))
    fs.symlinkSync(".", join(project, "again"))
    const { matches } = yield* run("search", { pattern: "needle" })
    assert.deepStrictEqual(matches.map(({ path }: any) => path), ["a.txt"])
    const { entries } = yield* run("list", { depth: 20 })
    assert.deepStrictEqual(entries.filter(({ kind }: any) => kind === "link").map(({ path }: any) => path), [
      "again",
      "b.txt",
      "out"
    ])
    assert.strictEqual((yield* run("stat", { path: "b.txt" })).kind, "link")
  })

  test(
    "search by regular expression, case and glob, at most so many, and not in binary files",
    function*({ put, refused, run }) {
      put("src/a.ts", "Foo(1)\nfoo(22)\nbar\n")
      put("src/b.js", "foo(3)\n")
      put("c.bin", Uint8Array.from([0, 102, 111, 111]))
      put("node_modules/x/i.ts", "foo(4)\n")
      const lines = (answer: any) => answer.matches.map(({ line, path }: any) => `${path}:${line}`)
      assert.deepStrictEqual(lines(yield* run("search", { pattern: "foo(" })), ["src/a.ts:2", "src/b.js:1"])
      assert.deepStrictEqual(lines(yield* run("search", { pattern: "FOO(", ignore_case: true, glob: "*.ts" })), [
        "src/a.ts:1",
        "src/a.ts:2"
      ])
      assert.deepStrictEqual(lines(yield* run("search", { pattern: "^foo\\(\\d\\d\\)$", regex: true })), ["src/a.ts:2"])
      assert.deepStrictEqual(lines(yield* run("search", { pattern: "foo", path: "node_modules", glob: "**/*.ts" })), [
        "node_modules/x/i.ts:1"
      ])
      const few = yield* run("search", { pattern: "o", limit: 2 })
      assert.deepInclude(few, { more: true })
      assert.lengthOf(few.matches, 2)
      assert.strictEqual((yield* run("search", { pattern: "foo", path: "c.bin" })).skipped.binary, 1)
      for (const pattern of ["(?=a)", "(a)\\1", "("]) {
        assert.strictEqual((yield* refused("search", { pattern, regex: true }))._tag, "PatternUnusable", pattern)
      }
    }
  )

  test("a pattern that would take an old engine years is done at once", function*({ put, run }) {
    put("a.txt", `${"a".repeat(5_000)}!\n`)
    assert.lengthOf((yield* run("search", { pattern: "^(a+)+$", regex: true })).matches, 0)
  })
})

describe("filesystem.delete and move", () => {
  test(
    "delete a file, a link alone, and a folder only if that is meant",
    function*({ asked, project, put, refused, run }) {
      put("a.txt", "")
      put("folder/b.txt", "")
      put("folder/c/d.txt", "")
      put("kept.txt", "kept")
      fs.symlinkSync("kept.txt", join(project, "link"))
      yield* run("delete", { path: "a.txt" })
      yield* run("delete", { path: "link" })
      assert.deepStrictEqual(asked(), ["fs.delete(link)"])
      assert.include((yield* refused("delete", { path: "folder" })).message, "not empty")
      assert.deepInclude(yield* run("delete", { path: "folder", recursive: true }), { deleted: 4 })
      assert.deepStrictEqual(asked().toSorted(), [
        "fs.delete(folder)",
        "fs.delete(folder/b.txt)",
        "fs.delete(folder/c)",
        "fs.delete(folder/c/d.txt)"
      ])
      assert.deepStrictEqual(fs.readdirSync(project).toSorted(), [".ai", "kept.txt"])
      assert.strictEqual((yield* refused("delete", { path: "." }))._tag, "PathUnusable")
      assert.strictEqual((yield* refused("delete", { path: "nothing" }))._tag, "FileAbsent")
    }
  )

  it.effect("a file in the folder that may not be deleted keeps all of it", () =>
    inWorld(
      { denies: (access) => access._tag === "Path" && access.path.endsWith("keep.txt") },
      ({ project, put, refused }) =>
        Effect.gen(function*() {
          put("folder/a.txt", "")
          put("folder/keep.txt", "")
          assert.strictEqual((yield* refused("delete", { path: "folder", recursive: true }))._tag, "PermissionDenied")
          assert.lengthOf(fs.readdirSync(join(project, "folder")), 2)
          assert.strictEqual((yield* refused("move", { from: "folder", to: "other" }))._tag, "PermissionDenied")
        })
    ))

  it.effect("a file that came after the question stays", () =>
    inWorld(
      { meanwhile: ({ put }) => put("folder/new.txt", "new") },
      ({ put, refused, text }) =>
        Effect.gen(function*() {
          put("folder/a.txt", "")
          assert.include((yield* refused("delete", { path: "folder", recursive: true })).message, "added")
          assert.strictEqual(text("folder/new.txt"), "new")
        })
    ))

  test(
    "move a file and a folder, and say all that is read, written and deleted",
    function*({ asked, put, refused, run, text }) {
      put("a.txt", "a")
      put("b.txt", "b")
      put("folder/c.txt", "c")
      yield* run("move", { from: "a.txt", to: "new/a.txt" })
      assert.deepStrictEqual(asked(), ["fs.delete(a.txt)", "fs.write(new/a.txt)", "fs.read(a.txt)"])
      assert.strictEqual((yield* refused("move", { from: "b.txt", to: "new/a.txt" })).issue, "exists")
      yield* run("move", { from: "b.txt", to: "new/a.txt", overwrite: true })
      assert.strictEqual(text("new/a.txt"), "b")
      yield* run("move", { from: "folder", to: "deep/er" })
      assert.strictEqual(text("deep/er/c.txt"), "c")
      assert.include(asked(), "fs.write(deep/er/c.txt)")
      assert.strictEqual((yield* refused("move", { from: "deep", to: "deep/er/x" }))._tag, "PathUnusable")
    }
  )
})
