// Finds loops in a session's latest calls: the same calls with the same outcomes, without progress between them. Pure.
import { type Arguments, likeness } from "./likeness.ts"
import type { LoopPattern } from "./LoopDetected.ts"

/** From how many calls of a loop its caller is warned, and from how many its calls are refused or slowed. */
const warnFrom = 5
export const refuseFrom = 10

/** For how long a call is refused, in milliseconds. */
const refusedFor = 60_000
/** The least time between two calls of a loop that only reads, in milliseconds. */
const slowedTo = 1_000
const longestCycle = 4

/** What of a call is compared with other calls. */
export interface ComparedCall {
  /** Identifies the tool. */
  readonly tool: string
  /** The tool's id, for people. */
  readonly name: string
  readonly arguments: Arguments
}

export interface Outcome {
  /** "success", or the error's code. */
  readonly shown: string
  /** What else it says, or a digest of it. */
  readonly text: string
  /** Whether it says too much to be the same by chance. */
  readonly isTelling: boolean
}

/** A call that has ended. */
export interface PastCall {
  readonly compared: ComparedCall
  readonly outcome: Outcome
  /** `change`: it succeeded, and changed something. `read`: it succeeded, and is not known to change anything. */
  readonly kind: "read" | "change" | "failure"
  /** When it ended, in milliseconds. */
  readonly at: number
}

export interface Loop {
  readonly pattern: LoopPattern
  /** How many calls it has had. */
  readonly count: number
  /** The calls of one round. */
  readonly round: ReadonlyArray<PastCall>
}

export type Verdict =
  | { readonly _tag: "Go" }
  /** Milliseconds to wait first. */
  | { readonly _tag: "Slow"; readonly wait: number }
  /** Milliseconds until it may run again. */
  | { readonly _tag: "Refuse"; readonly after: number; readonly loop: Loop }

const go: Verdict = { _tag: "Go" }

export interface LoopSettings {
  readonly threshold: number
  readonly window: number
}

const isSameOutcome = ({ outcome: a }: PastCall, { outcome: b }: PastCall): boolean =>
  a.shown === b.shown && a.text === b.text

/**
 * Whether `asked` is the call `past` again. Where that failed, another number or time in it is no other try: what
 * succeeds may well do one thing after the other by number.
 */
const isSameCall = ({ compared: past, kind }: PastCall, asked: ComparedCall, threshold: number): boolean =>
  past.tool === asked.tool && likeness(past.arguments, asked.arguments, kind === "failure") >= threshold

const isAlike = (a: PastCall, b: PastCall, threshold: number): boolean =>
  isSameOutcome(a, b) && isSameCall(a, b.compared, threshold)

const isExactly = (a: PastCall, b: PastCall): boolean =>
  a.compared.tool === b.compared.tool && isSameOutcome(a, b) &&
  (a.compared.arguments.text === b.compared.arguments.text ||
    a.compared.arguments.essence === b.compared.arguments.essence)

/** One session's latest calls, and those of them that are refused now. */
export class LoopHistory {
  #calls: Array<PastCall> = []
  /** How many of the oldest calls were before the last progress. */
  #before = 0
  #refused: ReadonlyArray<{ readonly call: PastCall; readonly until: number; readonly loop: Loop }> = []
  #loop: Loop | undefined

  /** What to do with a call that is about to run. */
  judge(asked: ComparedCall, now: number, { threshold }: LoopSettings): Verdict {
    const isAsked = (past: PastCall) => isSameCall(past, asked, threshold)
    const refused = this.#refused.length === 0
      ? undefined
      : this.#refused.find(({ call, until }) => until > now && isAsked(call))
    // A clock that went back makes no minute longer.
    if (refused !== undefined) {
      return { _tag: "Refuse", after: Math.min(refusedFor, refused.until - now), loop: refused.loop }
    }
    if (this.#loop === undefined || this.#loop.count < refuseFrom) return go
    const last = this.#loop.round.find((call) => call.kind === "read" && isAsked(call))
    const wait = last === undefined ? 0 : Math.min(slowedTo, last.at + slowedTo - now)
    return wait > 0 ? { _tag: "Slow", wait } : go
  }

  /** Takes note of a call that has ended, and returns the loop that it is part of, from five calls on. */
  learn(call: PastCall, settings: LoopSettings): Loop | undefined {
    // A change that was made before, exactly so, is no progress.
    const isProgress = call.kind === "change" && !this.#calls.some((one) => isExactly(one, call))
    this.#calls.push(call)
    if (isProgress) {
      this.#before = this.#calls.length - 1
      this.#refused = []
    }
    while (this.#calls.length > settings.window) {
      this.#calls.shift()
      if (this.#before > 0) this.#before--
    }
    const repeats = this.#repeats(settings.threshold)
    const cycle = this.#cycle(settings.threshold)
    const certain = repeats === undefined || (cycle !== undefined && cycle.count > repeats.count) ? cycle : repeats
    this.#loop = certain
    if (certain !== undefined && certain.count >= refuseFrom) {
      this.#refused = certain.round.filter(({ kind }) => kind !== "read")
        .map((one) => ({ call: one, until: call.at + refusedFor, loop: certain }))
    }
    return certain ?? this.#sameAnswers()
  }

  /** Calls that are alike to the newest, back to one with another outcome. */
  #repeats(threshold: number): Loop | undefined {
    const newest = this.#calls.at(-1)
    if (newest === undefined) return undefined
    let count = 0
    let isExact = true
    for (let at = this.#calls.length - 1; at >= this.#before; at--) {
      const call = this.#calls[at]!
      if (!isSameCall(newest, call.compared, threshold)) continue
      if (!isSameOutcome(call, newest)) break
      count++
      isExact &&= call.compared.arguments.text === newest.compared.arguments.text
    }
    return count < warnFrom
      ? undefined
      : { pattern: isExact ? "repeat" : "variation", count, round: [newest] }
  }

  /**
   * Calls of one tool with an answer that is not the same by chance, whatever their arguments: one of them may make no
   * difference. That is not certain enough to refuse any.
   */
  #sameAnswers(): Loop | undefined {
    const newest = this.#calls.at(-1)
    if (newest === undefined || !newest.outcome.isTelling) return undefined
    const count = this.#calls.slice(this.#before)
      .filter((call) => call.compared.tool === newest.compared.tool && isSameOutcome(call, newest)).length
    return count < warnFrom ? undefined : { pattern: "variation", count, round: [newest] }
  }

  /** Two to four calls in turn, at least twice. */
  #cycle(threshold: number): Loop | undefined {
    const calls = this.#calls
    for (let length = 2; length <= longestCycle && length < calls.length; length++) {
      let at = calls.length - 1
      while (at - length >= this.#before && isAlike(calls[at]!, calls[at - length]!, threshold)) at--
      const count = calls.length - 1 - at + length
      if (count >= Math.max(warnFrom, 2 * length)) {
        return { pattern: length === 2 ? "alternation" : "cycle", count, round: calls.slice(-length) }
      }
    }
    return undefined
  }
}
