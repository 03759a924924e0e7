// What the rules cost: a tool that does nothing, through everything that a call goes through.
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { CapabilityTokens } from "../../src/services/capability/CapabilityTokens.ts"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { openKernel, toolCall } from "./kernel.ts"
import { inTurns, pause } from "./measure.ts"
import type { Place } from "./place.ts"
import { bareServer, connect, makePlace, serveArgs } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

/** Rules of several kinds, one of which is about the tool. Each is looked at where it could match. */
const rules = [
  "allow: fs.write(src/**)",
  "deny: fs.write(infra/**)",
  "ask: shell.run(git push *)",
  "allow: net.http(api.example.com)",
  "deny: deploy",
  "allow: ping"
]

const callTimes = (place: Place, quick: boolean, withToken: boolean) => {
  const kernel = openKernel(place.options)
  const [count, warm] = quick ? [500, 100] : [20_000, 4_000]
  const timed = Effect.gen(function*() {
    const proxy = yield* ToolProxy
    const tokens = yield* CapabilityTokens
    const thread = "0"
    const grants = { allow: [{ capability: "tool.ping" }, { capability: "fs.read", scope: ["src/**"] }], deny: [] }
    const held = withToken ? { thread, token: yield* tokens.mint({ thread, directive: "bench", grants }) } : {}
    const found: Array<number> = []
    for (let i = -warm; i < count; i++) {
      const call = { ...toolCall("core/ping", `call-${i}`), ...held }
      const start = performance.now()
      yield* proxy.call(call)
      if (i >= 0) found.push(performance.now() - start)
    }
    return found
  })
  return kernel.runPromise(timed).finally(() => kernel.dispose())
}

export const governedRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const place = makePlace()
  try {
    const plain = await callTimes(place, quick, false)
    writeFileSync(
      join(place.options.userSpace, "config/permissions.yaml"),
      `rules:\n${rules.map((rule) => `  - ${rule}\n`).join("")}`
    )
    // A file is believed once a later change would be seen in its times.
    await pause(2_500)
    return [
      makeRow({
        name: "governed.in_process",
        what: "ToolProxy.call of a builtin that does nothing, with a token and six rules, audit written to a file",
        times: await callTimes(place, quick, true),
        target: { p50: 0.069, p99: 0.416 }
      }),
      makeRow({
        name: "governed.no_token",
        what: "the same without a token, where nobody wrote a rule",
        times: plain
      })
    ]
  } finally {
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
