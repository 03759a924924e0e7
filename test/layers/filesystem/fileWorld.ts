// oxlint-disable typescript/no-explicit-any -- a tool answers any JSON, and each assertion says what it is
// Calls of file tools on a real project, under a gate that notes what it is asked and denies what a test says.
import { Effect, Layer } from "effect"
import type { Schema } from "effect"
import * as fs from "node:fs"
import { dirname, join } from "node:path"
import * as Kernel from "../../../src/layers/Kernel.ts"
import * as OutboundMemory from "../../../src/layers/outbound/OutboundMemory.ts"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import { type Access, showAccess } from "../../../src/services/capability/Access.ts"
import { PermissionDenied, PermissionGate } from "../../../src/services/permission/PermissionGate.ts"
import { ChildProcesses } from "../../../src/services/process/ChildProcesses.ts"
import { realProject } from "../../support/realProject.ts"
import { trustProject } from "../../support/trustWorld.ts"
import { call, reasonOf } from "../proxy/calls.ts"

export interface FileWorld {
  readonly project: string
  readonly home: string
  /** A folder beside the project. */
  readonly outside: string
  readonly put: (path: string, content: string | Uint8Array) => void
  readonly text: (path: string) => string
  /** What the gate was asked about, in order, since the last call of a tool. */
  readonly asked: () => ReadonlyArray<string>
  readonly run: (tool: string, parameters: Schema.JsonObject) => Effect.Effect<any, any, any>
  /** The error's reason, as the caller sees it. */
  readonly refused: (tool: string, parameters: Schema.JsonObject) => Effect.Effect<any, any, any>
}

export interface Behaviour {
  readonly denies?: (access: Access) => boolean
  /** What a person is asked about. */
  readonly asks?: (access: Access) => boolean
  /** Whether programs run at the level `sandboxed`: without confinement, in the test's own folders. */
  readonly engine?: boolean
  /** The user's `config/kiwi.yaml`, and the project's. */
  readonly settings?: string
  readonly projectSettings?: string
  /** Instead of the network. */
  readonly network?: OutboundMemory.Answerer
  /** Runs once, when the gate has allowed a call: between check and use. */
  readonly meanwhile?: (world: FileWorld) => void
}

export const inWorld = <A, E>(
  behaviour: Behaviour,
  use: (world: FileWorld) => Effect.Effect<A, E, any>
) =>
  Effect.gen(function*() {
    const real = yield* realProject({})
    const asked: Array<string> = []
    let [counting, happened] = [true, false]
    const run = (tool: string, parameters: Schema.JsonObject) => {
      asked.length = 0
      counting = true
      return Effect.map(call(tool.includes(".") ? tool : `filesystem.${tool}`, parameters), ({ data }) => data)
    }
    const at = (path: string) => join(real.project, path)
    const world: FileWorld = {
      project: real.project,
      home: real.home,
      outside: join(dirname(real.project), "outside"),
      put: (path, content) => {
        fs.mkdirSync(dirname(at(path)), { recursive: true })
        fs.writeFileSync(at(path), content)
      },
      text: (path) => fs.readFileSync(at(path), "utf8"),
      asked: () => asked.filter((one) => !one.startsWith("tool.")),
      run,
      refused: (tool, parameters) =>
        Effect.map(Effect.flip(run(tool, parameters)), (error: any) =>
          error._tag === "PermissionDenied" ? error : (reasonOf(error) as any).cause ?? reasonOf(error))
    }
    fs.mkdirSync(world.outside)
    if (behaviour.projectSettings !== undefined) {
      world.put(".ai/config/kiwi.yaml", behaviour.projectSettings)
    }
    if (behaviour.settings !== undefined) {
      fs.mkdirSync(join(real.userSpace, "config"), { recursive: true })
      fs.writeFileSync(join(real.userSpace, "config/kiwi.yaml"), behaviour.settings)
    }
    const engine = Layer.effect(
      ChildProcesses,
      Effect.map(ChildProcesses, (all) =>
        ChildProcesses.of({
          levels: new Set(["trusted", "standard", "sandboxed", "restricted"]),
          run: (request) =>
            all.run({ ...request, isolation: "standard" })
        }))
    ).pipe(Layer.provide(ChildProcessesNode.layer))
    const gate = PermissionGate.of({
      decide: (_, action) =>
        Effect.suspend(() => {
          const accesses = action._tag === "Run" ? action.accesses : []
          if (counting) {
            asked.push(...accesses.map(showAccess))
          }
          const denied = accesses.find((access) => behaviour.denies?.(access) === true)
          if (denied !== undefined) {
            return Effect.fail(
              new PermissionDenied({ what: "run", rule: "test", reason: showAccess(denied), hint: "none" })
            )
          }
          counting = false
          if (!happened && accesses.some(({ _tag }) => _tag === "Path")) {
            happened = true
            behaviour.meanwhile?.(world)
          }
          const asks = accesses.filter((access) => behaviour.asks?.(access) === true)
          return Effect.succeed({
            rule: "test",
            asks: asks.map((access) => ({ access, rule: "test", reason: "changes something" }))
          })
        })
    })
    return yield* Effect.andThen(trustProject, use(world)).pipe(
      Effect.provide(Kernel.layer({
        ...real,
        replace: Layer.mergeAll(
          Layer.succeed(PermissionGate, gate),
          behaviour.engine === true ? engine : ChildProcessesNode.layer,
          behaviour.network === undefined ? OutboundNode.layer : OutboundMemory.layerWith(behaviour.network)
        )
      }))
    )
  }) as Effect.Effect<A, any, any>
