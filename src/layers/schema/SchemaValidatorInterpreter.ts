// Interprets schemas of any origin: nothing in them becomes code, and the steps of every validation are bounded.
import { Effect, Layer, Result } from "effect"
import { checkValue, topLevelKeys } from "../../services/schema/checkValue.ts"
import { prepareSchema } from "../../services/schema/schemaText.ts"
import { SchemaUnusable, SchemaValidator } from "../../services/schema/SchemaValidator.ts"

type Validate = SchemaValidator["Service"]["validate"]

const loadInterpreter = Effect.cached(
  Effect.promise(() => Promise.all([import("./interpreter.ts"), import("./linearPatterns.ts")] as const))
)

export const make = Effect.gen(function*() {
  const interpreter = yield* loadInterpreter
  const validate: Validate = Effect.fnUntraced(function*({ closed, schema, value, what }) {
    const unusable = (issue: string) => new SchemaUnusable({ what, issue })
    const prepared = yield* Effect.fromResult(prepareSchema(schema, what))
    const [{ interpret }, { linearPattern }] = yield* interpreter
    const known = topLevelKeys(prepared, closed)
    const patterns = yield* Effect.forEach(
      known?.patterns ?? [],
      (p) => Effect.fromResult(Result.mapError(linearPattern(p), unusable))
    )
    return yield* Effect.fromResult(checkValue({
      prepared,
      failures: (v) => Result.mapError(interpret(prepared, v), unusable),
      known: known === undefined ? undefined : { keys: known.keys, patterns }
    }, value))
  })
  return SchemaValidator.of({ validate })
})

export const layer = Layer.effect(SchemaValidator, make)
