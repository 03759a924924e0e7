// What waits for a person reaches their own service, from a command that ends at once and from a server that dies.
import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import type { IncomingHttpHeaders } from "node:http"
import { createServer } from "node:http"
import { join } from "node:path"
import { afterEach } from "vitest"
import { makeMachine } from "../support/kiwiProgram.ts"
import { until } from "../support/mcp/project.ts"

const ends: Array<() => unknown> = []
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end()
})

const key = Buffer.alloc(32, 7)

/** `answers`: false for one that takes what it is sent and never answers. */
const service = (answers = true) =>
  new Promise<{ readonly url: string; readonly seen: Array<{ headers: IncomingHttpHeaders; body: string }> }>(
    (resolve) => {
      const seen: Array<{ headers: IncomingHttpHeaders; body: string }> = []
      const server = createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8").on("data", (chunk: string) => {
          body += chunk
        })
        request.on("end", () => {
          seen.push({ headers: request.headers, body })
          if (answers) response.end()
        })
      })
      ends.push(() => (server.closeAllConnections(), server.close()))
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        resolve({ url: `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`, seen })
      })
    }
  )

const machine = async (url: string) => {
  const made = makeMachine()
  ends.push(made.remove)
  const config = join(made.env.USER_SPACE, "config")
  mkdirSync(config, { recursive: true, mode: 0o700 })
  writeFileSync(join(config, "kiwi.yaml"), `approvals.webhook: {url: "${url}", secret: "keychain:bot"}\n`)
  mkdirSync(join(made.site, ".ai"))
  const trusted = await made.kiwi(["trust", "project", "--yes"])
  assert.strictEqual(trusted.code, 0, trusted.stderr)
  const secret = await made.kiwi(["env", "secret", "set", "bot", "--stdin", "--yes"], {
    input: `whsec_${key.toString("base64")}\n`
  })
  assert.strictEqual(secret.code, 0, secret.stderr)
  return made
}

const write = ["run", "tool", "filesystem.write", "--params", `{"path": "made.txt", "content": "x"}`]

describe("a command that is asked about", () => {
  it("has its request sent before it ends, and again as its question has changed", async () => {
    const { seen, url } = await service()
    const { kiwi } = await machine(url)
    for (const count of [1, 2]) {
      const { code, stderr } = await kiwi(write)
      assert.notStrictEqual(code, 0)
      assert.include(stderr, "kiwi approve ")
      await until(() => seen.length === count)
    }
    const [first, second] = seen
    const { "webhook-id": id, "webhook-signature": signature, "webhook-timestamp": seconds } = first!.headers
    assert.strictEqual(
      signature,
      `v1,${createHmac("sha256", key).update(`${String(id)}.${String(seconds)}.${first!.body}`).digest("base64")}`
    )
    const [before, after] = [first, second].map(({ body } = { headers: {}, body: "" }) => JSON.parse(body).data)
    assert.strictEqual(before.what, "run tool filesystem.write")
    // The same request, of another session now: an answer to the older question would not count.
    assert.strictEqual(after.id, before.id)
    assert.notStrictEqual(after.digest, before.digest)
    assert.notStrictEqual(second!.headers["webhook-id"], id)
  })

  it("ends within seconds, though the service hangs", async () => {
    const { seen, url } = await service(false)
    const { kiwi } = await machine(url)
    const { code, stderr } = await kiwi(write)
    assert.notStrictEqual(code, 0)
    assert.include(stderr, "kiwi approve ")
    // It would take the webhook's 20 seconds otherwise, and a second attempt.
    assert.lengthOf(seen, 1)
  })

  it("shows in the doctor who is told", async () => {
    const { kiwi } = await machine("https://bot.example/path")
    const { stdout } = await kiwi(["doctor", "--json"])
    assert.include(stdout, "https://bot.example is told what waits")
    assert.notInclude(stdout, "bot.example/path")
  })
})
