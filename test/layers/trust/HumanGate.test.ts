import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as HumanGateEmbedder from "../../../src/layers/trust/HumanGateEmbedder.ts"
import * as HumanGateNone from "../../../src/layers/trust/HumanGateNone.ts"
import { HumanGate, type HumanRequest } from "../../../src/services/trust/HumanAct.ts"

const request: HumanRequest = {
  kind: "sign",
  title: "Sign tool add 1.0.0",
  details: "what it may do",
  digest: "d".repeat(64),
  command: "kiwi sign tool add"
}

const ask = Effect.gen(function*() {
  const gate = yield* HumanGate
  return yield* gate.ask(request)
})

it.effect("names the command where nobody can be asked", () =>
  Effect.gen(function*() {
    const error = yield* Effect.flip(Effect.provide(ask, HumanGateNone.layer))
    assert.strictEqual(error._tag, "HumanRequired")
    assert.strictEqual(error.remediation, "Ask the person to type: kiwi sign tool add")
  }))

it.effect("asks the embedder, shows it everything, and binds the act to what was shown", () =>
  Effect.gen(function*() {
    let seen: HumanRequest | undefined
    const act = yield* Effect.provide(
      ask,
      HumanGateEmbedder.layer((shown) => {
        seen = shown
        return Promise.resolve(true)
      })
    )
    assert.deepStrictEqual(seen, request)
    assert.deepStrictEqual(act, {
      kind: "sign",
      digest: request.digest,
      by: "embedder",
      seen: "askPerson answered true"
    })
  }))

it.effect("takes only a plain yes for a yes", () =>
  Effect.gen(function*() {
    const no = yield* Effect.flip(Effect.provide(ask, HumanGateEmbedder.layer(() => false)))
    assert.strictEqual(no._tag, "HumanDeclined")
    if (no._tag === "HumanDeclined") assert.strictEqual(no.seen, "askPerson did not answer true")
    const truthy: unknown = "yes"
    const sloppy = HumanGateEmbedder.layer(() => truthy as boolean)
    assert.strictEqual((yield* Effect.flip(Effect.provide(ask, sloppy)))._tag, "HumanDeclined")
    const rejecting = HumanGateEmbedder.layer(() => Promise.reject(new Error("no window")))
    assert.strictEqual((yield* Effect.flip(Effect.provide(ask, rejecting)))._tag, "HumanRequired")
    const throwing = HumanGateEmbedder.layer(() => {
      throw new Error("no window")
    })
    assert.strictEqual((yield* Effect.flip(Effect.provide(ask, throwing)))._tag, "HumanRequired")
  }))
