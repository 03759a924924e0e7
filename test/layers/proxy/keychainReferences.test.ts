import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as PermissionGateDefault from "../../../src/layers/permission/PermissionGateDefault.ts"
import { ChainResolver } from "../../../src/services/chain/ChainResolver.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import type { SignedBy } from "../../../src/services/integrity/Verifier.ts"
import { PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import { call, caller, entries, kernel, reasonOf, tool, trace } from "./calls.ts"

const secret = "ghp_0123456789abcdef"

const reader = (fields = {}) =>
  tool({ config: { command: "read", output: "json" }, requires: { environment: ["TOKEN"] }, ...fields })

const world = (fields = {}, more: Parameters<typeof kernel>[0] = {}) =>
  kernel({
    project: { "tools/tool.yaml": reader(fields) },
    controlFiles: { ".env": "TOKEN=keychain:github\n" },
    secrets: { github: secret },
    programs: {
      read: ({ argv, env }) =>
        Effect.succeed({
          stdout: JSON.stringify({ length: env["TOKEN"]?.length, said: env["TOKEN"], argv }),
          stderr: `with ${env["TOKEN"]}`
        })
    },
    ...more
  })

describe("a variable that refers to the keychain", () => {
  it.effect("reaches the tool as the secret, and nobody else in any form", () =>
    Effect.gen(function*() {
      const { data, metadata, warnings } = yield* call("tool")
      assert.deepInclude(data, { length: secret.length, said: "‹redacted›" })
      const all = JSON.stringify([data, metadata, warnings, yield* entries])
      assert.notInclude(all, secret)
      assert.notInclude(all, "keychain:github")
    }).pipe(Effect.provide(world())))

  for (
    const [permissions, rule] of [
      ["", "signed-by-you, secrets-for-your-own"],
      ["rules:\n  - allow: secret.use(github)\n", "signed-by-you, user:config/permissions.yaml:2"],
      ["rules:\n  - allow: secret.use(other)\n", "signed-by-you, secrets-for-your-own"],
      [
        "rules:\n  - allow: tool\n  - allow: secret.use(git*)\n",
        "user:config/permissions.yaml:2, user:config/permissions.yaml:3"
      ],
      ["rules:\n  - deny: secret.use(github)\n", "user:config/permissions.yaml:2"]
    ] as const
  ) {
    it.effect(`the audit says by which rule it was given: ${rule}`, () =>
      Effect.gen(function*() {
        yield* Effect.ignore(call("tool"))
        const found = (yield* entries).flatMap((entry) => entry.kind === "result" ? [entry.rule] : [])
        assert.deepStrictEqual(found, [rule])
      }).pipe(Effect.provide(world({}, { permissions }))))
  }

  it.effect("in ENV_CONFIG, inside another value, and in the config", () =>
    Effect.gen(function*() {
      const { data } = yield* call("tool")
      assert.deepInclude(data, { length: `Bearer ${secret}`.length })
      assert.notInclude(JSON.stringify(data), secret)
    }).pipe(Effect.provide(world({
      requires: {},
      env_config: { env: { OTHER: "keychain:github", TOKEN: "Bearer ${OTHER}" } },
      config: { command: "read", args: ["${API}"], output: "json" }
    }, { controlFiles: { ".env": "API=keychain:github\n" } }))))

  it.effect("a secret that looks like a placeholder or a reference is text", () =>
    Effect.gen(function*() {
      const { data } = yield* call("tool")
      assert.deepInclude(data, { length: "keychain:other ${HOME}".length })
    }).pipe(Effect.provide(world({}, { secrets: { github: "keychain:other ${HOME}" } }))))

  it.effect("its name is none: what a tool says of keychain:github stays", () =>
    Effect.gen(function*() {
      const { data } = yield* call("tool")
      assert.deepStrictEqual(data, { hint: "set keychain:github", said: "‹redacted›" })
    }).pipe(Effect.provide(world({}, {
      programs: {
        read: ({ env }) =>
          Effect.succeed({ stdout: JSON.stringify({ hint: "set keychain:github", said: env["TOKEN"] }) })
      }
    }))))

  it.effect("one that nobody has stored stops the call, names the variable, and says what to type", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(call("tool"))
      const { code, failed_at, message, remediation } = toErrorObject(error)
      assert.strictEqual(reasonOf(error)._tag, "SecretMissing")
      assert.strictEqual(code, "SECRET_MISSING")
      assert.include(message, "TOKEN refers to keychain:github")
      assert.strictEqual(remediation, "kiwi env secret set github")
      assert.strictEqual(failed_at?.tool_id, "tool")
    }).pipe(Effect.provide(world({}, { secrets: {} }))))

  it.effect("a dry run shows neither the secret nor the reference", () =>
    Effect.gen(function*() {
      const { data } = yield* call("tool", {}, { dryRun: true })
      assert.notInclude(JSON.stringify(data), secret)
    }).pipe(Effect.provide(world({ config: { command: "read", args: ["${TOKEN}"] } }))))

  it.effect("explaining asks no keychain", () =>
    Effect.gen(function*() {
      const found = yield* trace("tool")
      assert.isUndefined(found.blocked)
      assert.deepStrictEqual([...found.env?.references ?? []], ["github"])
    }).pipe(Effect.provide(world({}, { secrets: {} }))))
})

describe("who may have a secret", () => {
  const signer = { keyId: "0123456789abcdef", publicKey: "", name: "Grace" }
  const by = (_tag: "You" | "Trusted" | "Unknown", kind: "person" | "agent" = "person"): SignedBy => ({
    _tag: "Signer",
    standing: _tag === "Unknown"
      ? { _tag }
      : _tag === "You"
      ? { _tag, signer }
      : { _tag, signer, by: "person", asMe: false },
    kind,
    time: "20261121T210900Z"
  })
  const decide = (...signers: ReadonlyArray<SignedBy>) =>
    Effect.gen(function*() {
      const { chain } = yield* (yield* ChainResolver).resolve({ id: "tool" })
      const verified = signers.flatMap((signedBy, index) => {
        const snapshot = chain.links[index]?.snapshot
        return snapshot === undefined ? [] : [{ snapshot, by: signedBy }]
      })
      return yield* (yield* PermissionGate).decide(caller, { _tag: "UseSecret", chain, verified, name: "github" })
    }).pipe(Effect.provide(Layer.merge(world(), PermissionGateDefault.layer)))

  it.effect("a tool whose every link you have signed yourself, as a person", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* decide(by("You"), { _tag: "System" }), { rule: "secrets-for-your-own", asks: [] })
    }))

  const asked: ReadonlyArray<readonly [string, ReadonlyArray<SignedBy>]> = [
    ["another signer, however trusted", [by("Trusted"), { _tag: "System" }]],
    ["another signer, below yours", [by("You"), by("Trusted")]]
  ]
  for (const [who, signers] of asked) {
    it.effect(`only after a person agreed, one that has a link of ${who}`, () =>
      Effect.gen(function*() {
        const [ask, ...more] = (yield* decide(...signers)).asks
        assert.strictEqual(ask?.reason, "gives the secret github to a tool that is signed by \"Grace\"")
        assert.isUndefined(ask?.offer)
        assert.lengthOf(more, 0)
      }))
  }

  const refused: ReadonlyArray<readonly [string, ReadonlyArray<SignedBy>]> = [
    ["an agent with your key", [by("You", "agent"), { _tag: "System" }]],
    ["nobody you know", [by("Unknown"), { _tag: "System" }]],
    ["nobody has verified", [by("You")]]
  ]
  for (const [who, signers] of refused) {
    it.effect(`not one that has a link of ${who}`, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(decide(...signers))
        assert.strictEqual(error._tag, "PermissionDenied")
        assert.include(error.message, "Not allowed to give the secret github to tool")
        assert.match(error.remediation ?? "", /kiwi sign tool (?:tool|subprocess)$/)
      }))
  }
})
