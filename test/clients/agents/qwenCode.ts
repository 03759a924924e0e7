import type { Agent } from "./Agent.ts"

export const qwenCode: Agent = {
  client: "Qwen Code",
  packages: ["@qwen-code/qwen-code"],
  start: ({ model, part, target, transport, write }) => {
    write(".qwen/settings.json", {
      privacy: { usageStatisticsEnabled: false },
      telemetry: { enabled: false },
      general: { enableAutoUpdate: false, disableAutoUpdate: true },
      security: { auth: { selectedType: "openai" }, folderTrust: { enabled: false } },
      // All tools are offered from the start, so that a script needs not search for them first.
      tools: { toolSearch: { enabled: false } },
      mcpServers: {
        kiwi: {
          trust: true,
          ...(transport === "http"
            ? { httpUrl: target.url, headers: target.headers }
            : { command: target.command, args: target.args, env: target.env })
        }
      }
    })
    return {
      headless: [part.bin("qwen"), "-y", "-p", "go"],
      interactive: [part.bin("qwen"), "-y"],
      env: { OPENAI_API_KEY: "dummy", OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: "scripted" }
    }
  },
  ready: /Type your message/
}
