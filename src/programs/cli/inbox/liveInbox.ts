// `kiwi inbox` on a person's terminal: looks for what is new, and does what a key says. Effect's prompts read one answer
// from stdin; this reads the controlling terminal, and goes on by itself when something comes.
import { Effect, Ref, Semaphore } from "effect"
import { ApprovalStore } from "../../../services/approval/ApprovalStore.ts"
import type { Caller } from "../../../services/call/Caller.ts"
import { toErrorObject } from "../../../services/error/KiwiError.ts"
import type { KiwiError } from "../../../services/error/KiwiError.ts"
import { safeLine } from "../../../services/error/safeText.ts"
import type { HumanRequest } from "../../../services/trust/HumanAct.ts"
import { asHuman } from "../../humanAct.ts"
import { refusedClient, refusedLately, settleHelp, waits } from "../../inbox.ts"
import type { AskedHelp, Inbox, Refused } from "../../inbox.ts"
import { lookAgain } from "../../lookAgain.ts"
import { addPermission, removePermission } from "../../permissions.ts"
import { withGate } from "../HumanGateTerminal.ts"
import { TerminalDevice } from "../TerminalDevice.ts"
import type { OpenTerminal } from "../TerminalDevice.ts"
import type { Paint } from "../text.ts"
import { answerKeys, empty, moved, paged, refreshed, screen, showRequest, showText } from "./liveScreen.ts"
import type { Live, Shown, Size } from "./liveScreen.ts"

/** Refusals are in the audit, and are looked for each tenth time. */
const refusalsEvery = 10

const ownScreen = "\u001b[?1049h\u001b[?25l"
const oldScreen = "\u001b[?25h\u001b[?1049l"

const sizeOf = ({ size }: OpenTerminal): Size => {
  const { columns = 0, rows = 0 } = size?.() ?? {}
  return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24 }
}

/** Written from the top left over what was there. */
const drawn = (rows: ReadonlyArray<string>): string =>
  `\u001b[H${rows.map((row) => `${row}\u001b[K`).join("\r\n")}\u001b[J`

const showHelp = ({ at, caller, context, id, options, reason }: AskedHelp): Shown =>
  showText([
    `${caller} asks for your help (${at}):`,
    "",
    reason,
    ...options.map((option, index) => `${index + 1} ${option}`),
    ...(context === undefined ? [] : ["", context]),
    "",
    `In your own words: kiwi inbox --done ${id} --say TEXT`
  ], [...options.slice(0, 9).map((_, index) => [String(index + 1), "answer"] as const), ["d", "dealt with"]])

const showRefused = ({ allow, at, code, denied_by, message, rule }: Refused): Shown =>
  showText([
    message,
    "",
    `At: ${at}`,
    `Code: ${code}`,
    ...(rule === undefined ? [] : [`Rule: ${rule}`]),
    ...(allow !== undefined
      ? ["", `This rule would allow it: ${allow}`]
      : denied_by !== undefined
      ? ["", `The rule ${denied_by} denies it. Without that rule it would not be refused`]
      : ["", "No rule alone would allow it: what it says above has to change first"])
  ], allow !== undefined ? [["r", "make the rule"]] : denied_by === undefined ? [] : [["r", "remove the rule"]])

const sentence = (error: KiwiError): string => {
  const { message, remediation } = toErrorObject(error)
  return remediation === undefined ? message : `${message}. ${remediation}`
}

/** Shows the inbox until the person quits. Needs a terminal that a person is at. */
export const liveInbox = Effect.fnUntraced(function*(
  terminal: OpenTerminal,
  caller: Caller,
  { paint, title }: { readonly paint: Paint; readonly title: string }
) {
  const store = yield* ApprovalStore
  const state = yield* Ref.make(empty)
  const turns = yield* Semaphore.make(1)
  let inbox: Inbox = { ...(yield* waits), refused: yield* refusedLately }
  let isAway = false
  let last = ""
  /** Said while the list cannot be read. */
  let stale = ""

  /** What a row shows, and why not if it is over by now. */
  const show = Effect.fnUntraced(function*(id: string | undefined) {
    const request = inbox.waiting.find((one) => one.id === id)
    if (request !== undefined) {
      return yield* Effect.match(store.propose(request.id), {
        onFailure: (error) => showText([sentence(error)]),
        onSuccess: ({ question }) => showRequest(question)
      })
    }
    const help = inbox.help.find((one) => one.id === id)
    if (help !== undefined) return showHelp(help)
    const refused = inbox.refused.find(({ call }) => call === id)
    return refused === undefined ? undefined : showRefused(refused)
  })

  const move = Effect.fnUntraced(function*(live: Live, by: number) {
    const next = moved(live, by)
    return { ...next, shown: yield* show(next.chosen), top: 0, read: false, said: "" }
  })

  /** Changes what is shown, and draws it. `before`: what is done when the change is known. */
  const update = <R>(change: (live: Live) => Effect.Effect<Live, never, R>, before = Effect.void) =>
    turns.withPermits(1)(Effect.gen(function*() {
      const size = sizeOf(terminal)
      const live = paged(yield* change(yield* Ref.get(state)), size)
      yield* Ref.set(state, live)
      const now = drawn(screen(live, size, paint, title))
      if (isAway || now === last) return
      yield* before
      last = now
      yield* terminal.write(now)
    }))

  const refresh = Effect.fnUntraced(function*(live: Live) {
    const next = refreshed(live, inbox)
    return next.chosen === undefined ? yield* move(next, 0) : next
  })

  const look = Effect.fnUntraced(function*(withRefusals: boolean) {
    const found = yield* waits
    inbox = { ...found, refused: withRefusals ? yield* refusedLately : inbox.refused }
    yield* update((live) => refresh(live.said === stale ? { ...live, said: "" } : live))
  })

  /** What cannot be read now is read later. Until then the person sees that the list is old. */
  const sayStale = (error: KiwiError) => {
    stale = `The list may be out of date: ${sentence(error)}`
    return update((live) => Effect.succeed({ ...live, said: stale }))
  }

  let turn = 0
  const watch = Effect.suspend(() => look(turn++ % refusalsEvery === refusalsEvery - 1)).pipe(
    Effect.catch(sayStale),
    Effect.schedule(lookAgain)
  )

  const atTerminal = Effect.provideService(TerminalDevice, TerminalDevice.of({ open: Effect.succeed(terminal) }))

  /** An act of the person, whose own questions have the terminal's other screen. */
  const act = <A, R>(done: string, perform: Effect.Effect<A, KiwiError, R>) =>
    Effect.gen(function*() {
      const leave = Effect.suspend(() => {
        isAway = true
        return terminal.write(oldScreen)
      })
      yield* turns.withPermits(1)(leave)
      const said = yield* Effect.match(perform, { onFailure: sentence, onSuccess: () => done })
      yield* terminal.write(ownScreen)
      last = ""
      isAway = false
      inbox = { ...(yield* Effect.orElseSucceed(waits, () => inbox)), refused: yield* refusedLately }
      yield* update((live) => Effect.map(refresh(live), (next) => ({ ...next, said })), terminal.drop)
    })

  const answer = (id: string, question: HumanRequest, choice: string) =>
    act(
      `${id} is answered: ${choice}`,
      asHuman(question, caller, (given) => store.answer(id, given)).pipe(
        withGate(false, { answered: choice }),
        atTerminal
      )
    )

  const changeRule = (refused: Refused) => {
    const { allow, denied_by } = refused
    const change = allow !== undefined
      ? Effect.flatMap(
        refusedClient(refused),
        (client) =>
          addPermission({ outcome: "allow", rule: allow, tier: "user", conditions: { caller: client } }, caller)
      )
      : removePermission(denied_by ?? "", caller)
    return act("The rules are changed", change.pipe(withGate(false), atTerminal))
  }

  /** Does what a key says. Returns whether to go on. */
  const press = Effect.fnUntraced(function*(key: string) {
    const live = yield* Ref.get(state)
    const { chosen = "", shown } = live
    const go = (by: number) => Effect.as(update((now) => move(now, by), terminal.drop), true)
    const page = (pages: number) =>
      Effect.as(
        update((now) => Effect.succeed(paged({ ...now, said: "" }, sizeOf(terminal), pages)), terminal.drop),
        true
      )
    switch (key) {
      case "q":
        return false
      case "\u001b[A":
      case "\u001bOA":
      case "k":
        return yield* go(-1)
      case "\u001b[B":
      case "\u001bOB":
      case "j":
        return yield* go(1)
      case " ":
      case "\r":
      case "\u001b[6~":
        return yield* page(1)
      case "b":
      case "\u001b[5~":
        return yield* page(-1)
    }
    if (shown?.keys.some(([one]) => one === key) !== true) return true
    const choice = answerKeys[key]
    if (shown.question !== undefined && choice !== undefined) {
      if (!live.read && choice !== "no") {
        yield* update((now) => Effect.succeed({ ...now, said: "Read it to its end first: space" }))
      } else yield* answer(chosen, shown.question, choice)
      return true
    }
    const refused = inbox.refused.find(({ call }) => call === chosen)
    if (key === "r" && refused !== undefined) yield* changeRule(refused)
    const option = inbox.help.find(({ id }) => id === chosen)?.options[Number(key) - 1]
    if (option !== undefined) {
      yield* act(`Answered: ${safeLine(option, 200)}`, settleHelp(chosen, caller, key).pipe(withGate(true), atTerminal))
    }
    if (key === "d") yield* act("Taken off the list", settleHelp(chosen, caller).pipe(withGate(true), atTerminal))
    return true
  })

  yield* Effect.acquireRelease(terminal.write(ownScreen), () => terminal.write(oldScreen))
  yield* update(refresh, terminal.drop)
  yield* Effect.forkScoped(watch)
  for (;;) {
    const key = yield* terminal.readPress
    if (key === undefined || !(yield* press(key))) return
  }
})
