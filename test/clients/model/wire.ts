// The three wire formats that coding agents speak to a model, as far as a scripted model needs them: what was asked, and
// the stream of server-sent events that answers it.
import type { Conversation, Offered, Reply } from "./script.ts"

type Json = Readonly<Record<string, unknown>>
export type Event = readonly [name: string | undefined, data: unknown]

export interface Wire {
  readonly path: RegExp
  readonly read: (body: Json) => Conversation
  readonly stream: (reply: Reply, id: string) => ReadonlyArray<Event>
  /** The same as one object, for a request that wants no stream. */
  readonly whole: (reply: Reply, id: string) => unknown
}

const list = (value: unknown): ReadonlyArray<Json> => Array.isArray(value) ? value : []
const text = (value: unknown): string => typeof value === "string" ? value : JSON.stringify(value) ?? ""

const messages: Wire = {
  path: /\/messages$/,
  read: (body) => ({
    offered: list(body["tools"]).map((tool) => ({
      name: text(tool["name"]),
      parameters: Object(tool["input_schema"])
    })),
    results: list(body["messages"]).flatMap((message) =>
      list(message["content"]).filter((part) => part["type"] === "tool_result").map((part) => text(part["content"]))
    )
  }),
  stream: (reply, id) => {
    const [start, delta] = "say" in reply
      ? [{ type: "text", text: "" }, { type: "text_delta", text: reply.say }]
      : [
        { type: "tool_use", id: `toolu_${id}`, name: reply.call.name, input: {} },
        { type: "input_json_delta", partial_json: JSON.stringify(reply.input) }
      ]
    const message = {
      id: `msg_${id}`,
      type: "message",
      role: "assistant",
      model: "scripted",
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 1 }
    }
    const events: ReadonlyArray<Json & { readonly type: string }> = [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: start },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      {
        type: "message_delta",
        delta: { stop_reason: "say" in reply ? "end_turn" : "tool_use", stop_sequence: null },
        usage: { output_tokens: 10 }
      },
      { type: "message_stop" }
    ]
    return events.map((event) => [event.type, event])
  },
  whole: (reply, id) => ({
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model: "scripted",
    content: "say" in reply
      ? [{ type: "text", text: reply.say }]
      : [{ type: "tool_use", id: `toolu_${id}`, name: reply.call.name, input: reply.input }],
    stop_reason: "say" in reply ? "end_turn" : "tool_use",
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 10 }
  })
}

const usage = { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 }

const completions: Wire = {
  path: /\/chat\/completions$/,
  read: (body) => ({
    offered: list(body["tools"]).map((tool) => {
      const { name, parameters } = Object(tool["function"])
      return { name: text(name), parameters: Object(parameters) }
    }),
    results: list(body["messages"]).filter(({ role }) => role === "tool").map(({ content }) => text(content))
  }),
  stream: (reply, id) => {
    const chunk = (delta: Json, finish: string | null) => ({
      id: `chatcmpl-${id}`,
      object: "chat.completion.chunk",
      created: 1_760_000_000,
      model: "scripted",
      choices: [{ index: 0, delta, finish_reason: finish }]
    })
    const delta = "say" in reply ? { content: reply.say } : { tool_calls: [{ index: 0, ...functionCall(reply, id) }] }
    return [
      [undefined, chunk({ role: "assistant", ...delta }, null)],
      [undefined, { ...chunk({}, "say" in reply ? "stop" : "tool_calls"), usage }],
      [undefined, "[DONE]"]
    ]
  },
  whole: (reply, id) => ({
    id: `chatcmpl-${id}`,
    object: "chat.completion",
    created: 1_760_000_000,
    model: "scripted",
    choices: [{
      index: 0,
      message: "say" in reply
        ? { role: "assistant", content: reply.say }
        : { role: "assistant", content: null, tool_calls: [functionCall(reply, id)] },
      finish_reason: "say" in reply ? "stop" : "tool_calls"
    }],
    usage
  })
}

const functionCall = (reply: { readonly call: Offered; readonly input: Json }, id: string) => ({
  id: `call_${id}`,
  type: "function",
  function: { name: reply.call.name, arguments: JSON.stringify(reply.input) }
})

const responseOf = (reply: Reply, id: string) => ({
  id: `resp_${id}`,
  object: "response",
  created_at: 1_760_000_000,
  status: "completed",
  model: "scripted",
  output: [
    "say" in reply
      ? {
        type: "message",
        id: `msg_${id}`,
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: reply.say, annotations: [] }]
      }
      : {
        type: "function_call",
        id: `fc_${id}`,
        status: "completed",
        call_id: `call_${id}`,
        name: reply.call.name,
        ...(reply.call.namespace !== undefined && { namespace: reply.call.namespace }),
        arguments: JSON.stringify(reply.input)
      }
  ],
  usage: {
    input_tokens: 10,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 10,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 20
  }
})

const responses: Wire = {
  path: /\/responses$/,
  read: (body) => ({
    // A namespace holds the tools of one server.
    offered: list(body["tools"]).flatMap((tool) =>
      tool["type"] === "namespace"
        ? list(tool["tools"]).map((inner) => ({
          name: text(inner["name"]),
          namespace: text(tool["name"]),
          parameters: Object(inner["parameters"])
        }))
        : tool["type"] === "function"
        ? [{ name: text(tool["name"]), parameters: Object(tool["parameters"]) }]
        : []
    ),
    results: list(body["input"]).filter(({ type }) => type === "function_call_output").map(({ output }) => text(output))
  }),
  stream: (reply, id) => {
    const done = responseOf(reply, id)
    return [
      ["response.created", { type: "response.created", response: { ...done, status: "in_progress", output: [] } }],
      ["response.output_item.added", { type: "response.output_item.added", output_index: 0, item: done.output[0] }],
      ["response.output_item.done", { type: "response.output_item.done", output_index: 0, item: done.output[0] }],
      ["response.completed", { type: "response.completed", response: done }]
    ]
  },
  whole: responseOf
}

export const wires: ReadonlyArray<Wire> = [messages, completions, responses]
