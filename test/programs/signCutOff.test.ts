// Signing that was cut off before it locked: `--changed` locks what is signed and not locked, and signs nothing anew.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { verifyLocks } from "../../src/layers/lockfile/uses/checkLocks.ts"
import { sign } from "../../src/programs/sign.ts"
import { HumanDeclined, HumanGate } from "../../src/services/trust/HumanAct.ts"
import type { HumanRequest } from "../../src/services/trust/HumanAct.ts"
import { caller, object, tool } from "../layers/proxy/calls.ts"
import { kernelOf, realProject } from "../support/realProject.ts"
import { agree, trustProject } from "../support/trustWorld.ts"

const textOf = (says: string): string =>
  tool({ version: "1.0.0", input_schema: object({}), config: { command: "echo", args: [says] } })

const ids = ["a", "b", "c"]

/** Three signed tools in a trusted project, and what became of their locks. */
const world = Effect.gen(function*() {
  const made = yield* realProject({ ".ai/knowledge/k.md": "---\nid: k\ntitle: k\nversion: \"1.0.0\"\n---\nk\n" })
  const asked: Array<HumanRequest> = []
  const answer = { says: "yes" as "no" | "yes" }
  const gate = Layer.succeed(HumanGate, {
    ask: (request) => {
      asked.push(request)
      const { kind, title } = request
      return answer.says === "yes"
        ? Effect.succeed(agree(request))
        : Effect.fail(new HumanDeclined({ kind, title, answer: "no", by: "terminal", seen: "answered no" }))
    }
  })
  const context = yield* Layer.build(Layer.merge(kernelOf(made), gate))
  const at = (id: string) => join(made.project, `.ai/tools/${id}.yaml`)
  for (const id of ids) made.write(`.ai/tools/${id}.yaml`, textOf("one"))
  yield* Effect.provideContext(trustProject, context)
  const locks = () =>
    globSync(".ai/lockfiles/**/*.lock.json", { cwd: made.project }).map((file) => join(made.project, file))
  const signing = (id: string, rest: Partial<Parameters<typeof sign>[0]> = {}) =>
    Effect.provideContext(sign({ id, type: "tool", changedOnly: true, ...rest }, caller), context)
  yield* signing("**")
  assert.lengthOf(locks(), 3)
  asked.length = 0
  const unlocked = Effect.map(Effect.provideContext(verifyLocks({}), context), (done) => done.unlocked)
  return { ...made, answer, asked, at, context, locks, signing, unlocked }
})

describe("signing that was cut off before it locked", () => {
  it.live("is finished by --changed, without a question and without signing anew", () =>
    Effect.gen(function*() {
      const { asked, at, locks, signing, unlocked } = yield* world
      const before = ids.map((id) => readFileSync(at(id), "utf8"))
      for (const lock of locks()) rmSync(lock)
      assert.strictEqual(yield* unlocked, 3)
      const done = yield* signing("**")
      assert.deepStrictEqual([done.signed, done.refused, done.locked?.length, asked.length], [[], [], 3, 0])
      assert.deepStrictEqual(ids.map((id) => readFileSync(at(id), "utf8")), before)
      assert.isUndefined(yield* unlocked)
      assert.isUndefined((yield* signing("**")).locked)
    }).pipe(Effect.scoped))

  it.live("locks one, some, or what is named with what is signed now", () =>
    Effect.gen(function*() {
      const { asked, at, locks, signing, unlocked } = yield* world
      for (const lock of locks()) rmSync(lock)
      assert.lengthOf((yield* signing("a")).locked ?? [], 1)
      assert.strictEqual(yield* unlocked, 2)
      assert.isUndefined((yield* signing("b", { freeze: false })).locked)
      assert.isUndefined((yield* signing("a")).locked)
      writeFileSync(at("c"), textOf("two"))
      const done = yield* signing("**")
      assert.deepStrictEqual(done.signed.map(({ id }) => id), ["c"])
      assert.lengthOf(done.locked ?? [], 1)
      assert.lengthOf(asked, 1)
      assert.isUndefined(yield* unlocked)
    }).pipe(Effect.scoped))

  it.live("asks where a lock is of other bytes, and signing stands where the answer is no", () =>
    Effect.gen(function*() {
      const { answer, asked, at, locks, signing } = yield* world
      const old = locks().map((lock) => [lock, readFileSync(lock, "utf8")] as const)
      for (const id of ids) writeFileSync(at(id), textOf("two"))
      yield* signing("**")
      for (const [lock, text] of old) writeFileSync(lock, text)
      asked.length = 0
      answer.says = "no"
      const declined = yield* signing("**")
      assert.deepStrictEqual([declined.locked, declined.refused.length], [undefined, 1])
      answer.says = "yes"
      const done = yield* signing("**")
      assert.deepStrictEqual([done.locked?.length, done.refused], [3, []])
      assert.deepStrictEqual(asked.map(({ kind }) => kind), ["loosen-lock", "loosen-lock"])
    }).pipe(Effect.scoped))
})
