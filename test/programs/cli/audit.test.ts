// The commands that look back, over an audit on disk with hostile words in it.
import { assert, describe, it as test, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import type { Schema } from "effect"
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { makeSpans } from "../../../src/programs/cli/commands/audit/otelSpans.ts"
import { parseAnchor, printAnchor } from "../../../src/services/audit/AuditAnchor.ts"
import type { AuditEntry, AuditRecord } from "../../../src/services/audit/AuditEntry.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { makeStats } from "../../../src/services/audit/auditStats.ts"
import { safeText } from "../../../src/services/error/safeText.ts"
import { temporary } from "../../support/temporary.ts"
import { runCli } from "./runCli.ts"

const hostile = "a\u001b[2J\u202eb\n{\"forged\":1}"

const request = (call: string, item: string, client: string, more: object = {}): AuditRecord => ({
  kind: "request",
  call,
  caller: { surface: "mcp", client, session: "s1" },
  operation: "run",
  subject: { type: "tool", item },
  parameters: { text: hostile },
  ...more
})

const result = (
  call: string,
  item: string,
  outcome: "success" | "denied" | "failure",
  more: object = {}
): AuditRecord => ({
  kind: "result",
  call,
  subject: { type: "tool", item },
  outcome,
  duration_ms: 12,
  ...more
})

const records: ReadonlyArray<AuditRecord> = [
  request("c1", "add", "codex"),
  request("c2", "sub", "cursor", { parent: "c1", jti: "t-1", thread: "th-1", directive: "calc" }),
  result("c2", "sub", "denied", { rule: "no-sub", error: { code: "PERMISSION_DENIED", message: hostile } }),
  result("c1", "add", "success", {
    rule: "shipped",
    approval: { id: "ap-1", by: "answered at /dev/pts/3" },
    cost: { micro_usd: 7 }
  }),
  request("c3", hostile, "codex"),
  {
    kind: "read",
    call: "c4",
    caller: { surface: "cli", client: "ada", session: "s2" },
    operation: "search",
    query: hostile,
    shown: [],
    outcome: "success",
    duration_ms: 3
  }
]

class Place extends Context.Service<Place, {
  readonly folder: string
  readonly kiwi: (args: ReadonlyArray<string>, terminal?: boolean) => ReturnType<typeof runCli>
}>()("kiwi/test/programs/cli/audit/Place") {}

const place = Layer.effect(
  Place,
  Effect.gen(function*() {
    const folder = yield* temporary
    fs.mkdirSync(join(folder, "project/.ai"), { recursive: true })
    const options = { home: join(folder, "home"), userSpace: join(folder, "user") }
    yield* Effect.provide(
      Effect.flatMap(AuditLog, (audit) => Effect.forEach(records, (record) => audit.append(record))),
      Kernel.layer({ project: join(folder, "project"), ...options })
    )
    return Place.of({
      folder,
      kiwi: (args, terminal = false) =>
        runCli([...args, "--project", join(folder, "project")], { kernel: Kernel.layerProjects(options), terminal })
    })
  })
)

const jsonLines = (text: string): ReadonlyArray<Record<string, unknown>> =>
  text.trimEnd().split("\n").map((line) => JSON.parse(line))

const colour = new RegExp(`${String.fromCodePoint(27)}\\[\\d+m`, "g")

layer(place, { excludeTestServices: true })("kiwi audit", (it) => {
  const run = (...args: ReadonlyArray<string>) =>
    Effect.flatMap(Place, ({ kiwi }) =>
      Effect.map(kiwi(args), (done) => {
        assert.strictEqual(done.code, 0, done.stderr)
        return done.stdout
      }))

  const calls = (...args: ReadonlyArray<string>) =>
    Effect.map(
      run("audit", "show", ...args, "--json"),
      (text) =>
        (JSON.parse(text).entries as ReadonlyArray<{ kind: string; call?: string }>).map(({ call, kind }) =>
          `${kind} ${call ?? ""}`.trim()
        )
    )

  for (
    const [args, expected] of [
      [["c2"], ["request c2", "result c2"]],
      [["3"], ["request c2"]],
      [["--caller", "codex"], ["request c1", "result c1", "request c3"]],
      [["--caller", "cursor"], ["request c2", "result c2"]],
      [["--caller", "cli"], ["read c4"]],
      [["--rule", "no-sub"], ["result c2"]],
      [["--rule", "shipped", "--caller", "codex"], ["result c1"]],
      [["--rule", "shipped", "--caller", "cursor"], []],
      [["--tool", "sub"], ["request c2", "result c2"]],
      [["--item", "add"], ["request c1", "result c1"]],
      [["--outcome", "denied"], ["result c2"]],
      [["--since", "2999-01-01"], []],
      [["--since", "1h", "--tool", "add", "--limit", "1"], ["result c1"]],
      [["no-such-call"], []]
    ] as const
  ) {
    it.effect(`show ${args.join(" ")}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(yield* calls(...args), [...expected])
      }))
  }

  it.effect("show prints the entries of one file", () =>
    Effect.gen(function*() {
      const { folder } = yield* Place
      const [file] = fs.globSync("*/*.jsonl", { cwd: join(folder, "project/.ai/logs/audit") })
      assert.strictEqual((yield* calls(file!)).length, records.length + 2)
      assert.strictEqual((yield* calls(`.ai/logs/audit/${file}`)).length, records.length + 2)
    }))

  for (
    const args of [["audit", "tail"], ["logs"], ["audit", "show"], ["audit", "stats"], ["audit", "export"], [
      "audit",
      "verify"
    ]]
  ) {
    it.effect(`${args.join(" ")} prints nothing that a terminal acts on`, () =>
      Effect.gen(function*() {
        const { kiwi } = yield* Place
        const { code, stdout } = yield* kiwi(args, true)
        assert.strictEqual(code, 0)
        const text = stdout.replaceAll(colour, "")
        assert.strictEqual(safeText(text), text)
        assert.notMatch(stdout, /^\{"forged":1\}/m)
        assert.isAbove(stdout.length, 10)
      }))
  }

  it.effect("tail shows what logs shows", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* run("audit", "tail"), yield* run("logs"))
      assert.strictEqual((yield* run("audit", "tail", "-n", "1")).trimEnd().split("\n").length, 1)
    }))

  it.effect("export writes the stored lines, whose hashes are their successors' prev", () =>
    Effect.gen(function*() {
      const lines = (yield* run("audit", "export")).trimEnd().split("\n")
      assert.strictEqual(lines.length, records.length + 2)
      for (const [index, line] of lines.entries()) {
        const next = lines[index + 1]
        if (next === undefined) continue
        assert.strictEqual(JSON.parse(next).prev, createHash("sha256").update(line).digest("hex"))
      }
    }))

  it.effect("export writes a file that did not exist, and only its owner can read it", () =>
    Effect.gen(function*() {
      const { folder, kiwi } = yield* Place
      const file = join(folder, "export.jsonl")
      const text = yield* run("audit", "export", "--output", file, "--json")
      assert.deepStrictEqual(JSON.parse(text), { entries: records.length + 2, file })
      assert.strictEqual(fs.readFileSync(file, "utf8"), yield* run("audit", "export"))
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      const again = yield* kiwi(["audit", "export", "--output", file])
      assert.notStrictEqual(again.code, 0)
      assert.include(again.stderr, "it exists already")
      assert.strictEqual((yield* kiwi(["audit", "export", "--json"])).code, 2)
      assert.strictEqual((yield* kiwi(["audit", "tail", "--follow", "--json"])).code, 2)
    }))

  it.effect("export makes a span of each call, below the call that it was made in", () =>
    Effect.gen(function*() {
      const [data, ...more] = jsonLines(yield* run("audit", "export", "--format", "otel")) as unknown as ReadonlyArray<{
        resourceSpans: [{ scopeSpans: [{ spans: ReadonlyArray<Record<string, unknown>> }] }]
      }>
      assert.deepStrictEqual(more, [])
      const { spans } = data!.resourceSpans[0].scopeSpans[0]
      const byName = new Map(spans.map((span) => [span["name"], span]))
      const [add, sub] = [byName.get("run add")!, byName.get("run sub")!]
      assert.strictEqual(spans.length, 4)
      assert.match(String(add["traceId"]), /^[0-9a-f]{32}$/)
      assert.match(String(add["spanId"]), /^[0-9a-f]{16}$/)
      assert.strictEqual(sub["parentSpanId"], add["spanId"])
      assert.isUndefined(add["parentSpanId"])
      assert.deepStrictEqual([add["status"], sub["status"]], [{ code: 1 }, { code: 2, message: hostile }])
      assert.strictEqual(BigInt(String(add["endTimeUnixNano"])) - BigInt(String(add["startTimeUnixNano"])), 12_000_000n)
      const of = (span: Record<string, unknown>) =>
        new Map((span["attributes"] as ReadonlyArray<{ key: string; value: object }>).map(({ key, value }) =>
          [key, Object.values(value)[0]] as const
        ))
      assert.strictEqual(of(add).get("kiwi.approval"), "ap-1")
      assert.strictEqual(of(add).get("kiwi.cost.micro_usd"), "7")
      assert.strictEqual(of(sub).get("error.type"), "PERMISSION_DENIED")
      assert.strictEqual(of(sub).get("kiwi.token"), "t-1")
      assert.strictEqual(of(byName.get(`run ${hostile}`)!).get("kiwi.outcome"), "unknown")
      assert.notInclude(JSON.stringify(spans), "\"text\"")
    }))

  it.effect("stats counts", () =>
    Effect.gen(function*() {
      const stats = JSON.parse(yield* run("audit", "stats", "--json"))
      assert.deepInclude(stats, {
        entries: records.length + 2,
        sessions: 1,
        outcomes: { denied: 1, success: 2 },
        operations: { run: 3, search: 1 },
        rules: { "no-sub": 1, shipped: 1 },
        errors: { PERMISSION_DENIED: 1 }
      })
      assert.deepStrictEqual(stats.items[0], {
        item: "sub",
        calls: 1,
        asked: 0,
        failed: 0,
        denied: 1,
        mean_ms: 12,
        max_ms: 12
      })
    }))

  it.effect("anchor prints what verify checks", () =>
    Effect.gen(function*() {
      const { kiwi } = yield* Place
      const { text } = JSON.parse(yield* run("audit", "anchor", "--json"))
      const verified = JSON.parse(yield* run("audit", "verify", "--anchor", text, "--json"))
      assert.deepInclude(verified, { intact: true, files: 1, sealed: 1, expired: 0, recovered: 0, problems: [] })
      assert.match(verified.keys[0], /^[0-9a-f]{16}$/)
      const other = yield* kiwi([
        "audit",
        "verify",
        "--anchor",
        text.replace(/.$/, (c: string) => c === "0" ? "1" : "0")
      ])
      assert.strictEqual(other.code, 1)
      assert.match(other.stdout, /not intact[^]*changed {2}audit-heads:2 /)
      assert.strictEqual((yield* kiwi(["audit", "verify", "--anchor", "nonsense"])).code, 2)
    }))

  it.effect("prune finds nothing that is old", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(JSON.parse(yield* run("audit", "prune", "--json")), { removed: [] })
    }))
})

describe("an anchor's text", () => {
  test("is read back", () => {
    const anchor = { n: 41, head: "a".repeat(64) }
    assert.deepStrictEqual(parseAnchor(printAnchor(anchor)), anchor)
    assert.deepStrictEqual(parseAnchor(` ${printAnchor(anchor)}\n`), anchor)
    for (
      const text of [
        "",
        "41",
        `41:${"A".repeat(64)}`,
        `-1:${"a".repeat(64)}`,
        `${printAnchor(anchor)}0`,
        `x${printAnchor(anchor)}`
      ]
    ) {
      assert.isUndefined(parseAnchor(text), text)
    }
  })
})

describe("spans", () => {
  test("of any number of calls without a result are made in little memory", () => {
    const spans = makeSpans()
    let made = 0
    for (let i = 0; i < 25_000; i++) {
      const entry = { ...request(`c${i}`, "add", "codex"), v: 1, n: i, at: "2026-11-21T00:00:00.000Z", prev: "" }
      made += spans.add(entry as AuditEntry).length
    }
    assert.strictEqual(made, 15_000)
    assert.strictEqual(spans.end().length, 10_000)
  })
})

describe("what a call was asked to do", () => {
  const asked: ReadonlyArray<readonly [item: string, parameters: Schema.JsonObject, shown: string]> = [
    ["shell.run", { command: "npm test" }, "shell.run npm test"],
    ["shell.run", { cwd: "web", command: "npm test" }, "shell.run npm test cwd=web"],
    ["filesystem.edit", { old: "a", path: "src/a.ts", new: "b" }, "filesystem.edit src/a.ts old=a new=b"],
    ["filesystem.move", { to: "b.ts", from: "a.ts" }, "filesystem.move a.ts b.ts"],
    ["http.fetch", { method: "POST", url: "https://a.example/" }, "http.fetch https://a.example/ method=POST"],
    ["add", { a: 1, b: [2] }, "add a=1 b=[2]"],
    ["none", {}, "none "],
    ["login", { user: "ada", password: "hunter2" }, "login user=ada password=‹redacted›"],
    ["long", { text: "x".repeat(500) }, `long text=${"x".repeat(40)} `],
    ["hostile", { command: hostile }, "hostile a"]
  ]
  for (const filter of [[], ["--outcome", "success"], ["--rule", "shipped"]]) {
    test.live(`is in kiwi logs ${filter.join(" ")}`, () =>
      Effect.gen(function*() {
        const folder = yield* temporary
        fs.mkdirSync(join(folder, ".ai"))
        const options = { home: join(folder, "home"), userSpace: join(folder, "user") }
        yield* Effect.provide(
          Effect.flatMap(AuditLog, (audit) =>
            Effect.forEach(asked.entries(), ([i, [item, parameters]]) =>
              Effect.andThen(
                audit.append(request(`c${i}`, item, "codex", { parameters })),
                audit.append(result(`c${i}`, item, "success", { rule: "shipped" }))
              ))),
          Kernel.layer({ project: folder, ...options })
        )
        const { stdout } = yield* runCli(["logs", ...filter], {
          env: {},
          cwd: folder,
          kernel: Kernel.layerProjects(options)
        })
        for (const [, , shown] of asked) assert.include(stdout.replaceAll(/ +/g, " "), shown, stdout)
        assert.notInclude(stdout, "hunter2")
      }))
  }

  test.effect("an attempt that ended with a question is no call in stats", () =>
    Effect.sync(() => {
      const stats = makeStats()
      const entry = (outcome: string, duration_ms: number) =>
        ({ ...result("c", "add", "success", { outcome, duration_ms }), v: 1, n: 1, at: "2026", prev: "" }) as AuditEntry
      for (const [outcome, took] of [["asked", 500], ["success", 10], ["asked", 700], ["denied", 20]] as const) {
        stats.add(entry(outcome, took))
      }
      stats.add({ ...entry("asked", 1), subject: { item: "never" } } as AuditEntry)
      assert.deepStrictEqual(stats.result().items, [
        { item: "add", calls: 2, asked: 2, failed: 0, denied: 1, mean_ms: 15, max_ms: 20 },
        { item: "never", calls: 0, asked: 1, failed: 0, denied: 0, mean_ms: 0, max_ms: 0 }
      ])
      assert.deepStrictEqual(stats.result().outcomes, { asked: 3, success: 1, denied: 1 })
    }))
})
