// What the rules cost: a tool that does nothing, through everything that a call goes through.
import { Effect } from "effect"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { openKernel, toolCall } from "./kernel.ts"
import { inTurns } from "./measure.ts"
import { bareServer, connect, makePlace, serveArgs } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

export const governedRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const place = makePlace()
  const kernel = openKernel(place.options)
  try {
    const [count, warm] = quick ? [500, 100] : [20_000, 4_000]
    const times = await kernel.runPromise(Effect.gen(function*() {
      const proxy = yield* ToolProxy
      const found: Array<number> = []
      for (let i = -warm; i < count; i++) {
        const call = toolCall("core/ping", `call-${i}`)
        const start = performance.now()
        yield* proxy.call(call)
        if (i >= 0) found.push(performance.now() - start)
      }
      return found
    }))
    return [makeRow({
      name: "governed.in_process",
      what: "ToolProxy.call of a builtin that does nothing, audit written to a file",
      times,
      target: { p50: 0.069, p99: 0.416 }
    })]
  } finally {
    await kernel.dispose()
    place.remove()
  }
}

/** Calls at once. */
const inFlight = 32

export const mcpRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const place = makePlace()
  const server = await connect(place, serveArgs(place))
  const bare = await connect(place, [bareServer])
  try {
    const times = await inTurns({
      kiwi: () => server.call("execute", { item_id: "core/ping", item_type: "tool" }),
      bare: () => bare.call("noop", {})
    }, quick ? { rounds: 50, warm: 10 } : { rounds: 3_000, warm: 500 })
    const atOnce = (call: () => Promise<unknown>) => () => Promise.all(Array.from({ length: inFlight }, call))
    const bursts = await inTurns({
      kiwi: atOnce(() => server.call("execute", { item_id: "core/ping", item_type: "tool" })),
      bare: atOnce(() => bare.call("noop", {}))
    }, quick ? { rounds: 5, warm: 1 } : { rounds: 200, warm: 20 })
    const each = (all: ReadonlyArray<number>) => all.map((time) => time / inFlight)
    const rival = "a tool that does nothing, of a server of @modelcontextprotocol/sdk"
    return [
      makeRow({
        name: "mcp.call",
        what: "the same call over MCP on stdio, by the official client",
        times: times.kiwi,
        rival: { what: rival, times: times.bare },
        target: { ratio: 2.5 }
      }),
      makeRow({
        name: "mcp.in_flight",
        what: `one of ${inFlight} such calls that are asked at once`,
        times: each(bursts.kiwi),
        rival: { what: `${rival}, asked so too`, times: each(bursts.bare) },
        target: { ratio: 2.5 }
      })
    ]
  } finally {
    await server.close()
    await bare.close()
    place.remove()
  }
}
