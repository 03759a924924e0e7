// Kills processes while calls run in them, several side by side in one project, and looks at what they leave.
import { assert } from "@effect/vitest"
import { Effect, Random } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Kernel from "../../../src/layers/Kernel.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import { compiled } from "../../support/compiled.ts"
import { temporary } from "../../support/temporary.ts"
import { trustProject } from "../../support/trustWorld.ts"

const program = fileURLToPath(new URL("./callsChild.ts", import.meta.url))

/** Starts a process, and kills it some milliseconds after its first call. */
const killed = (args: ReadonlyArray<string>, after: number) =>
  Effect.callback<NodeJS.Signals | number | null>((resume) => {
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...compiled }
    })
    const kill = () => void child.kill("SIGKILL")
    child.stdout.once("data", () => setTimeout(kill, after))
    child.on("close", (code, signal) => resume(Effect.succeed(signal ?? code)))
    return Effect.sync(kill)
  })

/** After `kills` kills: the audit is whole up to its last whole entry, and has a request for every effect. */
export const survivesKills = Effect.fnUntraced(function*(kills: number, sideBySide: number) {
  const folder = yield* temporary
  const [project, home, userSpace] = ["project", "home", "user"].map((name) => join(folder, name)) as [
    string,
    string,
    string
  ]
  const effects = join(folder, "effects")
  fs.mkdirSync(join(project, ".ai"), { recursive: true })
  fs.mkdirSync(join(userSpace, "config"), { recursive: true })
  // Small files, so that processes are also killed while they begin a new one.
  fs.writeFileSync(join(userSpace, "config/kiwi.yaml"), "audit.file: 64KiB\n")
  const layer = () => Kernel.layer({ project, home, userSpace })
  yield* Effect.provide(trustProject, layer())

  const rounds = Array.from({ length: kills }, (_, i) => i)
  const ends = yield* Effect.forEach(
    rounds,
    (i) =>
      Effect.flatMap(
        Random.nextIntBetween(0, 250),
        (after) => killed([project, home, userSpace, effects, `p${i}`], after)
      ),
    { concurrency: sideBySide }
  )
  assert.deepStrictEqual(ends.filter((end) => end !== "SIGKILL"), [])

  const report = yield* Effect.provide(Effect.flatMap(AuditLog, (audit) => audit.verify), layer())
  assert.deepStrictEqual(report.problems, [])
  assert.deepStrictEqual(report.open, [])
  // One that was killed between two files left none to seal.
  assert.isAtLeast(report.recovered, kills * 0.8)
  assert.isAtLeast(report.recovered + report.sealed, kills)
  const requested = new Set(
    fs.globSync("*/*.jsonl", { cwd: join(project, ".ai/logs/audit") }).flatMap((file) =>
      fs.readFileSync(join(project, ".ai/logs/audit", file), "utf8").split("\n").flatMap((line) =>
        line.includes("\"kind\":\"request\"") ? [/"call":"([^"]*)"/.exec(line)?.[1]] : []
      )
    )
  )
  const done = fs.readFileSync(effects, "utf8").split("\n").slice(0, -1)
  assert.isAtLeast(done.length, kills)
  assert.deepStrictEqual(done.filter((mark) => !requested.has(mark)), [])
  return { done: done.length, files: report.files, recovered: report.recovered, sealed: report.sealed }
})
