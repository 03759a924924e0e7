// A tool in a process of its own, against the same argv with the same environment, spawned without Kiwi.
import { Effect, Redacted } from "effect"
import { spawn } from "node:child_process"
import { ChainResolver } from "../../src/services/chain/ChainResolver.ts"
import { EnvResolver } from "../../src/services/env/EnvResolver.ts"
import { ToolProxy } from "../../src/services/proxy/ToolProxy.ts"
import { callTool, openKernel, toolCall } from "./kernel.ts"
import type { OpenKernel } from "./kernel.ts"
import { inTurns, pause } from "./measure.ts"
import { connect, makePlace, serveArgs } from "./place.ts"
import type { Row } from "./Report.ts"
import { makeRow } from "./Report.ts"

const bash = `#!/usr/bin/env bash
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime
#   category: bench
echo done
`

const python = `__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "python_runtime"
__category__ = "bench"

print("done")
`

interface Spawned {
  readonly argv: ReadonlyArray<string>
  readonly env: Record<string, string>
}

/** What Kiwi would start, asked of Kiwi itself. */
const planOf = (kernel: OpenKernel, item: string): Promise<Spawned> =>
  kernel.runPromise(Effect.gen(function*() {
    const proxy = yield* ToolProxy
    const chains = yield* ChainResolver
    const environments = yield* EnvResolver
    const { data } = yield* proxy.call({ ...toolCall(item), dryRun: true })
    const { child } = yield* environments.resolve((yield* chains.resolve({ id: item })).chain)
    const { argv } = data as unknown as { readonly argv: ReadonlyArray<string> }
    return { argv, env: Object.fromEntries([...child].map(([name, { value }]) => [name, Redacted.value(value)])) }
  }))

const spawnDirectly = ({ argv, env }: Spawned, cwd: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(argv[0]!, argv.slice(1), { cwd, env, stdio: ["ignore", "pipe", "pipe"] })
    let text = ""
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
    child.stderr.resume()
    child.on("error", reject)
    child.on("close", (code) => code === 0 ? resolve(text) : reject(new Error(`it ended with ${code}`)))
  })

export const toolRows = async (quick: boolean): Promise<ReadonlyArray<Row>> => {
  const place = makePlace()
  place.write(".ai/tools/bench/bash_noop.sh", bash)
  place.write(".ai/tools/bench/python_noop.py", python)
  place.kiwi("sign", "tool", "*_noop", "--project", place.project)
  // Times of files are believed after two seconds.
  await pause(2_100)
  const kernel = openKernel(place.options)
  const server = await connect(place, serveArgs(place))
  try {
    const rows: Array<Row> = []
    for (const language of ["bash", "python"] as const) {
      const item = `${language}_noop`
      const plan = await planOf(kernel, item)
      const times = await inTurns({
        direct: () => spawnDirectly(plan, place.project),
        inProcess: () => kernel.runPromise(callTool(item)),
        mcp: () => server.call("execute", { item_id: item, item_type: "tool" })
      }, quick ? { rounds: 5, warm: 2 } : { rounds: language === "bash" ? 300 : 150, warm: 10 })
      const target = { ratio: language === "bash" ? 1.25 : 1.15 }
      const rival = { what: "the same argv and environment by node:child_process", times: times.direct }
      rows.push(
        makeRow({
          name: `tool.${language}`,
          what: `a ${language} tool that prints a word, in process`,
          times: times.inProcess,
          rival,
          target
        }),
        makeRow({
          name: `tool.${language}_mcp`,
          what: `a ${language} tool that prints a word, over MCP on stdio`,
          times: times.mcp,
          rival,
          target
        })
      )
    }
    return rows
  } finally {
    await server.close()
    await kernel.dispose()
    place.remove()
  }
}
