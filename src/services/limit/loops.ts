// Finds loops in a session's latest calls: the same calls with the same outcomes, without progress between them. Pure.
import { type Arguments, likeness } from "./likeness.ts"
import type { LoopPattern } from "./LoopDetected.ts"

/** From how many calls of a loop its caller is warned, and from how many its calls are refused or slowed. */
export const warnFrom = 5
export const refuseFrom = 10

/** For how long a call is refused, in milliseconds. */
const refusedFor = 60_000
/** The least time between two calls of a loop that only reads, in milliseconds. */
const slowedTo = 1_000
const longestCycle = 4
/** The limit of refused calls: those of one round. */
const mostRefused = longestCycle

/** A call that has ended. */
export interface PastCall {
  /** Identifies the tool. */
  readonly tool: string
  /** The tool's id, for people. */
  readonly name: string
  readonly arguments: Arguments
  /** The same for the same outcome. */
  readonly outcome: string
  /** "success", or the error's code. */
  readonly shown: string
  /** `change`: it succeeded, and changed something. `read`: it succeeded, and is not known to change anything. */
  readonly kind: "read" | "change" | "failure"
  /** Whether its outcome is too long to be the same by chance. */
  readonly isTelling: boolean
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

type Asked = Pick<PastCall, "tool" | "arguments">

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

/** One session's latest calls, and those of them that are refused now. */
export class LoopHistory {
  #calls: Array<PastCall> = []
  /** How many of the oldest calls were before the last progress. */
  #before = 0
  #refused: ReadonlyArray<{ readonly call: PastCall; readonly until: number; readonly loop: Loop }> = []
  #loop: Loop | undefined

  /** What to do with a call that is about to run. */
  judge(asked: Asked, now: number, { threshold }: LoopSettings): Verdict {
    const isAsked = (call: PastCall) =>
      call.tool === asked.tool && likeness(call.arguments, asked.arguments) >= threshold
    const refused = this.#refused.find(({ call, until }) => until > now && isAsked(call))
    // A clock that went back does not make the minute longer.
    if (refused !== undefined) return { _tag: "Refuse", after: Math.min(refusedFor, refused.until - now), loop: refused.loop }
    if (this.#loop === undefined || this.#loop.count < refuseFrom) return go
    const last = this.#loop.round.find((call) => call.kind === "read" && isAsked(call))
    const wait = last === undefined ? 0 : Math.min(slowedTo, last.at + slowedTo - now)
    return wait > 0 ? { _tag: "Slow", wait } : go
  }

  /** Takes note of a call that has ended, and returns the loop that it is part of, from five calls on. */
  learn(call: PastCall, settings: LoopSettings): Loop | undefined {
    // A change that was made before, exactly so, is no progress.
    const isProgress = call.kind === "change" && !this.#calls.some((one) =>
      one.tool === call.tool && one.outcome === call.outcome && one.arguments.text === call.arguments.text
    )
    this.#calls.push(call)
    if (isProgress) {
      this.#before = this.#calls.length - 1
      this.#refused = []
    }
    const over = Math.max(0, this.#calls.length - settings.window)
    if (over > 0) {
      this.#calls.splice(0, over)
      this.#before = Math.max(0, this.#before - over)
    }
    const { certain, loop } = this.#find(settings)
    this.#loop = certain ? loop : undefined
    if (certain && loop !== undefined && loop.count >= refuseFrom) {
      this.#refused = loop.round.filter(({ kind }) => kind !== "read").slice(0, mostRefused)
        .map((one) => ({ call: one, until: call.at + refusedFor, loop }))
    }
    return loop
  }

  /** `certain`: its calls are alike by their arguments too. */
  #find(settings: LoopSettings): { readonly certain: boolean; readonly loop?: Loop | undefined } {
    const loop = this.#repeats(settings.threshold) ?? this.#cycle(settings.threshold)
    return loop === undefined ? { certain: false, loop: this.#repeats(0) } : { certain: true, loop }
  }

  /**
   * Calls that are alike to the newest, back to one with another outcome. With a `threshold` of 0 arguments do not
   * matter, but only telling outcomes count: a caller may change an argument that makes no difference.
   */
  #repeats(threshold: number): Loop | undefined {
    const newest = this.#calls.at(-1)
    if (newest === undefined || (threshold === 0 && !newest.isTelling)) return undefined
    let count = 0
    let isExact = true
    for (let at = this.#calls.length - 1; at >= this.#before; at--) {
      const call = this.#calls[at]!
      if (call.tool !== newest.tool) continue
      const isSame = call.outcome === newest.outcome
      if (threshold > 0 && likeness(call.arguments, newest.arguments) < threshold) continue
      if (!isSame) break
      count++
      isExact &&= call.arguments.text === newest.arguments.text
    }
    return count < warnFrom ? undefined : { pattern: isExact ? "repeat" : "variation", count, round: [newest] }
  }

  /** Two to four calls in turn, at least twice. */
  #cycle(threshold: number): Loop | undefined {
    const calls = this.#calls
    for (let length = 2; length <= longestCycle; length++) {
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

const isAlike = (a: PastCall, b: PastCall, threshold: number): boolean =>
  a.tool === b.tool && a.outcome === b.outcome && likeness(a.arguments, b.arguments) >= threshold
