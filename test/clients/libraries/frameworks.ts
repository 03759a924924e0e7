// MCP clients of frameworks that people build agents with. Their types are not installed here: what is used of each is
// written down as it is used.
import type { Subject } from "./Subject.ts"
import { asText } from "./Subject.ts"

type Input = Readonly<Record<string, unknown>>
interface Asked {
  readonly params: { readonly message: string; readonly requestedSchema?: unknown }
}

interface AiSdk {
  readonly createMCPClient: (options: unknown) => Promise<{
    readonly onElicitationRequest: (schema: unknown, handler: (request: Asked) => unknown) => void
    readonly tools: () => Promise<
      Readonly<Record<string, { readonly execute: (input: Input, options: unknown) => Promise<unknown> }>>
    >
    readonly close: () => Promise<void>
  }>
  readonly ElicitationRequestSchema: unknown
}

const aiSdk: Subject = {
  client: "@ai-sdk/mcp",
  packages: ["@ai-sdk/mcp", "ai"],
  over: ["stdio", "http"],
  asks: true,
  lacks: { progress: "its tools take no listener" },
  cancelsByClosing: ["stdio"],
  open: async ({ part, person, target, transport, world }) => {
    const { createMCPClient, ElicitationRequestSchema } = await part.load("@ai-sdk/mcp") as AiSdk
    const { Experimental_StdioMCPTransport: Stdio } = await part.load("@ai-sdk/mcp", "./mcp-stdio") as {
      readonly Experimental_StdioMCPTransport: new(options: unknown) => unknown
    }
    const client = await createMCPClient({
      capabilities: { elicitation: {} },
      transport: transport === "http"
        ? { type: "http", url: target.url, headers: target.headers }
        : new Stdio({ command: target.command, args: target.args, env: world.env, stderr: "ignore" })
    })
    client.onElicitationRequest(
      ElicitationRequestSchema,
      ({ params }) => person.agree(params.message, params.requestedSchema)
    )
    const tools = await client.tools()
    return {
      names: () => Promise.resolve(Object.keys(tools)),
      call: async (name, input, { signal } = {}) =>
        asText(await tools[name]?.execute(input, { toolCallId: name, messages: [], abortSignal: signal })),
      close: () => client.close()
    }
  }
}

interface LangChain {
  readonly MultiServerMCPClient: new(options: unknown) => {
    readonly getTools: () => Promise<
      ReadonlyArray<{
        readonly name: string
        readonly invoke: (input: Input, options: unknown) => Promise<unknown>
      }>
    >
    readonly close: () => Promise<void>
  }
}

const langChain: Subject = {
  client: "@langchain/mcp-adapters",
  packages: ["@langchain/mcp-adapters"],
  over: ["stdio", "http"],
  asks: false,
  open: async ({ part, target, transport, world }) => {
    const { MultiServerMCPClient } = await part.load("@langchain/mcp-adapters") as LangChain
    let heard: (() => void) | undefined
    const client = new MultiServerMCPClient({
      onProgress: () => heard?.(),
      mcpServers: {
        kiwi: transport === "http"
          ? { transport: "http", url: target.url, headers: target.headers }
          : { transport: "stdio", command: target.command, args: target.args, env: world.env, stderr: "ignore" }
      }
    })
    const tools = await client.getTools()
    return {
      names: () => Promise.resolve(tools.map(({ name }) => name)),
      call: async (wanted, input, { onProgress, signal } = {}) => {
        heard = onProgress
        const tool = tools.find(({ name }) => name === wanted)
        // A result with `isError` becomes an exception here.
        return asText(await tool?.invoke(input, { signal }).catch((error: unknown) => Promise.resolve(String(error))))
      },
      close: () => client.close()
    }
  }
}

interface OpenAiServer {
  readonly connect: () => Promise<void>
  readonly listTools: () => Promise<ReadonlyArray<{ readonly name: string }>>
  readonly callTool: (name: string, input: Input, meta: null, options: unknown) => Promise<unknown>
  readonly close: () => Promise<void>
}

const openAiAgents: Subject = {
  client: "@openai/agents",
  packages: ["@openai/agents"],
  over: ["stdio", "http"],
  asks: false,
  lacks: { progress: "its calls take no listener" },
  open: async ({ part, target, transport, world }) => {
    const { MCPServerStdio, MCPServerStreamableHttp } = await part.load("@openai/agents") as Readonly<
      Record<string, new(options: unknown) => OpenAiServer>
    >
    const Server = transport === "http" ? MCPServerStreamableHttp : MCPServerStdio
    if (Server === undefined) throw new Error("the package has no MCP client")
    const server = new Server(
      transport === "http"
        ? { name: "kiwi", url: target.url, requestInit: { headers: target.headers } }
        : { name: "kiwi", command: target.command, args: target.args, env: world.env }
    )
    await server.connect()
    return {
      names: async () => (await server.listTools()).map(({ name }) => name),
      call: async (name, input, { signal } = {}) => asText(await server.callTool(name, input, null, { signal })),
      close: () => server.close()
    }
  }
}

interface Mastra {
  readonly MCPClient: new(options: unknown) => {
    readonly progress: { readonly onUpdate: (server: string, handler: () => void) => Promise<void> }
    readonly listTools: () => Promise<
      Readonly<Record<string, { readonly execute: (input: Input, options: unknown) => Promise<unknown> }>>
    >
    readonly disconnect: () => Promise<void>
  }
}

const mastra: Subject = {
  client: "@mastra/mcp",
  packages: ["@mastra/mcp"],
  over: ["stdio", "http"],
  asks: true,
  open: async ({ part, person, target, transport, world }) => {
    const { MCPClient } = await part.load("@mastra/mcp") as Mastra
    let heard: (() => void) | undefined
    const client = new MCPClient({
      id: world.home("mastra").home,
      servers: {
        kiwi: {
          enableProgressTracking: true,
          inputRequests: ({ params }: Asked) => person.agree(params.message, params.requestedSchema),
          ...(transport === "http"
            ? { url: new URL(target.url), requestInit: { headers: target.headers } }
            : { command: target.command, args: target.args, env: world.env, stderr: "ignore" })
        }
      }
    })
    await client.progress.onUpdate("kiwi", () => heard?.())
    const tools = await client.listTools()
    return {
      names: () => Promise.resolve(Object.keys(tools)),
      call: async (name, input, { onProgress, signal } = {}) => {
        heard = onProgress
        return asText(await tools[`kiwi_${name}`]?.execute(input, { abortSignal: signal }))
      },
      close: () => client.disconnect()
    }
  }
}

export const frameworks: ReadonlyArray<Subject> = [aiSdk, langChain, openAiAgents, mastra]
