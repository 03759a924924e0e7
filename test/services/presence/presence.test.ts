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
const codex = info({
  name: "codex",
  program: "/opt/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x/bin/codex",
  argv: ["codex"]
})
const opencode = info({ name: "opencode", program: "/opt/opencode-ai/bin/opencode.exe", argv: ["opencode"] })
const qwenLauncher: ProcessInfo = {
  ...node("/opt/.bin/qwen"),
  scripts: ["/opt/node_modules/@qwen-code/qwen-code/run.js"]
}
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
    ["Codex", info({ argv: ["C:\\tools\\codex.exe"] })],
    ["Goose", info({ program: "/opt/goose/goosed" })],
    ["Aider", python("-X", "utf8", "-m", "aider")],
    ["Aider", python("-m", "aider.main", "--yes")],
    ["Aider", python("-Im", "aider")],
    ["Aider", python("/opt/venv/lib/python3.11/site-packages/aider/__main__.py")],
    ["Continue", { ...node("/usr/bin/cn"), scripts: ["/usr/lib/node_modules/@continuedev/cli/dist/cn.js"] }],
    ["Pi", { ...node("/usr/bin/p"), scripts: ["/usr/lib/node_modules/@x/pi-coding-agent/dist/cli.js"] }],
    ["Pi", node("/usr/bin/pi")],
    ["Gemini CLI", { ...node("/home/me/bin/g"), scripts: ["/x/@google/gemini-cli/dist/index.js"] }],
    ["Gemini CLI", node("--title", "z", "/x/@google/gemini-cli/dist/index.js")],
    ["Gemini CLI", node("--env-file", "f", "/x/@google/gemini-cli/dist/index.js")],
    ["Gemini CLI", node("--input-type", "commonjs", "/x/@google/gemini-cli/dist/index.js")],
    ["Gemini CLI", node("--some-new-option", "z", "/x/@google/gemini-cli/dist/index.js")],
    ["Gemini CLI", node("--some-new-switch", "/x/@google/gemini-cli/dist/index.js")],
    ["Claude Code", shell("-e", "/usr/local/bin/claude")],
    ["Claude Code", shell("-O", "extglob", "/usr/local/bin/claude")],
    ...[
      ["-Xutf8", "-m", "aider"],
      ["-maider"],
      ["-Imaider.main"],
      ["-umaider", "--yes"],
      ["-Wignore", "-m", "aider"],
      ["-Wignore", "-maider"],
      ["-IXutf8", "-m", "aider"],
      ["-X", "importtime", "-maider"],
      ["-uX", "utf8", "-m", "aider"],
      ["-Xfrozen_modules=off", "-Bm", "aider"],
      ["--check-hash-based-pycs", "always", "-m", "aider"],
      ["--check-hash-based-pycs=always", "-m", "aider"],
      ["--some-new-switch", "-m", "aider"],
      ["--some-new-option", "value", "-maider"],
      ["--some-new-option", "-Z9", "/home/me/.local/bin/aider"]
    ].map((argv) => ["Aider", python(...argv)] as const),
    ...[
      ["--title=x", "/x/.bin/qwen"],
      ["--title=x", "--some-new", "/x/.bin/qwen"],
      ["--some-new=x", "-y", "z", "/x/.bin/qwen"],
      ["--", "/x/.bin/qwen"]
    ].map((argv) => ["Qwen Code", node(...argv)] as const),
    ["Qwen Code", { ...node("./qwen-code/cli"), scripts: ["/x/@qwen-code/qwen-code/cli.js"] }],
    ["Qwen Code", info({ program: "/usr/bin/deno", argv: ["deno", "run", "-A", "/x/@qwen-code/qwen-code/cli"] })],
    ["Qwen Code", info({ program: "/usr/bin/deno", argv: ["deno", "run", "--allow-read=.", "-A", "/x/.bin/qwen"] })],
    ["Qwen Code", info({ program: "/usr/bin/deno", argv: ["deno", "-q", "run", "/x/.bin/qwen"] })],
    ["Qwen Code", info({ program: "/usr/bin/deno", argv: ["deno", "run", "-A", "npm:@qwen-code/qwen-code"] })],
    ["Qwen Code", info({ program: "/usr/bin/deno", argv: ["deno", "run", "npm:/@qwen-code/qwen-code@0.24.4/qwen"] })],
    ["Cline", info({ program: "/usr/bin/deno", argv: ["deno", "run", "-A", "npm:cline@3"] })],
    ["Qwen Code", info({ program: "/usr/bin/bun", argv: ["bun", "--bun", "run", "/x/.bin/qwen"] })],
    ["Qwen Code", info({ program: "/usr/bin/bun", argv: ["bun", "--cwd=/x", "run", "/x/.bin/qwen"] })],
    ["Qwen Code", info({ program: "/usr/bin/bun", argv: ["bun", "--cwd", "/x", "run", "/x/.bin/qwen"] })]
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
    shell("./goose.sh"),
    shell("/home/me/bin/goose.sh"),
    info({ name: "goose", program: "/usr/bin/bash", argv: ["/bin/bash", "./goose"] }),
    info({ name: "crush.py", program: "/usr/bin/python3.11", argv: ["python3", "./crush.py"] }),
    python("crush.py"),
    python("/home/me/project/claude.py"),
    node("gemini.js"),
    shell("/home/me/project/claude/versions/release.sh"),
    python("/home/me/claude/versions/compare.py"),
    python("-X", "utf8", "/home/me/aider.py"),
    python("-m", "pytest", "aider"),
    python("-mpytest", "-m", "aider"),
    python("-Xutf8", "-m", "pytest", "-maider"),
    python("-cpass", "-m", "aider"),
    python("-Ic", "pass", "-maider"),
    python("-Wmodule", "build.py", "-m", "aider"),
    python("build.py", "-maider"),
    node("--some-new=x", "/home/me/build", "/x/.bin/qwen"),
    info({ program: "/usr/bin/deno", argv: ["deno", "run", "npm:vite", "npm:cline"] }),
    node("--title=x", "/home/me/build", "/x/.bin/qwen"),
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
      GOOSE: "1",
      AGENT: "ssh-agent",
      CODEX_MODEL: "x",
      CODEX_SANDBOXED: "1"
    }
    assert.isUndefined(agentSeen(env, [info({})]))
  })
})

describe("a person who is taken for an agent", () => {
  const why = (env: Record<string, string>, lineage: ReadonlyArray<ProcessInfo>) =>
    whyNotTyped({ env, lineage, stdin: true, stdout: true })
  for (const variable of ["AGENT", "CRUSH", "CODEX_CI", "CURSOR_AGENT"]) {
    it(`reads that ${variable} was seen, and an agent that reads it too is not told what to do`, () => {
      const said = why({ [variable]: "1" }, [info({})])
      assert.include(said, `${variable} is set`)
      assert.notMatch(said ?? "", /unset|if not|passphrase|terminal/)
    })
  }
  it("reads which process was seen", () =>
    assert.strictEqual(
      why({}, [info({}), shell("-i"), { ...claude, pid: 77 }]),
      "Claude Code runs this command (process 77)"
    ))
  it("is asked", () => assert.isUndefined(why({ AGENT: "/usr/bin/ssh-agent" }, [info({}), shell("./goose.sh")])))
})

describe("a command that was left behind", () => {
  const left = [info({ leaders: [shell("-c", "( kiwi & )"), claude] })]
  const byLeader = [info({ leaders: [claude] })]
  it("is the agent's above the leader of its session or group", () => {
    for (const lineage of [left, byLeader]) {
      assert.include(whyNotTyped({ env: {}, lineage, stdin: true, stdout: true }), "Claude Code runs this command")
      assert.isString(whyNotAnswered({ env: {}, lineage, transport: "stdio", script: "/x" }))
    }
  })
  it("is a person's where the leader is", () =>
    assert.isUndefined(
      whyNotTyped({ env: {}, lineage: [info({ leaders: [shell("-i")] })], stdin: true, stdout: true })
    ))
})

describe("below Kiwi", () => {
  const kiwi = (...argv: ReadonlyArray<string>) => node("/opt/kiwi-mcp/bin/kiwi.cjs", ...argv)
  const tool = { ...python("tool.py"), session: 5 }
  const self = { ...kiwi("sign", "tool", "evil"), session: 5 }
  const inside: ReadonlyArray<readonly [string, ReadonlyArray<ProcessInfo>]> = [
    ["a tool of kiwi serve", [self, tool, kiwi("serve")]],
    ["a tool of kiwi run", [self, tool, kiwi("run", "tool", "x")]],
    ["a tool that becomes it", [self, kiwi("serve")]],
    ["a tool that becomes the same", [self, kiwi("sign", "tool", "evil")]],
    ["a tool that becomes the same, with other pipes", [
      { ...self, session: 1, stdio: "pipe:[1] pipe:[2]" },
      { ...kiwi("sign", "tool", "evil"), stdio: "pipe:[3] pipe:[4]" }
    ]],
    ["a terminal that a tool made", [
      self,
      shell("-c", "x"),
      info({ program: "/usr/bin/script" }),
      tool,
      kiwi("serve")
    ]],
    ["a linked kiwi", [self, tool, { ...node("/usr/bin/kiwi", "serve"), scripts: ["/x/kiwi-mcp/bin/kiwi.cjs"] }]],
    ["a bundle", [self, tool, node("/x/node_modules/kiwi-mcp/dist/bin/start.js", "serve")]],
    ["a checkout", [self, tool, node("/x/src/programs/bin/kiwi.ts", "serve")]],
    ["a demo's server", [self, tool, kiwi("serve"), kiwi("demo")]],
    ["a titled one", [self, tool, info({ program: "/usr/bin/node", argv: ["kiwi serve"] })]],
    ["Node by another name", [
      self,
      tool,
      info({ program: "/opt/bin/node24", argv: ["x", "/x/kiwi-mcp/bin/kiwi.cjs", "serve"] })
    ]],
    ["bun run", [self, tool, info({ program: "/usr/bin/bun", argv: ["bun", "run", "/x/kiwi-mcp/bin/kiwi.cjs"] })]],
    ["Kiwi as an option's value too", [
      self,
      tool,
      node("--new", "/x/a", "/x/kiwi/bin/kiwi.cjs", "serve", "--x", "/y")
    ]],
    ...[
      ["--no-deprecation"],
      ["--trace-warnings"],
      ["--disable-warning", "ExperimentalWarning"],
      ["-C", "development"],
      ["-trace_gc"],
      ["--title=x"],
      ["--", "--no-deprecation"],
      ["--require", "/x/p.cjs", "--no-deprecation"],
      ["--max-old-space-size", "4096"],
      ["--experimental-loader", "/x/l.mjs"],
      ["--some-new", "/x/a.js", "--other-new", "/x/b.js"],
      Array.from({ length: 50 }, (_, at) => `--stack-trace-limit=${at}`),
      Array.from({ length: 50 }, () => "--trace-warnings"),
      [`--title=${"k".repeat(4_200)}`]
    ].map((options) =>
      [`${options[0]!.slice(0, 30)} × ${options.length}`, [
        self,
        tool,
        node(...options, "/opt/kiwi-mcp/bin/kiwi.cjs", "serve")
      ]] as const
    ),
    ["a linked kiwi after an option", [self, tool, {
      ...node("--disable-warning", "X", "/usr/bin/kiwi", "serve"),
      scripts: ["/project/X", "/x/kiwi-mcp/bin/kiwi.cjs", "/project/serve"]
    }]]
  ]
  for (const [name, lineage] of inside) {
    it(`nobody has typed it: ${name}`, () => {
      assert.include(whyNotTyped({ env: {}, lineage, stdin: true, stdout: true }), "a tool's call")
      assert.isString(whyNotAnswered({ env: {}, lineage, transport: "stdio", script: "/x" }))
    })
  }
  const outside: ReadonlyArray<readonly [string, ReadonlyArray<ProcessInfo>]> = [
    ["an older Node", [kiwi("sign"), kiwi("sign")]],
    ["an older Node with an option", [kiwi("sign"), node("--no-deprecation", "/opt/kiwi-mcp/bin/kiwi.cjs", "sign")]],
    ["the demo", [kiwi("serve"), kiwi("demo")]],
    ["a program of that name", [kiwi("serve"), info({ program: "/usr/bin/kiwi", argv: ["kiwi"] })]],
    ["another's start.js", [kiwi("serve"), node("/x/dist/bin/start.js")]],
    ["a script in a checkout", [kiwi("serve"), node("/x/kiwi-mcp/node_modules/.bin/vitest")]]
  ]
  for (const [name, lineage] of outside) {
    it(`a person can be there: ${name}`, () => {
      assert.isUndefined(whyNotTyped({ env: {}, lineage, stdin: true, stdout: true }))
      assert.isUndefined(whyNotAnswered({ env: {}, lineage, transport: "stdio", script: "/x" }))
    })
  }
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
    ["Qwen Code", [self, qwen, qwenLauncher], { QWEN_CODE_CLI: "/opt/cli.js", QWEN_CODE_MODEL: "m" }],
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
    ["an older Node", [info({ ...node("/x/.bin/kiwi", "serve"), scripts: [script] })]],
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

  const fakes: ReadonlyArray<readonly [string, ProcessInfo]> = [
    ["argv[0]", { ...python("client.py", "kiwi", "serve"), argv: ["opencode", "client.py", "kiwi", "serve"] }],
    ["argv[0] with the agent's path", {
      ...python("client.py"),
      argv: ["/opt/opencode-ai/bin/opencode.exe", "client.py"]
    }],
    ["a copy of python", info({ name: "opencode", program: "/tmp/opencode", argv: ["opencode", "client.py"] })],
    ["the kernel's name", info({ name: "opencode", program: "/usr/bin/python3", argv: ["python3", "client.py"] })],
    ["a script", python("/tmp/opencode.py")],
    ["a script in a bin", python("/tmp/bin/opencode")],
    ["a Node script", node("/tmp/bin/opencode")],
    ["a package", node("/tmp/node_modules/opencode-ai/client.js")],
    ["a module", python("-m", "opencode")],
    ["another agent", python("/tmp/bin/claude")]
  ]
  for (const [name, fake] of fakes) {
    for (const session of [1, 7]) {
      it(`is a program's where ${name} says that it is the agent, in session ${session}`, () => {
        const below = [{ ...self, session }, { ...fake, session }]
        assert.isString(answered([...below, opencode]))
        assert.isString(answered([...below, { ...shell("-c", "x"), session }, opencode]))
        assert.isString(answered([...below, { ...fake, session }, opencode, shell("-i")]))
      })
    }
  }

  it("is a program's where the real agent was started again in a session of its own", () => {
    assert.isString(answered([{ ...self, session: 7 }, { ...opencode, session: 7 }, opencode]))
    assert.isString(answered([self, opencode, { ...shell("-c", "opencode"), session: 7 }, opencode]))
  })

  it("is the person's below the daemon of Codex' terminal, and a program's below any other that calls itself so", () => {
    const daemon = info({
      program: "/home/me/.codex/packages/app-server-daemon/releases/1/bin/codex",
      argv: ["codex", "app-server", "--listen", "unix://", "--managed-daemon"],
      session: 7
    })
    const server = { ...self, session: 7 }
    assert.isUndefined(answered([server, daemon, codex]))
    assert.isUndefined(answered([server, daemon]))
    assert.isString(answered([{ ...self, session: 8 }, daemon, codex]), "a command of its shell")
    assert.isString(answered([server, { ...daemon, program: "/usr/bin/python3" }, codex]))
    assert.isString(answered([{ ...self, session: 8 }, { ...daemon, session: 8 }, daemon]))
    assert.isString(answered([{ ...self, session: 8 }, { ...daemon, session: 8 }, daemon, codex]))
    assert.isString(answered([server, daemon, { ...codex, argv: ["codex", "exec", "x"] }]))
    assert.isString(answered([server, daemon, { ...codex, argv: ["codex", "--no-daemon"] }]))
  })

  const stdios: ReadonlyArray<readonly [string, boolean]> = [
    ["pipe:[1] pipe:[2]", true],
    ["socket:[1] socket:[2]", true],
    ["socket:[1] pipe:[2]", true],
    ["/tmp/in /tmp/out", false],
    ["/tmp/in pipe:[2]", false],
    ["pipe:[1] /tmp/out", false],
    ["pipe:[1] /tmp/a pipe:[2]", false],
    ["/tmp/pipe:[1] pipe:[2]", false],
    ["/dev/null pipe:[2]", false],
    ["/dev/pts/3 /dev/pts/3", false],
    ["pipe:[1] /memfd:x (deleted)", false]
  ]
  for (const [stdio, isBelieved] of stdios) {
    it(`is ${isBelieved ? "believed" : "anyone's"} below an agent with ${stdio}`, () => {
      const why = answered([{ ...self, stdio }, opencode])
      assert.strictEqual(why === undefined, isBelieved)
      assert.isUndefined(answered([{ ...self, stdio }, shell("-i")]))
    })
  }

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
