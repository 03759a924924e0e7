// The program that embeds Kiwi asks its person, if there can be one: a coding agent's shell and a tool's call can start
// such a program too. Only a plain `true` or the value of a choice is agreement. A callback that fails has asked nobody.
import { Effect, Layer, Option, Redacted } from "effect"
import { Identity } from "../../../services/identity/Identity.ts"
import type { Variables } from "../../../services/presence/codingAgents.ts"
import { Lineage } from "../../../services/presence/Lineage.ts"
import { callSeen, whyNotThere } from "../../../services/presence/presence.ts"
import {
  type HumanAct,
  HumanDeclined,
  HumanGate,
  type HumanRequest,
  HumanRequired
} from "../../../services/trust/HumanAct.ts"
import * as LineageNode from "../../presence/LineageNode.ts"
import { variable } from "../../process/variable.ts"

/** `true` chooses the first of several choices; the `value` of a choice chooses that one. */
export type AskPerson = (
  request: HumanRequest,
  signal: AbortSignal
) => boolean | string | PromiseLike<boolean | string>

export const make = Effect.fnUntraced(function*(askPerson: AskPerson, env: Variables) {
  const identity = yield* Identity
  const lineage = yield* Lineage

  /** Why no person can answer, whatever the program returns. A key with a passphrase needs it in every act. */
  const whyNobody = Effect.gen(function*() {
    const above = yield* lineage.read
    const call = callSeen(env, above)
    if (call !== undefined) return call
    const given = yield* variable("KIWI_PASSPHRASE")
    const opens = yield* identity.opensWith(Redacted.make(Option.getOrElse(given, () => "")))
    if (opens === true) return undefined
    return opens === undefined
      ? whyNotThere(env, above)
      : `your signing key has a passphrase, and KIWI_PASSPHRASE is not ${Option.isNone(given) ? "set" : "it"}`
  })

  const ask = Effect.fn("HumanGate.ask")(function*(request: HumanRequest) {
    const { command, digest, kind, title } = request
    const why = yield* whyNobody
    if (why !== undefined) return yield* new HumanRequired({ kind, title, command, why })
    const answer = yield* Effect.tryPromise({
      try: (signal) => Promise.resolve(askPerson(request, signal)),
      catch: () => new HumanRequired({ kind, title, command, why: "askPerson failed" })
    })
    const { choices = [] } = request
    const choice = choices.find(({ value }, index) => answer === true ? index === 0 : value === answer)?.value
    if (answer !== true && choice === undefined) {
      return yield* new HumanDeclined({ kind, title, by: "embedder", seen: "askPerson did not answer true" })
    }
    return {
      kind,
      digest,
      ...(choice === undefined ? {} : { choice }),
      by: "embedder",
      seen: `askPerson answered ${String(answer)}`
    } satisfies HumanAct
  })
  return HumanGate.of({ ask })
})

/** With variables and ancestors that a test provides instead of this process's own. */
export const layerWith = (askPerson: AskPerson, env: Variables) => Layer.effect(HumanGate, make(askPerson, env))

/** Takes the kernel's Identity: `HumanGateEmbedder.layer(askPerson).pipe(Layer.provideMerge(kernel))`. */
export const layer = (askPerson: AskPerson): Layer.Layer<HumanGate, never, Identity> =>
  Layer.suspend(() => layerWith(askPerson, process.env)).pipe(Layer.provide(LineageNode.layer))
