// Tells whoever listens what a tool says, line by line, in batches. It never holds the tool back: a listener that is
// slower than the tool misses lines. A tool that is done before the first batch is due costs nothing here: all that it
// said is in its result. Secrets are taken out before lines are missed: half of one beside a gap could not be found later.
import { Effect, Scope } from "effect"
import { StringDecoder } from "node:string_decoder"
import type { Redactor } from "../../services/audit/redaction.ts"
import { makeRedactor, patternsOf } from "../../services/audit/redaction.ts"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"

type Channel = "stdout" | "stderr"

/** Milliseconds between batches. */
const interval = 100
/** Text that waits to be told, and a line that has not ended yet: at most this many characters. */
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

/** What there is to tell now; at the end also a last line that has no end. */
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
    /** The batches: begun before the tool is, since nobody waits for it then. */
    start: Effect.forkIn(Effect.forever(batch), scope),
    push: (channel: Channel, chunk: Uint8Array): void => {
      let state = channels.find((known) => known.channel === channel)
      if (state === undefined) {
        state = lines(channel, secrets)
        channels.push(state)
      }
      add(state, chunk)
    },
    /** The rest, where somebody has been listening. */
    finish: Effect.suspend(() => told ? Effect.timeoutOption(flush(true), interval) : Effect.void)
  }
}
