// From starting a server to its first answers, as every client does it for every session.
import { spawn } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Place } from "./place.ts"
import { bareServer, bareServerV2, makePlace, serveArgs } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

interface FirstAnswers {
  readonly initialize: number
  readonly list: number
  /** Only where a call was asked for. */
  readonly call: number
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } }
}

/** One server, from spawn to `tools/list` and one call; it has ended when this resolves. */
export const startOnce = (
  place: Place,
  args: ReadonlyArray<string>,
  call?: { readonly name: string; readonly arguments: object }
): Promise<FirstAnswers> =>
  new Promise((resolve, reject) => {
    const start = performance.now()
    const child = spawn(process.execPath, args, {
      cwd: place.project,
      env: place.env,
      stdio: ["pipe", "pipe", "ignore"]
    })
    const times = { initialize: Number.NaN, list: Number.NaN, call: Number.NaN }
    const send = (message: object) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
    send(initialize)
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { id } = JSON.parse(line)
      const time = performance.now() - start
      if (id === 1) {
        times.initialize = time
        send({ method: "notifications/initialized" })
        send({ id: 2, method: "tools/list" })
      } else if (id === 2) {
        times.list = time
        if (call === undefined) child.stdin.end()
        else send({ id: 3, method: "tools/call", params: call })
      } else if (id === 3) {
        times.call = time
        child.stdin.end()
      }
    })
    child.on("error", reject)
    child.on("close", (code) => {
      if (Number.isNaN(times.list)) reject(new Error(`the server ended with ${code} before it had answered`))
      else resolve(times)
    })
  })

export const startRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const place = makePlace()
  try {
    const rounds = quick ? 3 : 25
    const found = {
      kiwi: [] as Array<FirstAnswers>,
      bare: [] as Array<FirstAnswers>,
      bareV2: [] as Array<FirstAnswers>
    }
    const order = ["kiwi", "bare", "bareV2"] as const
    for (let round = -1; round < rounds; round++) {
      const shift = (round + 3) % 3
      for (const who of [...order.slice(shift), ...order.slice(0, shift)]) {
        const answers = who === "kiwi"
          ? await startOnce(place, serveArgs(place), { name: "search", arguments: { query: "add" } })
          : await startOnce(place, [who === "bare" ? bareServer : bareServerV2], { name: "noop", arguments: {} })
        if (round >= 0) found[who].push(answers)
      }
    }
    const cold: Array<number> = []
    for (let round = 0; round < (quick ? 1 : 5); round++) {
      rmSync(join(place.env["KIWI_HOME"] ?? "", "cache", "compiled"), { recursive: true, force: true })
      cold.push((await startOnce(place, serveArgs(place))).list)
    }
    const rival = (of: keyof FirstAnswers) => ({
      what: "a server of @modelcontextprotocol/sdk with one tool",
      times: found.bare.map((answers) => answers[of])
    })
    const times = (of: keyof FirstAnswers) => found.kiwi.map((answers) => answers[of])
    return [
      makeRow({
        name: "start.initialize",
        what: "spawn of `kiwi serve` to its answer to initialize",
        times: times("initialize"),
        rival: rival("initialize"),
        target: { ratio: 1 }
      }),
      makeRow({
        name: "start.list",
        what: "spawn of `kiwi serve` to its first answer to tools/list",
        times: times("list"),
        rival: rival("list"),
        target: { ratio: 1 }
      }),
      makeRow({
        name: "start.list_v2",
        what: "the same against the newer package of the SDK",
        times: times("list"),
        rival: {
          what: "a server of @modelcontextprotocol/server with one tool",
          times: found.bareV2.map(({ list }) => list)
        },
        target: { ratio: 1 }
      }),
      makeRow({
        name: "start.search",
        what: "spawn of `kiwi serve` to the answer of a first search, which opens the project",
        times: times("call"),
        rival: { ...rival("call"), what: "the same server to the answer of its tool" },
        target: { p50: 200 }
      }),
      makeRow({
        name: "start.list_first_time",
        what: "start.list where Kiwi was never started before, so that no compiled code is kept",
        times: cold
      })
    ]
  } finally {
    place.remove()
  }
}
