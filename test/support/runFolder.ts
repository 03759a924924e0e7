// The folder that one run of the tests owns. It is Kiwi's home and user tier for everything that the run starts, so
// that no test touches those of the person who runs it, nor their keychain.
import { mkdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const runFolder = join(tmpdir(), `kiwi-test-${process.pid}`)

export const omissionsFile = join(runFolder, "omissions.jsonl")

/** The server of the tests of the wire: as it is written, and as `mcp/bundleServer.ts` makes it. */
export const serverSource = new URL("mcp/fakeServer.ts", import.meta.url).pathname
export const bundledServer = join(runFolder, "server/fakeServer.mjs")

export const environment = {
  // So that no test shows a notification on a desktop.
  CI: "true",
  KIWI_HOME: join(runFolder, "home"),
  USER_SPACE: join(runFolder, "user"),
  KIWI_KEYCHAIN: "off",
  KIWI_TEST_COMPILED: join(runFolder, "compiled"),
  KIWI_TEST_OMISSIONS: omissionsFile,
  KIWI_TEST_SERVER: bundledServer
}

/** Vitest's global setup: returns what undoes it. */
export const setup = () => {
  rmSync(runFolder, { recursive: true, force: true })
  mkdirSync(environment.KIWI_HOME, { recursive: true, mode: 0o700 })
  mkdirSync(environment.USER_SPACE, { recursive: true })
  return () => rmSync(runFolder, { recursive: true, force: true })
}
