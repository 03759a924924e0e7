import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { contract } from "../../services/audit/AuditLog.contract.ts"
import { describeWith } from "../../support/realParts.ts"
import {
  entriesOf,
  headsOf,
  layerOf,
  open,
  request,
  session,
  sessionFiles,
  stateOf,
  verify,
  type World,
  world
} from "./auditWorld.ts"

contract("AuditLogFile", Effect.map(world, (made) => layerOf(made)))

const problemsOf = (made: World) =>
  Effect.map(verify(made), ({ problems }) => problems.map(({ file, problem }) => [file, problem]))

const markers = (made: World) => fs.readdirSync(join(stateOf(made), "audit-sessions"))

describe("a session", () => {
  it.live("writes nothing before the first call", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* session(made, (audit) => Effect.all([audit.read(), audit.verify, audit.anchor]))
      assert.deepStrictEqual(fs.readdirSync(join(made.root, ".ai")), [])
      assert.deepStrictEqual(fs.globSync(join(made.home, "projects/*/audit*")), [])
    }))

  it.live("is one file of its day, sealed at its end, and leaves no marker", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* session(made, (audit) => audit.append(request("c1")))
      const [file, ...more] = sessionFiles(made.audit)
      assert.deepStrictEqual(more, [])
      const entries = entriesOf(file!)
      assert.deepStrictEqual(entries.map(({ kind, n }) => [kind, n]), [["opened", 1], ["request", 2], ["sealed", 3]])
      assert.strictEqual(entries[2]!["how"], "closed")
      assert.include(file, `/${String(entries[0]!["at"]).slice(0, 10)}/`)
      assert.include(file, String(entries[0]!["session"]))
      assert.strictEqual(fs.statSync(file!).mode & 0o777, 0o600)
      assert.deepStrictEqual(headsOf(made).map(({ i, n, state }) => [i, state, n]), [[1, "opened", 1], [
        2,
        "closed",
        3
      ]])
      assert.deepStrictEqual(markers(made), [])
      assert.deepStrictEqual(yield* verify(made), { files: 1, entries: 3, open: [], problems: [] })
    }))

  it.live("goes on from the newest entry of the one before", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* session(made, (audit) => audit.append(request("c1")))
      yield* session(made, (audit) => audit.append(request("c2")))
      const [first, second] = sessionFiles(made.audit).map(entriesOf)
      const heads = headsOf(made)
      assert.deepStrictEqual(second![0]!["parent"], { head: heads[1]!["head"], n: 3, file: heads[1]!["file"] })
      assert.strictEqual(second![0]!["n"], 4)
      assert.strictEqual(second![0]!["prev"], heads[1]!["head"])
      assert.deepStrictEqual(first![0]!["heads"], { head: "0".repeat(64), i: 0 })
      assert.deepStrictEqual(second![0]!["heads"], { head: heads[2]!["prev"], i: 2 })
    }))

  it.live("beside another is a branch of one tree", () =>
    Effect.gen(function*() {
      const made = yield* world
      const first = yield* open(made)
      yield* first.audit.append(request("c1"))
      const second = yield* open(made)
      yield* second.audit.append(request("c2"))
      yield* first.audit.append(request("c3"))
      const report = yield* second.audit.verify
      assert.deepStrictEqual(report.problems, [])
      assert.strictEqual(report.open.length, 2)
      assert.strictEqual(report.entries, 5)
      yield* first.end
      yield* second.end
      assert.deepStrictEqual(yield* verify(made), { files: 2, entries: 7, open: [], problems: [] })
      const parents = sessionFiles(made.audit).map((file) => (entriesOf(file)[0]!["parent"] as { n: number }).n)
      assert.deepStrictEqual(parents.toSorted(), [0, 1])
    }))

  it.live("reads what all sessions wrote, newest last", () =>
    Effect.gen(function*() {
      const made = yield* world
      const first = yield* open(made)
      const second = yield* open(made)
      for (const [i, { audit }] of [first, second, first, second, first].entries()) {
        yield* audit.append(request(`c${i}`))
        yield* Effect.sleep(2)
      }
      const calls = yield* Effect.map(
        second.audit.read({ item: "add", limit: 4 }),
        (entries) => entries.map((entry) => entry.kind === "request" ? entry.call : entry.kind)
      )
      assert.deepStrictEqual(calls, ["c1", "c2", "c3", "c4"])
    }))

  it.effect("reads on where the file of one session cannot be reached", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* session(made, (audit) => audit.append(request("c1")), { timeless: true })
      yield* TestClock.adjust("1 day")
      yield* session(made, (audit) => audit.append(request("c2")), { timeless: true })
      const [day] = fs.readdirSync(made.audit).toSorted()
      fs.rmSync(join(made.audit, day!), { recursive: true })
      fs.writeFileSync(join(made.audit, day!), "")
      const read = yield* session(made, (audit) => audit.read({ item: "add" }), { timeless: true })
      assert.deepStrictEqual(read.map((entry) => entry.kind === "request" && entry.call), ["c2"])
    }))

  it.live("refuses to write after its end", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { audit, end } = yield* open(made)
      yield* audit.append(request("c1"))
      yield* end
      const refused = yield* Effect.flip(audit.append(request("c2")))
      assert.strictEqual(refused._tag, "AuditUnavailable")
      assert.strictEqual(sessionFiles(made.audit).length, 1)
    }))

  it.live("that is just being opened at the end is closed, and leaves no lock behind", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { audit, end } = yield* open(made)
      const appending = yield* Effect.forkChild(Effect.exit(audit.append(request("c1"))))
      yield* Effect.yieldNow
      yield* end
      yield* Fiber.join(appending)
      assert.deepStrictEqual(fs.globSync(join(made.home, "projects/*/audit-sessions/*.lock")), [])
      assert.deepStrictEqual(yield* problemsOf(made), [])
    }))

  it.live("records a head every 1,000 entries", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { audit } = yield* open(made)
      for (let i = 0; i < 2_500; i++) yield* audit.append(request(`c${i}`))
      const due = Effect.suspend(() =>
        headsOf(made).filter(({ state }) => state === "running").length >= 1 ? Effect.void : Effect.fail("none yet")
      )
      yield* Effect.eventually(Effect.andThen(Effect.sleep(1), due))
      assert.isAtLeast(Number(headsOf(made)[1]!["n"]), 1_000)
      assert.deepStrictEqual((yield* audit.verify).problems, [])
    }))

  it.live("waits for the disk with every entry when it is told to", () =>
    Effect.gen(function*() {
      const made = yield* world
      let synced = 0
      const module = process.getBuiltinModule("node:fs")
      const original = module.fsyncSync
      const counting = Effect.acquireRelease(
        Effect.sync(() => {
          module.fsyncSync = (fd) => {
            synced++
            return original(fd)
          }
          syncBuiltinESMExports()
        }),
        () =>
          Effect.sync(() => {
            module.fsyncSync = original
            syncBuiltinESMExports()
          })
      )
      const count = (auditDurability: "full" | "os") =>
        Effect.gen(function*() {
          const { audit } = yield* open(made, { settings: { auditDurability } })
          yield* audit.append(request("c1"))
          yield* counting
          synced = 0
          for (let i = 0; i < 5; i++) yield* audit.append(request(`c${i}`))
          return synced
        }).pipe(Effect.scoped)
      assert.strictEqual(yield* count("full"), 5)
      assert.strictEqual(yield* count("os"), 0)
    }))

  it.effect("records a head every minute in which something happened", () =>
    Effect.gen(function*() {
      const made = yield* world
      const states = () => headsOf(made).map(({ n, state }) => `${state} ${n}`)
      const use = Effect.gen(function*() {
        const audit = yield* AuditLog
        yield* audit.append(request("c1"))
        yield* audit.append(request("c2"))
        yield* TestClock.adjust("59 seconds")
        assert.deepStrictEqual(states(), ["opened 1"])
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(states(), ["opened 1", "running 3"])
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(states(), ["opened 1", "running 3"])
        yield* audit.append(request("c3"))
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(states(), ["opened 1", "running 3", "running 4"])
      })
      yield* Effect.provide(use, layerOf(made, { timeless: true }))
      assert.strictEqual(states().at(-1), "closed 5")
    }))

  it.live("anchors what it has written so far", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { audit } = yield* open(made)
      yield* audit.append(request("c1"))
      const { head, n } = yield* audit.anchor
      const lines = fs.readFileSync(join(stateOf(made), "audit-heads"), "utf8").split("\n")
      const hash = spawnSync("sha256sum", { input: lines[n - 1]!, encoding: "utf8" }).stdout.slice(0, 64)
      assert.strictEqual(head, hash)
      assert.strictEqual(headsOf(made)[n - 1]!["n"], 2)
    }))
})

describe("where the audit is kept", () => {
  it.live("below Kiwi's own folder without a project, and in a folder that has no .ai", () =>
    Effect.gen(function*() {
      const made = yield* world
      fs.rmdirSync(join(made.root, ".ai"))
      yield* session(made, (audit) => audit.append(request("c1")))
      assert.deepStrictEqual(fs.readdirSync(made.root), [])
      assert.strictEqual(sessionFiles(join(stateOf(made), "audit")).length, 1)
      fs.mkdirSync(join(made.root, ".ai"))
      yield* session(made, (audit) => audit.append(request("c2")))
      assert.strictEqual(sessionFiles(made.audit).length, 1)
      assert.deepStrictEqual(yield* verify(made), { files: 2, entries: 6, open: [], problems: [] })

      yield* session(made, (audit) => audit.append(request("c3")), { alone: true })
      assert.strictEqual(sessionFiles(join(made.home, "user/audit")).length, 1)
      const report = yield* verify(made, { alone: true })
      assert.deepStrictEqual([report.entries, report.problems], [3, []])
    }))

  for (const link of [".ai", ".ai/logs", ".ai/logs/audit", ".ai/logs/audit/DAY"]) {
    it.live(`refuses a link at ${link} and writes nothing through it`, () =>
      Effect.gen(function*() {
        const made = yield* world
        const day = new Date().toISOString().slice(0, 10)
        const target = join(made.folder, "elsewhere")
        fs.mkdirSync(join(target, "logs/audit", day), { recursive: true })
        const path = join(made.root, link.replace("DAY", day))
        fs.rmdirSync(join(made.root, ".ai"))
        fs.mkdirSync(join(path, ".."), { recursive: true })
        fs.symlinkSync(target, path)
        const error = yield* Effect.flip(session(made, (audit) => audit.append(request("c1"))))
        assert.strictEqual(error._tag, "AuditUnavailable")
        assert.include(error.message, "link")
        assert.notInclude(error.message, made.folder)
        assert.deepStrictEqual(fs.globSync(join(target, "**/*.jsonl")), [])
        assert.deepStrictEqual(fs.globSync(join(made.home, "projects/*/audit-sessions/*")), [])
      }))
  }

  it.live("a file in the folder's place stops the call, and says so without a path", () =>
    Effect.gen(function*() {
      const made = yield* world
      fs.writeFileSync(join(made.root, ".ai/logs"), "")
      const error = yield* Effect.flip(session(made, (audit) => audit.append(request("c1"))))
      assert.strictEqual(error._tag, "AuditUnavailable")
      assert.notInclude(error.message, made.folder)
    }))

  it.live("goes on in a new file when the running one is deleted, and does not forget it", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { audit, end } = yield* open(made)
      yield* audit.append(request("c1"))
      const [lost] = sessionFiles(made.audit)
      fs.rmSync(join(made.root, ".ai/logs"), { recursive: true })
      yield* audit.append(request("c2"))
      assert.deepStrictEqual((yield* audit.read({ call: "c2" })).length, 1)
      yield* end
      assert.deepStrictEqual(yield* problemsOf(made), [[lost!.slice(made.audit.length + 1), "missing-file"]])
    }))

  it.live("files of another home are named as what they may be, with what to do", () =>
    Effect.gen(function*() {
      const made = yield* world
      const other = { ...made, home: join(made.folder, "other-home") }
      yield* session(made, (audit) => audit.append(request("c1")))
      yield* session(other, (audit) => audit.append(request("c2")))
      const [found, ...more] = (yield* verify(other)).problems
      assert.deepStrictEqual(more, [])
      assert.strictEqual(found?.problem, "inserted")
      assert.match(found?.detail ?? "", /written under another KIWI_HOME .*KIWI_HOME=DIR kiwi audit verify/)
    }))

  it.live("files that came with a repository are not believed", () =>
    Effect.gen(function*() {
      const theirs = yield* world
      yield* session(theirs, (audit) => audit.append(request("forged")))
      const made = yield* world
      fs.cpSync(join(theirs.root, ".ai"), join(made.root, ".ai"), { recursive: true })
      const [foreign] = sessionFiles(made.audit).map((file) => file.slice(made.audit.length + 1))
      assert.deepStrictEqual(yield* problemsOf(made), [["audit-heads", "missing-file"], [foreign, "inserted"]])
      yield* session(made, (audit) => audit.append(request("c1")))
      assert.deepStrictEqual(yield* problemsOf(made), [[foreign, "inserted"]])
      const calls = yield* session(made, (audit) => audit.read({ call: "forged" }))
      assert.deepStrictEqual(calls, [])
    }))
})

describe("a session that died", () => {
  /** Leaves a session as a killed process would: its marker, no seal and no last head. */
  const crash = Effect.fnUntraced(function*(made: World, torn = "") {
    const { audit, end } = yield* open(made)
    yield* audit.append(request("c1"))
    const [file] = sessionFiles(made.audit).toReversed()
    const heads = join(stateOf(made), "audit-heads")
    const before = [fs.readFileSync(file!), fs.readFileSync(heads)]
    const marker = join(stateOf(made), "audit-sessions", markers(made)[0]!)
    yield* end
    fs.writeFileSync(file!, Buffer.concat([before[0]!, Buffer.from(torn)]))
    fs.writeFileSync(heads, before[1]!)
    fs.writeFileSync(marker, "")
    return { file: file!, heads }
  })

  it.live("is sealed by the next one", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { file } = yield* crash(made)
      yield* session(made, (audit) => audit.append(request("c2")))
      assert.strictEqual(entriesOf(file).at(-1)!["how"], "recovered")
      assert.deepStrictEqual(headsOf(made).map(({ state }) => state), ["opened", "recovered", "opened", "closed"])
      assert.deepStrictEqual(markers(made), [])
      assert.deepStrictEqual(yield* verify(made), { files: 2, entries: 6, open: [], problems: [] })
    }))

  it.live("is sealed by verify", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { file } = yield* crash(made)
      assert.deepStrictEqual(yield* verify(made), { files: 1, entries: 3, open: [], problems: [] })
      assert.strictEqual(entriesOf(file).at(-1)!["how"], "recovered")
    }))

  it.live("is not taken for dead while it runs, by another process or its own", () =>
    Effect.gen(function*() {
      const made = yield* world
      const first = yield* open(made)
      yield* first.audit.append(request("c1"))
      yield* session(made, (audit) => audit.append(request("c2")))
      yield* first.audit.append(request("c3"))
      yield* first.end
      const kinds = sessionFiles(made.audit).flatMap(entriesOf).filter(({ kind }) => kind === "sealed")
      assert.deepStrictEqual(kinds.map(({ how }) => how), ["closed", "closed"])
      assert.deepStrictEqual(yield* problemsOf(made), [])
    }))

  for (
    const [what, torn] of [
      ["half a line", "{\"v\":1,\"n\":3,\"at\":\"20"],
      ["text beyond ASCII", "{\"a\":\"\xc3"],
      ["what a killed recovery left", "{\"v\":1,\"n\":3\n{\"v\":1,\"n"],
      ["a line of nothing", "\n"]
    ] as const
  ) {
    it.live(`keeps ${what} as evidence`, () =>
      Effect.gen(function*() {
        const made = yield* world
        const { file } = yield* crash(made, torn)
        assert.deepStrictEqual((yield* verify(made)).problems, [])
        const text = fs.readFileSync(file, "utf8")
        assert.include(text, torn)
        const seal = JSON.parse(text.trimEnd().split("\n").at(-1)!)
        assert.strictEqual(seal.how, "recovered")
        assert.strictEqual(seal.torn.bytes, Buffer.byteLength(torn) + (torn.endsWith("\n") ? 0 : 1))
        // And it is under the seal like everything else.
        fs.writeFileSync(file, text.replace(torn, torn.replace(/[1\xc3\n]/, "2")))
        assert.notDeepEqual(yield* problemsOf(made), [])
      }))
  }

  it.live("is not helped to hide what was cut from it", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { file } = yield* crash(made)
      const [first] = fs.readFileSync(file, "utf8").split("\n")
      fs.writeFileSync(file, `${first!.slice(0, -20)}`)
      const relative = file.slice(made.audit.length + 1)
      assert.deepStrictEqual((yield* problemsOf(made)).map(([name]) => name), [relative])
      yield* session(made, (audit) => audit.append(request("c2")))
      assert.deepStrictEqual((yield* problemsOf(made)).map(([name]) => name), [relative])
    }))

  it.live("without its file is missed", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { file } = yield* crash(made)
      fs.rmSync(file)
      yield* session(made, (audit) => audit.append(request("c2")))
      assert.deepStrictEqual(yield* problemsOf(made), [[file.slice(made.audit.length + 1), "missing-file"]])
      assert.deepStrictEqual(markers(made), [])
    }))

  it.live("before it had begun leaves nothing behind", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { file, heads } = yield* crash(made)
      const [opened] = fs.readFileSync(file, "utf8").split("\n")
      fs.writeFileSync(file, `${opened}\n`)
      fs.rmSync(heads)
      yield* session(made, (audit) => audit.append(request("c2")))
      assert.isFalse(fs.existsSync(file))
      assert.deepStrictEqual(yield* verify(made), { files: 1, entries: 3, open: [], problems: [] })
    }))

  it.live("over a line of the list of heads is forgiven", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { heads } = yield* crash(made)
      fs.appendFileSync(heads, "{\"v\":1,\"i\":2,\"pr")
      assert.deepStrictEqual(yield* verify(made), { files: 1, entries: 3, open: [], problems: [] })
    }))
})

describeWith(["tinyDisk"], "AuditLogFile on a disk of its own", () => {
  const disk = Effect.gen(function*() {
    const made = yield* world
    const mount = join(made.root, ".ai")
    yield* Effect.acquireRelease(
      Effect.sync(() => spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mount])),
      () => Effect.sync(() => spawnSync("umount", [mount]))
    )
    return { made, mount }
  })

  it.live("stops calls when it is full, leaves no half line, and goes on when there is space", () =>
    Effect.gen(function*() {
      const { made, mount } = yield* disk
      fs.writeFileSync(join(mount, "filler"), "x".repeat(40_000))
      const { audit, end } = yield* open(made)
      const many = Effect.forEach(
        Array.from({ length: 100 }),
        (_, i) => audit.append(request(`c${i}`, "add", { text: "y".repeat(1_700) }))
      )
      const error = yield* Effect.flip(many)
      assert.strictEqual(error._tag, "AuditUnavailable")
      assert.include(error.message, "the disk is full")
      assert.notInclude(error.message, made.folder)
      const [file] = sessionFiles(made.audit)
      assert.strictEqual(fs.readFileSync(file!, "utf8").at(-1), "\n")
      assert.deepStrictEqual((yield* audit.verify).problems, [])
      fs.rmSync(join(mount, "filler"))
      yield* audit.append(request("after"))
      yield* end
      const report = yield* verify(made)
      assert.deepStrictEqual([report.problems, report.open], [[], []])
      assert.strictEqual(entriesOf(file!).at(-2)!["call"], "after")
    }))

  it.live("does not begin on a full or a read-only disk, and leaves nothing", () =>
    Effect.gen(function*() {
      const { made, mount } = yield* disk
      const attempt = Effect.flip(session(made, (audit) => audit.append(request("c1"))))
      spawnSync("mount", ["-o", "remount,ro", mount])
      assert.include((yield* attempt).message, "read-only")
      spawnSync("mount", ["-o", "remount,rw", mount])
      fs.mkdirSync(join(made.audit, new Date().toISOString().slice(0, 10)), { recursive: true })
      spawnSync("sh", ["-c", `cat /dev/zero > ${mount}/filler`])
      assert.include((yield* attempt).message, "the disk is full")
      assert.deepStrictEqual(sessionFiles(made.audit), [])
      fs.rmSync(join(mount, "filler"))
      yield* session(made, (audit) => audit.append(request("c1")))
      assert.deepStrictEqual(yield* verify(made), { files: 1, entries: 3, open: [], problems: [] })
    }))
})
