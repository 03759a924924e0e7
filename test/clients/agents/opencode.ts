import type { Agent } from "./Agent.ts"

export const opencode: Agent = {
  client: "opencode",
  packages: ["opencode-ai"],
  start: ({ model, part, target, transport, world, write }) => {
    write(".config/opencode/opencode.json", {
      autoupdate: false,
      share: "disabled",
      model: "scripted/scripted",
      small_model: "scripted/scripted",
      permission: "allow",
      provider: {
        scripted: {
          npm: "@ai-sdk/openai-compatible",
          name: "scripted",
          options: { baseURL: `${model}/v1`, apiKey: "dummy" },
          models: { scripted: { name: "scripted", tool_call: true } }
        }
      },
      mcp: {
        kiwi: transport === "http"
          ? { type: "remote", url: target.url, headers: target.headers, oauth: false }
          : { type: "local", command: [target.command, ...target.args], environment: target.env }
      }
    })
    return {
      headless: [part.bin("opencode"), "run", "go"],
      interactive: [part.bin("opencode"), world.project],
      env: { OPENCODE_DISABLE_MODELS_FETCH: "1", OPENCODE_DISABLE_AUTOUPDATE: "1", OPENCODE_DISABLE_LSP_DOWNLOAD: "1" }
    }
  },
  ready: /ctrl\+p commands/
}
