// The loop guard of a call: one step takes note of how every call ends, another judges a call before it runs. Sessions
// are in memory: a loop ends with its session.
import { Cause, Clock, Duration, Effect, Exit, Option } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Caller } from "../../services/call/Caller.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import { codeOf, innermost } from "../../services/error/KiwiError.ts"
import { Arguments, keepArguments } from "../../services/limit/likeness.ts"
import { LoopDetected, showLoop } from "../../services/limit/LoopDetected.ts"
import { type Loop, LoopHistory, type LoopSettings, type PastCall, refuseFrom } from "../../services/limit/loops.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import { Settings, type SettingsValues } from "../../services/settings/Settings.ts"
import type { CallEnding, Done, Facts, SoFar } from "../call/Step.ts"
import { sha256 } from "../identity/sha256.ts"

const mostSessions = 500

/** A longer result or output is kept as a digest, and is not the same by chance. */
const tellingFrom = 200

/** Refusals that say nothing about the tool: the same call is meant to come again. */
const isAboutTheMoment = (tag: string): boolean =>
  tag === "RateLimited" || tag === "ConcurrencyLimited" || tag === "LoopDetected" || tag === "AuditUnavailable"

/** "0.31s", "12 ms", "14:03:59": what differs each time that a program fails in the same way. */
const times = /\b\d+(?:\.\d+)?\s?(?:µs|ms|s|sec|seconds?|m|min|minutes?)\b|\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b/g

type Outcome = Pick<PastCall, "outcome" | "shown" | "isTelling">

const outcomeBy = (shown: string, text: string): Outcome => {
  const isTelling = text.length >= tellingFrom
  return { shown, isTelling, outcome: `${shown}:${isTelling ? sha256(text) : text}` }
}

const successOf = ({ result: { data, metadata } }: Done): Outcome =>
  outcomeBy("success", `${JSON.stringify(data)}${metadata.output?.bytes ?? ""}`)

/** Undefined if the call is meant to be repeated. */
const failureOf = (error: ToolCallError): Outcome | undefined => {
  const inner = innermost(error)
  if (inner.asked === true || isAboutTheMoment(inner._tag)) return undefined
  const code = codeOf(inner)
  // A program that ran and failed says how. Of everything else, the code says it.
  return inner._tag === "ToolFailed"
    ? outcomeBy(code, inner.message.replace(times, ""))
    : { shown: code, outcome: code, isTelling: false }
}

const outcomeOf = (exit: Exit.Exit<Done, ToolCallError>): Outcome | undefined => {
  if (Exit.isSuccess(exit)) return successOf(exit.value)
  const failure = Cause.findErrorOption(exit.cause)
  return Option.isSome(failure) ? failureOf(failure.value) : undefined
}

/** The tool that was found, or the name that found none. A dry run is not the same as a run. */
const askedOf = ({ call, chain, parameters }: Pick<SoFar, "call" | "chain" | "parameters">): Pick<PastCall, "tool" | "name" | "arguments"> => {
  const location = chain?.leaf.tool.location
  return {
    tool: `${call.dryRun ? "?" : ""}${location === undefined ? call.item : `${location.tier}:${location.path}`}`,
    name: location?.id ?? call.item,
    arguments: new Arguments(keepArguments(parameters ?? call.parameters))
  }
}

const kindOf = (exit: Exit.Exit<Done, ToolCallError>): PastCall["kind"] =>
  Exit.isFailure(exit)
    ? "failure"
    : !exit.value.call.dryRun && exit.value.chain.leaf.tool.mutatesState
    ? "change"
    : "read"

const settingsOf = ({ loopThreshold, loopWindow }: SettingsValues): LoopSettings => ({
  threshold: loopThreshold,
  window: loopWindow
})

const warningFor = (loop: Loop): CallWarning => {
  const consequence = loop.round.every(({ kind }) => kind === "read")
    ? `From ${refuseFrom} on, they run once a second`
    : `From ${refuseFrom} on, those that fail or change something are refused for a minute`
  return {
    code: "LOOP_SUSPECTED",
    message: `${showLoop(shownOf(loop))}. ${consequence}. ` +
      `Change the arguments or what they are about, do something else, or call help {"action": "stuck"}`
  }
}

const shownOf = ({ count, pattern, round }: Loop) => ({
  pattern,
  count,
  calls: round.map(({ name, shown }) => `${name}: ${shown}`)
})

export const watchOutcome = Effect.gen(function*() {
  const settings = yield* Settings
  const sessions = new BoundedMap<string, LoopHistory>(mostSessions)

  const historyOf = ({ client, session }: Caller): LoopHistory => {
    const key = `${client}\n${session}`
    const known = sessions.get(key)
    if (known !== undefined) return known
    const history = new LoopHistory()
    sessions.set(key, history)
    return history
  }

  const learn: CallEnding = (exit, known) => {
    const outcome = outcomeOf(exit)
    if (outcome === undefined) return Effect.undefined
    return Effect.flatMap(settings.current, (current) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        const past = { ...askedOf(known), ...outcome, kind: kindOf(exit), at }
        const loop = historyOf(known.call.caller).learn(past, settingsOf(current))
        return loop === undefined ? undefined : warningFor(loop)
      }))
  }

  return ({ call, endings }: Facts<"call" | "endings">) =>
    Effect.sync(() => {
      endings.push(learn)
      return { history: historyOf(call.caller) }
    })
})

export const guardLoop = Effect.gen(function*() {
  const settings = yield* Settings

  return (facts: Facts<"call" | "chain" | "history" | "parameters">) =>
    Effect.flatMap(settings.current, (current) =>
      Effect.clockWith((clock): Effect.Effect<void, LoopDetected> => {
        const asked = askedOf(facts)
        const verdict = facts.history.judge(asked, clock.currentTimeMillisUnsafe(), settingsOf(current))
        switch (verdict._tag) {
          case "Go":
            return Effect.void
          case "Slow":
            return Effect.sleep(Duration.millis(verdict.wait))
          case "Refuse":
            return Effect.fail(new LoopDetected({ tool: asked.name, ...shownOf(verdict.loop), after: verdict.after }))
        }
      }))
})
