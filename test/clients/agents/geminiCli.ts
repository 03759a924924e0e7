// Gemini CLI lists servers and checks that they start; its model cannot be scripted.
import { spawnSync } from "node:child_process"
import { expect, outcomeOf } from "../flows.ts"
import type { Row, Transport } from "../flows.ts"
import type { Part } from "../parts.ts"
import type { World } from "../world.ts"

export const geminiPackages = ["@google/gemini-cli"] as const

export const checkGemini = async (part: Part, transport: Transport, world: World): Promise<Row> => {
  const { home, write } = world.home("gemini")
  const { args, command, env, headers, url } = world.target
  write(".gemini/settings.json", {
    general: { disableAutoUpdate: true },
    privacy: { usageStatisticsEnabled: false },
    telemetry: { enabled: false },
    security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
    mcpServers: {
      kiwi: { trust: true, ...(transport === "http" ? { httpUrl: url, headers } : { command, args, env }) }
    }
  })
  const connect = await outcomeOf(() => {
    const { stderr, stdout } = spawnSync(part.bin("gemini"), ["mcp", "list"], {
      env: { ...world.env, HOME: home, GEMINI_API_KEY: "dummy" },
      cwd: world.project,
      encoding: "utf8",
      timeout: 60_000
    })
    const said = stdout + stderr
    expect(/kiwi:.* - Connected/.test(said), said)
    return Promise.resolve()
  })
  return { client: "Gemini CLI", version: part.version, over: transport, outcomes: { connect } }
}
