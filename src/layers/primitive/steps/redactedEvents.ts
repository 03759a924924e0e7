// Removes secrets from what a call reports while it runs. A chunk may end within a secret: text that may still become
// one waits for the next chunk of the same channel, or for the end.
import { Effect } from "effect"
import { makeRedactor, patternsOf, redactText } from "../../../services/audit/redaction.ts"
import type { Redactor } from "../../../services/audit/redaction.ts"
import type { CallEvent } from "../../../services/call/CallEvents.ts"
import type { PrimitiveInput } from "../../../services/primitive/Primitive.ts"
import type { Secrets } from "../../call/secrets.ts"

type Channel = Extract<CallEvent, { _tag: "Chunk" }>["channel"]

/** In milliseconds. A listener that hangs does not delay the end of a call. */
const patience = 1_000

interface RedactedEvents {
  readonly emit: PrimitiveInput["emit"]
  /** The same effect. At its end, text held back is reported. */
  readonly finishing: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

export const redactedEvents = (emit: PrimitiveInput["emit"], secrets: Secrets): RedactedEvents => {
  if (secrets.length === 0) return { emit, finishing: (effect) => effect }
  const channels = new Map<Channel, Redactor>()
  const chunk = (channel: Channel, text: string) => text === "" ? Effect.void : emit({ _tag: "Chunk", channel, text })
  const redactorOf = (channel: Channel): Redactor => {
    const redactor = channels.get(channel) ?? makeRedactor(patternsOf(secrets))
    channels.set(channel, redactor)
    return redactor
  }
  const finish = Effect.suspend(() => {
    const left = [...channels].flatMap(([channel, redactor]) => {
      const text = redactor.rest()
      return text === "" ? [] : [chunk(channel, text)]
    })
    return left.length === 0 ? Effect.void : Effect.ignore(Effect.timeout(Effect.all(left), patience))
  })
  return {
    emit: (event) =>
      event._tag === "Chunk"
        ? Effect.suspend(() => chunk(event.channel, redactorOf(event.channel).push(event.text)))
        : emit({ ...event, message: redactText(event.message, secrets) }),
    finishing: (effect) =>
      Effect.flatMap(Effect.result(effect), (outcome) => Effect.andThen(finish, Effect.fromResult(outcome)))
  }
}
