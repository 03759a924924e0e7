import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HumanActKind, requireAct } from "../../../src/services/trust/HumanAct.ts"
import type { HumanAct, HumanRequest } from "../../../src/services/trust/HumanAct.ts"

const digest = "0123456789abcdef".repeat(4)

const request: HumanRequest = {
  kind: "loosen-lock",
  title: "Replace the lock of add 1.0.0",
  details: "python_runtime: version 2.0.0 was locked, 2.1.0 is there",
  digest,
  command: "kiwi lockfile freeze add"
}

const agreed: HumanAct = { kind: "loosen-lock", digest, by: "terminal" }

const others: ReadonlyArray<readonly [string, HumanAct]> = [
  ...HumanActKind.literals.filter((kind) => kind !== request.kind).map((kind) =>
    [`an act of the kind ${kind}`, { ...agreed, kind }] as const
  ),
  ["the digest of something else", { ...agreed, digest: "f".repeat(64) }],
  ["no digest", { ...agreed, digest: "" }],
  ["half of the digest", { ...agreed, digest: digest.slice(0, 32) }],
  ["the digest and more", { ...agreed, digest: `${digest}0` }],
  ["the digest in capitals", { ...agreed, digest: digest.toUpperCase() }]
]

describe("requireAct", () => {
  for (const by of ["terminal", "elicitation", "passphrase", "embedder", "init"] as const) {
    it.effect(`takes the act that was given for the request, by ${by}`, () => requireAct(request, { ...agreed, by }))
  }

  for (const [what, act] of others) {
    it.effect(`refuses ${what}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(requireAct(request, act))
        assert.strictEqual(error._tag, "HumanRequired")
        assert.include(error.message, `${request.title}: only a person can do this`)
        assert.include(error.message, "has changed since it was shown")
        assert.include(error.remediation, request.command)
      }))
  }

  it.effect("asks for no act where there is no request", () => requireAct(undefined, undefined))

  it.effect("refuses without an act, and does not say that there was one", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(requireAct(request, undefined))
      assert.strictEqual(error.message, `${request.title}: only a person can do this`)
    }))
})
