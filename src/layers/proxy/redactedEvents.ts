// What a call reports while it runs, without its secrets. A chunk may end within one: what may still become a secret
// waits for the next chunk of the same channel, or for the end.
import { Effect } from "effect"
import { makeRedactor, patternsOf, redactText } from "../../services/audit/redaction.ts"
import type { Redactor } from "../../services/audit/redaction.ts"
import type { PrimitiveEvent, PrimitiveInput } from "../../services/primitive/Primitive.ts"
import type { Secrets } from "./secrets.ts"

type Channel = Extract<PrimitiveEvent, { _tag: "Chunk" }>["channel"]

interface RedactedEvents {
  readonly emit: PrimitiveInput["emit"]
  /** Reports what was held back, when the primitive has ended. */
  readonly finish: Effect.Effect<void>
}

export const redactedEvents = (emit: PrimitiveInput["emit"], secrets: Secrets): RedactedEvents => {
  if (secrets.length === 0) return { emit, finish: Effect.void }
  const channels = new Map<Channel, Redactor>()
  const chunk = (channel: Channel, text: string) => text === "" ? Effect.void : emit({ _tag: "Chunk", channel, text })
  const redactorOf = (channel: Channel): Redactor => {
    const redactor = channels.get(channel) ?? makeRedactor(patternsOf(secrets))
    channels.set(channel, redactor)
    return redactor
  }
  return {
    emit: (event) =>
      event._tag === "Chunk"
        ? Effect.suspend(() => chunk(event.channel, redactorOf(event.channel).push(event.text)))
        : emit({ ...event, message: redactText(event.message, secrets) }),
    finish: Effect.suspend(() =>
      Effect.forEach(channels, ([channel, redactor]) => chunk(channel, redactor.rest()), { discard: true })
    )
  }
}
