// Kills processes while calls run in them, several side by side in one project, and looks at what they leave.
import { assert } from "@effect/vitest"
import { Effect, Random } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Kernel from "../../../src/layers/Kernel.ts"
import type { Approval } from "../../../src/services/approval/Approval.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { AuditEntry } from "../../../src/services/audit/AuditEntry.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { bundled } from "../../support/bundled.ts"
import { compiled } from "../../support/compiled.ts"
import { temporary } from "../../support/temporary.ts"
import { trustProject } from "../../support/trustWorld.ts"

const source = fileURLToPath(new URL("./callsChild.ts", import.meta.url))

/** Starts a process, and kills it `after` milliseconds after it said its `steps`th line, if it lives so long. */
const killed = (program: string, args: ReadonlyArray<string>, steps: number, after: number) =>
  Effect.callback<NodeJS.Signals | number | null>((resume) => {
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...compiled }
    })
    const kill = () => void child.kill("SIGKILL")
    let lines = 0
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const before = lines
      lines += text.split("\n").length - 1
      if (before < steps && lines >= steps) setTimeout(kill, after)
    })
    child.on("close", (code, signal) => resume(Effect.succeed(signal ?? code)))
    return Effect.sync(kill)
  })

const linesOf = (file: string): ReadonlyArray<string> => fs.readFileSync(file, "utf8").split("\n").slice(0, -1)

const order = { pending: 0, approved: 1, rejected: 2, expired: 2, spent: 2 } as const

/** What was seen of requests over time: none goes back, and none that is open disappears. */
const history = () => {
  const seen = new Map<string, Approval>()
  return {
    seen,
    look: (file: string): void => {
      const now: ReadonlyArray<Approval> = JSON.parse(fs.readFileSync(file, "utf8")).approvals
      const present = new Set(now.map(({ id }) => id))
      for (const [id, { state }] of seen) if (order[state] < 2) assert.isTrue(present.has(id), `${id} was ${state}`)
      for (const one of now) {
        const before = seen.get(one.id)
        if (before !== undefined) {
          assert.isAtLeast(order[one.state], order[before.state])
          if (order[before.state] === 2) {
            assert.deepStrictEqual([one.state, one.spent], [before.state, before.spent])
          }
        }
        seen.set(one.id, one)
      }
    }
  }
}

const isEntry = (line: string): boolean => {
  try {
    return Number.isSafeInteger(JSON.parse(line).n)
  } catch {
    return false
  }
}

/** After `kills` kills, `sideBySide` at once: what is left is whole, and no part of it contradicts another. */
export const survivesKills = Effect.fnUntraced(function*(kills: number, sideBySide: number) {
  const folder = yield* temporary
  const program = yield* bundled(source)
  const [project, home, userSpace] = ["project", "home", "user"].map((name) => join(folder, name)) as [
    string,
    string,
    string
  ]
  fs.mkdirSync(join(project, ".ai"), { recursive: true })
  fs.mkdirSync(join(userSpace, "config"), { recursive: true })
  // Small files, so that processes are also killed while they begin a new one.
  fs.writeFileSync(join(userSpace, "config/kiwi.yaml"), "audit.file: 64KiB\n")
  const layer = () => Kernel.layer({ project, home, userSpace })
  yield* Effect.provide(trustProject, layer())
  const state = join(home, dirname(fs.globSync("projects/*/trust.json", { cwd: home })[0]!))

  const { look, seen } = history()
  const ends = yield* Effect.forEach(
    Array.from({ length: kills }, (_, i) => i),
    Effect.fnUntraced(function*(i) {
      const dies = ["no", "no", "before", "after"][i % 4]!
      const steps = dies === "no" ? yield* Random.nextIntBetween(1, 10) : Infinity
      const after = yield* Random.nextIntBetween(0, 50)
      const end = yield* killed(program, [project, home, userSpace, folder, `p${i}`, dies], steps, after)
      if (fs.existsSync(join(state, "approvals.json"))) look(join(state, "approvals.json"))
      return end
    }),
    { concurrency: sideBySide }
  )
  assert.deepStrictEqual(ends.filter((end) => end !== "SIGKILL"), [])

  // The audit is whole up to its last whole entry.
  const [report, listed] = yield* Effect.provide(
    Effect.all([Effect.flatMap(AuditLog, ({ verify }) => verify), Effect.flatMap(ApprovalStore, ({ list }) => list)]),
    layer()
  )
  assert.deepStrictEqual(report.problems, [])
  assert.deepStrictEqual(report.open, [])
  // One that was killed between two files left none to seal.
  assert.isAtLeast(report.recovered, kills * 0.8)
  assert.isAtLeast(report.recovered + report.sealed, kills)

  // It has a request for every effect, and no effect happened twice.
  const entries: ReadonlyArray<AuditEntry> = fs.globSync("*/*.jsonl", { cwd: join(project, ".ai/logs/audit") })
    .flatMap((file) => linesOf(join(project, ".ai/logs/audit", file)).filter(isEntry).map((line) => JSON.parse(line)))
  const requested = new Set(entries.flatMap((entry) => entry.kind === "request" ? entry.call : []))
  const results = new Map(entries.flatMap((entry) => entry.kind === "result" ? [[entry.call, entry]] : []))
  const effects = linesOf(join(folder, "effects"))
  const deploys = effects.filter((mark) => mark.includes("-deploy-"))
  const marks = effects.filter((mark) => !mark.includes("-deploy-"))
  assert.isAtLeast(marks.length, kills)
  assert.isAtLeast(deploys.length, kills / 4)
  assert.strictEqual(new Set(effects).size, effects.length)
  assert.deepStrictEqual(marks.filter((mark) => !requested.has(mark)), [])

  // Every request that a caller was told of is there, as far on as somebody was told. Those that wait are shown.
  const journal = linesOf(join(folder, "journal")).map((line) => line.split(" "))
  const told = (word: string) => journal.flatMap(([what, id]) => what === word ? [id!] : [])
  const states = (word: string) => new Set(told(word).map((id) => seen.get(id)?.state))
  assert.isAtLeast(told("waits").length, kills / 2)
  const pending = new Set(listed.flatMap(({ id, state: is }) => is === "pending" ? id : []))
  assert.deepStrictEqual(told("waits").filter((id) => !pending.has(id)), [])
  assert.deepStrictEqual(told("filed").filter((id) => !seen.has(id)), [])
  assert.deepStrictEqual(states("no"), new Set(["rejected"]))
  assert.deepStrictEqual([...states("once")].filter((is) => is !== "approved" && is !== "spent"), [])

  // Each answer was spent by one call, each effect has its own, and where there is no effect the audit has a request
  // without a result.
  const spent = [...seen.values()].filter((one) => one.state === "spent")
  const users = new Map(spent.map(({ id, spent: by }) => [by!.call, id]))
  assert.strictEqual(users.size, spent.length)
  const callOf = (mark: string) => ["one", "two"].map((which) => `${mark}-${which}`).filter((one) => users.has(one))
  assert.deepStrictEqual(deploys.filter((mark) => callOf(mark).length !== 1), [])
  const ran = new Set(deploys)
  let lost = 0
  for (const [call, id] of users) {
    assert.isTrue(requested.has(call), call)
    const result = results.get(call)
    const isDone = ran.has(call.replace(/-(one|two)$/, ""))
    if (result === undefined) lost += isDone ? 0 : 1
    else assert.deepStrictEqual([result.outcome, result.approval?.id, isDone], ["success", id, true])
  }

  assert.isAtLeast(lost, kills / 5)

  // The ledger has everything that was spent and revoked.
  const ledger = JSON.parse(fs.readFileSync(join(state, "tokens.json"), "utf8"))
  const budgets = new Map(journal.flatMap(([what, jti, count]) => what === "spent" ? [[jti!, Number(count)]] : []))
  for (const [jti, count] of budgets) {
    const { turns } = ledger.rows[jti].spent
    assert.isTrue(turns === count || turns === count + 1, `${turns} of ${count}`)
  }
  assert.isAtLeast(budgets.size, kills / 4)
  assert.deepStrictEqual(told("revoked").filter((jti) => ledger.revoked[jti] === undefined), [])

  const { files, recovered, sealed } = report
  return { effects: effects.length, approvals: seen.size, spent: spent.length, lost, files, recovered, sealed }
})
