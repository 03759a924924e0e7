// What Kiwi itself gave to a tool comes back out by no way: not by the result, not by a failure, not while it runs.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { redactBytes } from "../../../src/layers/audit/redactBytes.ts"
import * as KernelMemory from "../../../src/layers/KernelMemory.ts"
import type { Program } from "../../../src/layers/primitive/PrimitivesMemory.ts"
import { toErrorObject } from "../../../src/services/error/KiwiError.ts"
import { Outputs } from "../../../src/services/primitive/Outputs.ts"
import { CallEvents } from "../../../src/services/proxy/ToolCall.ts"
import { ToolProxy } from "../../../src/services/proxy/ToolProxy.ts"

const secret = "sesame-open-12345"

const tool = (config: object) =>
  JSON.stringify({
    version: "1.0.0",
    tool_type: "script",
    executor_id: "subprocess",
    requires: { environment: ["API_TOKEN"] },
    config: { command: "program", ...config }
  })

const call = (program: Program, config: object) =>
  Effect.flatMap(ToolProxy, (proxy) =>
    proxy.call({
      callId: "call",
      caller: { surface: "embed", client: "tester", session: "one" },
      item: "leaky",
      parameters: {},
      dryRun: false
    })).pipe(Effect.provide(KernelMemory.layer({
      project: { "tools/leaky.yaml": tool(config) },
      programs: new Map([["program", program]]),
      host: { variables: { PATH: "/usr/bin", API_TOKEN: secret } }
    })))

const says = (stdout: string, end: { readonly stderr?: string; readonly code?: number } = {}): Program => ({ env }) =>
  Effect.succeed({ ...end, stdout: stdout.replace("SECRET", env["API_TOKEN"] ?? "") })

describe("secrets of a call", () => {
  it.effect("are not in what a failure says", () =>
    Effect.gen(function*() {
      const failures: ReadonlyArray<readonly [code: string, program: Program, config: object]> = [
        ["TOOL_FAILED", says("Authorization: Bearer SECRET", { code: 2 }), {}],
        [
          "TOOL_FAILED",
          ({ env }) => Effect.succeed({ code: 1, stderr: `token=${encodeURIComponent(env["API_TOKEN"]!)}` }),
          {}
        ],
        ["TOOL_OUTPUT_INVALID", says("SECRET is no JSON"), { output: "json" }],
        ["CONFIG_INVALID", says(""), { timeout: "${API_TOKEN}" }],
        ["CONFIG_INVALID", says(""), { env: { "not a name": "${API_TOKEN}" } }]
      ]
      for (const [code, program, config] of failures) {
        const error = toErrorObject(yield* Effect.flip(call(program, config)))
        assert.strictEqual(error.code, code)
        assert.notInclude(JSON.stringify(error), secret, code)
      }
    }))

  it.effect("are not in what is reported while a tool runs", () =>
    Effect.gen(function*() {
      const heard: Array<string> = []
      yield* call(
        ({ env }) => Effect.as(Effect.yieldNow, { stdout: `one ${env["API_TOKEN"]}\n` }),
        {}
      ).pipe(
        Effect.provideService(CallEvents, { emit: (event) => Effect.sync(() => heard.push(JSON.stringify(event))) })
      )
      assert.notInclude(heard.join("\n"), secret)
    }))

  it.effect("are not in output that is kept", () =>
    Effect.gen(function*() {
      const padding = "x".repeat(1_200_000)
      const { kept, result } = yield* Effect.gen(function*() {
        const proxy = yield* ToolProxy
        const { data, metadata } = yield* proxy.call({
          callId: "call",
          caller: { surface: "embed", client: "tester", session: "one" },
          item: "leaky",
          parameters: {},
          dryRun: false
        })
        const { bytes } = yield* Effect.flatMap(
          Outputs,
          (outputs) => outputs.read(metadata.output!.uri, { offset: 1_190_000, length: 200_000 })
        )
        return { result: JSON.stringify(data), kept: new TextDecoder().decode(bytes) }
      }).pipe(Effect.provide(KernelMemory.layer({
        project: { "tools/leaky.yaml": tool({}) },
        programs: new Map([["program", says(`${padding}\nSECRET\nend`)]]),
        host: { variables: { PATH: "/usr/bin", API_TOKEN: secret } }
      })))
      assert.notInclude(result, secret)
      assert.notInclude(kept, secret)
      assert.include(kept, "‹redacted›\nend")
    }))

  it.effect.prop(
    "are not in what is kept, wherever the parts of it are cut",
    [Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 40 })))],
    ([cuts]) =>
      Effect.sync(() => {
        const redact = redactBytes([Redacted.make(secret)])
        const text = Buffer.from(`a${secret}b${secret}${secret}c${secret.slice(0, 9)}`)
        const parts: Array<Buffer> = []
        let from = 0
        for (const length of cuts) {
          parts.push(redact.push(text.subarray(from, from + length)))
          from += length
        }
        parts.push(redact.push(text.subarray(from)), redact.end())
        assert.strictEqual(
          Buffer.concat(parts).toString(),
          `a‹redacted›b‹redacted›‹redacted›c${secret.slice(0, 9)}`
        )
      })
  )
})
