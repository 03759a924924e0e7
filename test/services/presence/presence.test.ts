import { assert, describe, it } from "@effect/vitest"
import { agentOf, codingAgents, findVariable, scriptOf } from "../../../src/services/presence/codingAgents.ts"
import type { ProcessInfo } from "../../../src/services/presence/Lineage.ts"
import { agentSeen, startedBy, whyNotAnswered, whyNotTyped } from "../../../src/services/presence/presence.ts"

const info = (parts: Partial<ProcessInfo>): ProcessInfo => ({
  pid: 2,
  name: "",
  program: undefined,
  argv: [],
  session: 1,
  group: 1,
  ...parts
})

const node = (...argv: ReadonlyArray<string>) =>
  info({ name: "MainThread", program: "/usr/bin/node", argv: ["node", ...argv] })
const shell = (...argv: ReadonlyArray<string>) =>
  info({ name: "bash", program: "/usr/bin/bash", argv: ["bash", ...argv] })
const python = (...argv: ReadonlyArray<string>) =>
  info({ name: "python3", program: "/usr/bin/python3.11", argv: ["python3", ...argv] })

const claude = info({
  name: "claude",
  program: "/home/me/.local/share/claude/versions/2.1.330",
  argv: ["claude", "--resume"]
})
const codex = info({ name: "codex", program: "/opt/codex/bin/codex", argv: ["codex"] })
const opencode = info({ name: "opencode", program: "/opt/opencode-ai/bin/opencode.exe", argv: ["opencode"] })
const qwen = node("--expose-gc", "/opt/node_modules/@qwen-code/qwen-code/cli.js")

describe("an agent's process", () => {
  const is: ReadonlyArray<readonly [name: string, process: ProcessInfo]> = [
    ["Claude Code", claude],
    ["Claude Code", info({ name: "claude" })],
    ["Claude Code", info({ name: "2.1.330", argv: ["/home/me/.local/bin/claude"] })],
    ["Claude Code", node("/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", "-p")],
    ["Claude Code", shell("/usr/local/bin/claude", "-p")],
    ["Codex", codex],
    ["Codex", node("/usr/lib/node_modules/@openai/codex/bin/codex.js", "exec")],
    ["opencode", opencode],
    ["Qwen Code", qwen],
    ["Gemini CLI", node("--max-old-space-size=12052", "/home/me/node_modules/.bin/gemini", "-p")],
    ["Gemini CLI", node("--require", "/tmp/x.js", "/home/me/node_modules/.bin/gemini")],
    ["Aider", python("-m", "aider")],
    ["Aider", python("/home/me/.local/bin/aider", "--yes")],
    ["OpenHands", python("-u", "-m", "openhands")],
    ["Cursor", info({ name: "cursor-agent" })],
    ["Cursor", node("--use-system-ca", "/home/me/.local/share/cursor-agent/versions/2026.01/index.js")],
    ["Copilot", node("/usr/lib/node_modules/@github/copilot/index.js")],
    ["Amp", info({ name: "bun", program: "/usr/bin/bun", argv: ["bun", "/x/@sourcegraph/amp/dist/main.js"] })],
    ["Goose", info({ program: "/usr/bin/goose", argv: ["goose", "session"] })],
    ["Crush", info({ program: "/usr/bin/crush" })],
    ["Codex", info({ argv: ["C:\\tools\\codex.exe"] })]
  ]
  for (const [name, process] of is) {
    it(`${name}: ${[process.name, process.program, ...process.argv].join(" ")}`, () => {
      assert.strictEqual(agentOf(process)?.name, name)
    })
  }

  const no: ReadonlyArray<ProcessInfo> = [
    shell("-i"),
    shell("-c", "claude --version; kiwi sign tool add"),
    node("build.js", "/home/me/claude"),
    node("-e", "1", "/x/claude"),
    python("-c", "pass", "/usr/bin/aider"),
    info({ name: "vim", program: "/usr/bin/vim", argv: ["vim", "node_modules/@openai/codex/README.md"] }),
    info({ name: "code", program: "/usr/share/code/code" }),
    info({ name: "cursor", program: "/opt/Cursor/cursor" }),
    info({ name: "Cursor Helper", program: "/Applications/Cursor.app/Contents/Cursor Helper" }),
    info({ name: "windsurf" }),
    info({ name: "zed-editor" }),
    info({ name: "tmux: server", argv: ["tmux"] }),
    info({ name: "sshd" }),
    info({ name: "systemd" })
  ]
  for (const process of no) {
    it(`none: ${[process.name, process.program, ...process.argv].join(" ")}`, () => {
      assert.isUndefined(agentOf(process))
    })
  }

  it("is told by what it runs, not by what it is told to run", () => {
    assert.strictEqual(scriptOf(node("--import", "tsx", "/x/a.ts", "/x/b.ts")), "/x/a.ts")
    assert.isUndefined(scriptOf(shell("-lc", "/x/claude")))
    assert.isUndefined(scriptOf(info({ program: "/usr/bin/vim", argv: ["vim", "/x/claude"] })))
  })

  it("two dozen are known, each by something", () => {
    assert.isAtLeast(codingAgents.length, 24)
    for (const { name, paths, programs, shellVariables, variables } of codingAgents) {
      assert.isNotEmpty([...paths, ...programs, ...shellVariables, ...variables], name)
    }
  })
})

describe("an agent's variables", () => {
  for (
    const [variable, value] of [
      ["CLAUDECODE", "1"],
      ["CLAUDE_CODE_CHILD_SESSION", "1"],
      ["CODEX_SANDBOX", "seatbelt"],
      ["CODEX_THREAD_ID", "x"],
      ["CODEX_CI", "1"],
      ["OPENCODE", "1"],
      ["AGENT", "amp"],
      ["AI_AGENT", "github_copilot_vscode_agent"],
      ["QWEN_CODE", "1"],
      ["GEMINI_CLI", "1"],
      ["CURSOR_AGENT", "1"],
      ["CURSOR_EXTENSION_HOST_ROLE", "agent-exec"],
      ["COPILOT_AGENT", "1"],
      ["GOOSE_TERMINAL", "1"],
      ["AMP_CURRENT_THREAD_ID", "T-1"],
      ["CLINE_ACTIVE", "true"],
      ["CRUSH", "1"],
      ["WINDSURF_CASCADE_TERMINAL", "1"],
      ["ROO_ACTIVE", "true"],
      ["AUGMENT_AGENT", "1"],
      ["ANTIGRAVITY_AGENT", "1"],
      ["TRAE_AI_SHELL_ID", "1"],
      ["KILOCODE_FEATURE", "cli"],
      ["AWS_EXECUTION_ENV", "AmazonQ-For-CLI Version/1.2"]
    ] as const
  ) {
    it(`${variable}=${value}`, () => {
      assert.strictEqual(findVariable({ HOME: "/", [variable]: value }, "any")?.variable, variable)
      assert.include(
        whyNotTyped({ env: { [variable]: value }, lineage: [info({})], stdin: true, stdout: true }),
        "is set"
      )
    })
  }

  it("and none where they are empty or say no, or are a person's", () => {
    const env = {
      CLAUDECODE: "",
      AI_AGENT: "0",
      CURSOR_AGENT: "False",
      NOT_CODEX_X: "1",
      CODEX: "1",
      CODEX_HOME: "/home/me/.codex",
      CODEX_API_KEY: "x",
      constructor: "1",
      CURSOR_TRACE_ID: "1",
      CURSOR_EXTENSION_HOST_ROLE: "main",
      ZED_TERM: "true",
      TERM_PROGRAM: "vscode",
      VSCODE_PID: "1",
      KILOCODE_FEATURE: "vscode-extension",
      AWS_EXECUTION_ENV: "CloudShell",
      CLAUDE_CODE_ENTRYPOINT: "cli",
      SSH_AGENT_PID: "1",
      GOOSE: "1"
    }
    assert.isUndefined(agentSeen(env, [info({})]))
  })
})

describe("a server's client", () => {
  const script = "/opt/kiwi/bin/kiwi.cjs"
  const self = node(script, "serve")
  const answered = (
    lineage: ReadonlyArray<ProcessInfo> | undefined,
    env: Record<string, string> = {},
    transport: "stdio" | "http" = "stdio"
  ) => whyNotAnswered({ env, lineage, transport, script })

  // What each agent was seen to give an MCP server, and where.
  const asServer: ReadonlyArray<readonly [string, ReadonlyArray<ProcessInfo>, Record<string, string>]> = [
    ["Claude Code", [self, claude, shell("-i")], { CLAUDECODE: "1", AI_AGENT: "claude-code_2-1-330_harness" }],
    ["Codex", [{ ...self, group: 9 }, codex, node("/opt/@openai/codex/bin/codex.js"), shell("-i")], {}],
    ["opencode", [self, opencode], { OPENCODE: "1", AGENT: "1", OPENCODE_PID: "12" }],
    ["Qwen Code", [self, qwen, node("/opt/.bin/qwen")], { QWEN_CODE_CLI: "/opt/cli.js", QWEN_CODE_MODEL: "m" }],
    ["Gemini CLI", [self, node("/opt/.bin/gemini"), node("/opt/.bin/gemini")], { GEMINI_CLI: "1" }],
    ["an editor", [self, info({ name: "code" })], { TERM_PROGRAM: "vscode" }],
    ["a desktop app", [self, info({ name: "Claude Desktop Helper" })], {}]
  ]
  for (const [name, lineage, env] of asServer) {
    it(`of ${name} is believed`, () => assert.isUndefined(answered(lineage, env)))
  }

  const launchers: ReadonlyArray<readonly [string, ReadonlyArray<ProcessInfo>]> = [
    ["npx", [shell("-c", "kiwi-mcp serve"), node("/usr/bin/npx", "-y", "kiwi-mcp")]],
    ["npm exec", [info({ name: "npm exec kiwi", program: "/usr/bin/node", argv: ["npm exec kiwi-mcp serve"] })]],
    ["an older Node", [info({ ...node("/x/.bin/kiwi", "serve"), script })]],
    ["sh -c", [shell("-c", "kiwi serve")]],
    ["a login shell", [shell("-lc", "exec kiwi serve")]],
    ["env", [info({ name: "env", program: "/usr/bin/env", argv: ["env", "A=1", "kiwi"] })]],
    ["pnpm", [node("/usr/lib/node_modules/pnpm/bin/pnpm.cjs", "dlx")]],
    ["corepack", [node("/usr/lib/node_modules/corepack/dist/corepack.js", "pnpm")]],
    ["uvx", [info({ name: "uvx", program: "/usr/bin/uvx" })]]
  ]
  for (const [name, between] of launchers) {
    it(`is believed through ${name}`, () => assert.isUndefined(answered([self, ...between, opencode])))
  }

  const scripted: ReadonlyArray<readonly [string, ProcessInfo]> = [
    ["python", python("-c", "answer()")],
    ["a Node script", node("/tmp/client.mjs")],
    ["a script in node -e", node("-e", "answer()")],
    ["bun", info({ program: "/usr/bin/bun", argv: ["bun", "client.ts"] })],
    ["a shell script", shell("/tmp/client.sh")],
    ["an interactive shell", shell("-i")],
    ["expect", info({ program: "/usr/bin/expect" })],
    ["script", info({ program: "/usr/bin/script", argv: ["script", "-qec", "kiwi serve"] })],
    ["socat", info({ program: "/usr/bin/socat" })],
    ["perl", info({ program: "/usr/bin/perl", argv: ["perl", "-e", "1"] })],
    ["mcp-remote", node("/x/.bin/mcp-remote")],
    ["what cannot be seen", info({})]
  ]
  for (const [name, between] of scripted) {
    it(`is a program's where ${name} is in between`, () => {
      assert.include(answered([self, between, opencode]), "between opencode and this server")
    })
  }

  it("is a program's where a launcher does not hand on its stdin and stdout", () => {
    const npx = node("/usr/bin/npx", "kiwi")
    const ends = (stdio: string | undefined) =>
      answered([{ ...self, stdio: "pipe:[1] pipe:[2]" }, { ...npx, stdio }, opencode])
    assert.isUndefined(ends("pipe:[1] pipe:[2]"))
    assert.isString(ends("pipe:[3] pipe:[2]"))
    assert.isString(ends(undefined))
  })

  const commands: ReadonlyArray<readonly [string, ReadonlyArray<ProcessInfo> | undefined, Record<string, string>]> = [
    ["has Claude Code's mark", [self, shell("-c", "x"), claude], { CLAUDE_CODE_CHILD_SESSION: "1" }],
    ["has Codex's", [self, codex], { CODEX_THREAD_ID: "1" }],
    ["has Qwen Code's", [self, qwen], { QWEN_CODE: "1" }],
    ["is in a session of its own, below Claude Code", [{ ...self, session: 7 }, shell("-c", "x"), claude], {}],
    ["is in a session of its own, below Codex", [{ ...self, session: 7 }, codex], {}],
    ["is in a session of its own, below opencode", [{ ...self, session: 7 }, opencode], { OPENCODE: "1" }],
    ["is in a session of its own, below Qwen Code", [{ ...self, session: 7 }, qwen], {}],
    ["is below an agent that an agent runs", [self, codex, shell("-c", "codex exec"), claude], {}],
    ["is below itself", [self, claude, shell("-c", "claude -p"), claude], {}],
    ["has left the tree, not the environment", [self], { OPENCODE: "1" }],
    ["has left the tree, below Claude Code", [self], { CLAUDECODE: "1" }],
    ["is in a tool", [self, claude], { KIWI_CALL: "1" }],
    ["cannot see what is above it", undefined, {}]
  ]
  for (const [name, lineage, env] of commands) {
    it(`is nobody's where the server ${name}`, () => assert.isString(answered(lineage, env)))
  }

  it("is nobody's over HTTP below an agent, and believed elsewhere", () => {
    assert.isString(answered([self, opencode], {}, "http"))
    assert.isString(answered([self], { AGENT: "1" }, "http"))
    assert.isUndefined(answered([self, shell("-i")], {}, "http"))
  })

  it("on macOS, which tells no sessions, is judged by the process group", () => {
    const mac = (parts: ProcessInfo) => ({ ...parts, session: undefined })
    assert.isUndefined(answered([mac(self), mac(opencode)]))
    assert.isString(answered([{ ...mac(self), group: 7 }, mac(opencode)]))
    assert.isUndefined(answered([{ ...mac(self), group: 7 }, mac(codex)]))
  })

  it("is recorded with the agent that started it", () => {
    assert.strictEqual(startedBy([self, shell("-c", "x"), claude]), "Claude Code")
    assert.isUndefined(startedBy([claude]))
    assert.isUndefined(startedBy(undefined))
  })
})
