// What every store of secrets does.
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { isSecretReference, secretNameOf, SecretStore } from "../../../src/services/identity/SecretStore.ts"
import type { HumanRequest } from "../../../src/services/trust/HumanAct.ts"

export const agree = ({ digest, kind }: HumanRequest) => ({ kind, digest, by: "terminal" as const })

export const setSecret = (name: string, value: string) =>
  Effect.gen(function*() {
    const store = yield* SecretStore
    return yield* store.set(name, Redacted.make(value), agree(yield* store.proposeSet(name)))
  })

const opened = (name: string) =>
  SecretStore.use((store) => Effect.map(store.get(name), (value) => value && Redacted.value(value)))
const names = SecretStore.use((store) => Effect.map(store.list, (all) => all.map(({ name }) => name)))

export const contract = <E>(name: string, implementation: Layer.Layer<SecretStore, E>) => {
  it.effect(`${name} gives back what was set, replaces it, lists names, and forgets what was removed`, () =>
    Effect.gen(function*() {
      const store = yield* SecretStore
      assert.isUndefined(yield* opened("github"))
      yield* setSecret("github", "first\nline é ${HOME} \"quoted\"")
      yield* setSecret("Github", "another name")
      assert.strictEqual(yield* opened("github"), "first\nline é ${HOME} \"quoted\"")
      yield* setSecret("github", "second")
      assert.strictEqual(yield* opened("github"), "second")
      assert.strictEqual(yield* opened("Github"), "another name")
      assert.deepStrictEqual(yield* names, ["Github", "github"])
      const request = yield* store.proposeRemove("github")
      assert.isTrue(yield* store.remove("github", agree(request)))
      assert.isFalse(yield* store.remove("github", agree(request)))
      assert.isUndefined(yield* opened("github"))
      assert.deepStrictEqual(yield* names, ["Github"])
    }).pipe(Effect.provide(implementation)))

  it.effect(`${name} does nothing for an act that was given for something else`, () =>
    Effect.gen(function*() {
      const store = yield* SecretStore
      yield* setSecret("one", "value")
      const [other, remove] = [yield* store.proposeSet("two"), yield* store.proposeRemove("one")]
      const value = Redacted.make("changed")
      for (
        const act of [agree(other), agree(remove), { ...agree(yield* store.proposeSet("one")), kind: "sign" as const }]
      ) {
        assert.strictEqual((yield* Effect.flip(store.set("one", value, act)))._tag, "HumanRequired")
      }
      assert.strictEqual((yield* Effect.flip(store.remove("one", agree(other))))._tag, "HumanRequired")
      assert.strictEqual(yield* opened("one"), "value")
    }).pipe(Effect.provide(implementation)))

  it.effect(`${name} takes no name that could be more than a name`, () =>
    Effect.gen(function*() {
      const store = yield* SecretStore
      for (const wrong of ["", "..", "../x", "a/b", "a b", "-x", "x".repeat(65), "a\n", "a\u0000"]) {
        assert.strictEqual(
          (yield* Effect.flip(store.proposeSet(wrong)))._tag,
          "SecretNameInvalid",
          JSON.stringify(wrong)
        )
        assert.strictEqual((yield* Effect.flip(store.proposeRemove(wrong)))._tag, "SecretNameInvalid")
      }
      assert.isUndefined(yield* opened("constructor"))
    }).pipe(Effect.provide(implementation)))
}

it("keychain:NAME names a secret, and nothing else does", () => {
  assert.strictEqual(secretNameOf("keychain:github"), "github")
  assert.strictEqual(secretNameOf("keychain: a.b-c_1 "), "a.b-c_1")
  for (const none of ["keychain:", "keychain:../x", "Keychain:x", "x keychain:y", "keychain:a b", "keychain:a/b"]) {
    assert.isUndefined(secretNameOf(none), none)
  }
  assert.isTrue(isSecretReference("keychain:"))
  assert.isFalse(isSecretReference(" keychain:x"))
})
