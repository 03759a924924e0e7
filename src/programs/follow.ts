// Following a directive and reading knowledge: the steps or text of a verified item, with the inputs filled in.
import { Effect } from "effect"
import type { Schema } from "effect"
import type { Caller } from "../services/call/Caller.ts"
import type { CallWarning } from "../services/call/CallWarning.ts"
import { ItemParser } from "../services/format/ItemParser.ts"
import { Verifier } from "../services/integrity/Verifier.ts"
import type { Directive, Item, ItemLocation } from "../services/item/Item.ts"
import { ItemStore } from "../services/item/ItemStore.ts"
import { ParametersInvalid } from "../services/proxy/ToolProxy.ts"
import { isJsonObject } from "../services/schema/json.ts"
import { SchemaValidator } from "../services/schema/SchemaValidator.ts"
import { ProjectTrust } from "../services/trust/ProjectTrust.ts"
import { govern } from "./govern.ts"

/** A directive's inputs as JSON Schema: its own, or one made from its `<input>` elements. */
export const inputSchema = (directive: Pick<Directive, "inputs" | "inputSchema">): Schema.JsonObject =>
  directive.inputSchema ?? {
    type: "object",
    properties: Object.fromEntries(directive.inputs.map((input) => [input.name, {
      type: input.type,
      ...(input.description === "" ? {} : { description: input.description }),
      ...(input.default === undefined ? {} : { default: input.default })
    }])),
    required: directive.inputs.filter((i) => i.required && i.default === undefined).map((i) => i.name)
  }

const placeholder = /\{\{[ \t]*([A-Za-z_][A-Za-z0-9_-]*)[ \t]*\}\}/g

/** Replaces `{{name}}` by the input of that name, in one pass. Other placeholders stay as they are. */
export const substitute = (text: string, inputs: Readonly<Record<string, Schema.Json>>): string =>
  text.replace(placeholder, (whole, name: string) => {
    if (!Object.hasOwn(inputs, name)) return whole
    const value = inputs[name]
    return typeof value === "string" ? value : JSON.stringify(value)
  })

const followDirective = Effect.fnUntraced(function*(directive: Directive, parameters: Schema.JsonObject) {
  const validator = yield* SchemaValidator
  const { issues, value } = yield* validator.validate({
    schema: inputSchema(directive),
    what: `inputs of ${directive.location.id}`,
    value: parameters,
    closed: true,
    origin: { _tag: "verified", digest: directive.digest }
  })
  if (issues.length > 0 || !isJsonObject(value)) {
    return yield* new ParametersInvalid({ tool: directive.location.id, type: "directive", issues: [...issues] })
  }
  const put = (text: string) => substitute(text, value)
  return {
    name: directive.location.id,
    description: put(directive.description),
    inputs: value,
    steps: directive.steps.map((step) => ({
      name: step.name,
      description: put(step.description),
      action: put(step.action)
    })),
    ...(Object.keys(directive.templates).length === 0 ? {} : { templates: directive.templates }),
    instructions: "Follow the steps in order."
  }
})

const answer = Effect.fnUntraced(function*(item: Item, parameters: Schema.JsonObject) {
  if (item._tag === "directive") return yield* followDirective(item, parameters)
  return {
    name: item.location.id,
    title: item.title,
    content: item._tag === "knowledge" ? item.body : "",
    instructions: "Use this to inform what you do."
  }
})

export interface Followed {
  readonly status: "ready"
  readonly data: Schema.Json
  readonly metadata: { readonly id: string; readonly type: string; readonly version: string; readonly digest: string }
  readonly warnings: ReadonlyArray<CallWarning>
}

/** Verifies, validates and returns a directive or a knowledge entry. If it cannot be recorded, it is not returned. */
export const follow = Effect.fn("follow")(function*(
  location: ItemLocation,
  parameters: Schema.JsonObject,
  { callId, caller }: { readonly callId: string; readonly caller: Caller }
) {
  const store = yield* ItemStore
  const parser = yield* ItemParser
  const verifier = yield* Verifier
  const trust = yield* ProjectTrust
  return yield* govern(
    {
      caller,
      callId,
      operation: "follow",
      subject: { type: location.type, item: location.id, tier: location.tier },
      parameters,
      lost: "refuse"
    },
    Effect.fnUntraced(function*(about) {
      if (location.tier === "project") yield* trust.require
      const snapshot = yield* store.read(location)
      about({ digest: snapshot.digest })
      // As with a tool, a parse error comes first: what cannot be parsed cannot be signed either.
      const item = yield* parser.parse(snapshot)
      about({ version: item.version })
      return { item, action: { _tag: "Follow", location, verified: yield* verifier.verify(snapshot) } as const }
    }),
    ({ item }) =>
      Effect.map(answer(item, parameters), (data): Followed => ({
        status: "ready",
        data,
        metadata: { id: location.id, type: location.type, version: item.version, digest: item.digest },
        warnings: []
      }))
  )
})
