// `makeKiwi`: promises over the real kernel of one project.
import { Layer } from "effect"
import type { KernelOptions } from "../layers/Kernel.ts"
import * as Kernel from "../layers/Kernel.ts"
import type { AskPerson } from "../layers/trust/HumanGateEmbedder.ts"
import * as HumanGateEmbedder from "../layers/trust/HumanGateEmbedder.ts"
import * as HumanGateNone from "../layers/trust/HumanGateNone.ts"
import type { HomeRefused } from "../services/workspace/KiwiHome.ts"
import type { ProjectNotFound } from "../services/workspace/Workspace.ts"
import type { Kiwi, KiwiServices } from "./Kiwi.ts"
import { makeKiwiOver } from "./Kiwi.ts"

export interface KiwiOptions extends KernelOptions {
  /** Name under which policy and audit know this program. Default: "embedder". */
  readonly client?: string | undefined
  /** Asks the person about a human act. Without it, signing and trusting fail as `HumanRequired`. */
  readonly askPerson?: AskPerson | undefined
}

/**
 * Opens a kernel. The first call builds it; rejects with `ProjectNotFound` where the folder is none, and with
 * `HomeRefused` where Kiwi's own folders cannot be told.
 */
export const makeKiwi = (options: KiwiOptions = {}): Kiwi => {
  const gate = options.askPerson === undefined ? HumanGateNone.layer : HumanGateEmbedder.layer(options.askPerson)
  const layer: Layer.Layer<KiwiServices, HomeRefused | ProjectNotFound> = Layer.merge(Kernel.layer(options), gate)
  return makeKiwiOver(layer, options.client)
}
