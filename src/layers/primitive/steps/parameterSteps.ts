// Validates the call's parameters with the tool's own schema, and the arguments that they become.
import { Effect } from "effect"
import type { Chain } from "../../../services/chain/Chain.ts"
import type { ArgumentPlace, Shift } from "../../../services/primitive/argumentPlaces.ts"
import { argumentPlaces, shiftsOf } from "../../../services/primitive/argumentPlaces.ts"
import { ParametersInvalid } from "../../../services/proxy/ToolProxy.ts"
import { isJsonObject } from "../../../services/schema/json.ts"
import { SchemaValidator } from "../../../services/schema/SchemaValidator.ts"
import { blame } from "../../call/blame.ts"
import type { Facts } from "../../call/Step.ts"

const shiftIssue = ({ next, option, parameter }: Shift) => ({
  field: parameter,
  error: option === undefined
    ? `is missing, and ${shownPlace(next)} would take its place`
    : `is missing, and ${option.text} before it would read ${shownPlace(next)} as its value`
})

const shownPlace = (place: ArgumentPlace | undefined): string =>
  place === undefined ? "what follows" : JSON.stringify(place.parameter ?? place.text)

export const validateParameters = Effect.gen(function*() {
  const schemas = yield* SchemaValidator

  const argumentLists = new WeakMap<Chain, ReadonlyArray<ArgumentPlace>>()
  const argumentsOf = (chain: Chain): ReadonlyArray<ArgumentPlace> => {
    const known = argumentLists.get(chain)
    if (known !== undefined) return known
    const found = chain.primitive.tool.location.id === "subprocess" ? argumentPlaces(chain.config) : []
    argumentLists.set(chain, found)
    return found
  }

  return Effect.fnUntracedEager(function*(facts: Facts<"call" | "chain">) {
    const { leaf } = facts.chain
    const { id } = leaf.tool.location
    const { issues, value } = yield* schemas.validate({
      schema: leaf.tool.parameters,
      what: `parameters of ${id}`,
      value: facts.call.parameters,
      closed: true,
      origin: { _tag: "verified", digest: leaf.tool.digest }
    }).pipe(Effect.mapErrorEager((reason) => blame(facts.chain, reason)))
    if (issues.length > 0 || !isJsonObject(value)) {
      return yield* blame(facts.chain, new ParametersInvalid({ tool: id, issues: [...issues] }))
    }
    const shifts = shiftsOf(argumentsOf(facts.chain), leaf.tool, value)
    if (shifts.length > 0) {
      return yield* blame(facts.chain, new ParametersInvalid({ tool: id, issues: shifts.map(shiftIssue) }))
    }
    return { parameters: value }
  })
})
