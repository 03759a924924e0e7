// A person's own service is told what waits: signed, repeated, and never at the expense of the call.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { webcrypto } from "node:crypto"
import type { ServerResponse } from "node:http"
import type { Webhook } from "../../../src/services/settings/Settings.ts"
import type { LocalServer } from "../../support/localServer.ts"
import { localServer } from "../../support/localServer.ts"
import { arrived, key, noticesWith, secret, turn, until } from "./approvalNotices.ts"

const hookAt = (url: string): Webhook => ({ url: `${url}/kiwi`, secret: "keychain:bot" })

const settingsFor = (url: string) => ({ approvalsNotify: "off" as const, approvalsWebhook: hookAt(url) })

/** Gives each request the next status, and the last one to all others. */
const answering = (...statuses: ReadonlyArray<number>) => {
  const left = [...statuses]
  return localServer((_, response) => {
    response.statusCode = left.length > 1 ? left.shift()! : left[0]!
    response.end()
  })
}

/** What Kiwi sent. */
const told = ({ seen }: LocalServer) => seen.filter(({ url }) => url !== "/arrived")

/** The standard's signature, computed by other code than Kiwi's. */
const signatureOf = (id: string, seconds: string, body: string) =>
  Effect.promise(async () => {
    const imported = await webcrypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
    const signed = await webcrypto.subtle.sign("HMAC", imported, new TextEncoder().encode(`${id}.${seconds}.${body}`))
    return `v1,${Buffer.from(signed).toString("base64")}`
  })

describe("a person's own service", () => {
  it.live("is told what waits, again after a failure, and how it ended", () =>
    Effect.gen(function*() {
      const server = yield* answering(500, 200)
      const { announce, answer, file, question } = yield* noticesWith({ settings: settingsFor(server.url) })
      const tool = { name: "project:tools/edit.py", version: "1.2.0", signer: "signed by you at noon" }
      const id = yield* file({ tool })
      const { approval, question: { digest } } = yield* question(id)
      yield* announce(id)
      yield* announce(id)
      yield* until(() => server.seen.length === 2)
      yield* answer(id, "once")
      yield* until(() => server.seen.length === 3)
      for (const { body, headers, method, url } of server.seen) {
        assert.deepStrictEqual([method, url, headers["content-type"]], ["POST", "/kiwi", "application/json"])
        const seconds = String(headers["webhook-timestamp"])
        assert.closeTo(Number(seconds), Date.now() / 1_000, 60)
        const signature = yield* signatureOf(String(headers["webhook-id"]), seconds, body)
        assert.strictEqual(headers["webhook-signature"], signature)
      }
      const [first, second, third] = server.seen
      assert.strictEqual(first?.body, second?.body)
      const ids = server.seen.map(({ headers }) => headers["webhook-id"])
      assert.deepStrictEqual(ids, [`msg_${id}_${digest.slice(0, 16)}`, ids[0], `msg_${id}_settled`])
      const { data, timestamp, type } = JSON.parse(first?.body ?? "")
      assert.deepStrictEqual([type, timestamp], ["approval.requested", new Date(approval.at).toISOString()])
      const { details, ...rest } = data
      assert.deepStrictEqual(rest, {
        id,
        digest,
        what: "run tool edit",
        tool,
        caller: { client: "ada", surface: "mcp" },
        project: "shop",
        asks: [{
          access: "fs.write(src/a.ts)",
          reason: "changes files of this project",
          rule: "default: changes ask"
        }],
        answers: ["once", "session", "always", "no", "never"],
        expires_at: new Date(approval.until).toISOString()
      })
      assert.include(details, "allow: fs.write(src/**)")
      const last = JSON.parse(third?.body ?? "")
      assert.strictEqual(last.type, "approval.settled")
      assert.deepStrictEqual(last.data, { id, state: "approved", answer: "once" })
    }))

  for (const answer of ["once", "no", "never", "always"]) {
    it.effect(`is not told again once the answer is "${answer}"`, () =>
      Effect.gen(function*() {
        const server = yield* answering(503)
        const world = yield* noticesWith({ settings: settingsFor(server.url) })
        const id = yield* world.file()
        yield* world.announce(id)
        yield* until(() => world.warnings.length === 1)
        assert.match(world.warnings[0] ?? "", /was not told that request \w+ waits: it answered 503; it is told again/)
        assert.notInclude(world.warnings[0], "/kiwi", "its path may be a secret")
        yield* TestClock.adjust("1 second")
        yield* until(() => server.seen.length === 2)
        yield* world.answer(id, answer)
        yield* TestClock.adjust("30 minutes")
        yield* arrived(server.url)
        assert.strictEqual(told(server).length, 2)
        assert.strictEqual(world.warnings.length, 1)
      }))
  }

  it.effect("is told as long as the request waits, and not longer", () =>
    Effect.gen(function*() {
      const server = yield* answering(500)
      const world = yield* noticesWith({ settings: settingsFor(server.url) })
      yield* world.announce(yield* world.file())
      yield* until(() => server.seen.length === 6, TestClock.adjust("1 second"))
      yield* TestClock.adjust("1 hour")
      yield* arrived(server.url)
      const before = told(server).length
      yield* TestClock.adjust("1 hour")
      yield* arrived(server.url)
      assert.strictEqual(told(server).length, before)
    }))

  for (
    const [what, status] of [["another port", 307], ["another port, as GET", 302], [
      "another port for good",
      308
    ]] as const
  ) {
    it.effect(`cannot redirect to ${what}`, () =>
      Effect.gen(function*() {
        const other = yield* answering(200)
        const server = yield* localServer((_, response) => {
          response.writeHead(status, { location: `${other.url}/stolen` }).end()
        })
        const world = yield* noticesWith({ settings: settingsFor(server.url) })
        yield* world.announce(yield* world.file())
        yield* until(() => world.warnings.length > 0)
        yield* arrived(other.url)
        assert.strictEqual(server.seen.length, 1)
        assert.strictEqual(told(other).length, 0)
        assert.match(world.warnings[0] ?? "", /redirects/)
      }))
  }

  const unusable: ReadonlyArray<readonly [what: string, secrets: Record<string, string>]> = [
    ["is missing", {}],
    ["has another name", { Bot: secret }],
    ["has no prefix", { bot: key.toString("base64") }],
    ["is short", { bot: `whsec_${Buffer.from("short").toString("base64")}` }],
    ["is long", { bot: `whsec_${Buffer.alloc(65).toString("base64")}` }],
    ["is empty", { bot: "whsec_" }],
    ["is not base64", { bot: `whsec_${"-".repeat(44)}` }],
    ["is a public key's", { bot: `whpk_${key.toString("base64")}` }],
    ["has two lines", { bot: `${secret}\n${secret}` }]
  ]
  for (const [what, secrets] of unusable) {
    it.effect(`is not told if the secret ${what}, and the log and the doctor say so`, () =>
      Effect.gen(function*() {
        const server = yield* answering(200)
        const world = yield* noticesWith({ settings: settingsFor(server.url), secrets })
        yield* world.announce(yield* world.file())
        yield* until(() => world.warnings.length > 0)
        yield* TestClock.adjust("1 hour")
        yield* arrived(server.url)
        assert.strictEqual(told(server).length, 0)
        assert.match(world.warnings.join("\n"), /secret bot.*kiwi env secret set bot --stdin; it is not told of it$/)
        const [way] = yield* world.ways
        assert.match(way?.state ?? "", /is not told what waits: .*secret bot/)
        assert.include(way?.remedy, "kiwi env secret set bot")
        for (const value of Object.values(secrets)) {
          if (value.length > 10) assert.notInclude(`${world.warnings.join()} ${JSON.stringify(way)}`, value)
        }
      }))
  }

  it.effect("may hang, and the call is not held up by it", () =>
    Effect.gen(function*() {
      const hanging: Array<ServerResponse> = []
      const server = yield* localServer((_, response) => void hanging.push(response))
      const world = yield* noticesWith({ settings: settingsFor(server.url) })
      const id = yield* world.file()
      // Nothing moves the clock: this would not come back if it waited.
      yield* world.announce(id)
      yield* until(() => hanging.length === 1)
      yield* TestClock.adjust("20 seconds")
      yield* until(() => world.warnings.length === 1)
      assert.include(world.warnings[0], "did not answer within 20 seconds")
      yield* world.answer(id, "no")
      yield* TestClock.adjust("1 minute")
      yield* Effect.forEach(Array.from({ length: 100 }), () => turn)
      assert.strictEqual(hanging.length, 1)
    }))

  it.effect("is told at once where nobody is shown the question, else after half a minute without an answer", () =>
    Effect.gen(function*() {
      const server = yield* answering(200)
      const world = yield* noticesWith({ settings: settingsFor(server.url) })
      const [late = "", answered = "", dismissed = "", elsewhere = ""] = yield* Effect.forEach(
        ["1", "2", "3", "4"],
        (one) => world.file({ digest: one.repeat(64) })
      )
      for (const id of [late, answered, dismissed, elsewhere]) yield* world.announce(id, true)
      yield* TestClock.adjust("29 seconds")
      yield* world.answer(answered, "no")
      yield* world.dismiss(dismissed)
      assert.strictEqual(server.seen.length, 0)
      yield* world.announce(elsewhere, false)
      yield* until(() => server.seen.length === 1)
      yield* TestClock.adjust("1 second")
      yield* until(() => server.seen.length === 2)
      yield* TestClock.adjust("1 second")
      yield* arrived(server.url)
      assert.deepStrictEqual(told(server).map(({ body }) => JSON.parse(body).data.id), [elsewhere, late])
    }))

  it.effect("is told what it may answer: what nobody can read whole is allowed only at a terminal", () =>
    Effect.gen(function*() {
      const server = yield* answering(410)
      const world = yield* noticesWith({ settings: settingsFor(server.url) })
      yield* world.announce(yield* world.file({ unreadable: ["parameters"], details: "Text: \u202egpj.exe\u0007" }))
      yield* until(() => world.warnings.length === 1)
      yield* TestClock.adjust("10 minutes")
      yield* arrived(server.url)
      assert.strictEqual(told(server).length, 1, "410 is the end")
      const { data } = JSON.parse(server.seen[0]?.body ?? "")
      assert.deepStrictEqual(data.answers, ["no", "never"])
      assert.notInclude(data.details, "\u202e")
      assert.notInclude(data.details, "\u0007")
    }))
})
