// Reports a tool's output to a listener, line by line, in batches. It never delays the tool: a listener that is slower
// misses lines. A tool that ends before the first batch costs nothing here, since its result has all of its output.
// Secrets are removed before lines are dropped: half of one beside a gap could not be found later.
import { Effect, Scope } from "effect"
import { StringDecoder } from "node:string_decoder"
import type { Redactor } from "../../services/audit/redaction.ts"
import { makeRedactor, patternsOf } from "../../services/audit/redaction.ts"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"

type Channel = "stdout" | "stderr"

/** Milliseconds between batches. */
const interval = 100
/** The maximum number of characters that wait to be reported, including an incomplete line. */
const maxWaiting = 65_536
const maxLine = 4_096

interface Lines {
  readonly channel: Channel
  readonly decoder: StringDecoder
  readonly redactor: Redactor
  open: string
  waiting: string
  missed: number
}

const lines = (channel: Channel, secrets: PrimitiveInput["secrets"] = []): Lines => ({
  channel,
  decoder: new StringDecoder("utf8"),
  redactor: makeRedactor(patternsOf(secrets)),
  open: "",
  waiting: "",
  missed: 0
})

const add = (state: Lines, chunk: Uint8Array): void => {
  if (state.waiting.length + chunk.length > maxWaiting) {
    state.missed += chunk.length
    state.redactor.skip()
    return
  }
  const text = state.open + state.redactor.push(state.decoder.write(chunk))
  const end = text.length > maxLine ? text.length : text.lastIndexOf("\n") + 1
  state.waiting += text.slice(0, end)
  state.open = text.slice(end)
}

/** The text to report now; at the end also an incomplete last line. */
const take = (state: Lines, last: boolean): string => {
  const gap = state.missed === 0 ? "" : `[${state.missed} bytes not shown]\n`
  const text = state.waiting + gap +
    (last ? state.open + state.redactor.push(state.decoder.end()) + state.redactor.rest() : "")
  state.waiting = ""
  state.missed = 0
  return text
}

export const makeReporter = ({ emit, secrets }: Pick<PrimitiveInput, "emit" | "secrets">, scope: Scope.Scope) => {
  const channels: Array<Lines> = []
  let told = false

  const flush = Effect.fnUntraced(function*(last: boolean) {
    for (const state of channels) {
      const text = take(state, last)
      if (text !== "") yield* emit({ _tag: "Chunk", channel: state.channel, text })
    }
  })
  const batch = Effect.andThen(
    Effect.sleep(interval),
    Effect.suspend(() => {
      told = true
      return flush(false)
    })
  )

  return {
    /** Started before the tool, when nothing waits for it. */
    start: Effect.forkIn(Effect.forever(batch), scope),
    push: (channel: Channel, chunk: Uint8Array): void => {
      let state = channels.find((known) => known.channel === channel)
      if (state === undefined) {
        state = lines(channel, secrets)
        channels.push(state)
      }
      add(state, chunk)
    },
    /** The rest, if there is a listener. */
    finish: Effect.suspend(() => told ? Effect.timeoutOption(flush(true), interval) : Effect.void)
  }
}
