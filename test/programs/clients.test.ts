import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { findClients, findSkills, stripJsonComments } from "../../src/programs/clients.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kiwi-clients-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (path: string, content: string | object) => {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  return file
}

const find = (platform = "linux") =>
  findClients({ home: join(folder, "home"), project: join(folder, "site"), platform }).pipe(
    Effect.provide(NodeServices.layer)
  )

const names = (...servers: ReadonlyArray<string>) => ({
  mcpServers: Object.fromEntries(servers.map((name) => [name, { command: "x", env: { TOKEN: "s3cret" } }]))
})

describe("stripJsonComments", () => {
  for (
    const [text, value] of [
      [`{"a": 1}`, { a: 1 }],
      [`// head\n{"a": 1, /* in */ "b": [1, 2,],} // tail`, { a: 1, b: [1, 2] }],
      [`{"url": "http://x/*y*/", "c": "a,]"}`, { url: "http://x/*y*/", c: "a,]" }],
      [`{"q": "\\"//", }`, { q: "\"//" }],
      [`{"a": 1,\n// why\n}`, { a: 1 }]
    ] as const
  ) {
    it(text, () => assert.deepStrictEqual<unknown>(JSON.parse(stripJsonComments(text)), value))
  }

  it("leaves what is wrong wrong", () => {
    for (const text of [`{"a": 1,, "b": 2}`, `{"a": "open`, `/* open`, `[1 2]`]) {
      assert.throws(() => JSON.parse(stripJsonComments(text)))
    }
  })

  it("is linear", () => {
    const started = performance.now()
    stripJsonComments("[" + ",]".repeat(500_000) + "\"" + "\\".repeat(500_000))
    assert.isBelow(performance.now() - started, 5000)
  })
})

describe("findClients", () => {
  it.effect("finds nothing where there is nothing", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* find(), [])
    }))

  it.effect("reads the names of servers out of each client's own form, and nothing else", () =>
    Effect.gen(function*() {
      write("home/.claude.json", {
        ...names("everywhere"),
        projects: { [join(folder, "site")]: names("here", "kiwi"), "/elsewhere": names("not-this") }
      })
      write("site/.mcp.json", names("shared"))
      write("home/.config/Claude/claude_desktop_config.json", names("files"))
      write("home/.cursor/mcp.json", `{ // mine\n"mcpServers": {"docs": {"command": "x"},},}`)
      write("site/.vscode/mcp.json", { servers: { "kiwi-dev": {} }, mcpServers: { wrong: {} } })
      write(
        "home/.codex/config.toml",
        `model = "o"\n[mcp_servers.browser]\ncommand = "x"\n[mcp_servers."a.b"]\nurl = "y"\n`
      )
      write("home/.codeium/windsurf/mcp_config.json", names("w"))
      write("home/.gemini/settings.json", names("g"))
      const found = yield* find()
      assert.deepStrictEqual(Object.fromEntries(found.map(({ client, servers }) => [client, servers])), {
        "Claude Code": ["everywhere", "here", "kiwi", "shared"],
        "Claude Desktop": ["files"],
        Cursor: ["docs"],
        "VS Code": ["kiwi-dev"],
        Codex: ["a.b", "browser"],
        Windsurf: ["w"],
        "Gemini CLI": ["g"]
      })
      assert.deepStrictEqual(
        found.filter(({ connected }) => connected).map(({ client }) => client).toSorted(),
        ["Claude Code", "VS Code"]
      )
      assert.notInclude(JSON.stringify(found), "s3cret")
    }))

  it.effect("looks where each system keeps them", () =>
    Effect.gen(function*() {
      write("home/Library/Application Support/Claude/claude_desktop_config.json", names("mac"))
      write("home/AppData/Roaming/Code/User/mcp.json", { servers: { windows: {} } })
      assert.deepStrictEqual((yield* find("darwin")).flatMap(({ servers }) => servers), ["mac"])
      assert.deepStrictEqual((yield* find("win32")).flatMap(({ servers }) => servers), ["windows"])
    }))

  it.effect("names a client that has no servers, and a file that is not well formed", () =>
    Effect.gen(function*() {
      mkdirSync(join(folder, "home/.codex"), { recursive: true })
      write("home/.cursor/mcp.json", "{")
      write("home/.gemini/settings.json", { mcpServers: ["not", "an", "object"] })
      write("site/.mcp.json", `{"__proto__": {"mcpServers": {"x": {}}}}`)
      const found = yield* find()
      assert.deepStrictEqual(found, [
        { client: "Cursor", files: [{ path: "~/.cursor/mcp.json", readable: false }], servers: [], connected: false },
        { client: "Codex", files: [], servers: [], connected: false },
        {
          client: "Gemini CLI",
          files: [{ path: "~/.gemini/settings.json", readable: true }],
          servers: [],
          connected: false
        },
        { client: "Claude Code", files: [{ path: ".mcp.json", readable: true }], servers: [], connected: false }
      ])
    }))

  it.effect("stands folders, loops and unreadable files in their places", () =>
    Effect.gen(function*() {
      mkdirSync(join(folder, "home/.claude.json"), { recursive: true })
      mkdirSync(join(folder, "home/.gemini"), { recursive: true })
      symlinkSync("settings.json", join(folder, "home/.gemini/settings.json"))
      chmodSync(write("site/.mcp.json", names("x")), 0o000)
      yield* find()
    }))
})

describe("findSkills", () => {
  it.effect("finds folders with a SKILL.md, in the project and in your home", () =>
    Effect.gen(function*() {
      write("site/.claude/skills/review/SKILL.md", "---\nname: review\n---\n")
      write("site/.ai/skills/empty/README.md", "")
      write("home/.agents/skills/deploy/SKILL.md", "x")
      const skills = yield* findSkills({ home: join(folder, "home"), project: join(folder, "site") }).pipe(
        Effect.provide(NodeServices.layer)
      )
      assert.deepStrictEqual(skills, [
        { name: "review", path: ".claude/skills/review" },
        { name: "deploy", path: "~/.agents/skills/deploy" }
      ])
    }))
})
