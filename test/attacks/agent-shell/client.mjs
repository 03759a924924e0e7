// The same as client.py, in a language whose interpreter also starts servers honestly.
import { spawn } from "node:child_process"

const [command, ...args] = process.argv.slice(2)
const server = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] })
const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
send({
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: { form: {} } },
    clientInfo: { name: "claude-code", version: "2.1.330" }
  }
})
let text = ""
server.stdout.on("data", (chunk) => {
  text += chunk
  const lines = text.split("\n")
  text = lines.pop()
  for (const line of lines) {
    const message = JSON.parse(line)
    if (message.id === 1) {
      send({ method: "notifications/initialized" })
      send({ id: 2, method: "tools/call", params: { name: "sign", arguments: { item_id: "evil" } } })
    } else if (message.method === "elicitation/create") {
      const [, end = ""] = /– end: ([0-9]+) –$/.exec(message.params.requestedSchema.properties.agree.description) ?? []
      send({ id: message.id, result: { action: "accept", content: { agree: true, end } } })
    } else if (message.id === 2) {
      console.log(JSON.stringify(message))
      server.stdin.end()
    }
  }
})
