// What docs/mcp.md lists is what there is.
import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { tools } from "../../../src/programs/mcp/tools.ts"
import { maxDepth, maxMessageBytes } from "../../../src/programs/mcp/transport/admission.ts"
import { httpProtocols, stdioProtocols } from "../../../src/programs/mcp/transport/protocols.ts"

const page = readFileSync(new URL("../../../docs/mcp.md", import.meta.url), "utf8")

it("docs/mcp.md has the tools, in their order, with what they need", () => {
  const rows = Array.from(page.matchAll(/^\| `(\w+) \{(\w+)(?:, \w+)?\}` \|/gm), ([, tool, needs]) => [tool, needs])
  assert.deepStrictEqual(rows, tools.map(({ inputSchema, name }) => [name, inputSchema.required?.[0] ?? "topic"]))
})

it("docs/mcp.md has the revisions of both transports", () => {
  const flat = page.replaceAll("\n", " ")
  const versions = stdioProtocols.map(({ protocolVersion }) => protocolVersion).toReversed()
  assert.include(flat, `${versions.slice(0, -1).join(", ")} and ${versions.at(-1)}`)
  assert.include(flat, `from ${httpProtocols.map(({ protocolVersion }) => protocolVersion).toSorted()[0]} on`)
})

it("docs/mcp.md has the limits", () => {
  assert.include(page, `${maxMessageBytes / 1024 / 1024} MiB and ${maxDepth} levels`)
})

it("docs/mcp.md names the clients that `npm run clients` drives, in their versions", () => {
  const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"))
  const own = ["@modelcontextprotocol/client", "@modelcontextprotocol/sdk", "@modelcontextprotocol/inspector"]
  const { dependencies, devDependencies } = read("../../../package.json")
  const driven = {
    ...read("../../clients/package.json").dependencies,
    ...Object.fromEntries(own.map((name) => [name, { ...dependencies, ...devDependencies }[name]]))
  }
  const rows = page.split("## Clients that were tried")[1]?.split("\n## ")[0]?.split("\n| ") ?? []
  for (const [name, version] of Object.entries<string>(driven)) {
    assert.isTrue(rows.some((row) => row.includes(`\`${name}\``) && row.includes(version)), `${name} ${version}`)
  }
})
