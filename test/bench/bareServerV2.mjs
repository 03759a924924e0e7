// The same on the newer package of the SDK.
import { McpServer } from "@modelcontextprotocol/server"
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio"

const server = new McpServer({ name: "bare", version: "1.0.0" })
server.registerTool("noop", { description: "Does nothing" }, () => ({ content: [{ type: "text", text: "null" }] }))
await server.connect(new StdioServerTransport())
