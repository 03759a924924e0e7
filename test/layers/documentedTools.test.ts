// docs/builtin-tools.md lists the tools that Kiwi brings for agents, and no others.
import { assert, it } from "@effect/vitest"
import { globSync, readFileSync } from "node:fs"
import { basename } from "node:path"

it("the page lists every tool of the system tier whose id has a dot", () => {
  const root = new URL("../../", import.meta.url).pathname
  const page = readFileSync(`${root}docs/builtin-tools.md`, "utf8")
  const listed = [...page.matchAll(/^\| `([a-z.]+)` \|/gm)].map(([, id]) => id)
  const tools = globSync(".ai/tools/*/*.*.yaml", { cwd: root }).map((path) => basename(path, ".yaml"))
  assert.deepStrictEqual(listed.toSorted(), tools.toSorted())
})
