import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { ownServer } from "../conformance/ownServer.ts"
import { requirements, revisions, start, withoutFixtures } from "../conformance/suite.ts"
import type { Outcome } from "../conformance/suite.ts"

const root = new URL("../../", import.meta.url)
const fixture = new URL("test/conformance/fixtureServer.ts", root).pathname

/** What a revision's own list says that a server must pass. */
const listed = (revision: string): ReadonlyArray<string> => {
  const file = new URL(`node_modules/@modelcontextprotocol/conformance/requirements/${revision}.yaml`, root)
  const [, , section = ""] = /(^|\n)server:\n((?: {2}.*\n|\s*#.*\n|\n)+)/.exec(readFileSync(file, "utf8")) ?? []
  return Array.from(section.matchAll(/^ {2}- ([\w./-]+)$/gm), ([, scenario = ""]) => scenario)
}

const failing = (outcomes: ReadonlyArray<Outcome>, scenarios: ReadonlyArray<string>) =>
  scenarios.filter((scenario) => {
    const outcome = outcomes.find((o) => o.scenario === scenario)
    return outcome === undefined || outcome.failed > 0 || outcome.passed === 0
  })

for (const revision of revisions) {
  describe(`the official conformance suite, ${revision}`, () => {
    it("passes all that is required of a server, on a server with its fixtures", { timeout: 180_000 }, async () => {
      const required = listed(revision)
      assert.isAbove(required.length, 20)
      const { stop, url } = await start(process.execPath, [fixture])
      const outcomes = await requirements(url, revision).finally(stop)
      assert.deepStrictEqual(failing(outcomes, required), [])
    })

    it("passes what needs no fixtures, on Kiwi itself", { timeout: 180_000 }, async () => {
      const { stop, url } = await ownServer()
      const outcomes = await requirements(url, revision).finally(stop)
      assert.deepStrictEqual(failing(outcomes, withoutFixtures[revision]), [])
    })
  })
}
