// What both backends of Interventions keep.
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, type Scope } from "effect"
import type { Caller } from "../../../src/services/call/Caller.ts"
import { type InterventionRequest, Interventions } from "../../../src/services/limit/Interventions.ts"

export const caller: Caller = { surface: "mcp", client: "ada", session: "one" }

export const request = (more: Partial<InterventionRequest> = {}): InterventionRequest => ({
  caller,
  kind: "escalation",
  sessionId: undefined,
  reason: "Which of the two?",
  options: ["a", "b"],
  context: { file: "a.ts" },
  attempts: 0,
  priority: "normal",
  ...more
})

export const contract = (name: string, layer: Effect.Effect<Layer.Layer<Interventions>, never, Scope.Scope>) => {
  const test = (title: string, body: Effect.Effect<unknown, unknown, Interventions | Scope.Scope>) =>
    it.effect(title, () => Effect.flatMap(layer, (one) => Effect.provide(body, one)))

  describe(name, () => {
    test(
      "keeps what was asked until a person has dealt with it",
      Effect.gen(function*() {
        const interventions = yield* Interventions
        const first = yield* interventions.file(request())
        const second = yield* interventions.file(request({ sessionId: "mine", priority: "high" }))
        assert.notStrictEqual(first, second)
        const [one, two] = yield* interventions.waiting
        assert.deepInclude(one, { id: first, client: "ada", session: "one", context: "{\"file\":\"a.ts\"}" })
        assert.deepInclude(two, { id: second, session_id: "mine", priority: "high" })
        assert.isTrue(yield* interventions.settle(first))
        assert.isFalse(yield* interventions.settle(first))
        assert.deepStrictEqual((yield* interventions.waiting).map(({ id }) => id), [second])
      })
    )

    test(
      "keeps one stuck request of a session, with what it said last",
      Effect.gen(function*() {
        const interventions = yield* Interventions
        const id = yield* interventions.file(request({ kind: "stuck", reason: "first" }))
        for (let i = 0; i < 50; i++) {
          assert.strictEqual(yield* interventions.file(request({ kind: "stuck", reason: `${i}` })), id)
        }
        assert.deepStrictEqual((yield* interventions.waiting).map(({ reason }) => reason), ["49"])
      })
    )

    test(
      "takes twenty of a caller and a hundred of all, whatever their sessions and labels are",
      Effect.gen(function*() {
        const interventions = yield* Interventions
        for (let i = 0; i < 20; i++) {
          yield* interventions.file(request({ caller: { ...caller, session: `s${i}`, label: `l${i}` } }))
        }
        const full = yield* Effect.flip(
          interventions.file(request({ kind: "stuck", caller: { ...caller, session: "x" } }))
        )
        assert.strictEqual(full._tag, "InterventionsFull")
        for (let client = 0; client < 4; client++) {
          for (let i = 0; i < 20; i++) {
            yield* interventions.file(request({ caller: { ...caller, client: `c${client}` } }))
          }
        }
        assert.strictEqual(
          (yield* Effect.flip(interventions.file(request({ caller: { ...caller, client: "d" } }))))._tag,
          "InterventionsFull"
        )
        assert.lengthOf(yield* interventions.waiting, 100)
      })
    )

    test(
      "cuts what is too long",
      Effect.gen(function*() {
        const interventions = yield* Interventions
        const long = "😀".repeat(100_000)
        yield* interventions.file(
          request({
            reason: long,
            options: Array.from({ length: 1_000 }, () => long),
            context: { long },
            sessionId: long
          })
        )
        const [one] = yield* interventions.waiting
        assert.isBelow(JSON.stringify(one).length, 10_000)
        assert.isTrue(one!.reason.isWellFormed())
      })
    )

    test(
      "counts by itself, and what a caller says can only raise it",
      Effect.gen(function*() {
        const { countStuck } = yield* Interventions
        assert.strictEqual(yield* countStuck(caller, undefined), 1)
        assert.strictEqual(yield* countStuck(caller, 0), 2)
        assert.strictEqual(yield* countStuck({ ...caller, label: "another" }, 1), 3)
        assert.strictEqual(yield* countStuck(caller, 9), 9)
        assert.strictEqual(yield* countStuck(caller, 1), 10)
        assert.strictEqual(yield* countStuck({ ...caller, session: "two" }, undefined), 1)
      })
    )

    test(
      "keeps all of those that are filed at once",
      Effect.gen(function*() {
        const interventions = yield* Interventions
        const ids = yield* Effect.all(Array.from({ length: 10 }, () => interventions.file(request())), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual((yield* interventions.waiting).map(({ id }) => id).toSorted(), ids.toSorted())
      })
    )
  })
}
