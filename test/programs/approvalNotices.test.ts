// A whole kernel on disk tells a person's own service what waits, as their settings say.
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Logger, Redacted } from "effect"
import * as fs from "node:fs"
import type { ServerResponse } from "node:http"
import * as Kernel from "../../src/layers/Kernel.ts"
import * as HumanGateNone from "../../src/layers/trust/humanGate/HumanGateNone.ts"
import { withApproval } from "../../src/programs/approvals.ts"
import * as embed from "../../src/programs/embed.ts"
import { sign } from "../../src/programs/sign.ts"
import * as testing from "../../src/programs/testing.ts"
import { secret, turn, until } from "../layers/approval/approvalNotices.ts"
import { call, caller } from "../layers/proxy/calls.ts"
import { localServer } from "../support/localServer.ts"
import { temporary } from "../support/temporary.ts"

const tool = `#!/usr/bin/env bash
# kiwi:
#   version: "1.0.0"
#   tool_type: bash
#   executor_id: bash_runtime
#   requires: {environment: [KEY]}
#   input_schema:
#     type: object
#     required: [password, url]
#     properties: {password: {type: string}, url: {type: string}}
#   config: {args: ["{password}", "{url}"]}
echo "\${#KEY} \${#1} $2"
`

const agree = Layer.provide(
  embed.HumanGateEmbedder.layerWith(() => true, {}),
  Layer.merge(testing.LineageMemory.layer, testing.IdentityMemory.layer)
)

const store = (name: string, value: string) =>
  Effect.gen(function*() {
    const secrets = yield* embed.SecretStore
    const request = yield* secrets.proposeSet(name)
    return yield* secrets.set(name, Redacted.make(value), { ...request, by: "terminal" })
  })

/** A project with one tool, which is asked about, and a service at `port`. `more`: other files. */
const world = Effect.fnUntraced(function*(port: number, more: Readonly<Record<string, string>> = {}) {
  const folder = yield* temporary
  const hook = `{url: "http://127.0.0.1:${port}/hook-path-canary", secret: "keychain:bot"}`
  const files = {
    "project/.ai/tools/deploy.sh": tool,
    "project/.env": "KEY=keychain:api\n",
    "user/config/permissions.yaml": "rules:\n  - ask: deploy\n",
    "user/config/kiwi.yaml": `approvals.webhook: ${hook}\n`,
    ...more
  }
  for (const [path, text] of Object.entries(files)) {
    fs.mkdirSync(`${folder}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true })
    fs.writeFileSync(`${folder}/${path}`, text, { mode: 0o600 })
  }
  const options = { project: `${folder}/project`, home: `${folder}/home`, userSpace: `${folder}/user` }
  const ready = Effect.gen(function*() {
    yield* embed.trustProject(caller)
    const signed = yield* sign({ id: "**" }, caller)
    assert.lengthOf(signed.signed, 1, JSON.stringify(signed))
    yield* store("api", "canary-of-the-keychain")
    yield* store("bot", secret)
  })
  yield* Effect.provide(ready, Layer.merge(Kernel.layer(options), agree))
  return { kernel: Layer.merge(Kernel.layer(options), HumanGateNone.layer), folder }
})

const deploy = withApproval(
  call("deploy", { password: "canary-of-a-parameter", url: "https://me:canary-of-a-url@example.com/" }),
  caller,
  0
)

describe("a kernel on disk", () => {
  it.live("tells the service what waits, without a secret of the call", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_, response) => response.end())
      const { folder, kernel } = yield* world(server.port)
      const error = yield* Effect.flip(Effect.provide(deploy, kernel))
      assert.strictEqual(error._tag, "ApprovalPending", error.message)
      yield* until(() => server.seen.length > 0)
      const body = server.seen[0]?.body ?? ""
      assert.notInclude(body, "canary")
      assert.notInclude(JSON.stringify(server.seen[0]?.headers), "canary")
      assert.notInclude(body, secret)
      const { data } = JSON.parse(body)
      assert.strictEqual(data.what, "run tool deploy")
      assert.strictEqual(data.project, "project")
      assert.deepInclude(data.tool, { name: "project:tools/deploy.sh", version: "1.0.0" })
      assert.match(data.tool.signer, /^signed by you at /)
      assert.strictEqual(data.asks[0].rule, "user:config/permissions.yaml:2")
      const { digest } = data
      // The service answers this question: it is the one that `POST /approvals/ID` compares.
      const again = yield* Effect.provide(
        Effect.flatMap(embed.ApprovalStore, (approvals) => approvals.propose(data.id)),
        kernel
      )
      assert.strictEqual(again.question.digest, digest)
      assert.notInclude(JSON.stringify({ ...data, details: "" }), folder)
    }))

  it.live("does not wait for a service that hangs, and closes soon", () =>
    Effect.gen(function*() {
      const hanging: Array<ServerResponse> = []
      const server = yield* localServer((_, response) => void hanging.push(response))
      const { kernel } = yield* world(server.port)
      const started = yield* Clock.currentTimeMillis
      yield* Effect.provide(
        Effect.gen(function*() {
          assert.strictEqual((yield* Effect.flip(deploy))._tag, "ApprovalPending")
          yield* until(() => hanging.length === 1)
        }),
        kernel
      )
      assert.isBelow((yield* Clock.currentTimeMillis) - started, 15_000)
    }))

  it.live("tells nobody what a project's file names, and says in which line it stands", () =>
    Effect.gen(function*() {
      const server = yield* localServer((_, response) => response.end())
      const hook = `\napprovals.webhook: {url: "http://127.0.0.1:${server.port}/", secret: "keychain:bot"}\n`
      const { kernel } = yield* world(9, { "project/.ai/config/kiwi.yaml": hook, "user/config/kiwi.yaml": "" })
      yield* Effect.gen(function*() {
        assert.strictEqual((yield* Effect.flip(deploy))._tag, "ApprovalPending")
        const [problem] = yield* Effect.flatMap(embed.Settings, ({ problems }) => problems)
        assert.deepInclude(problem, { line: 2, issue: "approvals.webhook counts only in a person's own file" })
        for (let count = 0; count < 100; count++) yield* turn
        assert.strictEqual(server.seen.length, 0)
      }).pipe(Effect.provide(kernel))
    }))

  it.live("goes on if the service cannot be reached, and says so without its path", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void said.push(String(message)))])
      // A port on which nothing listens any more.
      const port = yield* Effect.scoped(Effect.map(localServer(() => {}), (server) => server.port))
      const { kernel } = yield* world(port)
      const error = yield* Effect.provide(Effect.flip(deploy), Layer.merge(kernel, logger))
      assert.strictEqual(error._tag, "ApprovalPending")
      assert.match(said.join("\n"), /^http:\/\/127\.0\.0\.1:\d+ was not told that request \w+ waits: /m)
      assert.notInclude(said.join("\n"), "canary")
    }))
})
