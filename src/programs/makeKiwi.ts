// `makeKiwi`: promises over the real kernel of one project.
import { Layer } from "effect"
import type { KernelOptions, KernelServices } from "../layers/Kernel.ts"
import * as Kernel from "../layers/Kernel.ts"
import type { AskPerson } from "../layers/trust/humanGate/HumanGateEmbedder.ts"
import * as HumanGateEmbedder from "../layers/trust/humanGate/HumanGateEmbedder.ts"
import * as HumanGateNone from "../layers/trust/humanGate/HumanGateNone.ts"
import type { Identity } from "../services/identity/Identity.ts"
import type { HumanGate } from "../services/trust/HumanAct.ts"
import type { Kiwi } from "./Kiwi.ts"
import { makeKiwiOver } from "./Kiwi.ts"

export interface KiwiOptions<Replaced extends KernelServices = never, E = never> extends KernelOptions<Replaced, E> {
  /** This program's name in policy and audit. Default: "embedder". */
  readonly client?: string | undefined
  /** A profile of the user or the project: only its items are found and run, under its rules. Default: none. */
  readonly profile?: string | undefined
  /**
   * Asks the person about a human act, and about a call that they have to agree to. Signing and trusting fail with `HumanRequired` without it, below a coding agent,
   * in a tool's call, and if the signing key has a passphrase that is not in `KIWI_PASSPHRASE`.
   */
  readonly askPerson?: AskPerson | undefined
}

/**
 * Opens a kernel. The first call builds it, and rejects with `ProjectNotFound` if the folder does not exist, with
 * `HomeRefused` if Kiwi's own folders cannot be determined, with `SystemItemRefused` if one of `items` cannot be a
 * system item, or with the error of a layer of `replace`.
 */
export const makeKiwi = <Replaced extends KernelServices = never, E = never>(
  { askPerson, client, profile, ...options }: KiwiOptions<Replaced, E> = {}
): Kiwi => {
  const gate: Layer.Layer<HumanGate, never, Identity> = askPerson === undefined
    ? HumanGateNone.layer
    : HumanGateEmbedder.layer(askPerson)
  return makeKiwiOver(Layer.provideMerge(gate, Kernel.layer(options)), client, profile)
}
