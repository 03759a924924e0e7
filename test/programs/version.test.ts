import { assert, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { version } from "../../src/programs/version.ts"

it("the programs print the version that the package has", () => {
  const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  assert.strictEqual(version, manifest.version)
})
