import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Toml from "effect/encoding/Toml"
import { spawnSync } from "node:child_process"
import { commandLine, kiwiCommand, quote, serveCommand, snippets } from "../../src/programs/connect.ts"

const started = (script: string) => ({ node: "/usr/bin/node", script })

describe("kiwiCommand", () => {
  it("names a command that will still be there", () => {
    const npx = { command: "npx", args: ["-y", "kiwi-mcp"] }
    assert.deepStrictEqual(kiwiCommand(started("/home/a/.npm/_npx/1f/node_modules/.bin/kiwi"), true), npx)
    assert.deepStrictEqual(kiwiCommand(started("/home/a/site/node_modules/.bin/kiwi"), false), npx)
    assert.deepStrictEqual(kiwiCommand(started("C:\\Users\\a\\_npx\\1\\kiwi.cjs"), false), npx)
    assert.deepStrictEqual(kiwiCommand(started("/usr/lib/node_modules/kiwi-mcp/bin/kiwi.cjs"), true), {
      command: "kiwi",
      args: []
    })
    assert.deepStrictEqual(kiwiCommand(started("/src/kiwi/bin/kiwi.cjs"), false), {
      command: "/usr/bin/node",
      args: ["/src/kiwi/bin/kiwi.cjs"]
    })
  })
})

describe("quote", () => {
  for (const word of ["plain", "/a/b-c.d", "two words", "it's", "$HOME `id` \"x\" \\", "a;b", "", "*", "~/x"]) {
    it(`a shell reads ${JSON.stringify(word)} back`, () => {
      assert.strictEqual(spawnSync("sh", ["-c", `printf %s ${quote(word)}`], { encoding: "utf8" }).stdout, word)
    })
  }
})

describe("snippets", () => {
  const path = `/home/a/my "site" \\ it's`
  const serve = serveCommand({ command: "npx", args: ["-y", "kiwi-mcp"] }, path)
  const args = ["-y", "kiwi-mcp", "serve", "--project", path]
  const of = (client: string) => snippets(serve).find((snippet) => snippet.client === client)?.text ?? ""

  it("are for the four clients, and name the same command", () => {
    assert.deepStrictEqual(snippets(serve).map(({ client }) => client), ["Claude Code", "Cursor", "VS Code", "Codex"])
    const stdio = { type: "stdio", command: "npx", args }
    assert.deepStrictEqual(JSON.parse(of("Claude Code")), { mcpServers: { kiwi: stdio } })
    assert.deepStrictEqual(JSON.parse(of("Cursor")), { mcpServers: { kiwi: { command: "npx", args } } })
    assert.deepStrictEqual(JSON.parse(of("VS Code")), { servers: { kiwi: stdio } })
    assert.deepStrictEqual(Result.getOrUndefined(Toml.parse(of("Codex"))), {
      mcp_servers: { kiwi: { command: "npx", args } }
    })
  })

  it("can be typed: a shell takes the command line apart into the same words", () => {
    const { stdout } = spawnSync("sh", ["-c", `printf '%s\\n' ${commandLine(serve)}`], { encoding: "utf8" })
    assert.deepStrictEqual(stdout.trimEnd().split("\n"), ["npx", ...args])
  })
})
