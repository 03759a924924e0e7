import { pause } from "../terminal.ts"
import { endOn, pressUntil } from "./Agent.ts"
import type { Agent } from "./Agent.ts"

const key = "sk-ant-dummy-key-0000"

const fullScreen: Agent = {
  client: "Claude Code",
  packages: ["@anthropic-ai/claude-code"],
  start: ({ model, part, target, transport, world, write }) => {
    const kiwi = transport === "http"
      ? { type: "http", url: target.url, headers: target.headers }
      : { command: target.command, args: target.args, env: target.env }
    const config = write("mcp.json", { mcpServers: { kiwi } })
    // What a person has answered at the first start.
    write(".claude.json", {
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: [key.slice(-20)], rejected: [] },
      projects: { [world.project]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } }
    })
    const options = ["--mcp-config", config, "--strict-mcp-config", "--permission-mode", "manual"]
    const interactive = [part.bin("claude"), ...options, "--allowedTools", "Bash", "mcp__kiwi"]
    return {
      headless: [part.bin("claude"), "-p", "go", ...interactive.slice(1)],
      interactive,
      env: {
        ANTHROPIC_BASE_URL: model,
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_ERROR_REPORTING: "1",
        DISABLE_TELEMETRY: "1",
        // All tools are offered from the start, so that a script needs not search for them first.
        ENABLE_TOOL_SEARCH: "false"
      }
    }
  },
  ready: /manual mode on/,
  question: {
    shown: /requests your input/,
    agree: async (terminal) => {
      await pressUntil(terminal, "Down", /❯.*☐/)
      await pressUntil(terminal, "Space", /❯.*[☑☒✓✔]\s*$/m)
      await pause(500)
      const end = endOn(terminal)
      await pressUntil(terminal, "Down", /❯.*The number/)
      terminal.type(end ?? "1234")
      await pause(500)
      await pressUntil(terminal, "Down", /❯ Accept/)
      terminal.press("Enter")
      return end === undefined ? "a part" : "all of it"
    }
  }
}

/** On the whole screen, as it draws by itself, it shows one row of what is asked. */
export const claudeCode: Agent = {
  ...fullScreen,
  start: (setting) => {
    const started = fullScreen.start(setting)
    const env = { ...started.env, CLAUDE_CODE_NO_FLICKER: "0", CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN: "1" }
    return { ...started, env }
  },
  cutting: fullScreen
}
