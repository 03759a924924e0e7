import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as ConfigProvider from "effect/ConfigProvider"
import * as IdentityMemory from "../../../src/layers/identity/IdentityMemory.ts"
import * as LineageMemory from "../../../src/layers/presence/LineageMemory.ts"
import * as HumanGateEmbedder from "../../../src/layers/trust/humanGate/HumanGateEmbedder.ts"
import * as HumanGateNone from "../../../src/layers/trust/humanGate/HumanGateNone.ts"
import { Identity } from "../../../src/services/identity/Identity.ts"
import type { ProcessInfo } from "../../../src/services/presence/Lineage.ts"
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

interface Place {
  readonly env?: Record<string, string>
  readonly above?: ReadonlyArray<Partial<ProcessInfo>> | "unknown"
  /** Of the signing key. */
  readonly passphrase?: string
}

const encrypted = (passphrase: string) =>
  Layer.effectDiscard(Effect.gen(function*() {
    const identity = yield* Identity
    yield* identity.ensure()
    const { digest, kind } = yield* identity.proposePassphrase("encrypt")
    const change = { from: undefined, to: Redacted.make(passphrase) }
    yield* identity.changePassphrase(change, { kind, digest, by: "terminal" })
  })).pipe(Layer.orDie)

const embedder = (askPerson: HumanGateEmbedder.AskPerson, { above = [], env = {}, passphrase }: Place = {}) =>
  HumanGateEmbedder.layerWith(askPerson, env).pipe(
    Layer.provide(passphrase === undefined ? Layer.empty : encrypted(passphrase)),
    Layer.provide(Layer.merge(
      IdentityMemory.layer,
      LineageMemory.layerWith(above === "unknown" ? undefined : [{}, ...above])
    )),
    Layer.merge(ConfigProvider.layer(ConfigProvider.fromEnv({ env })))
  )

const kiwi = {
  name: "node",
  program: "/usr/bin/node",
  argv: ["node", "--no-deprecation", "/x/kiwi/bin/kiwi.cjs", "serve"]
}

const nobody: ReadonlyArray<readonly [why: string, place: Place]> = [
  ...["KIWI_CALL"].flatMap((name) => [
    [`${name} is set`, { env: { [name]: "1" } }] as const,
    [`${name} is set`, { env: { [name]: "1", KIWI_PASSPHRASE: "open sesame" }, passphrase: "open sesame" }] as const
  ]),
  ["Kiwi itself", { above: [kiwi] }],
  ["Kiwi itself", { above: [{ name: "python3" }, kiwi, { name: "claude" }] }],
  ["Kiwi itself", { above: [kiwi], env: { KIWI_PASSPHRASE: "open sesame" }, passphrase: "open sesame" }],
  ["Claude Code runs", { above: [{ name: "claude" }] }],
  ["Codex runs", { above: [{ name: "bash" }, { name: "codex" }] }],
  ["Goose runs", { above: [{ name: "bash" }, { name: "goose" }, { name: "sshd" }] }],
  ...["CLAUDECODE", "CURSOR_AGENT", "OPENCODE", "AI_AGENT", "CODEX_THREAD_ID", "GEMINI_CLI"].map((name) =>
    [`${name} is set`, { env: { [name]: "1" } }] as const
  ),
  ["CRUSH is set", { env: { CRUSH: "1", KIWI_PASSPHRASE: "open sesame" } }],
  ["who started it", { above: "unknown" }],
  ["KIWI_PASSPHRASE is not set", { passphrase: "open sesame" }],
  ["KIWI_PASSPHRASE is not it", { passphrase: "open sesame", env: { KIWI_PASSPHRASE: "something else" } }],
  ["KIWI_PASSPHRASE is not set", { passphrase: "open sesame", above: [{ name: "claude" }] }]
]
for (const [index, [why, place]] of nobody.entries()) {
  it.effect(`asks nobody where ${why}, ${index}`, () =>
    Effect.gen(function*() {
      let asked = 0
      const error = yield* Effect.flip(Effect.provide(ask, embedder(() => ++asked > 0, place)))
      assert.strictEqual(error._tag, "HumanRequired")
      if (error._tag === "HumanRequired") assert.include(error.why, why)
      assert.strictEqual(error.remediation, "Ask the person to type: kiwi sign tool add")
      assert.strictEqual(asked, 0)
    }))
}

for (
  const [what, place] of [
    ["a shell above", { above: [{ name: "bash" }, { name: "sshd" }] }],
    ["the passphrase", { passphrase: "open sesame", env: { KIWI_PASSPHRASE: "open sesame" } }],
    ["the passphrase below an agent", {
      passphrase: "open sesame",
      env: { KIWI_PASSPHRASE: "open sesame", CLAUDECODE: "1" },
      above: [{ name: "claude" }]
    }],
    ["the passphrase where nothing is seen", {
      passphrase: "open sesame",
      env: { KIWI_PASSPHRASE: "open sesame" },
      above: "unknown"
    }]
  ] as const
) {
  it.effect(`asks the person with ${what}, and their no is one`, () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* Effect.provide(ask, embedder(() => true, place))).by, "embedder")
      const error = yield* Effect.flip(Effect.provide(ask, embedder(() => false, place)))
      assert.strictEqual(error._tag, "HumanDeclined")
    }))
}

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
      embedder((shown) => {
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
    const no = yield* Effect.flip(Effect.provide(ask, embedder(() => false)))
    assert.strictEqual(no._tag, "HumanDeclined")
    if (no._tag === "HumanDeclined") assert.strictEqual(no.seen, "askPerson did not answer true")
    const truthy: unknown = "yes"
    const sloppy = embedder(() => truthy as boolean)
    assert.strictEqual((yield* Effect.flip(Effect.provide(ask, sloppy)))._tag, "HumanDeclined")
    const rejecting = embedder(() => Promise.reject(new Error("no window")))
    assert.strictEqual((yield* Effect.flip(Effect.provide(ask, rejecting)))._tag, "HumanRequired")
    const throwing = embedder(() => {
      throw new Error("no window")
    })
    assert.strictEqual((yield* Effect.flip(Effect.provide(ask, throwing)))._tag, "HumanRequired")
  }))
