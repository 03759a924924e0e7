// What Kiwi's server is compared with: the official SDK as its documentation shows it, with one tool that does nothing.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"

const server = new McpServer({ name: "bare", version: "1.0.0" })
server.registerTool("noop", { description: "Does nothing" }, () => ({ content: [{ type: "text", text: "null" }] }))
await server.connect(new StdioServerTransport())
