import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import { RememberedRules } from "../../../src/services/permission/RememberedRules.ts"
import { Workspace } from "../../../src/services/workspace/Workspace.ts"
import { agent, agreeTo, request, start } from "./approvalRequest.ts"
import { answerIt, contract, file } from "./ApprovalStore.contract.ts"
import { world } from "./approvalWorld.ts"

contract("in a file", Effect.map(world, ({ storeOf }) => storeOf("one")))

interface Opened {
  readonly folder: string
  readonly open: (project?: string) => Effect.Effect<ApprovalStore["Service"], never, Scope.Scope>
  readonly path: string
}

const test = <A, E>(title: string, body: (opened: Opened) => Effect.Effect<A, E, Scope.Scope>) =>
  it.effect(title, () =>
    Effect.gen(function*() {
      yield* TestClock.setTime(start)
      const { folder, storeOf } = yield* world
      const open = (project = "one") =>
        Effect.map(Layer.build(storeOf(project)), (context) => Context.get(context, ApprovalStore))
      const { state } = Context.get(yield* Layer.build(storeOf("one")), Workspace)
      yield* body({ folder, open, path: join(state, "approvals.json") })
    }))

/** Another process repeats the call. Returns what came of it. */
const repeatIn = (folder: string, callId: string) =>
  Effect.callback<string>((resume) => {
    execFile(
      process.execPath,
      [fileURLToPath(new URL("./approvalChild.ts", import.meta.url)), folder, callId],
      (_error, stdout, stderr) => resume(Effect.succeed(stdout === "" ? stderr : stdout))
    )
  })

describe("a file of approvals", () => {
  test("is shared: one store files, another answers, a third runs, and no fourth runs again", ({ open }) =>
    Effect.gen(function*() {
      const id = yield* file(yield* open())
      yield* answerIt(yield* open(), id, "once")
      const [third, fourth] = [yield* open(), yield* open()]
      assert.strictEqual((yield* third.require(request({ callId: "c3" }))).id, id)
      assert.strictEqual((yield* Effect.flip(fourth.require(request({ callId: "c4" }))))._tag, "ApprovalPending")
    }))

  test("is of one project", ({ open }) =>
    Effect.gen(function*() {
      const [one, two] = [yield* open(), yield* open("two")]
      const id = yield* file(one)
      assert.strictEqual((yield* Effect.flip(two.propose(id)))._tag, "ApprovalNotFound")
      const { question } = yield* one.propose(id)
      assert.strictEqual((yield* Effect.flip(two.answer(id, agreeTo(question, "once"))))._tag, "ApprovalNotFound")
      yield* answerIt(one, id, "once")
      assert.strictEqual((yield* Effect.flip(two.require(request())))._tag, "ApprovalPending")
    }))

  test("is private", ({ open, path }) =>
    Effect.gen(function*() {
      yield* file(yield* open())
      assert.strictEqual(fs.statSync(path).mode & 0o777, 0o600)
    }))

  it.live("lets one of three processes run the approved call", () =>
    Effect.gen(function*() {
      const { folder, storeOf } = yield* world
      const store = yield* Effect.map(Layer.build(storeOf("one")), (context) => Context.get(context, ApprovalStore))
      yield* answerIt(store, yield* file(store), "once")
      const outcomes = yield* Effect.all(
        Array.from({ length: 3 }, (_, at) => repeatIn(folder, `p${at}`)),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        outcomes.toSorted(),
        ["ApprovalPending", "Approved"].flatMap((tag, at) => Array.from({ length: at === 0 ? 2 : 1 }, () => tag))
      )
      const [spent, waiting] = yield* store.list
      assert.include([0, 1, 2].map((at) => `p${at}`), spent?.spent?.call)
      assert.strictEqual(waiting?.state, "pending")
    }).pipe(Effect.scoped), 60_000)

  /** What an attacker or a fault may put in the file's place. Nothing that was approved there counts. */
  const spoiled: ReadonlyArray<readonly [string, (path: string, folder: string) => void]> = [
    ["a link to a copy of it", (path, folder) => {
      fs.copyFileSync(path, join(folder, "copy.json"))
      fs.rmSync(path)
      fs.symlinkSync(join(folder, "copy.json"), path)
    }],
    ["a broken link", (path, folder) => {
      fs.rmSync(path)
      fs.symlinkSync(join(folder, "nowhere"), path)
    }],
    ["a file that others can write", (path) => fs.chmodSync(path, 0o666)],
    ["half of it", (path) => fs.writeFileSync(path, fs.readFileSync(path, "utf8").slice(0, -40))],
    ["an empty file", (path) => fs.writeFileSync(path, "")],
    ["zeros", (path) => fs.writeFileSync(path, Buffer.alloc(4_096))],
    [
      "another version of it",
      (path) => fs.writeFileSync(path, fs.readFileSync(path, "utf8").replace(`"v":1`, `"v":2`))
    ],
    [
      "a state that does not exist",
      (path) => fs.writeFileSync(path, fs.readFileSync(path, "utf8").replace(`"approved"`, `"granted"`))
    ],
    [
      "a list of something else",
      (path) => fs.writeFileSync(path, `{"v":1,"approvals":[{"digest":"${"d".repeat(64)}"}]}`)
    ],
    ["a folder", (path) => {
      fs.rmSync(path)
      fs.mkdirSync(path)
    }],
    ["nothing", (path) => fs.rmSync(path)]
  ]
  for (const [what, spoil] of spoiled) {
    test(`approves nothing by ${what}`, ({ folder, open, path }) =>
      Effect.gen(function*() {
        const store = yield* open()
        const id = yield* file(store)
        yield* answerIt(store, id, "once")
        spoil(path, folder)
        for (const each of [store, yield* open()]) {
          const error = yield* Effect.flip(each.require(request()))
          assert.include(["ApprovalPending", "ApprovalsUnavailable"], error._tag)
          if (error._tag === "ApprovalPending") assert.notStrictEqual(error.id, id)
        }
        assert.isFalse((yield* store.list).some(({ state }) => state === "approved"))
      }))
  }

  test("is not written through a link", ({ folder, open, path }) =>
    Effect.gen(function*() {
      const store = yield* open()
      const outside = join(folder, "outside.txt")
      fs.writeFileSync(outside, "mine")
      fs.mkdirSync(join(path, ".."), { recursive: true })
      fs.symlinkSync(outside, path)
      assert.strictEqual((yield* Effect.flip(store.require(request())))._tag, "ApprovalsUnavailable")
      assert.strictEqual(fs.readFileSync(outside, "utf8"), "mine")
    }))

  test("holds whole lists whenever a process dies: a temporary file beside it is nothing", ({ open, path }) =>
    Effect.gen(function*() {
      const id = yield* file(yield* open())
      fs.writeFileSync(`${path}.tmp`, fs.readFileSync(path, "utf8").replace(`"pending"`, `"approved"`))
      assert.deepStrictEqual((yield* (yield* open()).list).map((one) => [one.id, one.state]), [[id, "pending"]])
    }))

  test("keeps twenty for each of many callers", ({ open }) =>
    Effect.gen(function*() {
      const store = yield* open()
      for (const client of ["a", "b", "c"]) {
        for (let at = 0; at < 21; at++) {
          const one = request({ caller: { ...agent, client }, digest: `${at}`.padStart(64, "0") })
          const error = yield* Effect.flip(store.require(one))
          assert.strictEqual(error._tag, at < 20 ? "ApprovalPending" : "ApprovalsFull")
        }
      }
      assert.strictEqual((yield* (yield* open()).list).length, 60)
    }))

  it.live("offers no rule for a session that ended with its process, until a session repeats the call", () =>
    Effect.gen(function*() {
      const { folder, storeOf } = yield* world
      const context = yield* Layer.build(storeOf("one"))
      const store = Context.get(context, ApprovalStore)
      const answers = Effect.flatMap(
        store.list,
        ([one]) =>
          Effect.map(store.propose(one?.id ?? ""), ({ question }) => question.choices?.map(({ value }) => value))
      )
      const listed = Effect.map(store.list, ([one]) => one?.answers.map(String))
      assert.strictEqual(yield* repeatIn(folder, "p1"), "ApprovalPending")
      assert.deepStrictEqual(yield* answers, ["once", "always", "no", "never"])
      assert.deepStrictEqual(yield* listed, yield* answers)
      const [filed] = yield* store.list
      const refused = yield* Effect.flip(store.propose(filed?.id ?? "", { answers: ["session"] }))
      assert.include(refused.message, "the session that asked has ended")
      const id = yield* file(store, request({ caller: { ...agent, session: "s2" } }))
      assert.strictEqual(id, filed?.id)
      assert.deepStrictEqual(yield* answers, ["once", "session", "always", "no", "never"])
      assert.deepStrictEqual(yield* listed, yield* answers)
      assert.strictEqual((yield* answerIt(store, id, "session")).caller.session, "s2")
      assert.deepStrictEqual(yield* listed, [])
      const [made] = yield* Context.get(context, RememberedRules).current
      assert.deepInclude(made, { session: "s2", pid: process.pid })
    }))
})
