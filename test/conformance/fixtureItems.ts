// The resources and prompts that the conformance suite asks a server to have, by their fixed names.
import { Context, Effect, Layer } from "effect"
import { McpSchema, McpServer } from "effect/ai"
import { png } from "./fixtureTools.ts"

const user = (content: McpSchema.ContentBlock) => ({ role: "user" as const, content })
const text = (value: string) => user({ type: "text", text: value })

const resource = (
  uri: string,
  mimeType: string,
  content: { readonly text: string } | { readonly blob: Uint8Array }
) =>
  Effect.flatMap(McpServer.McpServer, (server) =>
    server.addResource({
      resource: new McpSchema.Resource({
        uri,
        name: uri.replace("test://", ""),
        description: `Fixture ${uri}`,
        mimeType
      }),
      annotations: Context.empty(),
      handle: Effect.succeed({ contents: [{ uri, mimeType, ...content }] })
    }))

interface PromptFixture {
  readonly name: string
  readonly arguments?: ReadonlyArray<string>
  readonly handle: (
    given: Readonly<Record<string, string>>
  ) => Effect.Effect<
    McpSchema.GetPromptResult | McpSchema.InputRequired,
    never,
    McpSchema.McpRequestContext
  >
}

const messages = (...list: McpSchema.GetPromptResult["messages"]) =>
  Effect.succeed(new McpSchema.GetPromptResult({ messages: list }))

const prompts: ReadonlyArray<PromptFixture> = [
  { name: "test_simple_prompt", handle: () => messages(text("This is a simple prompt for testing.")) },
  {
    name: "test_prompt_with_arguments",
    arguments: ["arg1", "arg2"],
    handle: ({ arg1, arg2 }) => messages(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))
  },
  {
    name: "test_prompt_with_embedded_resource",
    arguments: ["resourceUri"],
    handle: ({ resourceUri = "" }) =>
      messages(
        user({
          type: "resource",
          resource: { uri: resourceUri, mimeType: "text/plain", text: "Embedded resource content for testing." }
        }),
        text("Please process the embedded resource above.")
      )
  },
  {
    name: "test_prompt_with_image",
    handle: () =>
      messages(user({ type: "image", data: png, mimeType: "image/png" }), text("Please analyze the image above."))
  },
  {
    name: "test_input_required_result_prompt",
    handle: () =>
      Effect.flatMap(
        McpSchema.McpRequestContext,
        ({ inputResponses = {} }): ReturnType<PromptFixture["handle"]> =>
          Object.hasOwn(inputResponses, "user_context")
            ? messages(text(`In this context: ${JSON.stringify(inputResponses["user_context"])}`))
            : Effect.succeed(
              new McpSchema.InputRequired({
                inputRequests: {
                  user_context: {
                    method: "elicitation/create",
                    params: {
                      mode: "form",
                      message: "What context should the prompt use?",
                      requestedSchema: {
                        type: "object",
                        properties: { context: { type: "string" } },
                        required: ["context"]
                      }
                    }
                  }
                }
              })
            )
      )
  }
]

export const register = Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  yield* resource("test://static-text", "text/plain", { text: "This is the content of the static text resource." })
  yield* resource("test://static-binary", "image/png", { blob: png })
  yield* resource("test://watched-resource", "text/plain", { text: "Watched." })
  yield* server.addResourceTemplate({
    template: new McpSchema.ResourceTemplate({
      uriTemplate: "test://template/{id}/data",
      name: "template",
      description: "Fixture test://template/{id}/data",
      mimeType: "application/json"
    }),
    routerPath: "test:://template/:0/data",
    annotations: Context.empty(),
    completions: {},
    handle: (uri, [id = ""]) =>
      Effect.succeed({
        contents: [{
          uri,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
        }]
      })
  })
  for (const prompt of prompts) {
    const names = prompt.arguments ?? []
    const complete = (input: string) => {
      const values = ["paris", "park", "party"].filter((word) => word.startsWith(input))
      return Effect.succeed({ completion: { values, total: values.length, hasMore: false } })
    }
    yield* server.addPrompt({
      prompt: new McpSchema.Prompt({
        name: prompt.name,
        description: `Fixture ${prompt.name}`,
        arguments: names.map((name) => ({ name, description: `Fixture ${name}`, required: true }))
      }),
      annotations: Context.empty(),
      completions: Object.fromEntries(names.map((name) => [name, complete])),
      handle: prompt.handle
    })
  }
})

export const layer = (...parts: ReadonlyArray<Effect.Effect<void, never, McpServer.McpServer>>) =>
  Layer.effectDiscard(Effect.forEach(parts, (part) => part, { discard: true }))
