// What a tool's signed config names: a rule that denies it or asks about it reaches it, and no rule has to allow it.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Schema } from "effect"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import { showAccess } from "../../../src/services/capability/Access.ts"
import { CapabilityTokens } from "../../../src/services/capability/CapabilityTokens.ts"
import type { Grant } from "../../../src/services/capability/Grant.ts"
import { configAccesses } from "../../../src/services/primitive/configAccesses.ts"
import { call, caller, kernel, object, tool } from "../proxy/calls.ts"

const tools = {
  "tools/api.yaml": tool({
    tool_type: "http",
    executor_id: "http_client",
    input_schema: object({ q: { type: "string", default: "x" } }),
    config: { url: "https://API.example.com./find?q={q}" }
  }),
  "tools/push.yaml": tool({
    input_schema: object({ branch: { type: "string", default: "main" } }),
    config: { command: "git", args: ["push", "origin", "{branch}"] }
  })
}
const world = (permissions: string) =>
  kernel({
    permissions: permissions === "" ? "" : `rules:\n${permissions.replaceAll(/^/gm, "  ").trimEnd()}\n`,
    project: tools,
    programs: { git: () => Effect.succeed({ stdout: "pushed" }) },
    replace: OutboundMemory.layerWith(() => Effect.succeed({ body: "found" }))
  })

const outcome = (item: string, permissions: string, parameters: Schema.JsonObject = {}) =>
  Effect.provide(
    call(item, parameters).pipe(
      Effect.map(({ status }) => status as string),
      Effect.catch((error) => Effect.succeed(error._tag as string))
    ),
    world(permissions)
  )

const rows: ReadonlyArray<
  readonly [item: string, permissions: string, outcome: string, parameters?: Schema.JsonObject]
> = [
  ["api", "", "success"],
  ["api", "- deny: net.http(evil.example)\n", "success"],
  ["api", "- deny: net.http(api.example.com)\n", "PermissionDenied"],
  ["api", "- deny: net.http(*.example.com)\n", "PermissionDenied"],
  ["api", "- deny: net.http(API.Example.com:443)\n", "PermissionDenied"],
  ["api", "- deny: net.http(api.example.com:80)\n", "success"],
  ["api", "- deny: net.http\n", "PermissionDenied"],
  ["api", "- ask: net.http(api.example.com)\n", "ApprovalPending"],
  ["api", "- allow: net.http(other.example)\n", "success"],
  ["api", "- allow: api\n- deny: net.http(api.example.com)\n", "PermissionDenied"],
  ["api", "- deny: process.exec\n", "success"],
  ["push", "", "success"],
  ["push", "- deny: process.exec(git push *)\n", "PermissionDenied"],
  ["push", "- deny: process.exec(git *)\n", "PermissionDenied"],
  ["push", "- deny: process.exec\n", "PermissionDenied"],
  ["push", "- deny: process.exec(git push origin prod)\n", "success"],
  ["push", "- deny: process.exec(git push origin prod)\n", "PermissionDenied", { branch: "prod" }],
  ["push", "- ask: process.exec(git push *)\n", "ApprovalPending"],
  ["push", "- allow: process.exec(npm test)\n", "success"],
  ["push", "- deny: shell.run(git push *)\n", "success"],
  ["push", "- deny: net.http\n", "success"]
]

describe("what a tool's signer chose", () => {
  for (const [item, permissions, expected, parameters] of rows) {
    it.effect(`${item} ${JSON.stringify(parameters ?? {})} under ${JSON.stringify(permissions)}: ${expected}`, () =>
      Effect.map(outcome(item, permissions, parameters), (found) => assert.strictEqual(found, expected)))
  }

  it.effect("needs no grant of a token, and is denied by one", () =>
    Effect.gen(function*() {
      const tokens = yield* CapabilityTokens
      const as = Effect.fnUntraced(function*(item: string, allow: ReadonlyArray<Grant>, deny: ReadonlyArray<Grant>) {
        const token = yield* tokens.mint({ thread: "t", directive: "d", grants: { allow, deny } })
        return yield* call(item, {}, { thread: "t", token })
      })
      yield* as("api", [{ capability: "tool.api" }], [])
      yield* as("push", [{ capability: "tool.push" }], [])
      yield* Effect.flip(as("push", [{ capability: "process.exec" }], []))
      for (
        const [item, deny] of [
          ["api", { capability: "net.http", scope: ["*.example.com"] }],
          ["push", { capability: "process.exec", scope: ["git push *"] }]
        ] as const
      ) {
        const error = yield* Effect.flip(as(item, [{ capability: "tool.*" }], [deny]))
        assert.strictEqual(error._tag, "PermissionDenied", item)
      }
    }).pipe(Effect.provide(world(""))))
})

describe("a server that is known only when the tool runs", () => {
  const running = (permissions: string) =>
    kernel({
      permissions: `rules:\n  - ${permissions}\n`,
      controlFiles: { ".env": "BASE=https://evil.example\n" },
      project: {
        ...tools,
        "tools/base.yaml": tool({
          tool_type: "http",
          executor_id: "http_client",
          requires: { environment: ["BASE"] },
          config: { url: "${BASE}/x" }
        })
      },
      replace: OutboundMemory.layerWith(({ mayRedirect }) =>
        Effect.map(mayRedirect?.("evil.example", 443) ?? Effect.succeed("not asked"), (body) => ({ body }))
      )
    })
  const answerOf = (item: string) =>
    call(item).pipe(
      Effect.map(({ data }) => String(data)),
      Effect.catch((error) => Effect.succeed(error.message))
    )
  const decided: ReadonlyArray<readonly [permissions: string, redirect: string, base: RegExp]> = [
    ["deny: net.http(evil.example)", "denied", /a rule denies it/],
    ["deny: net.http(evil.example:443)", "denied", /a rule denies it/],
    ["ask: net.http(evil.example)", "asked", /a rule asks about it/],
    ["deny: net.http(other.example)", "allowed", /^allowed$/]
  ]
  for (const [permissions, redirect, base] of decided) {
    it.effect(`is decided then: ${permissions}`, () =>
      Effect.gen(function*() {
        assert.strictEqual(yield* answerOf("api"), redirect)
        assert.match(yield* answerOf("base"), base)
      }).pipe(Effect.provide(running(permissions))))
  }
})

describe("what a config says that it touches", () => {
  const shown = (
    primitive: "subprocess" | "http_client",
    config: Schema.JsonObject,
    parameters: Schema.JsonObject = {}
  ) => configAccesses(primitive, { tool: "t", caller, config, parameters }).map((access) => showAccess(access))

  it("is the server, as URLs mean it", () => {
    const urls: ReadonlyArray<readonly [url: string, host: string | undefined]> = [
      ["https://api.example.com", "api.example.com:443"],
      ["http://api.example.com/{id}", "api.example.com:80"],
      ["https://API.EXAMPLE.com.:8443/x", "api.example.com:8443"],
      ["https://user:pw@evil.example/api.example.com", "evil.example:443"],
      ["https:\\\\evil.example/x", undefined],
      ["https://2130706433/", "127.0.0.1:443"],
      ["https://[::1]:80/", "::1:80"],
      ["https://ex\u0430mple.com/", "xn--exmple-4nf.com:443"],
      ["${BASE}/x", undefined],
      ["https://${HOST}/x", undefined],
      ["https://{host}/x", undefined],
      ["https://api.{zone}.example.com/", undefined],
      ["ftp://api.example.com/", undefined],
      ["no url", undefined]
    ]
    for (const [url, host] of urls) {
      assert.deepStrictEqual(shown("http_client", { url }), host === undefined ? [] : [`net.http(${host})`], url)
    }
  })

  it("is the program with its arguments, unless a variable names it", () => {
    assert.deepStrictEqual(shown("subprocess", { command: "git", args: ["push", "{b}"] }, { b: "a b" }), [
      "process.exec(git push 'a b')"
    ])
    assert.deepStrictEqual(shown("subprocess", { command: "git", args: ["-C", "${HOME}"] }), [
      "process.exec(git -C '${HOME}')"
    ])
    assert.deepStrictEqual(shown("subprocess", { command: "psql", input: "args" }, { query: "x" }), [
      "process.exec(psql --query=x)"
    ])
    assert.deepStrictEqual(shown("subprocess", { command: "${KIWI_PYTHON}", runtime_args: ["${TOOL_FILE}"] }), [])
    assert.deepStrictEqual(shown("subprocess", { command: "{program}" }, { program: "rm" }), [])
  })
})
