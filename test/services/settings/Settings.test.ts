import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { defaults, definitions } from "../../../src/services/settings/definitions.ts"
import { interpret } from "../../../src/services/settings/interpretSettings.ts"
import { documentation } from "../../../src/services/settings/settingsPage.ts"
import { parseControlYaml } from "../../../src/services/workspace/controlYaml.ts"

const settings = (text: string, narrow: boolean, base = defaults, own = false) =>
  Effect.map(parseControlYaml(new TextEncoder().encode(text)), (node) => interpret(node, base, "f", narrow, own))

const quantities = Schema.Struct({
  timeout: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  inline: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 16_000 })),
  calls: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000 })),
  full: Schema.Boolean
})

describe("Settings", () => {
  it("docs/settings.md says what the definitions say (build/settingsDoc.ts writes it)", () => {
    assert.strictEqual(readFileSync(new URL("../../../docs/settings.md", import.meta.url), "utf8"), documentation())
  })

  it.effect("each default is what its written form means", () =>
    Effect.gen(function*() {
      for (const [field, { default: value, key, written }] of Object.entries(definitions)) {
        const empty = { ...defaults, limitsRate: {}, limitsConcurrency: {} }
        const { problems, values } = yield* settings(`${key}: ${written}`, false, empty, true)
        assert.deepStrictEqual(problems, [])
        const parsed: unknown = values[field as keyof typeof values]
        assert.deepStrictEqual(parsed, key.startsWith("limits.") ? { ...value as object, tools: {} } : value, field)
      }
    }))

  const hook = (url: string, secret = "keychain:bot") => `approvals.webhook: ${JSON.stringify({ url, secret })}`

  it.effect("a webhook is https, or http in the person's own network, and its secret is in the keychain", () =>
    Effect.gen(function*() {
      const taken = [
        "https://bot.example/kiwi?a=b",
        "https://bot.example:8443",
        "https://10.0.0.1/",
        "http://127.0.0.1:8080/kiwi",
        "http://localhost:8080/",
        "http://[::1]:8080/",
        "http://192.168.1.5/",
        "http://10.1.2.3:9/",
        "http://[fd00::1]/"
      ]
      for (const url of taken) {
        const { problems, values } = yield* settings(hook(url), false, defaults, true)
        assert.deepStrictEqual(problems, [], url)
        assert.deepStrictEqual(values.approvalsWebhook, { url, secret: "keychain:bot" })
      }
      const refused = [
        "http://bot.example/",
        "http://1.1.1.1/",
        "http://169.254.169.254/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "http://0.0.0.0:8080/",
        "https://user:password@bot.example/",
        "https://bot.example/#part",
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "bot.example",
        ""
      ].map((url) => hook(url))
      const noSecret = ["whsec_c2VjcmV0", "keychain:", "keychain:../a", "env:BOT", ""].map((secret) =>
        hook("https://bot.example/", secret)
      )
      const others = ["true", "https://bot.example/", "{url: https://bot.example/}", "[]", "{}"]
      const given = [...refused, ...noSecret, ...others.map((text) => `approvals.webhook: ${text}`)]
      for (const text of given) {
        const { problems, values } = yield* settings(`\n${text}`, false, defaults, true)
        assert.strictEqual(problems.length, 1, text)
        assert.strictEqual(problems[0]?.line, 2)
        assert.notInclude(JSON.stringify(problems), "password@")
        assert.notInclude(JSON.stringify(problems), "c2VjcmV0")
        assert.strictEqual(values.approvalsWebhook, undefined)
      }
      const off = yield* settings("approvals: {webhook: none, notify: off}", false, defaults, true)
      assert.deepStrictEqual(off.problems, [])
      assert.strictEqual(off.values.approvalsNotify, "off")
    }))

  it.effect("reads both spellings, durations and sizes", () =>
    Effect.gen(function*() {
      const text = "subprocess.timeout: 40s\noutput:\n  inline: 512KiB\n  max: 1GiB\ncalls: {concurrency: 4}\n"
      const { problems, values } = yield* settings(text, false)
      assert.deepStrictEqual(problems, [])
      assert.strictEqual(Duration.toMillis(values.subprocessTimeout), 40_000)
      assert.strictEqual(values.outputInline, 524_288)
      assert.strictEqual(values.outputMax, 1_073_741_824)
      assert.strictEqual(values.callsConcurrency, 4)
      assert.deepStrictEqual(values.httpTimeout, defaults.httpTimeout)
    }))

  it.effect("tells unknown keys and bad values with their lines, and the default holds", () =>
    Effect.gen(function*() {
      const text = [
        "subprocess.timeout: 40",
        "http.timeout: -1s",
        "output.inline: 1MB",
        "output.max: [1]",
        "calls.concurrency: 0",
        "audit.durability: none",
        "no.such: 1",
        "__proto__: {polluted: true}",
        "output: {keep: 1h}",
        "output.keep: 2h"
      ].join("\n")
      const { problems, values } = yield* settings(text, false)
      assert.deepStrictEqual(problems.map(({ line }) => line), [1, 2, 3, 4, 5, 6, 7, 8, 10])
      assert.deepStrictEqual({ ...values, outputKeep: defaults.outputKeep }, defaults)
      assert.strictEqual(Duration.toMillis(values.outputKeep), 3_600_000)
      assert.isFalse("polluted" in {})
      assert.lengthOf((yield* settings("[1, 2]", false)).problems, 1)
    }))

  it.effect("a file that may only tighten keeps the audit longer, never shorter", () =>
    Effect.gen(function*() {
      const kept = (text: string, narrow = true) =>
        Effect.map(settings(text, narrow), ({ loosens, values }) => [
          Duration.toDays(values.auditKeep),
          values.auditFile,
          loosens.length
        ])
      const file = defaults.auditFile
      assert.deepStrictEqual(yield* kept("audit.keep: 400d\n"), [400, file, 0])
      assert.deepStrictEqual(yield* kept("audit.keep: 364d\n"), [365, file, 1])
      assert.deepStrictEqual(yield* kept("audit: {keep: 1d, file: 64KiB}\n"), [365, file, 2])
      assert.deepStrictEqual(yield* kept("audit: {keep: 1d, file: 64KiB}\n", false), [1, 65_536, 2])
      assert.deepStrictEqual(yield* kept("audit.keep: 1h\n", false), [365, file, 0])
    }))

  it.effect.prop(
    "a file that may only tighten never loosens anything",
    [quantities, quantities],
    ([a, b]) =>
      Effect.gen(function*() {
        const write = (q: typeof quantities.Type) =>
          `subprocess.timeout: ${q.timeout}s\noutput.inline: ${q.inline}KiB\ncalls.concurrency: ${q.calls}\n` +
          `audit.durability: ${q.full ? "full" : "os"}\noutput.keep: ${q.timeout}h\n`
        const base = (yield* settings(write(a), false)).values
        const { values } = yield* settings(write(b), true, base)
        assert.isTrue(Duration.isLessThanOrEqualTo(values.subprocessTimeout, base.subprocessTimeout))
        assert.isAtMost(values.outputInline, base.outputInline)
        assert.isAtMost(values.callsConcurrency, base.callsConcurrency)
        assert.isTrue(values.auditDurability === "full" || base.auditDurability === "os")
        assert.deepStrictEqual(values.outputKeep, base.outputKeep)
        assert.strictEqual(values.callsConcurrency, Math.min(a.calls, b.calls))
      })
  )

  it.effect("limits: what a file does not name stays, and a project's file only adds and lowers", () =>
    Effect.gen(function*() {
      const base =
        (yield* settings("limits: {rate: {tools: {\"shell.run\": 60/m}}, concurrency: {caller: 8}}", false)).values
      assert.deepStrictEqual(base.limitsRate, {
        caller: { tokens: 600, period: 60_000 },
        tools: { "shell.run": { tokens: 60, period: 60_000 } }
      })
      const narrow = (text: string) =>
        Effect.map(settings(text, true, base), ({ loosens, values }) => ({
          loosens: loosens.map(({ setting }) => setting),
          changed: values.limitsRate !== base.limitsRate || values.limitsConcurrency !== base.limitsConcurrency ||
            values.loopThreshold !== base.loopThreshold || values.loopWindow !== base.loopWindow
        }))
      for (
        const text of [
          "limits.rate: {caller: 599/m}",
          "limits.rate: {caller: 1/s}",
          "limits.rate: {tools: {\"github/*\": 100000/s}}",
          "limits.rate: {tools: {\"shell.run\": 1/d}}",
          "limits.concurrency: {tools: {\"*\": 1024}}",
          "limits.concurrency: {caller: 7}",
          "loop.threshold: 0.5",
          "loop.window: 100"
        ]
      ) assert.deepStrictEqual(yield* narrow(text), { loosens: [], changed: true }, text)
      for (
        const [text, loosens] of [
          ["limits.rate: {caller: 601/m}", "limits.rate: {caller: 601/m}"],
          ["limits.rate: {caller: 600/s}", "limits.rate: {caller: 600/s}"],
          ["limits.rate: {caller: 599/s}", "limits.rate: {caller: 599/s}"],
          ["limits.rate: {caller: 1000/h}", "limits.rate: {caller: 1000/h}"],
          [
            "limits.rate: {caller: 1/d, tools: {\"shell.run\": 61/m}}",
            "limits.rate: {caller: 1/d, tools: {shell.run: 61/m}}"
          ],
          ["limits.concurrency: {caller: 9}", "limits.concurrency: {caller: 9}"],
          ["loop.threshold: 0.95", "loop.threshold: 0.95"],
          ["loop.window: 9", "loop.window: 9"]
        ] as const
      ) assert.deepStrictEqual(yield* narrow(text), { loosens: [loosens], changed: false }, text)
    }))

  it.effect("limits that are not written as they must be set nothing", () =>
    Effect.gen(function*() {
      for (
        const text of [
          "limits.rate: 600/m",
          "limits.rate: {caller: 600}",
          "limits.rate: {caller: 0/m}",
          "limits.rate: {caller: 100001/s}",
          "limits.rate: {caller: -1/m}",
          "limits.rate: {caller: 1/w}",
          "limits.rate: {calls: 1/m}",
          "limits.rate: {tools: {\"a*b\": 1/m}}",
          "limits.rate: {tools: {\"*a\": 1/m}}",
          "limits.rate: {tools: {\"\": 1/m}}",
          "limits.rate: {tools: {\"__proto__\": 1/m}}",
          `limits.rate: {tools: {${Array.from({ length: 65 }, (_, i) => `"t${i}": 1/m`).join(", ")}}}`,
          "limits.concurrency: {caller: 0}",
          "limits.concurrency: {caller: 1025}",
          "limits.concurrency: {caller: 1.5}",
          "loop.threshold: 0.4",
          "loop.threshold: 1.1",
          "loop.window: 0",
          "loop.window: 101"
        ]
      ) {
        const { problems, values } = yield* settings(text, false)
        assert.lengthOf(problems, 1, text)
        assert.deepStrictEqual(values, defaults, text)
      }
    }))
})
