// oxlint-disable typescript/no-explicit-any -- an attack is data, and each assertion says what it is
// Attacks by calls, through the whole stack: none gets through, and each that is refused is in the audit, with the rule.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { generateKeyPairSync, sign } from "node:crypto"
import type { Token } from "../../../src/services/capability/CapabilityTokens.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import { codeOf, innermost } from "../../../src/services/error/KiwiError.ts"
import { call as callProxy } from "../../layers/proxy/calls.ts"
import {
  attempt,
  checkAudit,
  checkLog,
  countEntries,
  each,
  families,
  prepare,
  runSteps,
  snapshot
} from "../../support/mcp/attackWorld.ts"

describe.each(families.filter(([file]) => file !== "tokens.yaml"))("%s", (_, family) => {
  it.effect("none of it gets through", () =>
    Effect.gen(function*() {
      const world = yield* prepare(family)
      yield* each(family, (one) => one.steps === undefined ? attempt(world, one) : runSteps(world, family, one))
      yield* checkLog(world)
    }), 120_000)
})

/** What an attacker makes of a token that they have. */
const spoilt: Readonly<Record<string, (token: string, other: string) => string>> = {
  payload: (token) => {
    const [header, payload, signature] = token.split(".")
    const claims = JSON.parse(Buffer.from(payload!, "base64url").toString())
    const wider = { ...claims, caps: { allow: [{ capability: "fs.read", scope: ["**"] }], deny: [] } }
    return [header, Buffer.from(JSON.stringify(wider)).toString("base64url"), signature].join(".")
  },
  "no-algorithm": (token) => withHeader(token, { alg: "none" }),
  "key-name": (token) => withHeader(token, { kid: "0000000000000000" }),
  cut: (token) => token.slice(0, -8),
  "no-signature": (token) => `${token.split(".").slice(0, 2).join(".")}.`,
  swapped: (token, other) => [...token.split(".").slice(0, 2), other.split(".")[2]].join("."),
  "own-key": (token) => {
    const text = token.split(".").slice(0, 2).join(".")
    const { privateKey } = generateKeyPairSync("ed25519")
    return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`
  }
}

const withHeader = (token: string, change: object): string => {
  const [header, ...rest] = token.split(".")
  const changed = { ...JSON.parse(Buffer.from(header!, "base64url").toString()), ...change }
  return [Buffer.from(JSON.stringify(changed)).toString("base64url"), ...rest].join(".")
}

describe("tokens.yaml", () => {
  it.effect("none of it gets through", () =>
    Effect.gen(function*() {
      const family = families.find(([file]) => file === "tokens.yaml")![1]
      const world = yield* prepare(family)
      yield* each(family, (one) => {
        const whole = Effect.gen(function*() {
          const tokens = yield* CapabilityTokens
          const mint = (thread: string, allow: any) =>
            tokens.mint({ thread, directive: "d", grants: { allow, deny: one.denies ?? [] } })
          let [thread, token] = ["t", yield* mint("t", one.parent ?? one.grants)] as [
            string | undefined,
            Token | undefined
          ]
          const { jti } = yield* tokens.verify(token!, { thread: "t" })
          if (one.child !== undefined) {
            const request = {
              allow: one.child.map(({ optional, ...grant }: any) => ({ ...grant, ...(optional ? { optional } : {}) })),
              deny: []
            }
            token = yield* tokens.attenuate(token!, { thread: "t" }, { thread: "child", directive: "e", request })
            thread = "child"
          }
          const spoil = spoilt[one.spoil]
          if (spoil !== undefined) {
            token = Redacted.make(spoil(Redacted.value(token!), Redacted.value(yield* mint("t", [])))) as Token
          }
          if (one.spoil === "no-thread") thread = undefined
          if (one.spoil === "no-token") token = undefined
          if (one.spoil === "other-thread") thread = "other"
          if (one.spoil === "revoked" || one.spoil === "parent-revoked") yield* tokens.revoke(jti)
          if (one.spoil === "late") yield* TestClock.adjust("2 hours")
          if (one.spoil === "forgotten") yield* tokens.rotate({ forget: true })
          return yield* callProxy(one.call[0], one.call[1], {
            caller: { surface: "mcp", client: "agent", session: `s${one.name}` },
            ...(thread === undefined ? {} : { thread }),
            ...(token === undefined ? {} : { token })
          })
        })
        return Effect.gen(function*() {
          const [before, entries] = [snapshot(world), yield* countEntries(world)]
          world.requests.length = 0
          const error = innermost(yield* Effect.flip(world.use(whole) as Effect.Effect<unknown, any>))
          if (process.env["KIWI_SHOW"]) console.log(`${error._tag}\t${one.name}\t${error.message}`)
          assert.strictEqual(error._tag, one.expect, error.message)
          if (one.says !== undefined) assert.include(error.message, one.says)
          assert.deepStrictEqual(snapshot(world), before)
          assert.isEmpty(world.requests)
          // An escalation is refused before there is a call.
          if (error._tag !== "PermissionEscalation") yield* checkAudit(world, entries, codeOf(error), one.rule)
        })
      })
      yield* checkLog(world)
    }), 120_000)
})

it("there are enough of them, and each is another", () => {
  // The same call is another attack where other files are there.
  const all = families.flatMap(([, { cases, ...world }]) =>
    cases.map((one) => JSON.stringify([world, { ...one, name: "" }]))
  )
  assert.isAtLeast(all.length, 200)
  assert.strictEqual(new Set(all).size, all.length)
})
