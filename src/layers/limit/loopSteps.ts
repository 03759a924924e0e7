// The loop guard of a call: one step takes note of how every call ends, another judges a call before it runs. Sessions
// are in memory: a loop ends with its session.
import { Cause, Duration, Effect, Exit, Option } from "effect"
import { BoundedMap } from "../../services/cache/BoundedMap.ts"
import type { Caller } from "../../services/call/Caller.ts"
import type { CallWarning } from "../../services/call/CallWarning.ts"
import { codeOf, innermost } from "../../services/error/KiwiError.ts"
import { Arguments, keepArguments } from "../../services/limit/likeness.ts"
import { LoopDetected, showLoop } from "../../services/limit/LoopDetected.ts"
import {
  type ComparedCall,
  type Loop,
  LoopHistory,
  type LoopSettings,
  type Outcome,
  type PastCall,
  refuseFrom
} from "../../services/limit/loops.ts"
import type { ToolResult } from "../../services/proxy/ToolCall.ts"
import type { ToolCallError } from "../../services/proxy/ToolProxy.ts"
import type { SettingsValues } from "../../services/settings/Settings.ts"
import type { CallEnding, Facts, SoFar } from "../call/Step.ts"
import { sha256 } from "../identity/sha256.ts"

const mostSessions = 500

/** A longer result or output is kept as a digest, and is not the same by chance. */
const tellingFrom = 200

/** Refusals that say nothing about the tool: the same call is meant to come again. */
const isAboutTheMoment = (tag: string): boolean =>
  tag === "RateLimited" || tag === "ConcurrencyLimited" || tag === "LoopDetected" || tag === "AuditUnavailable"

/** "0.31s", "12 ms", "14:03:59": what differs each time that a program fails in the same way. */
const times = /\b\d+(?:\.\d+)?\s?(?:µs|ms|s|sec|seconds?|m|min|minutes?)\b|\b\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?\b/g

const outcomeBy = (shown: string, text: string): Outcome => {
  const isTelling = text.length >= tellingFrom
  return { shown, isTelling, text: isTelling ? sha256(text) : text }
}

const successOf = ({ data, metadata }: ToolResult): Outcome =>
  outcomeBy("success", `${JSON.stringify(data)}${metadata.output?.bytes ?? ""}`)

/** Undefined if the call is meant to be repeated. */
const failureOf = (error: ToolCallError): Outcome | undefined => {
  const inner = innermost(error)
  if (inner.asked === true || isAboutTheMoment(inner._tag)) return undefined
  const code = codeOf(inner)
  // A program that ran and failed says how. Of everything else, the code says it.
  return inner._tag === "ToolFailed"
    ? outcomeBy(code, inner.message.replace(times, ""))
    : { shown: code, text: "", isTelling: false }
}

const outcomeOf = (exit: Exit.Exit<ToolResult, ToolCallError>): Outcome | undefined => {
  if (Exit.isSuccess(exit)) return successOf(exit.value)
  const failure = Cause.findErrorOption(exit.cause)
  return Option.isSome(failure) ? failureOf(failure.value) : undefined
}

/** The tool that was found, or the name that found none. A dry run is not the same as a run. */
const comparedOf = ({ call, chain, parameters }: Pick<SoFar, "call" | "chain" | "parameters">): ComparedCall => {
  const location = chain?.leaf.tool.location
  return {
    tool: `${call.dryRun ? "?" : ""}${location === undefined ? call.item : `${location.tier}:${location.path}`}`,
    name: location?.id ?? call.item,
    arguments: new Arguments(keepArguments(parameters ?? call.parameters))
  }
}

const changes = ({ accesses, chain }: SoFar): boolean =>
  chain?.leaf.tool.mutatesState === true ||
  accesses?.some(({ capability }) => capability === "fs.write" || capability === "fs.delete") === true

const kindOf = (exit: Exit.Exit<ToolResult, ToolCallError>, known: SoFar): PastCall["kind"] =>
  Exit.isFailure(exit) ? "failure" : !known.call.dryRun && changes(known) ? "change" : "read"

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
  calls: round.map(({ compared, outcome }) => `${compared.name}: ${outcome.shown}`)
})

const learn: CallEnding = (exit, known, now) => {
  const { history, settings } = known
  const outcome = history === undefined || settings === undefined ? undefined : outcomeOf(exit)
  if (history === undefined || settings === undefined || outcome === undefined) return undefined
  const compared = known.compared ?? comparedOf(known)
  const loop = history.learn({ compared, outcome, kind: kindOf(exit, known), at: now }, settingsOf(settings))
  return loop === undefined ? undefined : warningFor(loop)
}

/** Takes note of the call's outcome when it has ended. First of all steps, so that what fails in any other counts. */
export const watchOutcome = Effect.sync(() => {
  const sessions = new BoundedMap<string, LoopHistory>(mostSessions)

  const historyOf = ({ client, session }: Caller): LoopHistory => {
    const key = `${client}\n${session}`
    const known = sessions.get(key)
    if (known !== undefined) return known
    const history = new LoopHistory()
    sessions.set(key, history)
    return history
  }

  return ({ call, endings }: Facts<"call" | "endings">) => {
    endings.push(learn)
    return Effect.succeed({ history: historyOf(call.caller) })
  }
})

/** Slows or refuses a call that goes on with a loop. */
export const guardLoop = Effect.succeed((facts: Facts<"call" | "chain" | "history" | "parameters" | "settings">) =>
  Effect.clockWith((clock): Effect.Effect<Facts<"compared">, LoopDetected> => {
    const compared = comparedOf(facts)
    const verdict = facts.history.judge(compared, clock.currentTimeMillisUnsafe(), settingsOf(facts.settings))
    switch (verdict._tag) {
      case "Go":
        return Effect.succeed({ compared })
      case "Slow":
        return Effect.as(Effect.sleep(Duration.millis(verdict.wait)), { compared })
      case "Refuse":
        return Effect.fail(new LoopDetected({ tool: compared.name, ...shownOf(verdict.loop), after: verdict.after }))
    }
  })
)
