// What a primitive is run with, for tests that care about its config alone.
import { Effect, type Schema } from "effect"
import type { PrimitiveInput } from "../../../src/services/primitive/Primitive.ts"
import { caller } from "../proxy/calls.ts"

export const inputFor = (config: Schema.JsonObject, more: Partial<PrimitiveInput> = {}): PrimitiveInput => ({
  tool: "probe",
  caller,
  config,
  signed: config,
  parameters: {},
  env: new Map(),
  toolFile: undefined,
  cwd: "/nowhere",
  isolation: "standard",
  emit: () => Effect.void,
  ...more
})
