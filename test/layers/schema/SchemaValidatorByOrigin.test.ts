import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as SchemaValidatorByOrigin from "../../../src/layers/schema/SchemaValidatorByOrigin.ts"
import { SchemaValidator } from "../../../src/services/schema/SchemaValidator.ts"

it.effect("a foreign schema is interpreted, a verified one compiled", () =>
  Effect.gen(function*() {
    const validator = yield* SchemaValidator
    const count = (type: string, origin: Parameters<typeof validator.validate>[0]["origin"]) =>
      Effect.map(
        validator.validate({ schema: { type }, what: "schema", value: 1, closed: false, origin }),
        (v) => v.issues.length
      )
    // Only the compiler goes by the digest.
    const verified = { _tag: "verified", digest: "d" } as const
    assert.strictEqual(yield* count("number", verified), 0)
    assert.strictEqual(yield* count("string", verified), 0)
    assert.strictEqual(yield* count("number", { _tag: "foreign" }), 0)
    assert.strictEqual(yield* count("string", { _tag: "foreign" }), 1)
  }).pipe(Effect.provide(SchemaValidatorByOrigin.layer)))
