// What every usable keychain does.
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { Layer } from "effect"
import { Keychain } from "../../../src/services/identity/Keychain.ts"

const value = (secret: Redacted.Redacted | undefined) => secret && Redacted.value(secret)

export const contract = <E>(name: string, implementation: Layer.Layer<Keychain, E>) =>
  layer(implementation)(`${name} satisfies Keychain`, (it) => {
    it.effect("gives back what was set, replaces it, and forgets what was removed", () =>
      Effect.gen(function*() {
        const keychain = yield* Keychain
        assert.isUndefined(yield* keychain.get("a"))
        yield* keychain.set("a", Redacted.make("first\nline \u00e9"))
        assert.strictEqual(value(yield* keychain.get("a")), "first\nline \u00e9")
        yield* keychain.set("a", Redacted.make("second"))
        yield* keychain.set("b", Redacted.make("other"))
        assert.strictEqual(value(yield* keychain.get("a")), "second")
        assert.isTrue(yield* keychain.remove("a"))
        assert.isFalse(yield* keychain.remove("a"))
        assert.isUndefined(yield* keychain.get("a"))
        assert.strictEqual(value(yield* keychain.get("b")), "other")
      }))

    it.effect("shows no secret when it is printed", () =>
      Effect.gen(function*() {
        const keychain = yield* Keychain
        yield* keychain.set("c", Redacted.make("hidden-word"))
        const secret = yield* keychain.get("c")
        assert.notInclude(`${String(secret)} ${JSON.stringify({ secret })}`, "hidden-word")
      }))
  })
