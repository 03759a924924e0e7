// A store of requests and the notices about them, with real requests over HTTP and real processes.
import { ConfigProvider, Effect, Layer, Logger } from "effect"
import type { Scope } from "effect"
import * as ApprovalNoticesNode from "../../../src/layers/approval/ApprovalNoticesNode.ts"
import * as ApprovalStoreMemory from "../../../src/layers/approval/ApprovalStoreMemory.ts"
import * as SecretStoreMemory from "../../../src/layers/identity/SecretStoreMemory.ts"
import * as OutboundNode from "../../../src/layers/outbound/OutboundNode.ts"
import * as RememberedRulesMemory from "../../../src/layers/permission/RememberedRulesMemory.ts"
import * as ChildProcessesNode from "../../../src/layers/process/ChildProcessesNode.ts"
import * as SettingsMemory from "../../../src/layers/settings/SettingsMemory.ts"
import * as KiwiHomeMemory from "../../../src/layers/workspace/KiwiHomeMemory.ts"
import * as WorkspaceMemory from "../../../src/layers/workspace/WorkspaceMemory.ts"
import { ApprovalNotices } from "../../../src/services/approval/ApprovalNotices.ts"
import type { ApprovalRequest } from "../../../src/services/approval/ApprovalStore.ts"
import { ApprovalStore } from "../../../src/services/approval/ApprovalStore.ts"
import type { SettingsValues } from "../../../src/services/settings/Settings.ts"
import { agreeTo, request } from "./approvalRequest.ts"

/** 32 bytes. */
export const key = Buffer.from("0123456789abcdef0123456789abcdef")
export const secret = `whsec_${key.toString("base64")}`

interface Options {
  readonly settings: Partial<SettingsValues>
  /** Default: `secret`, as "bot". */
  readonly secrets?: Readonly<Record<string, string>>
  readonly environment?: Readonly<Record<string, string>>
}

/** `warnings`: what was logged so far. */
export const noticesWith = Effect.fnUntraced(
  function*({ environment = {}, secrets = { bot: secret }, settings }: Options) {
    const warnings: Array<string> = []
    const logger = Logger.make(({ message }) => void warnings.push(String(message)))
    const services = yield* Layer.build(
      ApprovalNoticesNode.layer.pipe(
        Layer.provideMerge(ApprovalStoreMemory.layer),
        Layer.provide(Layer.mergeAll(
          RememberedRulesMemory.layer,
          SettingsMemory.layerWith(settings),
          SecretStoreMemory.layerWith(secrets),
          OutboundNode.layer,
          ChildProcessesNode.layer,
          KiwiHomeMemory.layer,
          Layer.provide(WorkspaceMemory.layerWith("/work/shop"), KiwiHomeMemory.layer)
        )),
        Layer.provideMerge(Logger.layer([logger])),
        Layer.provideMerge(ConfigProvider.layer(ConfigProvider.fromUnknown(environment))),
        Layer.fresh
      )
    )
    const use = <A, E>(effect: Effect.Effect<A, E, ApprovalNotices | ApprovalStore | Scope.Scope>) =>
      Effect.provideContext(effect, services)
    const file = (more: Partial<ApprovalRequest> = {}) =>
      use(Effect.gen(function*() {
        const error = yield* Effect.flip((yield* ApprovalStore).require(request(more)))
        return error._tag === "ApprovalPending" ? error.id : yield* Effect.die(error)
      }))
    return {
      warnings,
      file,
      announce: (id: string, isShown = false) =>
        use(Effect.flatMap(ApprovalNotices, (notices) => notices.announce(id, isShown))),
      ways: use(Effect.flatMap(ApprovalNotices, ({ ways }) => ways)),
      question: (id: string) => use(Effect.flatMap(ApprovalStore, (store) => store.propose(id))),
      dismiss: (id: string) => use(Effect.flatMap(ApprovalStore, (store) => store.dismiss(id))),
      answer: (id: string, choice: string) =>
        use(Effect.gen(function*() {
          const store = yield* ApprovalStore
          return yield* store.answer(id, agreeTo((yield* store.propose(id)).question, choice))
        }))
    }
  }
)

/** What was sent to a server has arrived there once a later request of the test's own is answered. */
export const arrived = (url: string) =>
  Effect.promise(() => fetch(`${url}/arrived`).then((response) => response.arrayBuffer())).pipe(
    Effect.repeat({ times: 4 })
  )

/** One turn of the process, in which what has arrived is read. */
export const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Lets the process go on until something is so. A test that hangs here has failed. */
export const until = (isSo: () => boolean, each: Effect.Effect<unknown> = Effect.void) =>
  Effect.whileLoop({
    while: () => !isSo(),
    body: () => Effect.andThen(each, turn),
    step: () => {}
  })
