// A model on loopback that says what a script says, to agents that believe that they talk to a real one.
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { reply } from "./script.ts"
import type { Conversation, Offered, Step } from "./script.ts"
import { wires } from "./wire.ts"

export interface Model {
  /** Without a path: formats put their own behind it. */
  readonly url: string
  /** Every tool that the agent ever offered. */
  readonly offered: () => ReadonlyArray<Offered>
  /** How often it was asked for a turn that may call a tool. */
  readonly turns: () => number
  /** The longest conversation so far: all that the agent's tools have answered. */
  readonly results: () => ReadonlyArray<string>
  /** What was asked, for the log of a run that failed. */
  readonly asked: ReadonlyArray<{ readonly path: string; readonly body: unknown }>
  readonly close: () => Promise<void>
}

/** Starts a model for one run of one agent. */
export const startModel = async (steps: ReadonlyArray<Step>): Promise<Model> => {
  const asked: Array<{ readonly path: string; readonly body: unknown }> = []
  const offered = new Map<string, Offered>()
  let turns = 0
  let longest: Conversation = { offered: [], results: [] }
  const server = createServer((request, response) => {
    let said = ""
    request.on("data", (data: Buffer) => said += data.toString())
    request.on("end", () => {
      const { pathname } = new URL(request.url ?? "/", "http://model")
      const body = said === "" ? {} : JSON.parse(said)
      asked.push({ path: `${request.method} ${request.url}`, body })
      const json = (value: unknown, status = 200) => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
      }
      if (pathname.endsWith("/count_tokens")) return json({ input_tokens: 10 })
      if (pathname.endsWith("/models")) return json({ object: "list", data: [{ id: "scripted", object: "model" }] })
      const wire = wires.find(({ path }) => path.test(pathname))
      if (wire === undefined) return json({ error: { type: "not_found_error", message: "not scripted" } }, 404)
      const conversation = wire.read(body)
      if (conversation.offered.length > 0) turns++
      for (const tool of conversation.offered) offered.set(`${tool.namespace}/${tool.name}`, tool)
      if (conversation.results.length >= longest.results.length) longest = conversation
      const answer = reply(steps, conversation)
      const id = randomUUID().replaceAll("-", "")
      if (body.stream !== true) return json(wire.whole(answer, id))
      response.writeHead(200, { "content-type": "text/event-stream" })
      for (const [name, data] of wire.stream(answer, id)) {
        const line = typeof data === "string" ? data : JSON.stringify(data)
        response.write(`${name === undefined ? "" : `event: ${name}\n`}data: ${line}\n\n`)
      }
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    offered: () => [...offered.values()],
    turns: () => turns,
    results: () => longest.results,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
  }
}
