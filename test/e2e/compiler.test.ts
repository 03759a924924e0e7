import { assert, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"

const root = new URL("../../", import.meta.url).pathname

it("the compiler that checks the sources knows Effect: one that is never run is an error", () => {
  const { status, stdout } = spawnSync(
    process.execPath,
    ["node_modules/typescript/bin/tsc", "--pretty", "false", "-p", "test/support/fixture"],
    { cwd: root, encoding: "utf8" }
  )
  assert.notStrictEqual(status, 0)
  assert.match(stdout, /floating\.ts\(5,3\): error .*\(floatingEffect\)/)
})
