import { assert, describe, it } from "@effect/vitest"
import { Effect, type Layer, Redacted, type Scope } from "effect"
import type { AuditRecord } from "../../../src/services/audit/AuditEntry.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"

const caller = { surface: "test", client: "tester", session: "s" }

const request = (call: string, item: string, parameters: unknown): AuditRecord => ({
  kind: "request",
  call,
  caller,
  operation: "run",
  subject: { type: "tool", item },
  parameters: parameters as never
})

const result = (call: string, item: string, outcome: "success" | "denied", message?: string): AuditRecord => ({
  kind: "result",
  call,
  subject: { type: "tool", item, chain: ["add", "python_runtime"] },
  outcome,
  ...(message === undefined ? {} : { error: { code: "X", message } }),
  duration_ms: 1.5
})

export const contract = <E, E2>(
  name: string,
  /** A new audit for each test. */
  make: Effect.Effect<Layer.Layer<AuditLog, E>, E2, Scope.Scope>
) =>
  describe(`${name} satisfies AuditLog`, () => {
    const test = (title: string, body: (audit: AuditLog["Service"]) => Effect.Effect<void, unknown>) =>
      it.live(title, () => Effect.flatMap(make, (layer) => AuditLog.use(body).pipe(Effect.provide(layer))), 30_000)

    test("is empty before anything happened", (audit) =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* audit.read(), [])
        assert.deepStrictEqual(yield* audit.verify, {
          files: 0,
          entries: 0,
          open: [],
          sealed: 0,
          recovered: 0,
          expired: 0,
          keys: [],
          problems: []
        })
        assert.deepStrictEqual(yield* audit.anchor, { head: "0".repeat(64), n: 0 })
      }))

    test("reads entries as they were given, newest last, numbered and chained", (audit) =>
      Effect.gen(function*() {
        yield* audit.append(request("c1", "add", { a: [1, null, { b: "é" }] }))
        yield* audit.append(result("c1", "add", "success"))
        yield* audit.append({
          kind: "act",
          act: "sign",
          by: "me",
          caller,
          title: "Sign add",
          digest: "d".repeat(64),
          outcome: "done"
        })
        const entries = yield* audit.read()
        assert.deepStrictEqual(entries.map(({ kind, n }) => [kind, n]), [
          ["opened", 1],
          ["request", 2],
          ["result", 3],
          ["act", 4]
        ])
        const [, first, second] = entries
        assert.isTrue(first?.kind === "request" && second?.kind === "result")
        if (first?.kind !== "request" || second?.kind !== "result") return
        assert.deepStrictEqual(first.parameters, { a: [1, null, { b: "é" }] })
        assert.deepStrictEqual(second.subject.chain, ["add", "python_runtime"])
        assert.match(first.at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.strictEqual(new Set(entries.map(({ prev }) => prev)).size, 4)
      }))

    test("finds by call, by item and by outcome, and returns no more than was asked for", (audit) =>
      Effect.gen(function*() {
        for (
          const [call, item, outcome] of [["c1", "add", "success"], ["c2", "sub", "denied"], [
            "c3",
            "add",
            "denied"
          ]] as const
        ) {
          // A mention of another call is not an entry of it.
          yield* audit.append(request(call, item, { about: "c2", other: "sub", denied: "denied" }))
          yield* audit.append(result(call, item, outcome))
        }
        const read = (filter: Parameters<typeof audit.read>[0]) =>
          Effect.map(audit.read(filter), (entries) => entries.map(({ kind, n }) => `${kind} ${n}`))
        assert.deepStrictEqual(yield* read({ call: "c2" }), ["request 4", "result 5"])
        assert.deepStrictEqual(yield* read({ item: "add" }), ["request 2", "result 3", "request 6", "result 7"])
        assert.deepStrictEqual(yield* read({ item: "add", limit: 1 }), ["result 7"])
        assert.deepStrictEqual(yield* read({ outcome: "denied" }), ["result 5", "result 7"])
        assert.deepStrictEqual(yield* read({ outcome: "denied", item: "sub" }), ["result 5"])
        assert.deepStrictEqual(yield* read({ limit: 2 }), ["request 6", "result 7"])
        assert.deepStrictEqual(yield* read({ limit: 0 }), [])
        assert.deepStrictEqual(yield* read({ call: "c9" }), [])
      }))

    test("keeps secrets out, by key and by value", (audit) =>
      Effect.gen(function*() {
        yield* audit.append(
          request("c1", "add", { password: "hunter2", header: "Bearer tok-12345678", max_tokens: 5 }),
          [Redacted.make("tok-12345678")]
        )
        yield* audit.append(result("c1", "add", "denied", "refused tok-12345678"), [Redacted.make("tok-12345678")])
        const text = JSON.stringify(yield* audit.read())
        assert.notInclude(text, "hunter2")
        assert.notInclude(text, "tok-12345678")
        assert.include(text, "\"password\":\"‹redacted›\",\"header\":\"Bearer ‹redacted›\",\"max_tokens\":5")
        assert.include(text, "refused ‹redacted›")
      }))

    test("cuts what is huge, deep or wide, and still reads it", (audit) =>
      Effect.gen(function*() {
        let deep: unknown = "bottom"
        for (let i = 0; i < 50_000; i++) deep = [deep]
        const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i]))
        const many = Array.from({ length: 3_000 }, () => "💥".repeat(500))
        yield* audit.append(request("long", "add", { content: "x".repeat(2_000_000), small: "kept" }))
        yield* audit.append(request("deep", "add", { deep }))
        yield* audit.append(request("wide", "add", wide))
        yield* audit.append(request("many", "add", { many }))
        yield* audit.append(request("name", "i".repeat(1_000_000), {}))
        yield* audit.append(result("message", "add", "denied", "\u0001".repeat(1_000_000)))
        const entries = (yield* audit.read()).slice(1)
        assert.strictEqual(entries.length, 6)
        for (const entry of entries) {
          assert.isBelow(Buffer.byteLength(JSON.stringify(entry)), 65_536)
          assert.include(JSON.stringify(entry), "‹cut: ")
        }
        assert.include(JSON.stringify(entries[0]), "\"small\":\"kept\"")
        assert.deepStrictEqual((yield* audit.verify).problems, [])
      }))

    test("survives names and characters that are traps", (audit) =>
      Effect.gen(function*() {
        const parameters = JSON.parse(
          "{\"__proto__\":{\"polluted\":1},\"constructor\":1,\"toString\":2,\"half\":\"\\ud800\"}"
        )
        yield* audit.append(request("c1\u2028", "add", parameters))
        yield* audit.append(request("c2", "line\nend\r\n", { "key\n": "\u2028\u0000\u007f" }))
        const [, first, second] = yield* audit.read()
        assert.isTrue(first?.kind === "request" && second?.kind === "request")
        if (first?.kind !== "request" || second?.kind !== "request") return
        assert.strictEqual(
          JSON.stringify(first.parameters),
          "{\"__proto__\":{\"polluted\":1},\"constructor\":1,\"toString\":2,\"half\":\"\\ud800\"}"
        )
        assert.isFalse("polluted" in {})
        assert.strictEqual(second.subject.item, "line\nend\r\n")
        assert.deepStrictEqual((yield* audit.verify).problems, [])
      }))

    test("keeps every entry of calls that run at once", (audit) =>
      Effect.gen(function*() {
        yield* Effect.forEach(
          Array.from({ length: 200 }, (_, i) => i),
          (i) => Effect.andThen(Effect.yieldNow, audit.append(request(`c${i}`, "add", { i }))),
          { concurrency: "unbounded" }
        )
        const entries = yield* audit.read({ limit: 1_000 })
        assert.deepStrictEqual(entries.map(({ n }) => n), Array.from({ length: 201 }, (_, i) => i + 1))
        const report = yield* audit.verify
        assert.deepStrictEqual(report.problems, [])
        assert.strictEqual(report.entries, 201)
      }))

    test("names a new anchor after each call", (audit) =>
      Effect.gen(function*() {
        yield* audit.append(request("c1", "add", {}))
        const first = yield* audit.anchor
        yield* audit.append(request("c2", "add", {}))
        const second = yield* audit.anchor
        assert.match(first.head, /^(?!0{64})[0-9a-f]{64}$/)
        assert.notStrictEqual(first.head, second.head)
        assert.isAbove(second.n, first.n)
      }))
  })
