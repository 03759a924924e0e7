// What `npm test` does once there is a build: the checks beside the tests, which often wait for something. A check that
// fails ends the tests.
import { spawn } from "node:child_process"
import { text } from "node:stream/consumers"

const ended = (child: ReturnType<typeof spawn>) =>
  new Promise<boolean>((resolve, reject) => child.on("error", reject).on("close", (code) => resolve(code === 0)))

const tests = spawn("vitest", ["run", "--project", "unit", "--project", "e2e"], { stdio: "inherit" })
const check = spawn("npm", ["run", "--silent", "check"], { stdio: ["ignore", "pipe", "pipe"] })
const passed = ended(tests)
const said = Promise.all([text(check.stdout), text(check.stderr)])

const checked = ended(check).then(async (isClean) => {
  if (isClean) return true
  tests.kill("SIGTERM")
  await passed
  process.stderr.write(`\n${(await said).join("\n").trim()}\n\nnpm run check failed, and ended the tests\n`)
  return false
})
const results = await Promise.all([passed, checked])
process.exitCode = results.every(Boolean) ? 0 : 1
