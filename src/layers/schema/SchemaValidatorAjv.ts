// Compiles schemas of verified items, each once. A compiled schema is code, so only schemas with a trusted signature
// get here. The compiler is loaded on first use.
import { Effect, Layer, Result, type Schema } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { type Checks, checkValue, topLevelKeys } from "../../services/schema/checkValue.ts"
import { prepareSchema } from "../../services/schema/schemaText.ts"
import { SchemaUnusable, SchemaValidator } from "../../services/schema/SchemaValidator.ts"

type Validate = SchemaValidator["Service"]["validate"]
type Request = Parameters<Validate>[0]

/** The limit of cached compiled schemas, least recently used evicted first. */
const maxKept = 500

/** No schema without the word has one, and the engine takes as long to load as the compiler. */
const mayHavePatterns = (schema: Schema.JsonObject): boolean => JSON.stringify(schema).includes("\"pattern")

const noPatterns = { linearPattern: () => Result.fail("its patterns were not seen") }

export const make = Effect.gen(function*() {
  const compiler = yield* Effect.cached(Effect.promise(() => import("./ajv.ts")))
  const patternEngine = yield* Effect.cached(Effect.promise(() => import("./linearPatterns.ts")))
  const kept = new BoundedMap<string, Checks>(maxKept)

  const compile = Effect.fnUntraced(function*({ closed, schema, what }: Request) {
    const unusable = (issue: string) => new SchemaUnusable({ what, issue })
    const prepared = yield* Effect.fromResult(prepareSchema(schema, what))
    const ajv = yield* compiler
    const { linearPattern } = mayHavePatterns(schema) ? yield* patternEngine : noPatterns
    const check = yield* Effect.fromResult(Result.mapError(ajv.compile(prepared, linearPattern), unusable))
    const failures = (value: Schema.Json) => Result.mapError(check(value), unusable)
    const known = topLevelKeys(prepared, closed)
    const patterns = yield* Effect.forEach(
      known?.patterns ?? [],
      (p) => Effect.fromResult(Result.mapError(linearPattern(p), unusable))
    )
    return { prepared, failures, known: known === undefined ? undefined : { keys: known.keys, patterns } }
  })

  const validate: Validate = Effect.fnUntracedEager(function*(request: Request) {
    const { closed, origin, value, what } = request
    if (origin._tag === "foreign") {
      return yield* new SchemaUnusable({
        what,
        issue: "it does not come from a verified item, and only those are compiled"
      })
    }
    // A digest has no blank, so two requests cannot have the same key.
    const key = `${origin.digest} ${closed} ${what}`
    const known = kept.get(key)
    const checks = known ?? (yield* compile(request))
    if (known === undefined) kept.set(key, checks)
    return yield* Effect.fromResult(checkValue(checks, value))
  })

  return SchemaValidator.of({ validate })
})

export const layer = Layer.effect(SchemaValidator, make)
