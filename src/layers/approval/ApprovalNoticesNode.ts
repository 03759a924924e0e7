// Tells the person by the ways of their settings. What tells them is loaded by the first request that is told of.
import { Clock, Duration, Effect, Fiber, Latch, Layer } from "effect"
import { ApprovalNotices } from "../../services/approval/ApprovalNotices.ts"
import type { NoticeWay } from "../../services/approval/ApprovalNotices.ts"
import { ApprovalStore } from "../../services/approval/ApprovalStore.ts"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import { secretNameOf, SecretStore } from "../../services/identity/SecretStore.ts"
import type { Outbound } from "../../services/outbound/Outbound.ts"
import type { ChildProcesses } from "../../services/process/ChildProcesses.ts"
import { Settings } from "../../services/settings/Settings.ts"
import type { Workspace } from "../../services/workspace/Workspace.ts"

/** How long a person has to answer where the client shows them the question. */
const answersWithin = Duration.seconds(30)

/** How long a project that closes, as a command ends, waits for the first attempts. */
const closesWithin = Duration.seconds(2)

/** An agent may ask for much at once. One notification is enough to look. Milliseconds. */
const betweenNotices = 10_000

interface Notice {
  /** Open once the person is to be told. */
  readonly due: Latch.Latch
  /** Open once it was tried to tell them. */
  readonly tried: Latch.Latch
}

const loadDesktop = Effect.promise(() => import("./desktopNotice.ts"))
const loadWebhook = Effect.promise(() => import("./approvalWebhook.ts"))

export const make = Effect.gen(function*() {
  const settings = yield* Settings
  const store = yield* ApprovalStore
  const secrets = yield* SecretStore
  const services = yield* Effect.context<ApprovalStore | ChildProcesses | Outbound | SecretStore | Workspace>()
  const known = new BoundedMap<string, Notice>(1_000)
  const running = new Map<Fiber.Fiber<void>, Notice>()
  let shownAt = -betweenNotices

  const onDesktop = Effect.fnUntraced(function*(what: string) {
    const now = yield* Clock.currentTimeMillis
    if (Math.abs(now - shownAt) < betweenNotices) return
    shownAt = now
    const { showOnDesktop } = yield* loadDesktop
    yield* showOnDesktop(what)
  })

  const tell = Effect.fnUntraced(function*(id: string, { due, tried }: Notice) {
    yield* Effect.timeoutOrElse(due.await, { duration: answersWithin, orElse: () => Effect.void })
    const { approvalsNotify, approvalsWebhook } = yield* settings.current
    const waiting = (yield* store.list).find((one) => one.id === id && one.state === "pending")
    // Somebody who has closed the question knows of it.
    if (waiting === undefined || waiting.dismissed === true) return
    const desktop = approvalsNotify === "off" ? Effect.void : onDesktop(waiting.what)
    if (approvalsWebhook === undefined) return yield* desktop
    const { tellService } = yield* loadWebhook
    yield* Effect.all([desktop, tellService(id, approvalsWebhook, tried)], { concurrency: 2, discard: true })
  })

  const firstAttempts = Effect.suspend(() =>
    Effect.forEach(
      [...running].filter(([, { due }]) => due.isOpen()),
      ([fiber, { tried }]) => Effect.raceFirst(tried.await, Effect.asVoid(Fiber.await(fiber))),
      { concurrency: "unbounded", discard: true }
    )
  )
  yield* Effect.addFinalizer(() =>
    firstAttempts.pipe(
      Effect.timeoutOrElse({ duration: closesWithin, orElse: () => Effect.void }),
      Effect.andThen(Effect.suspend(() => Fiber.interruptAll(running.keys())))
    )
  )

  const announce = Effect.fnUntraced(function*(id: string, isShown: boolean) {
    const before = known.get(id)
    if (before !== undefined) return isShown ? undefined : yield* Effect.asVoid(before.due.open)
    const { approvalsNotify, approvalsWebhook } = yield* settings.current
    if (approvalsNotify === "off" && approvalsWebhook === undefined) return
    const notice = { due: Latch.makeUnsafe(!isShown), tried: Latch.makeUnsafe() }
    known.set(id, notice)
    const fiber = yield* Effect.forkDetach(
      tell(id, notice).pipe(
        Effect.catchCause((cause) => Effect.logWarning(`Nobody was told that request ${id} waits`, cause)),
        Effect.provideContext(services)
      )
    )
    running.set(fiber, notice)
    fiber.addObserver(() => running.delete(fiber))
  })

  const webhookWay = Effect.gen(function*(): Effect.fn.Return<NoticeWay> {
    const { approvalsWebhook } = yield* settings.current
    if (approvalsWebhook === undefined) return { way: "webhook", state: "no service is told what waits" }
    const { secret, url } = approvalsWebhook
    const { secretTrouble } = yield* loadWebhook
    const stored = yield* Effect.result(secrets.get(secretNameOf(secret) ?? ""))
    const trouble = stored._tag === "Failure"
      ? { issue: stored.failure.message, remedy: stored.failure.remediation }
      : secretTrouble(secret, stored.success)
    const { origin } = new URL(url)
    return trouble === undefined
      ? { way: "webhook", state: `${origin} is told what waits` }
      : { way: "webhook", state: `${origin} is not told what waits: ${trouble.issue}`, remedy: trouble.remedy }
  })

  const desktopWay = Effect.gen(function*(): Effect.fn.Return<NoticeWay, never, Workspace> {
    const { approvalsNotify } = yield* settings.current
    if (approvalsNotify === "off") return { way: "desktop", state: "no notification: approvals.notify is off" }
    const { findDesktop } = yield* loadDesktop
    const desktop = yield* findDesktop
    switch (desktop._tag) {
      case "None":
        return { way: "desktop", state: `no notification: ${desktop.why}` }
      case "Found":
        return { way: "desktop", state: "a notification says what waits" }
      case "NoProgram":
        return {
          way: "desktop",
          state: `no notification: there is no ${desktop.name} that is safe to start`,
          remedy: "Install it (libnotify), or set approvals.notify: off in config/kiwi.yaml of your user space"
        }
    }
  })

  return ApprovalNotices.of({
    announce,
    ways: Effect.provideContext(Effect.all([webhookWay, desktopWay]), services)
  })
})

export const layer = Layer.effect(ApprovalNotices, make)
