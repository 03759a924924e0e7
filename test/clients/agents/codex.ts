import { pause } from "../terminal.ts"
import { endOn, pressUntil } from "./Agent.ts"
import type { Agent } from "./Agent.ts"

/** JSON's strings and lists of them are TOML's. */
const toml = JSON.stringify
const table = (record: Readonly<Record<string, string>>) =>
  `{ ${Object.entries(record).map(([name, value]) => `${toml(name)} = ${toml(value)}`).join(", ")} }`

export const codex: Agent = {
  client: "Codex",
  packages: ["@openai/codex"],
  start: ({ model, part, target, transport, world, write }) => {
    const kiwi = transport === "http"
      ? [`url = ${toml(target.url)}`, `http_headers = ${table(target.headers)}`]
      : [
        `command = ${toml(target.command)}`,
        `args = ${toml(target.args)}`,
        `env = ${table({ ...target.env, PATH: world.env.PATH })}`
      ]
    write(
      ".codex/config.toml",
      [
        `model = "scripted"`,
        `model_provider = "scripted"`,
        `sandbox_mode = "danger-full-access"`,
        `check_for_update_on_startup = false`,
        `[analytics]`,
        `enabled = false`,
        `[feedback]`,
        `enabled = false`,
        `[model_providers.scripted]`,
        `name = "scripted"`,
        `base_url = ${toml(`${model}/v1`)}`,
        `wire_api = "responses"`,
        `[mcp_servers.kiwi]`,
        `default_tools_approval_mode = "approve"`,
        ...kiwi,
        `[projects.${toml(world.project)}]`,
        `trust_level = "trusted"`
      ].join("\n")
    )
    return {
      headless: [part.bin("codex"), "exec", "--skip-git-repo-check", "go"],
      // With "never", it answers the server's questions by itself. Its daemon would outlive the terminal.
      interactive: [part.bin("codex"), "--no-daemon", "--ask-for-approval", "on-request"],
      env: {}
    }
  },
  ready: /Ask Codex to do anything/,
  question: {
    shown: /enter to submit/,
    agree: async (terminal) => {
      const end = endOn(terminal)
      await pressUntil(terminal, "Up", /› 1\. True/)
      terminal.press("Enter")
      await terminal.waitFor(/enter to submit all/, 5)
      terminal.type(end ?? "1234")
      await pause(500)
      terminal.press("Enter")
      return end === undefined ? "a part" : "all of it"
    }
  }
}
