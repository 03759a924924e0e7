// A project and a home on a real disk, and kernels' audits over them: each `open` is one session.
import { Effect, Exit, Layer, Scope } from "effect"
import * as fs from "node:fs"
import { join } from "node:path"
import * as AuditLogFile from "../../../src/layers/audit/AuditLogFile.ts"
import * as SafeFilesNode from "../../../src/layers/files/SafeFilesNode.ts"
import * as KeychainMemory from "../../../src/layers/identity/KeychainMemory.ts"
import * as SettingsMemory from "../../../src/layers/settings/SettingsMemory.ts"
import * as KiwiHomeNode from "../../../src/layers/workspace/KiwiHomeNode.ts"
import * as ProcessLockMemory from "../../../src/layers/workspace/ProcessLockMemory.ts"
import * as ProcessLockSqlite from "../../../src/layers/workspace/ProcessLockSqlite.ts"
import * as WorkspaceNode from "../../../src/layers/workspace/WorkspaceNode.ts"
import type { AuditRecord } from "../../../src/services/audit/AuditEntry.ts"
import { AuditLog } from "../../../src/services/audit/AuditLog.ts"
import type { SettingsValues } from "../../../src/services/settings/Settings.ts"
import { temporary } from "../../support/temporary.ts"

export interface World {
  readonly folder: string
  /** The project. */
  readonly root: string
  readonly home: string
  /** The project's folder of the audit. */
  readonly audit: string
}

export interface WorldOptions {
  readonly settings?: Partial<SettingsValues>
  /** A kernel without a project. */
  readonly alone?: boolean
  /** Locks in memory: for TestClock, and for a test that is alone with its world. */
  readonly timeless?: boolean
}

export const layerOf = (made: World, { alone, settings = {}, timeless }: WorldOptions = {}) =>
  AuditLogFile.layer.pipe(
    Layer.provide(SettingsMemory.layerWith(settings)),
    Layer.provide(timeless === true ? ProcessLockMemory.layer : ProcessLockSqlite.layer),
    Layer.provide(WorkspaceNode.layer(alone === true ? undefined : made.root)),
    Layer.provide(SafeFilesNode.layer),
    Layer.provide(KeychainMemory.layerUnavailable),
    Layer.provide(KiwiHomeNode.layerWith({ home: made.home, userHome: made.folder }))
  )

export const worldIn = (folder: string): World => ({
  folder,
  root: join(folder, "project"),
  home: join(folder, "home"),
  audit: join(folder, "project/.ai/logs/audit")
})

/** A project with an `.ai`, and nothing in it. */
export const world = Effect.map(temporary, (folder) => {
  const made = worldIn(folder)
  fs.mkdirSync(join(made.root, ".ai"), { recursive: true })
  return made
})

/** One session, from here to the end of `use`. */
export const session = <A, E>(
  made: World,
  use: (audit: AuditLog["Service"]) => Effect.Effect<A, E>,
  options?: WorldOptions
) => Effect.provide(Effect.flatMap(AuditLog, use), Layer.fresh(layerOf(made, options)))

/** A session and what ends it. */
export const open = Effect.fnUntraced(function*(made: World, options?: WorldOptions) {
  const scope = yield* Effect.acquireRelease(Scope.make(), (it) => Scope.close(it, Exit.void))
  const context = yield* Layer.buildWithScope(Layer.fresh(layerOf(made, options)), scope)
  const audit = yield* Effect.provide(AuditLog, context)
  return { audit, end: Scope.close(scope, Exit.void) }
})

export const report = (made: World, options?: WorldOptions) => session(made, (audit) => audit.verify, options)

/** The parts of the report that most tests are about. */
export const verify = (made: World, options?: WorldOptions) =>
  Effect.map(report(made, options), ({ entries, files, open: running, problems }) => ({
    files,
    entries,
    open: running,
    problems
  }))

const caller = { surface: "test", client: "tester", session: "s" }

export const request = (call: string, item = "add", parameters: object = { a: 1 }): AuditRecord => ({
  kind: "request",
  call,
  caller,
  operation: "run",
  subject: { type: "tool", item },
  parameters: parameters as never
})

export const result = (call: string, item = "add", outcome: "success" | "denied" = "success"): AuditRecord => ({
  kind: "result",
  call,
  subject: { type: "tool", item },
  outcome,
  duration_ms: 1
})

/** All sessions' files, oldest first, by absolute path. */
export const sessionFiles = (folder: string): ReadonlyArray<string> =>
  fs.globSync("*/*.jsonl", { cwd: folder }).toSorted().map((file) => join(folder, file))

/** Where Kiwi keeps its own about the project. */
export const stateOf = (made: World): string => {
  const [heads] = fs.globSync(join(made.home, "projects/*/"))
  const found = fs.globSync(join(made.home, "projects/*/audit-heads"))
  return found[0]?.slice(0, -"/audit-heads".length) ?? heads ?? ""
}

export const headsOf = (made: World): ReadonlyArray<Record<string, unknown>> =>
  fs.readFileSync(join(stateOf(made), "audit-heads"), "utf8").trimEnd().split("\n").map((line) => JSON.parse(line))

export const entriesOf = (file: string): ReadonlyArray<Record<string, unknown>> =>
  fs.readFileSync(file, "utf8").trimEnd().split("\n").map((line) => JSON.parse(line))
