// The agent of the demo: the official MCP client, over stdio, as an agent's program would use it. This module decodes
// the answers; the scenes check them.
import { Data, Effect, Schema } from "effect"

export class AgentFailed extends Data.TaggedError("AgentFailed")<{ readonly what: string }> {
  override get message() {
    return this.what
  }
}

const Answer = Schema.Struct({
  status: Schema.String,
  data: Schema.optionalKey(Schema.Json),
  error: Schema.optionalKey(
    Schema.Struct({ code: Schema.String, message: Schema.String, remediation: Schema.optionalKey(Schema.String) })
  )
})
export type Answer = typeof Answer.Type

const decodeAnswer = Schema.decodeUnknownEffect(Answer)

export interface Agent {
  /** Names of the server's tools. */
  readonly tools: Effect.Effect<ReadonlyArray<string>, AgentFailed>
  readonly call: (tool: string, args: Schema.JsonObject) => Effect.Effect<Answer, AgentFailed>
  /** The questions that the person has been shown so far. */
  readonly asked: () => ReadonlyArray<string>
}

const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: () => new AgentFailed({ what }) })

/** Connects until the scope closes. The person behind this client agrees to every question. */
export const connect = Effect.fnUntraced(function*(server: {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}) {
  const { Client } = yield* Effect.promise(() => import("@modelcontextprotocol/client"))
  const { StdioClientTransport } = yield* Effect.promise(() => import("@modelcontextprotocol/client/stdio"))
  const asked: Array<string> = []
  const client = new Client({ name: "demo-agent", version: "1.0.0" }, {
    versionNegotiation: { mode: "auto" },
    capabilities: { elicitation: { form: {} } }
  })
  client.setRequestHandler("elicitation/create", (request) => {
    const { message, requestedSchema } = request.params as {
      readonly message: string
      readonly requestedSchema?: { readonly properties?: Readonly<Record<string, { readonly description?: string }>> }
    }
    asked.push(
      [message, ...Object.values(requestedSchema?.properties ?? {}).map((field) => field.description)].join("\n")
    )
    return { action: "accept", content: { agree: true } }
  })
  yield* Effect.acquireRelease(
    attempt("the client could not connect to kiwi serve", () =>
      client.connect(
        new StdioClientTransport({
          command: server.command,
          args: [...server.args],
          cwd: server.cwd,
          env: { ...server.env },
          stderr: "ignore"
        })
      )),
    () => Effect.ignore(attempt("", () => client.close()))
  )
  return {
    tools: Effect.map(
      attempt("the client could not list the tools", () => client.listTools()),
      ({ tools }) => tools.map((tool) => tool.name)
    ),
    call: (tool, args) =>
      attempt(`the call of ${tool} got no answer`, () => client.callTool({ name: tool, arguments: { ...args } })).pipe(
        Effect.flatMap(({ structuredContent }) =>
          Effect.mapError(
            decodeAnswer(structuredContent),
            () => new AgentFailed({ what: `${tool} was answered in an unknown form` })
          )
        )
      ),
    asked: () => asked
  } satisfies Agent as Agent
})
