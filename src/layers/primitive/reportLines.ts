// Tells whoever listens what a tool says, line by line, in batches. It never holds the tool back: a listener that is
// slower than the tool misses lines.
import { Effect } from "effect"
import { StringDecoder } from "node:string_decoder"
import type { PrimitiveInput } from "../../services/primitive/Primitive.ts"

type Channel = "stdout" | "stderr"

const interval = 100
/** Text that waits to be told, and a line that has not ended yet: at most this many characters. */
const maxWaiting = 65_536
const maxLine = 4_096

export const makeReporter = (emit: PrimitiveInput["emit"]) => {
  const lines = (channel: Channel) => ({
    channel,
    decoder: new StringDecoder("utf8"),
    open: "",
    waiting: "",
    missed: 0
  })
  const channels = { stdout: lines("stdout"), stderr: lines("stderr") }

  const push = (channel: Channel, chunk: Buffer): void => {
    const state = channels[channel]
    if (state.waiting.length + chunk.length > maxWaiting) {
      state.missed += chunk.length
      return
    }
    const text = state.open + state.decoder.write(chunk)
    const end = text.length > maxLine ? text.length : text.lastIndexOf("\n") + 1
    state.waiting += text.slice(0, end)
    state.open = text.slice(end)
  }

  const flush = Effect.fnUntraced(function*(last: boolean) {
    for (const state of Object.values(channels)) {
      const gap = state.missed === 0 ? "" : `[${state.missed} bytes not shown]\n`
      const text = state.waiting + gap + (last ? state.open + state.decoder.end() : "")
      state.waiting = ""
      state.missed = 0
      if (text !== "") yield* emit({ _tag: "Chunk", channel: state.channel, text })
    }
  })

  const during = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.scoped(
      Effect.andThen(Effect.forkScoped(Effect.forever(Effect.delay(flush(false), interval))), effect)
    ).pipe(Effect.tap(() => Effect.timeoutOption(flush(true), interval)))

  return { push, during }
}
