// A kernel in memory whose gate asks about every tool, and counts what runs.
import type { Duration } from "effect"
import { Effect, Layer } from "effect"
import * as ApprovalStoreMemory from "../../src/layers/approval/ApprovalStoreMemory.ts"
import * as KernelMemory from "../../src/layers/KernelMemory.ts"
import * as PermissionGateDefault from "../../src/layers/permission/PermissionGateDefault.ts"
import * as RememberedRulesMemory from "../../src/layers/permission/RememberedRulesMemory.ts"
import * as Projects from "../../src/layers/Projects.ts"
import * as SettingsMemory from "../../src/layers/settings/SettingsMemory.ts"
import * as KiwiHomeMemory from "../../src/layers/workspace/KiwiHomeMemory.ts"
import type { ApprovalStore } from "../../src/services/approval/ApprovalStore.ts"
import { AuditLog } from "../../src/services/audit/AuditLog.ts"
import type { Access } from "../../src/services/capability/Access.ts"
import type { Ask } from "../../src/services/permission/PermissionGate.ts"
import { PermissionGate } from "../../src/services/permission/PermissionGate.ts"
import { object, tool } from "../layers/proxy/calls.ts"

export interface Asking {
  ran: number
  /** How long a call runs. */
  takes: Duration.Input
  /** Replaced by a test to change the policy. */
  asks: (accesses: ReadonlyArray<Access>) => ReadonlyArray<Ask>
}

const edit = (version: string) =>
  tool({
    version,
    description: "Edits a file",
    input_schema: object({ path: { type: "string" }, text: { type: "string" } }, "path"),
    config: { command: "edit", args: ["--", "{path}"], output: "text" }
  })

export const writing = (path: string): Ask => ({
  access: { _tag: "Path", capability: "fs.write", path },
  rule: "default: changes ask",
  reason: "changes files of this project",
  offer: "allow: fs.write(src/**)"
})

/** `approvals`: the store, in place of one in memory. `wait`: how long a call over MCP waits for an answer. */
export const askingKernelWith = Effect.fnUntraced(function*(
  approvals: Layer.Layer<ApprovalStore>,
  wait?: Duration.Duration
) {
  const files = new Map([["tools/edit.yaml", edit("1.0.0")]])
  const asking: Asking = {
    ran: 0,
    takes: 0,
    asks: ([first]) => {
      const path = first?._tag === "Tool" ? first.parameters?.["path"] : undefined
      return [writing(typeof path === "string" ? path : "src/?")]
    }
  }
  const gate = PermissionGate.of({
    decide: (by, action) =>
      Effect.map(
        PermissionGateDefault.make.decide(by, action),
        (decision) => action._tag === "Run" ? { ...decision, asks: asking.asks(action.accesses) } : decision
      )
  })
  const kernel = KernelMemory.layer({
    project: files,
    ...(wait === undefined ? {} : { settings: { approvalsWait: wait } }),
    programs: new Map([["edit", ({ argv }) =>
      Effect.andThen(
        Effect.suspend(() => Effect.sleep(asking.takes)),
        Effect.sync(() => {
          asking.ran++
          return { stdout: `edited ${String(argv.at(-1))}` }
        })
      )]]),
    replace: Layer.merge(Layer.succeed(PermissionGate, gate), approvals)
  })
  const services = yield* Effect.orDie(Layer.build(kernel))
  const here = Layer.succeedContext(services)
  return {
    asking,
    files,
    /** Signs nothing: another version of the tool takes its place. */
    change: () => files.set("tools/edit.yaml", edit("1.0.1")),
    services,
    layer: Layer.merge(here, Projects.layerWith(() => here)),
    use: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideContext(effect, services),
    audit: Effect.provideContext(Effect.flatMap(AuditLog, (log) => log.read({ limit: 1_000 })), services)
  }
})

export const askingKernel = askingKernelWith(
  Layer.fresh(ApprovalStoreMemory.layer).pipe(
    Layer.provide(RememberedRulesMemory.layer),
    Layer.provide(SettingsMemory.layer),
    Layer.provide(KiwiHomeMemory.layer)
  )
)
