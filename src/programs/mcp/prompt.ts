// A trusted directive as a prompt: its inputs as arguments, its steps as one message of the user.
import type { Effect, Schema } from "effect"
import * as McpSchema from "effect/ai/McpSchema"
import { safeLine } from "../../services/error/safeText.ts"
import type { Directive } from "../../services/item/Item.ts"

export type FollowPrompt = (
  name: string,
  parameters: Schema.JsonObject
) => Effect.Effect<McpSchema.GetPromptResult, McpSchema.InvalidParams, McpSchema.McpRequestContext>

/** A directive's inputs, described. */
export const promptOf = (directive: Directive): McpSchema.Prompt =>
  new McpSchema.Prompt({
    name: directive.location.category === ""
      ? directive.location.id
      : `${directive.location.category}/${directive.location.id}`,
    ...(directive.title === "" ? {} : { title: safeLine(directive.title, 120) }),
    ...(directive.description === "" ? {} : { description: safeLine(directive.description) }),
    arguments: directive.inputs.map((input) => ({
      name: input.name,
      ...(input.description === "" ? {} : { description: safeLine(input.description) }),
      required: input.required && input.default === undefined
    }))
  })

const parseJson = (text: string): Schema.Json => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A prompt's arguments are all text: an input of another type is given as JSON text. */
export const parametersOf = (
  inputs: Directive["inputs"],
  given: Readonly<Record<string, string>>
): Schema.JsonObject => {
  const types = new Map(inputs.map((input) => [input.name, input.type]))
  return Object.fromEntries(
    Object.entries(given).map(([name, text]) => {
      const type = types.get(name)
      return [name, type === undefined || type === "string" ? text : parseJson(text)]
    })
  )
}

/** The answer of following a directive, as a message of the user. */
export const messageOf = (name: string, data: unknown): McpSchema.GetPromptResult =>
  new McpSchema.GetPromptResult({
    messages: [{
      role: "user",
      content: { type: "text", text: `Follow the directive ${name}:\n\n${JSON.stringify(data, null, 2)}` }
    }]
  })
