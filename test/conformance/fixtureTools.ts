// The tools that the conformance suite asks a server to have, by their fixed names.
import { Context, Effect, Option, Schema } from "effect"
import { McpSchema, McpServer } from "effect/ai"
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto"

/** One red pixel. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  "base64"
)
/** A header and no samples. */
const wav = Buffer.from("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=", "base64")

type Content = McpSchema.CallToolResult["content"]
type Requires = McpSchema.McpRequestContext | McpServer.McpServer
type Handler = (
  args: Readonly<Record<string, unknown>>
) => Effect.Effect<McpSchema.CallToolResult | McpSchema.InputRequired, McpSchema.InvalidParams, Requires>

const result = (...content: Content) => new McpSchema.CallToolResult({ content })
const text = (value: string) => result({ type: "text", text: value })
const failed = (value: string) =>
  new McpSchema.CallToolResult({ content: [{ type: "text", text: value }], isError: true })
const constant = (value: McpSchema.CallToolResult): Handler => () => Effect.succeed(value)

const object = (
  properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  required: ReadonlyArray<string> = []
) => ({
  type: "object" as const,
  properties,
  required
})
const name = object({ name: { type: "string" } }, ["name"])

const elicitation = (message: string, requestedSchema: object) => ({
  method: "elicitation/create" as const,
  params: { mode: "form", message, requestedSchema }
})
const sampling = (prompt: string, maxTokens: number) => ({
  method: "sampling/createMessage" as const,
  params: { messages: [{ role: "user", content: { type: "text", text: prompt } }], maxTokens }
})
const roots = { method: "roots/list" as const, params: {} }

const secret = randomBytes(32)
const mac = (value: string) => createHmac("sha256", secret).update(value).digest()
const seal = (value: string) => `${value}.${mac(value).toString("base64url")}`
/** The sealed value; fails when the client changed it. */
const open = Effect.fnUntraced(function*(state: string) {
  const [value = "", signature = ""] = state.split(".")
  const given = Buffer.from(signature, "base64url")
  return given.length === 32 && timingSafeEqual(given, mac(value))
    ? value
    : yield* new McpSchema.InvalidParams({ message: "requestState was changed" })
})

const Named = Schema.Struct({ action: Schema.Literal("accept"), content: Schema.Struct({ name: Schema.String }) })

/** A tool that asks once: `ask` until every key of it was answered, then `then`. */
const asksOnce = (
  ask: Readonly<Record<string, McpSchema.McpInputRequest>>,
  then: (responses: Readonly<Record<string, unknown>>) => Option.Option<string>,
  state?: string
): Handler =>
() =>
  Effect.gen(function*() {
    const { inputResponses = {}, requestState } = yield* McpSchema.McpRequestContext
    const again = new McpSchema.InputRequired({
      inputRequests: ask,
      ...(state === undefined ? {} : { requestState: seal(state) })
    })
    if (requestState !== undefined && state !== undefined) yield* open(requestState)
    if (!Object.keys(ask).every((key) => Object.hasOwn(inputResponses, key))) return again
    return Option.match(then(inputResponses), { onNone: () => again, onSome: text })
  })

const shown = (value: unknown) => Option.some(JSON.stringify(value))

const helloName = (key: string) => (responses: Readonly<Record<string, unknown>>) =>
  Option.map(Schema.decodeUnknownOption(Named)(responses[key]), ({ content }) => `Hello, ${content.name}!`)

const multiRound: Handler = () =>
  Effect.gen(function*() {
    const { inputResponses = {}, requestState } = yield* McpSchema.McpRequestContext
    const round = requestState === undefined ? "start" : yield* open(requestState)
    if (round === "step2" && Object.hasOwn(inputResponses, "step2")) return text("Both steps were answered.")
    if (round === "step1" && Object.hasOwn(inputResponses, "step1")) {
      const color = object({ color: { type: "string" } }, ["color"])
      return new McpSchema.InputRequired({
        inputRequests: { step2: elicitation("Step 2: What is your favorite color?", color) },
        requestState: seal("step2")
      })
    }
    return new McpSchema.InputRequired({
      inputRequests: { step1: elicitation("Step 1: What is your name?", name) },
      requestState: seal("step1")
    })
  })

const byCapability: Handler = () =>
  Effect.map(McpSchema.McpRequestContext, ({ clientCapabilities }) => {
    const inputRequests = {
      ...(clientCapabilities.sampling === undefined ? {} : { sample: sampling("Say hello", 20) }),
      ...(clientCapabilities.elicitation === undefined ? {} : { user_name: elicitation("What is your name?", name) }),
      ...(clientCapabilities.roots === undefined ? {} : { client_roots: roots })
    }
    return Object.keys(inputRequests).length === 0
      ? text("This client can answer nothing.")
      : new McpSchema.InputRequired({ inputRequests })
  })

/** Asks the client of a session while the call waits. */
const ask = <A>(
  question: (client: McpSchema.McpReverseClient) => Effect.Effect<A, unknown>,
  say: (answer: A) => string
): Effect.Effect<McpSchema.CallToolResult, never, McpSchema.McpRequestContext> =>
  Effect.gen(function*() {
    const client = yield* Effect.serviceOption(McpSchema.McpServerClient)
    if (Option.isNone(client)) return failed("This revision has no requests to the client")
    return yield* Effect.flatMap(client.value.getClient, question).pipe(
      Effect.map((answer) => text(say(answer))),
      Effect.orElseSucceed(() => failed("The client did not answer")),
      Effect.scoped
    )
  })

type Form = McpSchema.ElicitRequestFormParams["requestedSchema"]
const elicit = (message: string, requestedSchema: Form, prefix: string) =>
  ask(
    (client) => client.elicit(new McpSchema.ElicitRequestFormParams({ message, requestedSchema })),
    (answer) =>
      `${prefix} action=${answer.action}, content=${JSON.stringify(answer.action === "accept" ? answer.content : {})}`
  )

const defaults: Form = {
  type: "object",
  properties: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true }
  }
}

const titled = (words: ReadonlyArray<readonly [string, string]>) =>
  words.map(([value, title]) => ({ const: value, title }))
const enums: Form = {
  type: "object",
  properties: {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: {
      type: "string",
      oneOf: titled([["value1", "First Option"], ["value2", "Second Option"], ["value3", "Third Option"]])
    },
    legacyEnum: {
      type: "string",
      enum: ["opt1", "opt2", "opt3"],
      enumNames: ["Option One", "Option Two", "Option Three"]
    },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: {
      type: "array",
      items: { anyOf: titled([["value1", "First Choice"], ["value2", "Second Choice"], ["value3", "Third Choice"]]) }
    }
  }
}

const person: Form = {
  type: "object",
  properties: {
    username: { type: "string", description: "User's response" },
    email: { type: "string", description: "User's email address" }
  },
  required: ["username", "email"]
}

const logging: Handler = () =>
  Effect.gen(function*() {
    const { notifications } = yield* McpServer.McpServer
    const log = (data: string) => notifications["notifications/message"]({ level: "info", logger: "fixture", data })
    yield* log("Tool execution started")
    yield* Effect.sleep("50 millis")
    yield* log("Tool processing data")
    yield* Effect.sleep("50 millis")
    yield* log("Tool execution completed")
    return text("Tool with logging executed.")
  })

const progress: Handler = () =>
  Effect.gen(function*() {
    const { notifications } = yield* McpServer.McpServer
    const { requestMetadata } = yield* McpSchema.McpRequestContext
    const token = requestMetadata?.progressToken
    for (const done of [0, 50, 100]) {
      if (typeof token === "string" || typeof token === "number") {
        yield* notifications["notifications/progress"]({ progressToken: token, progress: done, total: 100 })
      }
      yield* Effect.sleep("50 millis")
    }
    return text("Tool with progress executed.")
  })

const notify = (what: "notifications/tools/list_changed" | "notifications/prompts/list_changed"): Handler => () =>
  Effect.gen(function*() {
    const { notifications } = yield* McpServer.McpServer
    yield* notifications[what]({})
    return text("Changed.")
  })

interface Fixture {
  readonly handle: Handler
  readonly inputSchema?: McpSchema.Tool["inputSchema"]
}

const string = (key: string) => object({ [key]: { type: "string" } }, [key])

const fixtures: Readonly<Record<string, Fixture>> = {
  test_simple_text: { handle: constant(text("This is a simple text response for testing.")) },
  test_image_content: { handle: constant(result({ type: "image", data: png, mimeType: "image/png" })) },
  test_audio_content: { handle: constant(result({ type: "audio", data: wav, mimeType: "audio/wav" })) },
  test_embedded_resource: {
    handle: constant(result({
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content."
      }
    }))
  },
  test_multiple_content_types: {
    handle: constant(result(
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: png, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: JSON.stringify({ test: "data", value: 123 })
        }
      }
    ))
  },
  test_error_handling: { handle: constant(failed("This tool intentionally returns an error for testing")) },
  test_tool_with_logging: { handle: logging },
  test_logging_tool: { handle: logging },
  test_tool_with_progress: { handle: progress },
  test_trigger_tool_change: { handle: notify("notifications/tools/list_changed") },
  test_trigger_prompt_change: { handle: notify("notifications/prompts/list_changed") },
  test_sampling: {
    inputSchema: string("prompt"),
    handle: ({ prompt }) =>
      ask(
        (client) =>
          client.createMessage({
            messages: [{ role: "user", content: { type: "text", text: String(prompt) } }],
            maxTokens: 100
          }),
        ({ content }) => `LLM response: ${JSON.stringify(content)}`
      )
  },
  test_elicitation: {
    inputSchema: string("message"),
    handle: ({ message }) => elicit(String(message), person, "User response:")
  },
  test_elicitation_sep1034_defaults: { handle: () => elicit("Check these", defaults, "Elicitation completed:") },
  test_elicitation_sep1330_enums: { handle: () => elicit("Choose", enums, "Elicitation completed:") },
  test_missing_capability: { handle: asksOnce({ sample: sampling("Say hello", 20) }, shown) },
  test_streaming_elicitation: { handle: asksOnce({ user_name: elicitation("What is your name?", name) }, shown) },
  test_input_required_result_elicitation: {
    handle: asksOnce({ user_name: elicitation("What is your name?", name) }, helloName("user_name"))
  },
  test_input_required_result_sampling: {
    handle: asksOnce({ capital_question: sampling("What is the capital of France?", 100) }, shown)
  },
  test_input_required_result_list_roots: { handle: asksOnce({ client_roots: roots }, shown) },
  test_input_required_result_request_state: {
    handle: asksOnce(
      { confirm: elicitation("Please confirm", object({ ok: { type: "boolean" } }, ["ok"])) },
      () => Option.some("state-ok"),
      "confirm"
    )
  },
  test_input_required_result_tampered_state: {
    handle: asksOnce({ user_name: elicitation("What is your name?", name) }, shown, "tamper")
  },
  test_input_required_result_multiple_inputs: {
    handle: asksOnce(
      {
        user_name: elicitation("What is your name?", name),
        greeting: sampling("Generate a greeting", 50),
        client_roots: roots
      },
      shown,
      "multiple"
    )
  },
  test_input_required_result_multi_round: { handle: multiRound },
  test_input_required_result_capabilities: { handle: byCapability }
}

export const register = Effect.gen(function*() {
  const server = yield* McpServer.McpServer
  for (const [tool, { handle, inputSchema }] of Object.entries(fixtures)) {
    yield* server.addTool({
      tool: new McpSchema.Tool({
        name: tool,
        description: `Fixture of the conformance suite: ${tool.replaceAll("_", " ")}`,
        inputSchema: inputSchema ?? { type: "object", properties: {} }
      }),
      annotations: Context.empty(),
      handle: (args) => Effect.provideService(handle(args), McpServer.McpServer, server)
    })
  }
})
