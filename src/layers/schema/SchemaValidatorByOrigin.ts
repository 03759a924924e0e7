// Chooses a validator by a schema's origin: a verified item's is compiled, any other is interpreted.
import { Effect, Layer } from "effect"
import { SchemaValidator } from "../../services/schema/SchemaValidator.ts"
import * as SchemaValidatorAjv from "./SchemaValidatorAjv.ts"
import * as SchemaValidatorInterpreter from "./SchemaValidatorInterpreter.ts"

export const make = Effect.gen(function*() {
  const compiling = yield* SchemaValidatorAjv.make
  const interpreting = yield* SchemaValidatorInterpreter.make
  return SchemaValidator.of({
    validate: (request) => (request.origin._tag === "verified" ? compiling : interpreting).validate(request)
  })
})

export const layer = Layer.effect(SchemaValidator, make)
