// A session that goes on in a new file, and files that are removed when they are old.
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { describeWith } from "../../support/realParts.ts"
import {
  entriesOf,
  headsOf,
  open,
  report,
  request,
  result,
  session,
  sessionFiles,
  stateOf,
  type World,
  world
} from "./auditWorld.ts"

const timeless = { timeless: true }
const names = (made: World) => sessionFiles(made.audit).map((file) => file.slice(made.audit.length + 1))
const kindsOf = (made: World) =>
  sessionFiles(made.audit).map((file) => entriesOf(file).map(({ kind }) => kind).join(" "))
const problemsOf = (made: World) =>
  Effect.map(report(made, timeless), ({ problems }) => problems.map(({ file, problem }) => [file, problem]))

describe("a session", () => {
  it.effect("goes on in a file of the new day with its first entry after midnight", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* TestClock.setTime(Date.parse("2026-11-21T23:59:59.500Z"))
      yield* session(made, (audit) =>
        Effect.gen(function*() {
          yield* audit.append(request("c1"))
          yield* TestClock.adjust("400 millis")
          yield* audit.append(request("c2"))
          yield* TestClock.adjust("100 millis")
          yield* audit.append(result("c1"))
          yield* TestClock.adjust("3 days")
          yield* audit.append(result("c2"))
        }), timeless)
      assert.deepStrictEqual(names(made).map((name) => name.slice(0, 10)), ["2026-11-21", "2026-11-22", "2026-11-25"])
      assert.deepStrictEqual(kindsOf(made), [
        "opened request request sealed",
        "opened result sealed",
        "opened result sealed"
      ])
      const [first, second, third] = sessionFiles(made.audit).map(entriesOf)
      assert.deepStrictEqual([...first!, ...second!, ...third!].map(({ n }) => n), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
      assert.deepStrictEqual([second![0]!["continues"], third![0]!["continues"]], names(made).slice(0, 2))
      const { entries, files, problems, sealed } = yield* report(made, timeless)
      assert.deepStrictEqual([files, sealed, entries, problems], [3, 3, 10, []])
    }))

  it.effect("begins a new file when its file is full, and loses nothing of calls that run at once", () =>
    Effect.gen(function*() {
      const made = yield* world
      const settings = { auditFile: 10_000 }
      yield* session(made, (audit) =>
        Effect.forEach(
          Array.from({ length: 300 }, (_, i) => i),
          (i) => Effect.andThen(Effect.yieldNow, audit.append(request(`c${i}`, "add", { text: "x".repeat(300) }))),
          { concurrency: "unbounded" }
        ), { ...timeless, settings })
      const sizes = sessionFiles(made.audit).map((file) => fs.statSync(file).size)
      assert.isAbove(sizes.length, 10)
      for (const size of sizes) assert.isBelow(size, 11_500)
      const calls = sessionFiles(made.audit).flatMap(entriesOf).flatMap(({ call }) => call === undefined ? [] : [call])
      assert.strictEqual(new Set(calls).size, 300)
      assert.deepStrictEqual(yield* problemsOf(made), [])
    }))

  it.effect("never begins a new file for nothing, however small the limit", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* session(made, (audit) => Effect.all([audit.append(request("c1")), audit.append(request("c2"))]), {
        ...timeless,
        settings: { auditFile: 1 }
      })
      assert.deepStrictEqual(kindsOf(made), ["opened request sealed", "opened request sealed"])
    }))

  it.effect("goes on in its file for a minute if no new one can be begun", () =>
    Effect.gen(function*() {
      const made = yield* world
      yield* TestClock.setTime(Date.parse("2026-11-21T12:00:00Z"))
      yield* session(made, (audit) =>
        Effect.gen(function*() {
          yield* audit.append(request("c1"))
          // Something else is at the next day's place.
          fs.writeFileSync(join(made.audit, "2026-11-22"), "")
          yield* TestClock.adjust("12 hours")
          yield* audit.append(request("c2"))
          fs.rmSync(join(made.audit, "2026-11-22"))
          yield* audit.append(request("c3"))
          yield* TestClock.adjust("61 seconds")
          yield* audit.append(request("c4"))
        }), timeless)
      assert.deepStrictEqual(kindsOf(made), ["opened request request request sealed", "opened request sealed"])
      assert.deepStrictEqual(yield* problemsOf(made), [])
    }))

  it.live("that has sealed its file but could record no more is recovered by its own next entry", () =>
    Effect.gen(function*() {
      const made = yield* world
      const { audit, end } = yield* open(made, { settings: { auditFile: 10 } })
      yield* audit.append(request("c1"))
      const heads = join(stateOf(made), "audit-heads")
      fs.renameSync(heads, `${heads}.away`)
      fs.mkdirSync(heads)
      assert.strictEqual((yield* Effect.flip(audit.append(request("c2"))))._tag, "AuditUnavailable")
      fs.rmdirSync(heads)
      fs.renameSync(`${heads}.away`, heads)
      yield* audit.append(request("c3"))
      yield* end
      assert.deepStrictEqual(kindsOf(made), ["opened request sealed", "opened request sealed"])
      assert.deepStrictEqual(headsOf(made).map(({ state }) => state), ["opened", "closed", "opened", "closed"])
      assert.deepStrictEqual((yield* report(made)).problems, [])
      assert.deepStrictEqual(fs.readdirSync(join(stateOf(made), "audit-sessions")), [])
    }))

  it.live("is read as one, whatever the number of its files", () =>
    Effect.gen(function*() {
      const made = yield* world
      const settings = { auditFile: 5_000 }
      const { audit } = yield* open(made, { settings })
      const following = yield* audit.follow().pipe(Stream.take(60), Stream.runCollect, Effect.forkChild)
      yield* Effect.yieldNow
      for (let i = 0; i < 40; i++) yield* audit.append(request(`c${i}`, "add", { text: "x".repeat(300) }))
      const calls = (entries: ReadonlyArray<object>) =>
        entries.flatMap((entry) => "call" in entry && typeof entry.call === "string" ? [entry.call] : [])
      const stored = (filter = {}) =>
        Effect.map(Stream.runCollect(audit.stream(filter)), (found) => found.map(({ entry }) => entry))
      const all = Array.from({ length: 40 }, (_, i) => `c${i}`)
      assert.deepStrictEqual(calls(yield* audit.read({ limit: 1_000 })), all)
      assert.deepStrictEqual(calls(yield* stored()), all)
      const some = yield* stored({ caller: "tester", item: "add", since: 0, call: "c7" })
      assert.deepStrictEqual(calls(some), ["c7"])
      assert.deepStrictEqual(yield* stored({ since: Date.now() + 60_000 }), [])
      assert.deepStrictEqual(yield* stored({ caller: "nobody" }), [])
      const [file] = names(made)
      const ofFile = yield* stored({ file: file! })
      assert.strictEqual(ofFile.length, entriesOf(join(made.audit, file!)).length)
      assert.strictEqual((yield* audit.read({ n: 2 })).length, 1)
      yield* Effect.forEach(Array.from({ length: 40 }, (_, i) => i), (i) => audit.append(result(`c${i}`)))
      const followed = yield* Fiber.join(following)
      assert.strictEqual(new Set(calls(followed.map(({ entry }) => entry))).size, 40)
    }))
})

describe("a file that is older than audit.keep", () => {
  const settings = { auditKeep: Duration.days(30) }

  /** Three sessions of three days, the first two longer ago than 30 days before the last. */
  const past = Effect.gen(function*() {
    const made = yield* world
    for (const day of ["2026-01-01", "2026-01-02", "2026-02-15"]) {
      yield* TestClock.setTime(Date.parse(`${day}T12:00:00Z`))
      yield* session(made, (audit) => audit.append(request(day)), timeless)
    }
    return made
  })

  /** A session that lives for some minutes. */
  const aWhile = (made: World, at = "2026-02-15T13:00:00Z", options: object = { settings }) =>
    Effect.gen(function*() {
      yield* TestClock.setTime(Date.parse(at))
      yield* session(made, (audit) =>
        Effect.gen(function*() {
          yield* audit.append(request("now"))
          yield* TestClock.adjust("2 minutes")
          yield* Effect.yieldNow
          for (let i = 0; i < 50; i++) yield* TestClock.adjust("10 millis")
        }), { ...timeless, ...options })
    })

  it.effect("is removed, and stays in the list of heads", () =>
    Effect.gen(function*() {
      const made = yield* past
      const before = names(made)
      yield* aWhile(made)
      assert.deepStrictEqual(names(made).map((name) => name.slice(0, 10)), ["2026-02-15", "2026-02-15"])
      assert.deepStrictEqual(fs.readdirSync(made.audit), ["2026-02-15"])
      const { expired, keys, problems, sealed } = yield* report(made, timeless)
      assert.deepStrictEqual([expired, sealed, keys.length, problems], [2, 2, 1, []])
      const marks = entriesOf(sessionFiles(made.audit)[1]!).filter(({ kind }) => kind === "expired")
      assert.deepStrictEqual(marks.map(({ entries, file }) => [file, entries]), before.slice(0, 2).map((f) => [f, 3]))
      assert.strictEqual(marks[0]!["sealed_at"], "2026-01-01T12:00:00.000Z")
      // The next session continues from a file that is there.
      yield* session(made, (audit) => audit.append(request("next")), timeless)
      const [opened] = entriesOf(sessionFiles(made.audit)[2]!)
      assert.strictEqual((opened!["parent"] as { file: string }).file, names(made)[1])
      assert.deepStrictEqual(yield* problemsOf(made), [])
    }))

  it.effect("stays without that setting, or with a longer one", () =>
    Effect.gen(function*() {
      const made = yield* past
      yield* aWhile(made, undefined, {})
      yield* aWhile(made, undefined, { settings: { auditKeep: Duration.days(50) } })
      assert.strictEqual(names(made).length, 5)
    }))

  it.effect("is reported as missing if it is removed by somebody else", () =>
    Effect.gen(function*() {
      const made = yield* past
      const [first] = names(made)
      fs.rmSync(join(made.audit, first!))
      yield* aWhile(made)
      assert.deepStrictEqual(yield* problemsOf(made), [[first, "missing-file"]])
    }))

  const harms: Readonly<Record<string, (file: string) => void>> = {
    "was changed": (file) => fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace("tester", "Tester")),
    "was cut": (file) => fs.truncateSync(file, fs.statSync(file).size - 1),
    "has a line more": (file) => fs.appendFileSync(file, "{}\n"),
    "is a link": (file) => {
      fs.renameSync(file, `${file}.moved`)
      fs.symlinkSync(`${file}.moved`, file)
    },
    "is in a linked folder": (file) => {
      const elsewhere = join(dirname(file), "../../elsewhere")
      fs.renameSync(dirname(file), elsewhere)
      fs.symlinkSync(elsewhere, dirname(file))
    }
  }
  for (const [what, harm] of Object.entries(harms)) {
    it.effect(`stays if it ${what}`, () =>
      Effect.gen(function*() {
        const made = yield* past
        const [first] = names(made)
        harm(join(made.audit, first!))
        yield* aWhile(made)
        const { expired, problems } = yield* report(made, timeless)
        assert.isTrue(fs.existsSync(join(made.audit, first!)))
        assert.strictEqual(expired, what === "is in a linked folder" ? expired : 1)
        assert.notDeepEqual(problems, [])
      }))
  }

  it.effect("stays as long as the list of heads is not whole", () =>
    Effect.gen(function*() {
      const made = yield* past
      const heads = join(stateOf(made), "audit-heads")
      fs.writeFileSync(
        heads,
        fs.readFileSync(heads, "utf8").replace("\"running\"", "\"opened\"").replace("\"n\":3", "\"n\":4")
      )
      yield* aWhile(made)
      assert.strictEqual(names(made).length, 4)
    }))

  it.effect("stays if its removal cannot be recorded", () =>
    Effect.gen(function*() {
      const made = yield* past
      yield* TestClock.setTime(Date.parse("2026-02-15T13:00:00Z"))
      yield* session(made, (audit) =>
        Effect.gen(function*() {
          yield* audit.append(request("now"))
          const heads = join(stateOf(made), "audit-heads")
          fs.chmodSync(heads, 0o400)
          fs.renameSync(heads, `${heads}.away`)
          fs.mkdirSync(heads)
          for (let i = 0; i < 200; i++) yield* TestClock.adjust("1 second")
          fs.rmdirSync(heads)
          fs.renameSync(`${heads}.away`, heads)
          fs.chmodSync(heads, 0o600)
        }), { ...timeless, settings })
      assert.strictEqual(names(made).length, 4)
      assert.deepStrictEqual(yield* problemsOf(made), [])
    }))

  it.effect("that is still there after it was recorded as expired is removed later", () =>
    Effect.gen(function*() {
      const made = yield* past
      const [first] = names(made)
      const bytes = fs.readFileSync(join(made.audit, first!))
      yield* aWhile(made)
      fs.mkdirSync(dirname(join(made.audit, first!)))
      fs.writeFileSync(join(made.audit, first!), bytes)
      const { expired, problems } = yield* report(made, timeless)
      assert.deepStrictEqual([expired, problems], [1, []])
      const heads = headsOf(made).length
      yield* aWhile(made, "2026-02-15T14:00:00Z")
      assert.isFalse(fs.existsSync(join(made.audit, first!)))
      assert.strictEqual(headsOf(made).filter(({ state }) => state === "expired").length, 2)
      assert.isAbove(headsOf(made).length, heads)
    }))

  it.effect("cannot be explained away by a head that somebody added", () =>
    Effect.gen(function*() {
      const made = yield* past
      const heads = join(stateOf(made), "audit-heads")
      const lines = fs.readFileSync(heads, "utf8")
      const last = JSON.parse(lines.split("\n").at(1)!)
      const [first] = names(made)
      fs.rmSync(join(made.audit, first!))
      const hash = spawnSync("sha256sum", { input: lines.trimEnd().split("\n").at(-1)!, encoding: "utf8" }).stdout
      fs.appendFileSync(
        heads,
        `${
          JSON.stringify({
            v: 1,
            i: 7,
            prev: hash.slice(0, 64),
            state: "expired",
            place: "project",
            file: first,
            n: last.n,
            head: last.head
          })
        }\n`
      )
      assert.deepStrictEqual(yield* problemsOf(made), [["audit-heads", "unsigned"]])
    }))
})

describeWith(["tinyDisk"], "a session on a disk of its own", () => {
  it.live("that fills up goes on in its file, refuses, and begins the next one when there is space", () =>
    Effect.gen(function*() {
      const made = yield* world
      const mount = join(made.root, ".ai")
      yield* Effect.acquireRelease(
        Effect.sync(() => spawnSync("mount", ["-t", "tmpfs", "-o", "size=128k", "tmpfs", mount])),
        () => Effect.sync(() => spawnSync("umount", [mount]))
      )
      const settings = { auditFile: 12_000 }
      const { audit, end } = yield* open(made, { settings })
      const many = Effect.forEach(
        Array.from({ length: 400 }),
        (_, i) => audit.append(request(`c${i}`, "add", { text: "y".repeat(700) }))
      )
      assert.include((yield* Effect.flip(many)).message, "the disk is full")
      assert.strictEqual((yield* Effect.flip(audit.append(request("no")))).message.includes("the disk is full"), true)
      assert.deepStrictEqual((yield* audit.verify).problems, [])
      fs.rmSync(sessionFiles(made.audit)[0]!)
      yield* audit.append(request("after"))
      yield* end
      const { problems } = yield* report(made)
      assert.deepStrictEqual(problems.map(({ problem }) => problem), ["missing-file"])
      assert.include(fs.readFileSync(sessionFiles(made.audit).at(-1)!, "utf8"), "\"after\"")
    }))

  it.live("without space for the list of heads does not begin, and records heads again when there is some", () =>
    Effect.gen(function*() {
      const made = yield* world
      fs.mkdirSync(made.home, { mode: 0o700 })
      yield* Effect.acquireRelease(
        Effect.sync(() => spawnSync("mount", ["-t", "tmpfs", "-o", "size=128k,mode=0700", "tmpfs", made.home])),
        () => Effect.sync(() => spawnSync("umount", [made.home]))
      )
      yield* session(made, (audit) => audit.append(request("c1")))
      const { audit, end } = yield* open(made)
      yield* audit.append(request("c2"))
      spawnSync("sh", ["-c", `cat /dev/zero > ${made.home}/filler`])
      // The running session goes on: its file has room.
      yield* audit.append(request("c3"))
      // The list's last page has room for some heads.
      const some = Effect.forEach(Array.from({ length: 20 }), () => session(made, (one) => one.append(request("c4"))))
      const refused = yield* Effect.flip(some)
      assert.strictEqual(refused._tag, "AuditUnavailable")
      assert.notInclude(refused.message, made.folder)
      fs.rmSync(join(made.home, "filler"))
      yield* session(made, (another) => another.append(request("c5")))
      yield* end
      const { open: running, problems } = yield* report(made)
      assert.deepStrictEqual([running, problems], [[], []])
      const calls = sessionFiles(made.audit).flatMap(entriesOf).map(({ call }) => call)
      for (const call of ["c1", "c2", "c3", "c5"]) assert.include(calls, call)
    }))
})
