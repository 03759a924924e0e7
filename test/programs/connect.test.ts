import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Toml from "effect/encoding/Toml"
import { spawnSync } from "node:child_process"
import { resolve } from "node:path"
import { commandLine, kiwiCommand, npxFolder, npxPackages, serveCommand, snippets } from "../../src/programs/connect.ts"
import { shellWord } from "../../src/services/text/shellWord.ts"

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

describe("what npx was asked for", () => {
  const left = (packages: ReadonlyArray<unknown>, own: string) =>
    JSON.stringify({ dependencies: { "kiwi-mcp": own }, _npx: { packages } })
  const read = (text: string) => npxPackages(text, (path) => resolve("/home/a/.npm/_npx/1f", path))
  const file = "file:/home/a/kiwi.tgz"

  it("is named again, files by their whole path", () => {
    assert.deepStrictEqual(read(left(["kiwi-mcp"], "^0.1.0")), ["kiwi-mcp"])
    assert.deepStrictEqual(read(left(["kiwi-mcp@0.1.0"], "0.1.0")), ["kiwi-mcp@0.1.0"])
    for (
      const spec of ["./kiwi.tgz", "../kiwi.tgz", "kiwi.tgz", "/home/a/kiwi.tgz", "file:../kiwi.tgz", "~/kiwi.tgz"]
    ) {
      assert.deepStrictEqual(read(left([spec], "file:../../../kiwi.tgz")), [file], spec)
    }
    assert.deepStrictEqual(read(left(["node@24", "./kiwi.tgz"], "file:../../../kiwi.tgz")), ["node@24", file])
    const remote = "https://example.com/kiwi.tgz"
    assert.deepStrictEqual(read(left([remote], remote)), [remote])
  })

  it("is nothing where its folder does not say so", () => {
    for (
      const text of ["", "{", "[]", "null", `{"_npx":{}}`, left([], "1"), left([1], "1"), `{"_npx":{"packages":{}}}`]
    ) {
      assert.isUndefined(read(text), text)
    }
  })

  it("is started again with the same packages", () => {
    const script = "/home/a/.npm/_npx/1f/node_modules/.bin/kiwi"
    assert.strictEqual(npxFolder(script), "/home/a/.npm/_npx/1f")
    assert.isUndefined(npxFolder("/usr/lib/node_modules/kiwi-mcp/bin/kiwi.cjs"))
    assert.strictEqual(commandLine(kiwiCommand(started(script), true, [file])), `npx -y ${file}`)
    assert.strictEqual(
      commandLine(kiwiCommand(started(script), true, ["node@24", file])),
      `npx -y -p node@24 -p ${file} kiwi`
    )
  })
})

describe("quote", () => {
  for (const word of ["plain", "/a/b-c.d", "two words", "it's", "$HOME `id` \"x\" \\", "a;b", "", "*", "~/x"]) {
    it(`a shell reads ${JSON.stringify(word)} back`, () => {
      assert.strictEqual(spawnSync("sh", ["-c", `printf %s ${shellWord(word)}`], { encoding: "utf8" }).stdout, word)
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
